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
#include "report/history.h"
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

/* What becomes of the log: one of the two, as both want space->user. */
struct told {
	bool draws;
	struct blame blame;
	struct history history;
};

static void notify(void *ctx, enum replay_event event, struct replay_space *space,
		 const struct step *step, const struct vmspace_request *req, const char *why)
{
	struct told *told = ctx;
	char text[512] = "";

	check(space);
	if (print_calls && req) {
		vmspace_request_text(req, text, sizeof(text));
		printf("line %lu: space %u: %s = %#lx%s%s\n", step->line, space->id, text,
		       (unsigned long)req->out.result, why ? ": " : "", why ? why : "");
	}
	if (told->draws)
		history_notify(&told->history, event, space, step, req, why);
	else
		blame_notify(&told->blame, event, space, step, req, why);
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

static void explain(struct told *told, FILE *to)
{
	const struct explain_view view = { .rows = 5, .limit_assumed = true };

	if (told->blame.most && !told->blame.failed)
		explain_space(to, told->blame.most, told->blame.space_count, &view);
}

static void draw(struct told *told, FILE *to)
{
	struct picture picture = {
		.title = "a log", .width = 1000, .max_height = 500,
		.spaces = told->history.spaces, .space_count = told->history.space_count,
	};

	if (told->history.failed)
		return;
	picture_write(to, &told->history, &picture);
	picture.by_call = true;
	picture_write(to, &told->history, &picture);
}

static void read_log(struct told *told, const uint8_t *bytes, size_t size)
{
	const struct replay_listener listener = { .ctx = told, .notify = notify };
	FILE *file = fmemopen((void *)bytes, size, "r");
	struct reader *reader = file ? reader_open(file) : NULL;
	struct replay_state *state = replay_state_new(&listener);

	if (reader && state)
		play(reader, state);
	replay_state_free(state);
	reader_close(reader);
	if (file)
		fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static FILE *nowhere;

	if (size == 0)
		return 0;
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	for (int draws = 0; draws < 2; draws++) {
		struct told told = { .draws = draws };

		blame_init(&told.blame, 0);
		history_init(&told.history);
		read_log(&told, bytes, size);
		if (nowhere && draws)
			draw(&told, nowhere);
		else if (nowhere)
			explain(&told, nowhere);
		blame_clear(&told.blame);
		history_clear(&told.history);
	}
	return 0;
}
