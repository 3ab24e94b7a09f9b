/* SPDX-License-Identifier: MIT */
/* The past of a log: each of its address spaces, as it was after any of the log's lines. */
#include "replay/past.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/session.h"

struct tick {
	double time;			/* the latest so far: threads may be out of order */
	unsigned long line;
};

struct past {
	struct past_space **spaces;	/* in the order in which they began */
	size_t space_count, space_capacity;
	struct tick *ticks;		/* ascending */
	size_t tick_count, tick_capacity;
	double origin;			/* see struct step */
	bool failed;			/* out of memory */
};

struct past *past_new(void)
{
	return calloc(1, sizeof(struct past));
}

void past_free(struct past *past)
{
	if (!past)
		return;
	for (size_t i = 0; i < past->space_count; i++) {
		vmspace_history_destroy(past->spaces[i]->history);
		free(past->spaces[i]);
	}
	free(past->spaces);
	free(past->ticks);
	free(past);
}

/* Makes room for one more element of @size bytes in *@array. */
static bool grow(void **array, size_t count, size_t *capacity, size_t size)
{
	size_t larger = *capacity ? 2 * *capacity : 64;
	void *grown;

	if (count < *capacity)
		return true;
	grown = reallocarray(*array, larger, size);
	if (!grown)
		return false;
	*array = grown;
	*capacity = larger;
	return true;
}

static struct past_space *add_space(struct past *past, const struct replay_space *space,
				    unsigned long line)
{
	struct past_space *added;

	if (!grow((void **)&past->spaces, past->space_count, &past->space_capacity,
		  sizeof(*past->spaces)))
		return NULL;
	added = calloc(1, sizeof(*added));
	if (!added || vmspace_history_create(&added->history) != 0) {
		free(added);
		return NULL;
	}
	added->pid = space->pid;
	added->first = line;
	added->last = ULONG_MAX;
	past->spaces[past->space_count++] = added;
	return added;
}

static bool note_time(struct past *past, const struct step *step)
{
	const struct tick *last = past->tick_count ? &past->ticks[past->tick_count - 1] : NULL;
	double time = last && step->time < last->time ? last->time : step->time;

	if (step->time < 0)
		return true;
	if (!grow((void **)&past->ticks, past->tick_count, &past->tick_capacity,
		  sizeof(*past->ticks)))
		return false;
	past->origin = step->origin;
	past->ticks[past->tick_count++] = (struct tick){ time, step->line };
	return true;
}

static void notify(void *ctx, enum replay_event event, struct replay_space *space,
		   const struct step *step, const struct vmspace_request *req, const char *why)
{
	struct past *past = ctx;
	struct past_space *of;

	(void)why;
	if (event == REPLAY_SPACE_BEGINS)
		space->user = add_space(past, space, step->line);
	of = space->user;
	if (!of) {
		past->failed = true;
		return;
	}
	memcpy(of->command, space->command, sizeof(of->command));
	of->incomplete = space->incomplete;
	if (event == REPLAY_DIFFERS)
		return;
	if (event == REPLAY_SPACE_ENDS && !step)
		return;
	if (!note_time(past, step))
		past->failed = true;
	if (event == REPLAY_SPACE_ENDS)
		of->last = step->line - 1;
	else if (vmspace_history_record(of->history, space->vm, req ? &req->out : NULL,
					step->line) != 0)
		past->failed = true;
}

int past_play(struct past *past, struct player *player)
{
	const struct replay_listener listener = { .ctx = past, .notify = notify };
	int rc = player_run(player, &listener);

	if (rc == 0 && past->failed) {
		session_say("out of memory");
		rc = -1;
	}
	return rc;
}

size_t past_incomplete(const struct past *past, pid_t pid)
{
	size_t count = 0;

	for (size_t i = 0; i < past->space_count; i++)
		count += past->spaces[i]->incomplete && (!pid || past->spaces[i]->pid == pid);
	return count;
}

bool past_has_times(const struct past *past)
{
	return past->tick_count > 0;
}

bool past_tells(const struct past *past, const struct moment *moment)
{
	return moment_is_told(moment, past->origin);
}

static unsigned long line_at_second(const struct past *past, double seconds)
{
	size_t low = 0, high = past->tick_count; /* below low: not later; from high on: later */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (past->ticks[middle].time <= seconds)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? past->ticks[low - 1].line : 0;
}

unsigned long past_line_at(const struct past *past, const struct moment *moment)
{
	return moment->kind == MOMENT_LINE ? moment->line :
	       line_at_second(past, moment_since(moment, past->origin));
}

const struct past_space *past_next(const struct past *past, unsigned long line,
				   const struct past_space *at)
{
	size_t i = 0;

	while (at && past->spaces[i++] != at)
		;
	for (; i < past->space_count; i++)
		if (past->spaces[i]->first <= line && line <= past->spaces[i]->last)
			return past->spaces[i];
	return NULL;
}
