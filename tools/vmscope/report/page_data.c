/* SPDX-License-Identifier: MIT */
/* The data of the page, which page_data.js decodes; and the summary for those without scripts. */
#include "report/page_data.h"

#include <math.h>
#include <string.h>

enum { ROWS = 300, SUMMARY_ROWS = 20, SUMMARY_SPACES = 50, PAGE_SIZE = 4096 };

/* ---- texts ---------------------------------------------------------------------------------- */

/* How many bytes the UTF-8 character at @text has; 0: it is none. */
static size_t utf8_length(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	const size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 :
			      at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return length;
}

void page_put_html(FILE *to, const char *text)
{
	while (*text) {
		const size_t length = utf8_length(text);

		if (*text == '<')
			fputs("&lt;", to);
		else if (*text == '&')
			fputs("&amp;", to);
		else if (length && ((unsigned char)*text >= 32 || *text == '\n'))
			fwrite(text, 1, length, to);
		else
			putc_unlocked('?', to);
		text += length ? length : 1;
	}
}

static void put_string(FILE *to, const char *text)
{
	putc_unlocked('"', to);
	while (*text) {
		const size_t length = utf8_length(text);

		if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else if ((unsigned char)*text < 32 || *text == '<')
			fprintf(to, "\\u%04x", *text);
		else if (length)
			fwrite(text, 1, length, to);
		else
			putc_unlocked('?', to);
		text += length ? length : 1;
	}
	putc_unlocked('"', to);
}

/* ---- numbers: seven bits a byte, in base64 -------------------------------------------------- */

struct packer {
	FILE *to;
	unsigned int held, bits;	/* the low bits of held are not written yet: so many */
};

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_byte(struct packer *packer, unsigned int byte)
{
	packer->held = packer->held << 8 | byte;
	packer->bits += 8;
	while (packer->bits >= 6) {
		packer->bits -= 6;
		putc_unlocked(base64[packer->held >> packer->bits & 63], packer->to);
	}
}

static void put_number(struct packer *packer, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		put_byte(packer, (unsigned int)(value & 127) | 128);
	put_byte(packer, (unsigned int)value);
}

static void put_signed(struct packer *packer, int64_t value)
{
	put_number(packer, value < 0 ? ((uint64_t)-value << 1) - 1 : (uint64_t)value << 1);
}

static struct packer begin_packed(FILE *to, const char *key)
{
	fprintf(to, "\"%s\":\"", key);
	return (struct packer){ .to = to };
}

/* The bits that are left are the high ones of a last digit. */
static void end_packed(struct packer *packer)
{
	if (packer->bits) {
		putc_unlocked(base64[packer->held << (6 - packer->bits) & 63], packer->to);
		fputs(packer->bits == 4 ? "=" : "==", packer->to);
	}
	fputs("\",\n", packer->to);
}

/* ---- the history ---------------------------------------------------------------------------- */

static bool has_times(const struct history *history)
{
	for (size_t i = 0; i < history->moments; i++)
		if (history->times[i] > 0)
			return true;
	return false;
}

static void put_moments(FILE *to, const struct history *history)
{
	struct packer packer = begin_packed(to, "lines");
	unsigned long line = 0;
	int64_t time = 0;

	for (size_t i = 0; i < history->moments; i++) {
		put_number(&packer, history->lines[i] - line);
		line = history->lines[i];
	}
	end_packed(&packer);
	packer = begin_packed(to, "times");
	for (size_t i = 0; i < history->moments; i++) {
		const double at = history->times[i];
		const int64_t now = at >= 0 && at < 1e9 ? llround(at * 1e6) : time;

		put_signed(&packer, now - time);
		time = now;
	}
	end_packed(&packer);
}

/* Numbers the names that are used, from 1, and writes them. */
static void put_names(FILE *to, const struct history *history, const char *key, bool causes)
{
	unsigned int number = 0;

	fprintf(to, "\"%s\":[", key);
	for (size_t i = 0; i < history->space_count; i++)
		for (size_t k = 0; k < history->spaces[i]->area_count; k++) {
			const struct history_area *area = &history->spaces[i]->areas[k];
			struct name *name = (struct name *)(causes ? area->cause : area->what);

			if (name->number)
				continue;
			name->number = ++number;
			fputs(number > 1 ? ",\n" : "", to);
			put_string(to, name->text);
		}
	fputs("],\n", to);
}

