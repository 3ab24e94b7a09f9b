/* SPDX-License-Identifier: MIT */
/* The report of "vmscope explain": tables as text. */
#include "report/explain.h"

#include <string.h>

#include "base/color.h"
#include "report/room.h"
#include "report/scale.h"

enum { COLUMNS = 64 };	/* of the chart of areas over time */

static double percent(unsigned long part, unsigned long whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Draws a one-line chart of the number of areas over time. */
static void draw_counts(FILE *to, const struct blame_space *space)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

	fputs("  ", to);
	for (unsigned int column = 0; column < COLUMNS; column++) {
		unsigned long areas = course_most(&space->course, column, COLUMNS);

		fputs(blocks[space->peak ? areas * 7 / space->peak : 0], to);
	}
	fprintf(to, "  at most %lu\n", space->peak);
}

static void print_limit(FILE *to, unsigned long areas, unsigned long limit, bool assumed)
{
	fprintf(to, "%.1f%% of the %lu that vm.max_map_count allows%s.\n", percent(areas, limit),
		limit, assumed ? " unless it is set otherwise" : "");
}

/* What fits still; near the limit, what is refused already, and what will be. */
static void print_room(FILE *to, unsigned long areas, unsigned long limit, bool incomplete)
{
	bool near = areas * 10 >= limit * 9, any = false;

	if (near)
		fputs(color_on(to, COLOR_WARNING), to);
	if (areas > limit)
		fputs("No other area fits", to);
	else
		fprintf(to, "%s%lu more fit", incomplete ? "At most " : "",
			room_left(areas, limit));
	for (int i = 0; i < ROOM_REFUSALS; i++)
		if (room_is_refused(&room_refusals[i], areas, limit)) {
			fprintf(to, "%s%s", any ? ", " : ". Refused with ENOMEM (madvise: EAGAIN) now: ",
				room_refusals[i].what);
			any = true;
		}
	fprintf(to, ".%s\n", near ? color_off(to) : "");
	if (areas * 2 < limit || areas > limit)
		return;
	fputs("Refused with ENOMEM (madvise: EAGAIN) from that many areas on:", to);
	for (int i = 0; i < ROOM_REFUSALS; i++)
		if (!room_is_refused(&room_refusals[i], areas, limit))
			fprintf(to, " %ld: %s%s", (long)limit + room_refusals[i].from,
				room_refusals[i].what, i + 1 < ROOM_REFUSALS ? ";" : ".\n");
}

static void format_duration(double seconds, char *buf, size_t size)
{
	if (seconds < 600)
		snprintf(buf, size, "%.*f seconds", seconds < 10, seconds);
	else if (seconds < 2 * 3600)
		snprintf(buf, size, "%.0f minutes", seconds / 60);
	else if (seconds < 48 * 3600)
		snprintf(buf, size, "%.1f hours", seconds / 3600);
	else
		snprintf(buf, size, "%.1f days", seconds / 86400);
}

/* At which rate it fills, and when mmap() will be refused if it goes on like that. */
static void print_growth(FILE *to, const struct blame_space *space)
{
	struct room_growth growth;
	char during[32], left[32];

	if (!room_growth(space, &growth))
		return;
	format_duration(growth.seconds, during, sizeof(during));
	if (growth.gained <= 0) {
		fprintf(to, "It did not gain any in the last %s.\n", during);
		return;
	}
	fprintf(to, "It gained %ld in the last %s, %.*f a second", growth.gained, during,
		growth.rate < 10 ? 2 : 0, growth.rate);
	if (growth.left >= 0) {
		format_duration(growth.left, left, sizeof(left));
		fprintf(to, ": at this rate the limit is reached %s later", left);
	}
	fputs(".\n", to);
}

static void print_owners(FILE *to, const struct blame_space *blame, unsigned long rows,
			 const char *when)
{
	unsigned long areas = 0, bytes = 0;
	char size[32];

	fprintf(to, "\n%sWhat the areas are, %s%s:\n\n     areas      size  what\n",
		color_on(to, COLOR_HEADING), when, color_off(to));
	for (size_t i = 0; i < blame->owner_count; i++) {
		const struct blame_owner *owner = &blame->owners[i];

		if (i >= rows) {
			areas += owner->areas;
			bytes += owner->bytes;
			continue;
		}
		scale_format_size(owner->bytes, size, sizeof(size));
		fprintf(to, "  %8lu  %8s  %s\n", owner->areas, size, owner->what);
	}
	if (areas) {
		scale_format_size(bytes, size, sizeof(size));
		fprintf(to, "  %8lu  %8s  %zu others\n", areas, size,
			blame->owner_count - (size_t)rows);
	}
}

static void print_refused(FILE *to, const struct blame_row *row)
{
	bool first = true;

	for (int verdict = 0; verdict < VMA_VERDICT_COUNT; verdict++) {
		if (!row->refused[verdict] || verdict == VMA_NOT_ADJACENT ||
		    verdict == VMA_MERGE_NONE)
			continue;
		fprintf(to, "%s%s (%lu)", first ? "\n            not merged: " : ", ",
			vma_verdict_text((enum vma_verdict)verdict), row->refused[verdict]);
		first = false;
	}
	fputc('\n', to);
}

