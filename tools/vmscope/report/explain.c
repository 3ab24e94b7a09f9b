/* SPDX-License-Identifier: MIT */
/* The report of "vmscope explain": tables as text. */
#include "report/explain.h"

#include <string.h>

#include "report/scale.h"

enum { COLUMNS = 64 };	/* of the chart of areas over time */

static double percent(unsigned long part, unsigned long whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Draws a one-line chart of the number of areas over time. */
static void draw_counts(FILE *to, const struct history_space *space)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t next = 0;
	unsigned long areas = 0;

	fputs("  ", to);
	for (unsigned int column = 0; column < COLUMNS; column++) {
		unsigned int moment = space->begin + (unsigned int)
			((unsigned long)(space->until - space->begin) * (column + 1) / COLUMNS);

		while (next < space->count_count && space->counts[next].moment <= moment)
			areas = space->counts[next++].areas;
		fputs(blocks[space->peak ? areas * 7 / space->peak : 0], to);
	}
	fprintf(to, "  at most %lu\n", space->peak);
}

static double peak_time(const struct history *history, const struct history_space *space)
{
	for (size_t i = 0; i < space->count_count; i++)
		if (space->counts[i].areas == space->peak)
			return history->times[space->counts[i].moment];
	return -1;
}

static void print_limit(FILE *to, unsigned long areas, unsigned long limit)
{
	fprintf(to, "%.1f%% of the %lu that vm.max_map_count allows", percent(areas, limit), limit);
	if (areas * 10 >= limit * 9)
		fputs(": the next calls that need an area fail with ENOMEM", to);
	else if (areas * 2 >= limit)
		fputs(": more than half", to);
}

static void print_owners(FILE *to, const struct blame_space *blame, unsigned long rows,
			 const char *when)
{
	unsigned long areas = 0, bytes = 0;
	char size[32];

	fprintf(to, "\nWhat the areas are, %s:\n\n     areas      size  what\n", when);
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
	fprintf(to, "\nNeighbours that are not one: %lu borders, %lu of them between different "
		"things or the segments of a file", borders, natural);
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

void explain_space(FILE *to, const struct history *history, const struct history_space *space,
		   struct blame_space *blame, unsigned long rows)
{
	double when = peak_time(history, space);

	fprintf(to, "Process %d (%s): %lu areas at the end, at most %lu at one time: ",
		(int)space->pid, space->command[0] ? space->command : "?", space->at_end,
		space->peak);
	print_limit(to, space->peak, space->limit);
	fputs(".\n", to);
	if (space->incomplete)
		fputs("Areas that it had when the log begins are not in the log, and not "
		      "counted.\n", to);
	if (space->differs)
		fputs("What libvmspace answered is not what the log says: see vmscope replay.\n",
		      to);
	if (history->space_count > 1)
		fprintf(to, "It is one of %zu address spaces in the log; --pid chooses another.\n",
			history->space_count);
	fprintf(to, "\nAreas over time (%lu calls", space->calls);
	if (when >= 0)
		fprintf(to, "; the most after %.3f s", when);
	fputs("):\n\n", to);
	draw_counts(to, space);
	fputs("\nThe calls that made areas and cut them:\n", to);
	print_table(to, &blame->calls, rows, "call", true);
	if (blame->threads.count > 1)
		print_table(to, &blame->threads, rows, "thread", false);
	print_owners(to, blame, rows, "at the end");
	print_neighbours(to, &blame->neighbours, rows);
}

void explain_process(FILE *to, const char *command, pid_t pid, unsigned long limit,
		     const struct blame_space *blame, unsigned long rows)
{
	fprintf(to, "Process %d (%s): %lu areas: ", (int)pid, command, blame->areas);
	print_limit(to, blame->areas, limit);
	fputs(".\n", to);
	print_owners(to, blame, rows, "now");
	print_neighbours(to, &blame->neighbours, rows);
}