static void put_areas(FILE *to, const struct history *history, const struct history_space *space)
{
	struct packer packer = begin_packed(to, "areas");
	int64_t start = 0, begin = 0;

	for (size_t i = 0; i < space->area_count; i++) {
		const struct history_area *area = &space->areas[i];

		put_signed(&packer, (int64_t)(area->start / PAGE_SIZE) - start);
		start = (int64_t)(area->start / PAGE_SIZE);
		put_number(&packer, (area->end - area->start) / PAGE_SIZE);
		put_signed(&packer, (int64_t)area->begin - begin);
		begin = area->begin;
		put_number(&packer, area->until == HISTORY_OPEN ? 0 : area->until - area->begin);
		put_number(&packer, area->what->number - 1);
		put_number(&packer, area->offset / PAGE_SIZE);
		put_signed(&packer, (int64_t)history->lines[area->begin] - (int64_t)area->line);
		put_signed(&packer, (int64_t)area->tid - space->pid);
		put_number(&packer, area->cause->number - 1);
		put_number(&packer, area->kind + 16U * area->left + 512U * area->right);
	}
	end_packed(&packer);
}

static void put_counts(FILE *to, const struct history_space *space)
{
	struct packer packer = begin_packed(to, "counts");
	unsigned int moment = 0;

	for (size_t i = 0; i < space->count_count; i++) {
		put_number(&packer, space->counts[i].moment - moment);
		moment = space->counts[i].moment;
		put_number(&packer, space->counts[i].areas);
	}
	end_packed(&packer);
}

static void put_space(FILE *to, const struct history *history, const struct history_space *space)
{
	fprintf(to, "{\"id\":%u,\"from\":%u,\"maker\":%u,\"pid\":%d,\"command\":", space->id,
		space->from, space->maker, (int)space->pid);
	put_string(to, space->command);
	fputs(",\"gate\":", to);
	put_string(to, space->gate);
	fprintf(to, ",\"begin\":%u,\"until\":%d,\"ended\":%s,\"incomplete\":%s,\"differs\":%s,"
		"\"leftOut\":%s,\"calls\":%lu,\"peak\":%lu,\"atEnd\":%lu,\"limit\":%lu,\n",
		space->begin, space->until == HISTORY_OPEN ? -1 : (int)space->until,
		space->ended ? "true" : "false", space->incomplete ? "true" : "false",
		space->differs ? "true" : "false", space->left_out ? "true" : "false",
		space->calls, space->peak, space->at_end, space->limit);
	put_areas(to, history, space);
	put_counts(to, space);
	fputs("\"forks\":[", to);
	for (size_t i = 0; i < space->fork_count; i++)
		fprintf(to, "%s[%u,%d,%u]", i ? "," : "", space->forks[i].moment,
			(int)space->forks[i].child, space->forks[i].space);
	fputs("]}", to);
}

static void put_table(FILE *to, const char *key, struct blame_table *table)
{
	fprintf(to, "\"%s\":[", key);
	for (size_t i = 0; i < table->count && i < ROWS; i++) {
		const struct blame_row *row = &table->rows[i];

		fprintf(to, "%s[%lu,%lu,%lu,%lu,%lu,", i ? ",\n" : "", row->calls, row->made,
			row->gone, row->splits, row->merges);
		put_string(to, row->what);
		putc_unlocked(']', to);
	}
	fputs("],\n", to);
}

static void format_about(const struct page *page, char *buf, size_t size)
{
	const struct history *history = &page->history;

	snprintf(buf, size, "%zu address spaces, %lu calls, in %lu lines of the log that may have "
		 "changed areas.", history->space_count + history->forgotten, page->call_count,
		 history->moments ? (history->moments - 1) * history->per_moment +
		 history->in_last : 0UL);
}