static void print_table(FILE *to, struct blame_table *table, unsigned long rows, const char *what,
			bool refused)
{
	struct blame_row rest = { .calls = 0 };
	size_t others = 0;

	blame_sort(table);
	fprintf(to, "\n     calls   +areas   -areas   splits   merges  %s\n", what);
	for (size_t i = 0; i < table->count; i++) {
		const struct blame_row *row = &table->rows[i];

		if (i >= rows) {
			rest.calls += row->calls;
			rest.made += row->made;
			rest.gone += row->gone;
			rest.splits += row->splits;
			rest.merges += row->merges;
			others++;
			continue;
		}
		fprintf(to, "  %8lu %8lu %8lu %8lu %8lu  %s", row->calls, row->made, row->gone,
			row->splits, row->merges, row->what);
		if (refused)
			print_refused(to, row);
		else
			fputc('\n', to);
	}
	if (others)
		fprintf(to, "  %8lu %8lu %8lu %8lu %8lu  %zu others\n", rest.calls, rest.made,
			rest.gone, rest.splits, rest.merges, others);
}

static void print_group(FILE *to, const struct neighbours_group *group)
{
	char flags[256];

	fprintf(to, "  %6lu  %s | %s\n          %s", group->borders, group->left, group->right,
		group->verdict == VMA_NOT_TRIED ? "no difference that is known" :
					       vma_verdict_text(group->verdict));
	if (group->differ) {
		vma_flags_text(group->differ, flags, sizeof(flags));
		fprintf(to, " (%.*s)", (int)(strlen(flags) - 1), flags);
	}
	fprintf(to, ", e.g. at %lx\n          -> %s\n", group->example, neighbours_advice(group));
}

static void print_neighbours(FILE *to, const struct neighbours *found, unsigned long rows)
{
	unsigned long borders = 0, natural = 0, shown = 0;
	char size[32];

	for (size_t i = 0; i < found->count; i++) {
		const struct neighbours_group *group = &found->groups[i];
		bool plain = group->one_file || group->verdict == VMA_DIFFERENT_FILE ||
			     group->verdict == VMA_SPECIAL;

		borders += group->borders;
		natural += plain ? group->borders : 0;
	}
	fprintf(to, "\n%sNeighbours that are not one%s: %lu borders, %lu of them between different "
		"things or the segments of a file", color_on(to, COLOR_HEADING), color_off(to),
		borders, natural);
	fputs(borders > natural ? ". The others:\n\n" : ".\n", to);
	for (size_t i = 0; i < found->count && shown < rows; i++) {
		const struct neighbours_group *group = &found->groups[i];

		if (group->one_file || group->verdict == VMA_DIFFERENT_FILE ||
		    group->verdict == VMA_SPECIAL)
			continue;
		print_group(to, group);
		shown++;
	}
	if (found->run_count)
		fputs("\nAnonymous areas side by side, without a hole:\n\n", to);
	for (size_t i = 0; i < found->run_count && i < rows; i++) {
		const struct neighbours_run *run = &found->runs[i];

		scale_format_size(run->end - run->start, size, sizeof(size));
		fprintf(to, "  %6lu  %lx-%lx  %s: %s, %s ...\n", run->areas, run->start, run->end,
			size, run->first, run->second);
	}
}

static void print_head(FILE *to, const struct blame_space *space, unsigned long spaces,
		       const struct explain_view *view)
{
	if (view->read)
		fprintf(to, "This is partial: only the first %lu lines of the log were read.\n",
			view->read);
	if (view->gaps.events)
		fprintf(to, "This is partial: %lu events were lost, which was first noticed after "
			"%.1f s; calls are missing, and numbers of areas may be wrong.\n",
			view->gaps.events, view->gaps.since);
	fprintf(to, "Process %d (%s): %lu areas at the end, at most %lu at one time: ",
		(int)space->pid, space->command[0] ? space->command : "?", space->areas,
		space->peak);
	print_limit(to, space->peak, space->limit, view->limit_assumed);
	if (!space->ended)
		print_room(to, space->areas, space->limit, space->incomplete);
	else if (space->peak + 5 >= space->limit)
		fputs("It reached that: calls were refused with ENOMEM.\n", to);
	print_growth(to, space);
	if (space->incomplete)
		fputs("Areas that it had when the log begins are not in the log, and not "
		      "counted.\n", to);
	if (space->differs)
		fputs("What libvmspace answered is not what the log says: see vmscope replay.\n",
		      to);
	if (spaces > 1)
		fprintf(to, "It is one of %lu address spaces in the log; --pid chooses another.\n",
			spaces);
}

void explain_space(FILE *to, struct blame_space *space, unsigned long spaces,
		   const struct explain_view *view)
{
	print_head(to, space, spaces, view);
	fprintf(to, "\n%sAreas over time%s (%lu calls", color_on(to, COLOR_HEADING), color_off(to),
		space->calls);
	if (space->peak_time >= 0)
		fprintf(to, "; the most after %.3f s", space->peak_time);
	fputs("):\n\n", to);
	draw_counts(to, space);
	fprintf(to, "\n%sThe calls that made areas and cut them%s:\n",
		color_on(to, COLOR_HEADING), color_off(to));
	print_table(to, &space->calls_by_kind, view->rows, "call", true);
	if (space->threads.count > 1)
		print_table(to, &space->threads, view->rows, "thread", false);
	print_owners(to, space, view->rows, "at the end");
	print_neighbours(to, &space->neighbours, view->rows);
}

void explain_process(FILE *to, const char *command, pid_t pid, unsigned long limit,
		     const struct blame_space *blame, const struct explain_view *view)
{
	fprintf(to, "Process %d (%s): %lu areas: ", (int)pid, command, blame->areas);
	print_limit(to, blame->areas, limit, false);
	print_room(to, blame->areas, limit, false);
	print_owners(to, blame, view->rows, "now");
	print_neighbours(to, &blame->neighbours, view->rows);
}
