/* SPDX-License-Identifier: MIT */
/*
 * replay.c - replays one vector file: parses its lines, keeps the locks as FORMAT.md section 3
 * says, compares every recorded result, and checks the trees after changes.
 */
#include "replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Trees up to this height are checked after every change, taller ones at every such interval. */
#define CHECK_ALWAYS_HEIGHT 2
#define CHECK_INTERVAL      64

#define ARGUMENTS_MAX 4
#define WORDS_SHOWN   6

/* One line, cut into words; @expected is NULL if no result is recorded. */
struct line {
	char *object;
	char *call;
	char *arguments[ARGUMENTS_MAX];
	int argument_count;
	char *expected;
};

void tree_lock(struct tree *tree)
{
	if (!tree->external && !tree->locked)
		mtree_lock(&tree->mt);
	tree->locked = !tree->external;
}

void tree_unlock(struct tree *tree)
{
	if (tree->locked)
		mtree_unlock(&tree->mt);
	tree->locked = false;
}

static bool check_tree(struct tree *tree)
{
	const char *reason = NULL;
	bool was_locked = tree->locked;
	bool good;

	tree_lock(tree);
	good = mt_check(&tree->mt, &reason);
	if (!was_locked)
		tree_unlock(tree);
	if (!good)
		printf("  mt_check: %s\n", reason ? reason : "no reason given");
	return good;
}

/* Checks small trees always, tall ones sometimes. */
static bool check_changed(struct tree *tree)
{
	tree->changes++;
	if (mt_height(&tree->mt) > CHECK_ALWAYS_HEIGHT && tree->changes % CHECK_INTERVAL)
		return true;
	return check_tree(tree);
}

/* ---- lines ------------------------------------------------------------------------------ */

/* Cuts @text in place. False if it has too few or too many words. */
static bool split_line(char *text, struct line *line)
{
	char *save = NULL;
	char *results = strstr(text, " = ");
	char *word;

	*line = (struct line){ 0 };
	if (results) {
		*results = 0;
		line->expected = results + 3;
	}
	line->object = strtok_r(text, " ", &save);
	line->call = strtok_r(NULL, " ", &save);
	while ((word = strtok_r(NULL, " ", &save))) {
		if (line->argument_count == ARGUMENTS_MAX)
			return false;
		line->arguments[line->argument_count++] = word;
	}
	return line->object && line->call;
}

/* The number behind the letter in "t3" or "m12", or -1. */
static int object_number(const char *word, char letter, int limit)
{
	char *end;
	long number;

	if (word[0] != letter || word[1] < '0' || word[1] > '9')
		return -1;
	number = strtol(word + 1, &end, 10);
	return *end == 0 && number < limit ? (int)number : -1;
}

static bool read_argument(struct replay *r, char kind, const char *word, struct argument *argument)
{
	int number;

	switch (kind) {
	case 'I':
		return word_index(word, &argument->index);
	case 'E':
		return word_entry(word, &argument->entry);
	default:
		number = object_number(word, 't', TREES);
		if (number < 0 || !r->trees[number].live)
			return false;
		argument->tree = &r->trees[number];
		return true;
	}
}

static bool read_arguments(struct replay *r, const struct call *call, const struct line *line,
			   struct argument *arguments)
{
	if ((size_t)line->argument_count != strlen(call->signature))
		return false;
	for (int i = 0; i < line->argument_count; i++) {
		if (!read_argument(r, call->signature[i], line->arguments[i], &arguments[i]))
			return false;
	}
	return true;
}

/* ---- results ---------------------------------------------------------------------------- */

static bool words_equal(const char *a, size_t a_length, const char *b, size_t b_length)
{
	return a_length == b_length && memcmp(a, b, a_length) == 0;
}

/* Compares word for word; "-" is not compared. Returns the first that differs, or -1. */
static long first_difference(const char *expected, const char *got)
{
	for (long word = 0;; word++) {
		size_t expected_length = strcspn(expected, " ");
		size_t got_length = strcspn(got, " ");

		if (expected_length == 0 && got_length == 0)
			return -1;
		if (expected_length == 0 || got_length == 0)
			return word;
		if (!words_equal(expected, expected_length, "-", 1) &&
		    !words_equal(expected, expected_length, got, got_length))
			return word;
		expected += expected_length + (expected[expected_length] == ' ');
		got += got_length + (got[got_length] == ' ');
	}
}

/* Prints up to WORDS_SHOWN words, from @word on. */
static void print_words(const char *label, const char *text, long word)
{
	long from = word < WORDS_SHOWN ? 0 : word - 1;
	const char *end;

	for (long i = 0; i < from && *text; i++) {
		text += strcspn(text, " ");
		text += *text == ' ';
	}
	end = text;
	for (int i = 0; i < WORDS_SHOWN && *end; i++)
		end += (*end == ' ') + strcspn(end + (*end == ' '), " ");
	printf("  %s%s%.*s%s\n", label, from ? "... " : "", (int)(end - text), text,
	       *end ? " ..." : "");
}

static bool compare(const char *expected, const char *got)
{
	long word = first_difference(expected, got);

	if (word < 0)
		return true;
	printf("  result %ld differs\n", word + 1);
	print_words("expected: ", expected, word);
	print_words("got:      ", got, word);
	return false;
}

/* ---- one line --------------------------------------------------------------------------- */

static bool bad_line(const char *why, const char *word)
{
	printf("  bad line: %s '%s'\n", why, word);
	return false;
}

