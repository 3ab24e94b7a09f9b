/* SPDX-License-Identifier: MIT */
/* Differences between the kernel and the mirror, as text for the user. */
#include "log/difference.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/vmspace_rules.h>

#include "base/color.h"

enum { CONTEXT = 2 };	/* lines shown before and after a difference */

struct side {
	const char *at;		/* the current line; "" at the end */
	size_t length;		/* without its newline */
	unsigned long start;	/* address of the area */
};

static void read_line(struct side *side)
{
	side->length = (size_t)(strchrnul(side->at, '\n') - side->at);
	side->start = *side->at ? strtoul(side->at, NULL, 16) : ~0UL;
}

static void step(struct side *side)
{
	side->at += side->length + (side->at[side->length] == '\n');
	read_line(side);
}

static bool equal(const struct side *a, const struct side *b)
{
	return a->length == b->length && memcmp(a->at, b->at, a->length) == 0;
}

struct writer {
	FILE *to;
	unsigned int left;			/* lines still allowed */
	unsigned int after;			/* lines of context still to write */
	const char *before[CONTEXT];		/* the last lines of context, held back */
	size_t before_length[CONTEXT];
	unsigned int held;
};

static void write_line(struct writer *w, char mark, const char *line, size_t length)
{
	const enum color color = mark == '-' ? COLOR_REMOVED :
				 mark == '+' ? COLOR_ADDED : COLOR_NONE;

	if (w->left == 0)
		return;
	if (--w->left == 0)
		fprintf(w->to, "    ... (more differences follow)\n");
	else
		fprintf(w->to, "%s  %c %.*s%s\n", color_on(w->to, color), mark,
			(int)length, line, color ? color_off(w->to) : "");
}

static void write_equal(struct writer *w, const struct side *side)
{
	if (w->after > 0) {
		w->after--;
		write_line(w, ' ', side->at, side->length);
		return;
	}
	if (w->held == CONTEXT) {
		memmove(w->before, w->before + 1, sizeof(w->before) - sizeof(w->before[0]));
		memmove(w->before_length, w->before_length + 1,
			sizeof(w->before_length) - sizeof(w->before_length[0]));
		w->held--;
	}
	w->before[w->held] = side->at;
	w->before_length[w->held++] = side->length;
}

static void write_different(struct writer *w, char mark, const struct side *side)
{
	for (unsigned int i = 0; i < w->held; i++)
		write_line(w, ' ', w->before[i], w->before_length[i]);
	w->held = 0;
	w->after = CONTEXT;
	write_line(w, mark, side->at, side->length);
}

void difference_areas(FILE *to, const char *kernel, const char *mirror, unsigned int lines)
{
	struct writer w = { .to = to, .left = lines };
	struct side a = { .at = kernel }, b = { .at = mirror };

	fprintf(to, "  (- kernel, + mirror)\n");
	read_line(&a);
	read_line(&b);
	while (*a.at || *b.at) {
		if (equal(&a, &b)) {
			write_equal(&w, &a);
			step(&a);
			step(&b);
		} else if (a.start <= b.start && *a.at) {
			write_different(&w, '-', &a);
			/* The same area with other properties: show both lines together. */
			if (a.start == b.start && *b.at) {
				write_different(&w, '+', &b);
				step(&b);
			}
			step(&a);
		} else {
			write_different(&w, '+', &b);
			step(&b);
		}
	}
}

void difference_first(const char *kernel, const char *mirror, char *buf, size_t size)
{
	struct side a = { .at = kernel }, b = { .at = mirror };

	read_line(&a);
	read_line(&b);
	while (*a.at && *b.at && equal(&a, &b)) {
		step(&a);
		step(&b);
	}
	snprintf(buf, size, "%.*s | %.*s", (int)a.length, a.at, (int)b.length, b.at);
}

/* The rules in which versions of Linux differ and that have decided what the mirror did. */
static void write_rules(FILE *to, const struct vmspace_outcome *out)
{
	const struct vmspace_rule *rule;

	for (unsigned int i = 0; (rule = vmspace_rule(i)); i++)
		if (out->rules[i / 64] >> (i % 64) & 1)
			fprintf(to, "  it depends on rule %s (Linux %s): %s\n", rule->name,
				rule->versions, rule->text);
}

void difference_outcome(FILE *to, const struct vmspace_outcome *out)
{
	char text[256];

	for (unsigned int i = 0; i < out->event_count; i++) {
		vmspace_event_text(&out->events[i], text, sizeof(text));
		fprintf(to, "  mirror: %s\n", text);
	}
	if (out->events_lost)
		fprintf(to, "  mirror: ... and %u more steps\n", out->events_lost);
	if (out->event_count == 0)
		fprintf(to, "  mirror: changed nothing\n");
	if (out->why)
		fprintf(to, "  mirror: %s\n", out->why);
	write_rules(to, out);
}

void difference_format_result(long result, char *buf, size_t size)
{
	const char *name = result < 0 && result >= -4095 ? strerrorname_np((int)-result) : NULL;

	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "%#lx", (unsigned long)result);
}

void difference_result(FILE *to, const struct call *call, const struct vmspace_request *req)
{
	char theirs[32], ours[32];

	difference_format_result(req->host.result, theirs, sizeof(theirs));
	difference_format_result(req->out.result, ours, sizeof(ours));
	fprintf(to, "  %s: the kernel answered %s, libvmspace would have answered %s\n",
		call->kind->name, theirs, ours);
}
