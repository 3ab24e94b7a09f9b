/* SPDX-License-Identifier: MIT */
/* Reading the output of strace(1) as steps. */
#include "strace/strace_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/site.h"
#include "strace/follow.h"
#include "strace/steps.h"

enum { DAY = 86400 };

/* Is there a pkey_alloc() or pkey_mprotect() with a key that did not fail? */
static bool shows_pkeys(const char *at, const char *end)
{
	static const char *const calls[] = { "pkey_alloc(", "pkey_mprotect(" };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		for (const char *call = at, *line;
		     (call = memmem(call, (size_t)(end - call), calls[i], strlen(calls[i])));
		     call = line) {
			line = memchr(call, '\n', (size_t)(end - call));
			line = line ? line : end;
			if (!memmem(call, (size_t)(line - call), "-1", 2))
				return true;
		}
	return false;
}

struct strace_reader *strace_reader_new(struct lines *lines)
{
	struct strace_reader *from = calloc(1, sizeof(*from));

	if (!from)
		return NULL;
	from->symbols = symbols_new();
	if (!from->symbols) {
		free(from);
		return NULL;
	}
	from->lines = lines;
	from->pkeys = lines_any(lines, shows_pkeys);
	strace_processes_init(&from->processes);
	mt_init(&from->segments);
	mt_init(&from->announced);
	return from;
}

void strace_reader_free(struct strace_reader *from)
{
	struct strace_segment *segment;
	unsigned long id = 0;

	if (!from)
		return;
	strace_processes_clear(&from->processes);
	mt_for_each(&from->segments, segment, id, ULONG_MAX)
		free(segment);
	mtree_destroy(&from->segments);
	mtree_destroy(&from->announced);
	strace_free_areas(from);
	symbols_free(from->symbols);
	free(from->partial);
	free(from);
}

int strace_reader_set_areas(struct strace_reader *from, const struct vmspace_area *areas,
			    size_t count)
{
	strace_free_areas(from);
	from->areas = calloc(count + 1, sizeof(*areas));
	if (!from->areas)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct vmspace_area *area = &from->areas[from->area_count++];

		*area = areas[i];
		area->backing.name = area->backing.name ? strdup(area->backing.name) : NULL;
		area->anon_name = area->anon_name ? strdup(area->anon_name) : NULL;
		if ((areas[i].backing.name && !area->backing.name) ||
		    (areas[i].anon_name && !area->anon_name))
			return -ENOMEM;
	}
	return 0;
}

static void update_clock(struct strace_reader *from, const struct strace_line *line)
{
	double time = line->time;

	if (line->clock == STRACE_NO_TIME || !isfinite(time))
		return;
	if (line->clock == STRACE_RELATIVE)
		time += from->clock;
	if (line->clock == STRACE_OF_DAY) {
		if (from->has_clock && time + from->days < from->clock - DAY / 2)
			from->days += DAY;
		time += from->days;
	}
	if (!from->has_clock) {
		from->first_clock = time;
		from->is_stamped = line->clock != STRACE_RELATIVE;
	}
	from->has_clock = true;
	/* Lines of different threads may be slightly out of order. */
	if (time > from->clock || from->clock == 0)
		from->clock = time;
}

static bool read_line(struct strace_reader *from, struct strace_text *text)
{
	char *line;

	if (!lines_next(from->lines, &line, &text->length))
		return false;
	text->at = line;
	from->line = lines_number(from->lines);
	if (text->length && text->at[text->length - 1] == '\r')
		text->length--;
	return true;
}

/* The name of the file, without its directory, in "file(function+0x1f) [0x7f...]". */
static struct strace_text frame_name(struct strace_text frame)
{
	const char *bracket = memmem(frame.at, frame.length, " [", 2);
	const char *paren;

	if (bracket)
		frame.length = (size_t)(bracket - frame.at);
	paren = memchr(frame.at, '(', frame.length);
	for (const char *at = paren ? paren : frame.at + frame.length; at > frame.at; at--)
		if (at[-1] == '/') {
			frame.length -= (size_t)(at - frame.at);
			frame.at = at;
			break;
		}
	return frame;
}

/*
 * Whether "dir/lib.so(function+0x10) [0x7010]" names a function that ends before that place; its
 * address in the file then, in *@address.
 */
static bool is_misnamed(struct strace_reader *from, struct strace_text frame, uint64_t *address)
{
	const char *end = frame.at + frame.length, *paren = memchr(frame.at, '(', frame.length);
	const char *plus = paren ? memchr(paren, '+', (size_t)(end - paren)) : NULL;
	const char *bracket = plus ? memmem(plus, (size_t)(end - plus), ") [0x", 5) : NULL;
	struct strace_text path = { frame.at, 0 }, name = { paren, 0 };

	if (!bracket || paren + 1 == plus)
		return false;
	path.length = (size_t)(paren - frame.at);
	name.at = paren + 1;
	name.length = (size_t)(plus - name.at);
	*address = strtoul(bracket + strlen(") ["), NULL, 16);
	return symbols_ends_before(from->symbols, path, name, strtoul(plus + 1, NULL, 16),
				   *address);
}

/* Writes "lib.so(space::name(int, char)+0x10)" without the parameters. */
static void write_name(struct strace_text frame, char *buf, size_t size)
{
	const char *open = memchr(frame.at, '(', frame.length);
	const char *end = frame.at + frame.length, *inner, *offset;

	inner = open ? memchr(open + 1, '(', (size_t)(end - open - 1)) : NULL;
	offset = inner ? memrchr(inner, '+', (size_t)(end - inner)) : NULL;
	if (offset)
		snprintf(buf, size, "%.*s%.*s", (int)(inner - frame.at), frame.at,
			 (int)(end - offset), offset);
	else
		snprintf(buf, size, "%.*s", (int)frame.length, frame.at);
}

