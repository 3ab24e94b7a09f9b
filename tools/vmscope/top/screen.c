/* SPDX-License-Identifier: MIT */
/* The full-screen view of "vmscope top", with ncurses. */
#include "top/screen.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "top/explained.h"
#include "top/look.h"

enum { HEAD_LINES = 2, KEY_OF_ESCAPE = 27, KEY_OF_REDRAW = 12, LINE_SIZE = 1024 };

struct view {
	struct top_table table;		/* what is shown */
	struct top_table processes;	/* as last seen; empty unless one is looked into */
	pid_t pid;			/* looked into; 0: none */
	struct top_sites *sites;	/* of the process that was asked for; NULL: no log */
	pid_t sites_pid;
	bool by_site;			/* for that process: sites are shown, not kinds */
	enum top_order order;
	double seconds;
	bool paused, quit;
	/* The row that is chosen, by what it is: rows move when they are sorted. */
	pid_t chosen_pid;
	char chosen_name[256];
	size_t chosen, first;		/* where it is; first <= chosen: the first row on the screen */
	char message[160];		/* until the next key; "": the keys are told */
};

/* ---- looking -------------------------------------------------------------------------------- */

/* Remembers the row under the bar, for find_chosen() after the rows have moved. */
static void remember_chosen(struct view *view)
{
	if (view->chosen < view->table.count) {
		const struct top_row *row = &view->table.rows[view->chosen];

		view->chosen_pid = row->pid;
		snprintf(view->chosen_name, sizeof(view->chosen_name), "%s", row->name);
	}
}

static void find_chosen(struct view *view)
{
	const struct top_table *table = &view->table;

	for (size_t i = 0; i < table->count; i++) {
		const struct top_row *row = &table->rows[i];

		if (row->pid == view->chosen_pid &&
		    (row->pid || strncmp(row->name, view->chosen_name,
					 sizeof(view->chosen_name) - 1) == 0)) {
			view->chosen = i;
			return;
		}
	}
	if (view->chosen >= table->count)
		view->chosen = table->count ? table->count - 1 : 0;
}

static void sort(struct view *view)
{
	remember_chosen(view);
	top_sort(&view->table, view->order);
	find_chosen(view);
}

static void leave_process(struct view *view)
{
	pid_t pid = view->pid;

	top_clear(&view->table);
	view->pid = 0;
	view->table = view->processes;
	view->processes = (struct top_table)TOP_TABLE_INIT;
	top_sort(&view->table, view->order);
	view->chosen_pid = pid;
	view->chosen = view->first = 0;
	find_chosen(view);
}

/* The sites of what is shown; NULL: no log tells them. */
static struct top_sites *sites_known(const struct view *view)
{
	return view->pid == view->sites_pid ? view->sites : NULL;
}

/* Takes a look at the process that is looked into, or else at all. Returns 0 or -errno. */
static int look_at(const struct view *view, struct top_table *table)
{
	if (!view->pid)
		return top_look(table);
	return top_look_into(table, view->pid, view->by_site ? sites_known(view) : NULL);
}

/* Takes a look at what is shown. Returns 0 or -errno. */
static int look(struct view *view)
{
	struct top_table table = TOP_TABLE_INIT;
	int rc = look_at(view, &table);

	if (rc != 0) {
		top_clear(&table);
		if (!view->pid || rc == -ENOMEM)
			return rc;
		snprintf(view->message, sizeof(view->message), "process %d: %s",
			 (int)view->pid, rc == -ESRCH ? "it has ended" : strerror(-rc));
		leave_process(view);
		return 0;
	}
	if (view->table.rows)
		top_compare(&table, &view->table);
	/* top_compare() has sorted the old table: where the bar was is known by what it was on. */
	top_clear(&view->table);
	view->table = table;
	top_sort(&view->table, view->order);
	find_chosen(view);
	return 0;
}

/* From kinds of memory to call sites, and back. */
static int switch_rows(struct view *view)
{
	if (!sites_known(view)) {
		snprintf(view->message, sizeof(view->message),
			 "'vmscope top --log=FILE PID' shows call sites, from a log that has them");
		return 0;
	}
	view->by_site = !view->by_site;
	top_clear(&view->table);
	view->chosen_pid = 0;
	view->chosen_name[0] = '\0';
	view->chosen = view->first = 0;
	return look(view);
}