/* "t init [alloc] [rcu] [extern]" */
static bool init_tree(struct tree *tree, const struct line *line)
{
	unsigned int flags = 0;

	if (tree->live && !mtree_empty(&tree->mt))
		return bad_line("initialised again while it holds entries:", line->object);
	tree_unlock(tree);
	for (int i = 0; i < line->argument_count; i++) {
		if (strcmp(line->arguments[i], "alloc") == 0)
			flags |= MT_FLAGS_ALLOC_RANGE;
		else if (strcmp(line->arguments[i], "rcu") == 0)
			flags |= MT_FLAGS_USE_RCU;
		else if (strcmp(line->arguments[i], "extern") == 0)
			flags |= MT_FLAGS_LOCK_EXTERN;
		else
			return bad_line("unknown flag", line->arguments[i]);
	}
	if (flags)
		mt_init_flags(&tree->mt, flags);
	else
		mt_init(&tree->mt);
	tree->external = flags & MT_FLAGS_LOCK_EXTERN;
	tree->live = true;
	return true;
}

static bool call_tree(struct replay *r, struct tree *tree, const struct line *line)
{
	struct argument arguments[ARGUMENTS_MAX] = { 0 };
	const struct call *call;

	if (strcmp(line->call, "init") == 0)
		return init_tree(tree, line);
	call = call_find('t', line->call);
	if (!call)
		return bad_line("unknown call", line->call);
	if (!tree->live)
		return bad_line("no such tree:", line->object);
	if (!read_arguments(r, call, line, arguments))
		return bad_line("bad arguments of", line->call);
	if (call->lock == lock_free)
		tree_unlock(tree);
	call->tree(r, tree, arguments);
	if (!call->changes)
		return true;
	return check_changed(tree) && (!arguments[0].tree || check_changed(arguments[0].tree));
}

static bool call_cursor(struct replay *r, struct cursor *cursor, const struct line *line)
{
	struct argument arguments[ARGUMENTS_MAX] = { 0 };
	const struct call *call = call_find('m', line->call);

	if (!call)
		return bad_line("unknown call", line->call);
	if (!read_arguments(r, call, line, arguments))
		return bad_line("bad arguments of", line->call);
	if (call->signature[0] != 'T' && !cursor->tree)
		return bad_line("no such cursor:", line->object);
	if (call->lock == lock_held)
		tree_lock(cursor->tree);
	call->cursor(r, cursor, arguments);
	return !call->changes || check_changed(cursor->tree);
}

/* @text is cut up. False, and the reason on standard output, if anything differs. */
static bool replay_line(struct replay *r, char *text)
{
	struct line line;
	int number;
	bool good;

	if (!split_line(text, &line))
		return bad_line("too few or too many words", "");
	results_clear(&r->got);
	number = object_number(line.object, 't', TREES);
	if (number >= 0) {
		good = call_tree(r, &r->trees[number], &line);
	} else {
		number = object_number(line.object, 'm', CURSORS);
		if (number < 0)
			return bad_line("no such object:", line.object);
		good = call_cursor(r, &r->cursors[number], &line);
	}
	if (line.expected && !compare(line.expected, r->got.text ? r->got.text : ""))
		return false;
	return good;
}

/* ---- one file --------------------------------------------------------------------------- */

/* The whole file, inflated, with a terminating 0; NULL and a message if it cannot be read. */
static char *read_file(const char *path)
{
	size_t length = 0;
	size_t size = 1 << 20;
	char *text = malloc(size);
	gzFile file = gzopen(path, "r");
	int count = -1;

	while (text && file && (count = gzread(file, text + length, size - length - 1)) > 0) {
		length += count;
		if (size - length < 1 << 16) {
			char *larger = realloc(text, size * 2);

			if (!larger)
				break;
			text = larger;
			size *= 2;
		}
	}
	if (count != 0) {
		int error = errno;

		printf("  cannot read: %s\n",
		       file && gzerror(file, &error)[0] ? gzerror(file, &error) : strerror(error));
		free(text);
		text = NULL;
	} else {
		text[length] = 0;
	}
	if (file)
		gzclose(file);
	return text;
}

/* Destroys all trees; false if one was not sound at the end, or not empty afterwards. */
static bool end_replay(struct replay *r)
{
	bool good = true;

	for (int i = 0; i < TREES; i++) {
		struct tree *tree = &r->trees[i];

		if (!tree->live)
			continue;
		good &= check_tree(tree);
		tree_unlock(tree);
		if (tree->external)
			__mt_destroy(&tree->mt);
		else
			mtree_destroy(&tree->mt);
		if (!mtree_empty(&tree->mt)) {
			printf("  t%d is not empty after its destruction\n", i);
			good = false;
		}
	}
	results_free(&r->got);
	return good;
}

bool replay_file(const char *path, volatile unsigned long *line)
{
	struct replay *r = calloc(1, sizeof(*r));
	char *text = read_file(path);
	char *next = text;
	bool good = r && text;
	unsigned long calls = 0;

	*line = 0;
	while (good && *next) {
		char *current = next;
		size_t length = strcspn(current, "\n");
		char shown[100];

		next += length + (current[length] == '\n');
		current[length] = 0;
		++*line;
		if (*current == 0 || *current == '#')
			continue;
		calls++;
		snprintf(shown, sizeof(shown), "%s", current);
		good = replay_line(r, current);
		if (!good)
			printf("%s:%lu: %s%s\n", path, *line, shown,
			       length >= sizeof(shown) ? "..." : "");
	}
	if (good && calls == 0) {
		printf("%s: no call in it\n", path);
		good = false;
	}
	if (r && text && !end_replay(r)) {
		printf("%s: at the end\n", path);
		good = false;
	}
	free(text);
	free(r);
	return good;
}
