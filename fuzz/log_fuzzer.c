/* SPDX-License-Identifier: MIT */
/*
 * log_fuzzer.c - replays bytes as a log of vmscope or of strace, checks every invariant after each
 * step, then explains and draws the result. Any input is a log, with more or fewer malformed lines.
 */
#include "fuzzer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/explain.h"
#include "report/blame.h"
#include "report/picture.h"
#include "replay/reader.h"
#include "replay/replay_state.h"

/* A fork copies all areas: a few lines could ask for very many. */
enum { SPACES_MAX = 64 };

static bool print_calls;

void fuzzer_print_calls(void)
{
	print_calls = true;
}

static void check(const struct replay_space *space)
{
	const char *reason = NULL;

	if (vmspace_check(space->vm, &reason))
		return;
	fprintf(stderr, "log fuzzer: an address space is damaged: %s\n", reason);
	abort();
}

static void notify(void *ctx, enum replay_event event, struct replay_space *space,
		 const struct step *step, const struct vmspace_request *req, const char *why)
{
	char text[512] = "";

	check(space);
	if (print_calls && req) {
		vmspace_request_text(req, text, sizeof(text));
		printf("line %lu: space %u: %s = %#lx%s%s\n", step->line, space->id, text,
		       (unsigned long)req->out.result, why ? ": " : "", why ? why : "");
	}
	blame_notify(ctx, event, space, step, req, why);
}

static void play(struct reader *reader, struct replay_state *state)
{
	for (;;) {
		const struct step *step;
		const char *why;

		switch (reader_next(reader, &step)) {
		case READER_STEP:
			if (replay_state_totals(state)->spaces >= SPACES_MAX)
				return;
			if (replay_state_apply(state, step, &why) != 0 && print_calls)
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

		explain_space(to, &blame->history, space, blame_find(blame, space->id), 5);
	}
	picture_write(to, &blame->history, &picture);
	picture.by_call = true;
	picture_write(to, &blame->history, &picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static FILE *nowhere;
	struct replay_listener listener = { .notify = notify };
	struct blame blame;
	struct reader *reader;
	struct replay_state *state;
	FILE *file;

	if (size == 0)
		return 0;
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	file = fmemopen((void *)bytes, size, "r");
	blame_init(&blame);
	listener.ctx = &blame;
	reader = file ? reader_open(file) : NULL;
	state = replay_state_new(&listener);
	if (reader && state)
		play(reader, state);
	replay_state_free(state);
	if (nowhere && !blame.failed && !blame.history.failed)
		tell(&blame, nowhere);
	reader_close(reader);
	blame_clear(&blame);
	if (file)
		fclose(file);
	return 0;
}
