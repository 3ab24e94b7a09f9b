/* SPDX-License-Identifier: MIT */
/*
 * log_fuzzer.c - plays bytes as a log, of vmscope or of strace, and explains and draws what comes of it: any
 * input is a log with more or fewer malformed lines; after each step every invariant.
 */
#include "fuzzer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "account.h"
#include "blame.h"
#include "picture.h"
#include "reader.h"
#include "story.h"

/* A fork copies all areas: a few lines could ask for very many. */
enum { SPACES_MAX = 64 };

static bool print_calls;

void fuzzer_print_calls(void)
{
	print_calls = true;
}

static void check(const struct story_space *space)
{
	const char *reason = NULL;

	if (vmspace_check(space->vm, &reason))
		return;
	fprintf(stderr, "log fuzzer: an address space is damaged: %s\n", reason);
	abort();
}

static void told(void *ctx, enum story_event event, struct story_space *space,
		 const struct step *step, const struct vmspace_request *req, const char *why)
{
	char text[512] = "";

	check(space);
	if (print_calls && req) {
		vmspace_request_text(req, text, sizeof(text));
		printf("line %lu: space %u: %s = %#lx%s%s\n", step->line, space->id, text,
		       (unsigned long)req->out.result, why ? ": " : "", why ? why : "");
	}
	blame_told(ctx, event, space, step, req, why);
}

static void play(struct reader *reader, struct story *story)
{
	for (;;) {
		const struct step *step;
		const char *why;

		switch (reader_next(reader, &step)) {
		case READER_STEP:
			if (story_totals(story)->spaces >= SPACES_MAX)
				return;
			if (story_apply(story, step, &why) != 0 && print_calls)
				printf("line %lu: skipped: %s\n", step->line, why);
			break;
		case READER_MALFORMED:
			if (print_calls)
				printf("line %lu: malformed: %s\n", reader_line(reader),
				       reader_why(reader));
			break;
		default:
			return;
		}
	}
}

static void tell(struct blame *blame, FILE *to)
{
	struct picture picture = {
		.title = "a log", .width = 1000, .max_height = 500,
		.spaces = blame->history.spaces, .space_count = blame->history.space_count,
	};

	for (size_t i = 0; i < blame->history.space_count; i++) {
		const struct history_space *space = blame->history.spaces[i];

		account_space(to, &blame->history, space, blame_find(blame, space->id), 5);
	}
	picture_write(to, &blame->history, &picture);
	picture.by_call = true;
	picture_write(to, &blame->history, &picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static FILE *nowhere;
	struct story_listener listener = { .told = told };
	struct blame blame;
	struct reader *reader;
	struct story *story;
	FILE *file;

	if (size == 0)
		return 0;
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	file = fmemopen((void *)bytes, size, "r");
	blame_init(&blame);
	listener.ctx = &blame;
	reader = file ? reader_open(file) : NULL;
	story = story_new(&listener);
	if (reader && story)
		play(reader, story);
	story_free(story);
	if (nowhere && !blame.failed && !blame.history.failed)
		tell(&blame, nowhere);
	reader_close(reader);
	blame_clear(&blame);
	if (file)
		fclose(file);
	return 0;
}
