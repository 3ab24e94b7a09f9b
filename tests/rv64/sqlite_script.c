/* SPDX-License-Identifier: MIT */
/*
 * sqlite_script.c - executes the SQL of its standard input, and prints rows as the program sqlite3 does, of
 * whose commands it has ".open FILE": SQLite as a library, for a static program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

static sqlite3 *database;

static int print_row(void *ctx, int columns, char **values, char **names)
{
	(void)ctx;
	(void)names;
	for (int i = 0; i < columns; i++)
		printf("%s%s", i ? "|" : "", values[i] ? values[i] : "");
	putchar('\n');
	return 0;
}

static void must(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
	exit(1);
}

static void open_database(char *command)
{
	sqlite3_close(database);
	command[strcspn(command, "\n")] = 0;
	must(sqlite3_open(command + strlen(".open "), &database), command);
}

static void print_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int c;

	while (maps && (c = getc(maps)) != EOF)
		putchar(c);
}

int main(int argc, char **argv)
{
	char line[4096], sql[16384] = "";

	(void)argv;
	must(sqlite3_open(":memory:", &database), ":memory:");
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, ".open ", 6)) {
			open_database(line);
			continue;
		}
		if (strlen(sql) + strlen(line) >= sizeof(sql))
			return 2;
		strcat(sql, line);
		if (!sqlite3_complete(sql))
			continue;
		must(sqlite3_exec(database, sql, print_row, NULL, NULL), sql);
		*sql = 0;
	}
	sqlite3_close(database);
	if (argc > 1)
		print_maps();
	return 0;
}