static int enter_process(struct view *view, pid_t pid)
{
	view->processes = view->table;
	view->table = (struct top_table)TOP_TABLE_INIT;
	view->pid = pid;
	view->chosen_pid = 0;
	view->chosen_name[0] = '\0';
	view->chosen = view->first = 0;
	return look(view);
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* One line of the screen, cut to its width and filled up with blanks. */
static void put_line(int y, const char *text, attr_t attributes)
{
	attron(attributes);
	mvhline(y, 0, ' ', COLS);
	mvaddnstr(y, 0, text, COLS);
	attroff(attributes);
}

static size_t rows_shown(void)
{
	return LINES > HEAD_LINES + 1 ? (size_t)(LINES - HEAD_LINES - 1) : 1;
}

static void draw(struct view *view)
{
	char text[LINE_SIZE];
	size_t shown = rows_shown();

	if (view->chosen < view->first)
		view->first = view->chosen;
	if (view->chosen >= view->first + shown)
		view->first = view->chosen - shown + 1;
	erase();
	top_title(&view->table, text, sizeof(text));
	put_line(0, text, A_BOLD);
	top_head(&view->table, text, sizeof(text));
	put_line(1, text, A_UNDERLINE);
	for (size_t i = view->first; i < view->table.count && i - view->first < shown; i++) {
		top_line(&view->table, i, text, sizeof(text));
		put_line(HEAD_LINES + (int)(i - view->first), text,
			 i == view->chosen ? A_REVERSE : A_NORMAL);
	}
	if (view->message[0])
		snprintf(text, sizeof(text), "%s", view->message);
	else
		snprintf(text, sizeof(text), "%ssorted by %s | s sort  space %s  %s  e explain%s  "
			 "q quit", view->paused ? "PAUSED | " : "", top_order_name(view->order),
			 view->paused ? "go on" : "pause",
			 view->pid ? "esc back" : "enter look into",
			 !sites_known(view) ? "" : view->by_site ? "  c kinds" : "  c call sites");
	put_line(LINES - 1, text, view->message[0] ? A_BOLD : A_DIM);
	refresh();
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* Where the first character on the screen is, in lines and columns. */
struct corner {
	size_t line, column;
};

static size_t longest(const struct explained *explained)
{
	size_t most = 0, length;

	for (size_t i = 0; i < explained->count; i++)
		if ((length = strlen(explained->lines[i])) > most)
			most = length;
	return most;
}

static void draw_explained(const struct explained *explained, struct corner *at, size_t shown)
{
	if (at->line + shown > explained->count)
		at->line = explained->count > shown ? explained->count - shown : 0;
	erase();
	for (size_t i = at->line; i < explained->count && i - at->line < shown; i++) {
		const char *line = explained->lines[i];

		line = strlen(line) > at->column ? line + at->column : "";
		while ((*line & 0xc0) == 0x80) /* within a character */
			line++;
		put_line((int)(i - at->line), line, A_NORMAL);
	}
	put_line(LINES - 1, "up, down, left, right: scroll  any other key: back", A_DIM);
	refresh();
}

/* False: the key is none that scrolls. */
static bool move_corner(struct corner *at, int key, size_t shown, size_t columns)
{
	const size_t half = COLS > 1 ? (size_t)COLS / 2 : 1;

	switch (key) {
	case KEY_DOWN:
	case 'j':
		at->line++;
		return true;
	case KEY_UP:
	case 'k':
		at->line -= at->line > 0;
		return true;
	case KEY_NPAGE:
		at->line += shown;
		return true;
	case KEY_PPAGE:
		at->line -= at->line < shown ? at->line : shown;
		return true;
	case KEY_RIGHT:
	case 'l':
		if (at->column + half < columns)
			at->column += half;
		return true;
	case KEY_LEFT:
	case 'h':
		at->column -= at->column < half ? at->column : half;
		return true;
	case KEY_OF_REDRAW:
		clearok(curscr, TRUE);
		return true;
	default:
		return key == KEY_RESIZE;
	}
}

/* What "vmscope explain" says of the process under the bar, until the user has read it. */
static void explain(struct view *view)
{
	const struct top_table *table = &view->table;
	pid_t pid = view->pid;
	struct explained explained;
	struct corner at = { 0, 0 };
	size_t shown, columns;
	int rc;

	if (!pid && view->chosen < table->count)
		pid = table->rows[view->chosen].pid;
	if (!pid)
		return;
	rc = explained_read(&explained, pid);
	if (rc != 0) {
		snprintf(view->message, sizeof(view->message), "process %d: %s", (int)pid,
			 strerror(-rc));
		return;
	}
	timeout(-1);
	columns = longest(&explained);
	do {
		shown = rows_shown() + HEAD_LINES;
		draw_explained(&explained, &at, shown);
	} while (move_corner(&at, getch(), shown, columns));
	explained_clear(&explained);
}

static void move_bar(struct view *view, int key)
{
	size_t shown = rows_shown(), last = view->table.count ? view->table.count - 1 : 0;
	size_t chosen = view->chosen;

	switch (key) {
	case KEY_UP:
	case 'k':
		chosen -= chosen > 0;
		break;
	case KEY_DOWN:
	case 'j':
		chosen++;
		break;
	case KEY_PPAGE:
		chosen -= chosen < shown ? chosen : shown;
		break;
	case KEY_NPAGE:
		chosen += shown;
		break;
	case KEY_HOME:
		chosen = 0;
		break;
	case KEY_END:
		chosen = last;
		break;
	default:
		break;
	}
	view->chosen = chosen < last ? chosen : last;
	remember_chosen(view);
}

/* Obeys @key. Returns 0 or -errno. */
static int obey(struct view *view, int key)
{
	view->message[0] = '\0';
	switch (key) {
	case 'q':
		view->quit = true;
		return 0;
	case ' ':
		view->paused = !view->paused;
		return 0;
	case 's':
		view->order = (view->order + 1) % TOP_ORDERS;
		if (view->order == TOP_BY_PID && view->pid)
			view->order++;
		sort(view);
		return 0;
	case 'c':
		return switch_rows(view);
	case 'e':
		explain(view);
		return 0;
	case KEY_OF_REDRAW:
		clearok(curscr, TRUE);
		return 0;
	case '\n':
	case '\r':
	case KEY_ENTER:
	case KEY_RIGHT:
		if (!view->pid && view->chosen < view->table.count)
			return enter_process(view, view->table.rows[view->chosen].pid);
		return 0;
	case KEY_OF_ESCAPE:
	case KEY_BACKSPACE:
	case KEY_LEFT:
		if (!view->pid)
			return 0;
		leave_process(view);
		return look(view);
	default:
		move_bar(view, key);
		return 0;
	}
}

static int run(struct view *view)
{
	double next = now_seconds() + view->seconds;
	int rc = 0;

	remember_chosen(view);
	while (rc == 0 && !view->quit) {
		double left = next - now_seconds();
		int key;

		draw(view);
		timeout(view->paused ? -1 : left > 0 ? (int)ceil(left * 1000) : 0);
		key = getch();
		if (key != ERR)
			rc = obey(view, key);
		if (rc == 0 && !view->paused && !view->quit && now_seconds() >= next) {
			rc = look(view);
			/* After a look that took long, the processes get their turn. */
			next = now_seconds() + view->seconds;
		}
	}
	return rc;
}

int top_screen(pid_t pid, struct top_sites *sites, double seconds, enum top_order order)
{
	struct view view = { .pid = pid, .sites = sites, .sites_pid = pid, .by_site = sites,
			     .order = order, .seconds = seconds };
	SCREEN *terminal;
	int rc;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	/* Before the terminal is changed: what fails now is told as by any other command. */
	rc = look_at(&view, &view.table);
	if (rc == 0) {
		top_sort(&view.table, order);
		setlocale(LC_CTYPE, "");
		terminal = newterm(NULL, stdout, stdin);
		if (!terminal)
			rc = -ENOTTY;
	}
	if (rc == 0) {
		cbreak();
		noecho();
		keypad(stdscr, TRUE);
		set_escdelay(50);
		curs_set(0);
		rc = run(&view);
		endwin();
		delscreen(terminal);
	}
	top_clear(&view.table);
	top_clear(&view.processes);
	return rc;
}