/* Writes @body, whose part without a directory is @name. */
static void write_frame(struct strace_reader *from, struct strace_text body,
			struct strace_text name, char *buf, size_t size)
{
	const char *paren = memchr(name.at, '(', name.length);
	uint64_t address;

	if (is_misnamed(from, body, &address))
		snprintf(buf, size, "%.*s(+%#lx)", (int)(paren - name.at), name.at,
			 (unsigned long)address);
	else
		write_name(name, buf, size);
}

/* Reads the stack frames that follow a call. Its site is the first one outside libc. */
static void read_frames(struct strace_reader *from)
{
	bool wanted = from->queued > 0 && from->queue[from->queued - 1].kind == STEP_CALL;
	char *stack = &from->stack[STACK_MAX - 1];
	bool outside = false, any = false;
	char frame[SITE_MAX];
	struct strace_text text, name;
	struct strace_line line;

	while (lines_follows(from->lines, " > ") && read_line(from, &text)) {
		if (!wanted || (outside && !from->stacks))
			continue;
		strace_parse_line(text.at, text.length, &line);
		if (line.kind != STRACE_FRAME)
			continue;
		name = frame_name(line.body);
		if (from->stacks) {
			write_frame(from, line.body, name, frame, sizeof(frame));
			stack = site_stack_add(from->stack, stack, frame);
		}
		if (outside)
			continue;
		outside = !site_is_runtime(name.at, name.length);
		if (outside || !any)
			write_frame(from, line.body, name, from->site, sizeof(from->site));
		any = true;
	}
	if (any)
		from->queue[from->queued - 1].site = from->site;
	if (any && from->stacks)
		from->queue[from->queued - 1].stack = stack;
}

void strace_reader_keep_stacks(struct strace_reader *from)
{
	from->stacks = true;
}

/* "strace: Process 123 attached" */
static void remember_announced(struct strace_reader *from, struct strace_text text)
{
	const char *found = strace_find_message(text);
	char number[16] = "";
	long pid;

	if (!found)
		return;
	snprintf(number, sizeof(number), "%.*s", (int)(text.at + text.length - found - 16),
		 found + 16);
	pid = strtol(number, NULL, 10);
	if (pid > 0 && pid <= INT_MAX &&
	    mtree_store(&from->announced, (unsigned long)pid, from, GFP_KERNEL))
		from->no_memory = true;
}

/* Prepends the first part of a line that was cut in two to @text. False: out of memory. */
static bool join(struct strace_reader *from, struct strace_text *text, char **joined)
{
	int length;

	*joined = NULL;
	if (!from->partial)
		return true;
	length = asprintf(joined, "%s%.*s", from->partial, (int)text->length, text->at);
	free(from->partial);
	from->partial = NULL;
	if (length < 0) {
		*joined = NULL;
		return strace_out_of_memory(from);
	}
	*text = (struct strace_text){ *joined, (size_t)length };
	return true;
}

static bool dispatch(struct strace_reader *from, const struct strace_text *text,
		     const struct strace_line *line)
{
	struct strace_task *task;
	size_t kept;

	/* Rows of the table of -c look like no line of a call; what does, is one of another log. */
	if (from->over && line->kind == STRACE_MALFORMED)
		return true;
	from->over &= line->kind == STRACE_NOTHING;
	switch (line->kind) {
	case STRACE_NOTHING:
	case STRACE_FRAME:
		return true;
	case STRACE_SUMMARY:
		from->over = true;
		return true;
	case STRACE_PARTIAL:
		kept = (size_t)(line->body.at + line->body.length - text->at);
		from->partial = strndup(text->at, kept);
		return from->partial || strace_out_of_memory(from);
	case STRACE_MALFORMED:
		from->why = line->why;
		return false;
	default:
		break;
	}
	task = strace_follow_task(from, line->tid);
	if (!task)
		return strace_out_of_memory(from);
	if (line->kind == STRACE_UNFINISHED)
		return strace_follow_unfinished(from, task, line->body);
	if (line->kind == STRACE_RESUMED)
		return strace_follow_resumed(from, task, line);
	return line->kind == STRACE_EXIT ? strace_follow_exit(from, task, line)
					 : strace_follow_call(from, task, line);
}

static bool handle_line(struct strace_reader *from, struct strace_text text)
{
	struct strace_line line;
	char *joined;
	bool good;

	remember_announced(from, text);
	if (!join(from, &text, &joined))
		return false;
	strace_parse_line(text.at, text.length, &line);
	update_clock(from, &line);
	good = dispatch(from, &text, &line);
	free(joined);
	if (good)
		read_frames(from);
	return good;
}

enum strace_reader_result strace_reader_next(struct strace_reader *from, struct step *step,
					     const char **why)
{
	struct strace_text text;
	unsigned long line;
	bool good = true;

	while (from->taken == from->queued) {
		from->taken = from->queued = 0;
		if (strace_push_uffd_end(from))
			break;
		if (!read_line(from, &text)) {
			*step = (struct step){ .line = from->line };
			return STRACE_READER_END;
		}
		line = from->line;
		good = handle_line(from, text);
		if (from->no_memory) {
			*why = "out of memory";
			return STRACE_READER_NO_MEMORY;
		}
		if (!good) {
			*step = (struct step){ .line = line };
			*why = from->why;
			return STRACE_READER_MALFORMED;
		}
	}
	*step = from->queue[from->taken++];
	return STRACE_READER_STEP;
}