/* What was left out, in a sentence each; "" if it is all there. */
static void format_summarised(const struct page *page, const struct page_view *view, char *buf,
			      size_t size)
{
	const struct history *history = &page->history;
	size_t length = (size_t)snprintf(buf, size, "%.200s", view->remark);

	if (history->per_moment > 1)
		length += (size_t)snprintf(buf + length, size - length, "%sSummarised: each moment "
			"is of %lu such lines; the state is exact after the last of them, and %lu "
			"areas that were there between two moments only are not shown.",
			length ? " " : "", history->per_moment, history->transient);
	if (history->left_out)
		length += (size_t)snprintf(buf + length, size - length, "%sThe areas of %lu address "
			"spaces that had few and have ended are left out.", length ? " " : "",
			history->left_out);
	if (history->forgotten)
		length += (size_t)snprintf(buf + length, size - length, "%s%lu address spaces that "
			"have ended are not listed.", length ? " " : "", history->forgotten);
	if (page->calls.count > ROWS || page->threads.count > ROWS)
		snprintf(buf + length, size - length, "%sThe tables have their first %d rows.",
			 length ? " " : "", ROWS);
}

int page_data_write(FILE *to, struct page *page, const struct page_view *view)
{
	struct history *history = &page->history;
	char text[1024];

	blame_sort(&page->calls);
	blame_sort(&page->threads);
	names_unmark(&history->whats);
	names_unmark(&history->causes);
	fputs("{\"version\":1,\n\"about\":", to);
	format_about(page, text, sizeof(text));
	put_string(to, text);
	fputs(",\n\"summarised\":", to);
	format_summarised(page, view, text, sizeof(text));
	put_string(to, text);
	fprintf(to, ",\n\"timed\":%s,\n", has_times(history) ? "true" : "false");
	put_moments(to, history);
	put_names(to, history, "whats", false);
	put_names(to, history, "causes", true);
	put_table(to, "calls", &page->calls);
	put_table(to, "threads", &page->threads);
	fputs("\"verdicts\":[", to);
	for (int i = 0; i < VMA_VERDICT_COUNT; i++) {
		fputs(i ? "," : "", to);
		put_string(to, vma_verdict_text((enum vma_verdict)i));
	}
	fputs("],\n\"kinds\":[", to);
	for (int i = 0; i < AREA_KINDS; i++) {
		fputs(i ? "," : "", to);
		put_string(to, area_kind_name((enum area_kind)i));
	}
	fputs("],\n\"spaces\":[", to);
	for (size_t i = 0; i < history->space_count; i++) {
		fputs(i ? ",\n" : "", to);
		put_space(to, history, history->spaces[i]);
	}
	fputs("]}", to);
	return 0;
}

/* ---- the summary ---------------------------------------------------------------------------- */

static void put_summary_table(FILE *to, struct blame_table *table, const char *what)
{
	blame_sort(table);
	fprintf(to, "\n   calls   +areas   -areas   splits   merges  %s\n", what);
	for (size_t i = 0; i < table->count && i < SUMMARY_ROWS; i++) {
		const struct blame_row *row = &table->rows[i];

		fprintf(to, "%8lu %8lu %8lu %8lu %8lu  ", row->calls, row->made, row->gone,
			row->splits, row->merges);
		page_put_html(to, row->what);
		putc_unlocked('\n', to);
	}
	if (table->count > SUMMARY_ROWS)
		fprintf(to, "... and %zu more\n", table->count - SUMMARY_ROWS);
}

void page_summary_write(FILE *to, struct page *page, const struct page_view *view)
{
	const struct history *history = &page->history;
	char text[1024];

	format_about(page, text, sizeof(text));
	fprintf(to, "%s\n", text);
	format_summarised(page, view, text, sizeof(text));
	page_put_html(to, text);
	fputs("\nThe picture needs JavaScript; this is the summary.\n\n   areas     most    calls  "
	      "process\n", to);
	for (size_t i = 0; i < history->space_count && i < SUMMARY_SPACES; i++) {
		const struct history_space *space = history->spaces[i];

		fprintf(to, "%8lu %8lu %8lu  %d ", space->at_end, space->peak, space->calls,
			(int)space->pid);
		page_put_html(to, space->command[0] ? space->command : "?");
		fputs(space->from ? ", by a fork\n" : "\n", to);
	}
	if (history->space_count > SUMMARY_SPACES)
		fprintf(to, "... and %zu more\n", history->space_count - SUMMARY_SPACES);
	put_summary_table(to, &page->calls, "call");
	put_summary_table(to, &page->threads, "thread");
}
