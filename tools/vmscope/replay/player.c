/* SPDX-License-Identifier: MIT */
/* Replaying a log from its first line to its last: what replay, explain and draw have in common. */
#include "replay/player.h"

#include <errno.h>
#include <mapletree/vmspace_rules.h>
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "replay/progress.h"

static void complain(struct player *player, unsigned long line, const char *why)
{
	player->malformed++;
	progress_clear();
	if (player->malformed <= player->max_malformed)
		session_say("%s:%lu: skipped: %s", player->path, line, why);
	if (player->malformed == player->max_malformed + 1)
		session_say("%s: more such lines follow", player->path);
}

/* The answer goes without what the log does not tell. */
static void say_untold(struct player *player, const struct step *step)
{
	progress_clear();
	if (player->untold++ < player->max_malformed)
		session_say("%s:%lu: %s of process %d: %s", player->path, step->line, step->call,
			    (int)step->pid, step->untold);
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t capacity = 0;
	ssize_t length = -1;

	if (!file)
		return NULL;
	errno = 0;
	length = getdelim(&text, &capacity, '\0', file);
	if (length < 0 && errno == 0)
		errno = ENODATA;
	fclose(file);
	if (length >= 0)
		return text;
	free(text);
	return NULL;
}

static int set_maps(struct player *player, struct reader *reader)
{
	unsigned long line;
	char *text;

	if (!player->maps_path)
		return 0;
	if (reader_format(reader) != READER_STRACE) {
		session_say("--maps is for logs of strace; %s tells itself which areas there were",
			    player->path);
		return -1;
	}
	text = read_text(player->maps_path);
	if (!text) {
		session_say("cannot read %s: %s", player->maps_path, strerror(errno));
		return -1;
	}
	line = reader_set_maps(reader, text);
	free(text);
	if (line == 0)
		return 0;
	session_say("%s:%lu: this is not a line of /proc/PID/maps or smaps", player->maps_path,
		    line);
	return -1;
}

/* Reading has come to its end. Returns 0. */
static int end(struct player *player, const struct reader *reader)
{
	const struct lines *lines = reader_lines(reader);

	player->interrupted = lines_stopped(lines);
	if (!player->interrupted)
		return 0;
	progress_clear();
	if (lines_size(lines))
		session_say("%s: interrupted after line %lu, %.0f%% of it: the answer is about "
			    "these lines only", player->path, reader_line(reader),
			    100 * (double)lines_position(lines) / (double)lines_size(lines));
	else
		session_say("%s: interrupted after line %lu: the answer is about these lines only",
			    player->path, reader_line(reader));
	return 0;
}

/* Reads and applies a step. Returns 1 to continue, 0 at the end, -1 after printing a message. */
static int play_step(struct player *player, struct reader *reader, struct replay_state *state)
{
	enum reader_result result;
	const struct step *step;
	const char *why;
	int rc;

	result = reader_next(reader, &step);
	if (progress_interrupted())
		lines_stop(reader_lines(reader));
	progress_step(player->path, reader_lines(reader));
	switch (result) {
	case READER_END:
		return end(player, reader);
	case READER_FAILED:
		progress_clear();
		session_say("cannot read %s: %s", player->path, reader_why(reader));
		return -1;
	case READER_MALFORMED:
		complain(player, reader_line(reader), reader_why(reader));
		return 1;
	case READER_STEP:
		break;
	}
	if (player->until && step->line > player->until)
		return 0;
	rc = replay_state_apply(state, step, &why);
	if (rc == -ENOMEM) {
		progress_clear();
		session_say("out of memory at line %lu of %s", step->line, player->path);
		return -1;
	}
	if (rc != 0)
		complain(player, step->line, why);
	if (step->untold)
		say_untold(player, step);
	return 1;
}

/* There is no address space to answer about. Returns -1. */
static int say_nothing(const struct player *player, const struct reader *reader)
{
	progress_clear();
	if (reader_has_begun(reader))
		session_say("%s is a log of vmscope that tells of no address space%s", player->path,
			    player->until ? " until there" : !player->cut ? "" :
			    ": it ends before a program has begun");
	else
		session_say("%s is neither a log of 'vmscope trace -o' nor output of strace that "
			    "tells of memory%s", player->path,
			    player->lines ? "" : ": it is empty");
	return -1;
}

/* What is missing before the end of what was read. */
static void say_gaps(const struct player *player)
{
	const struct log_gaps *gaps = &player->gaps;

	progress_clear();
	if (gaps->events)
		session_say("%s: vmscope watch lost %lu events, which it first noticed %.1f s "
			    "after the beginning: calls are missing, and areas may differ from "
			    "what the process had until the log shows them again", player->path,
			    gaps->events, gaps->since);
	if (gaps->unfollowed)
		session_say("%s: %lu %s not followed to the end: the last areas in the log may not "
			    "be what there was then", player->path, gaps->unfollowed,
			    gaps->unfollowed == 1 ? "process was" : "processes were");
}

static int play(struct player *player, struct reader *reader, struct replay_state *state)
{
	int rc;

	player->format = reader_format(reader);
	if (set_maps(player, reader) != 0)
		return -1;
	if (player->kernel && !reader_set_kernel(reader, player->kernel)) {
		session_say("--kernel: the rules of Linux '%s' are not known; those from "
			    VMSPACE_KERNEL_OLDEST " to " VMSPACE_KERNEL_NEWEST " are",
			    player->kernel);
		return -1;
	}
	if (player->stacks)
		reader_keep_stacks(reader);
	while ((rc = play_step(player, reader, state)) > 0)
		;
	player->lines = reader_line(reader);
	player->unknown = reader_unknown(reader);
	player->cut = !player->until && !player->interrupted && reader_is_cut(reader);
	player->gaps = reader_gaps(reader);
	player->totals = *replay_state_totals(state);
	if (rc == 0 && player->totals.spaces == 0 && !player->interrupted)
		return say_nothing(player, reader);
	if (rc == 0 && !player->quiet)
		say_gaps(player);
	if (rc == 0 && player->cut && !player->quiet) {
		progress_clear();
		session_say("%s: the log has no end: it is written still, or vmscope was killed, or "
			    "could not write it", player->path);
	}
	return rc;
}

int player_run(struct player *player, const struct replay_listener *listener)
{
	FILE *file = strcmp(player->path, "-") == 0 ? stdin : fopen(player->path, "re");
	struct reader *reader;
	struct replay_state *state;
	int rc = -1;

	if (!file) {
		session_say("cannot read %s: %s", player->path, strerror(errno));
		return -1;
	}
	progress_begin(!player->quiet, player->interruptible);
	reader = reader_open(file);
	state = replay_state_new(listener);
	if (!reader || !state)
		session_say("out of memory");
	else
		rc = play(player, reader, state);
	progress_end();
	/* Notifies the listener of the end of all address spaces that are left. */
	replay_state_free(state);
	reader_close(reader);
	if (file != stdin)
		fclose(file);
	return rc;
}
