/* SPDX-License-Identifier: MIT */
/*
 * The picture of a log: for each address space a panel with its addresses and its number of areas
 * over time.
 */
#include "report/picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/scale.h"
#include "report/svg.h"

enum {
	MARGIN = 16, LEFT = 118, RIGHT = 236,
	TITLE_HEIGHT = 58,	/* title and legend */
	HEAD_HEIGHT = 52,	/* above a panel's addresses: text, and names of forks */
	COUNT_GAP = 12, COUNT_HEIGHT = 74, AXIS_HEIGHT = 34,
	LABEL_HEIGHT = 11, LABEL_LEAST = 2, LINE_LEAST = 3, TICKS_MAX = 50,
	FORK_LINES = 8,		/* with more forks than this, each is only a mark at the edge */
	TITLES_MAX = 6000,	/* with more areas than this, areas have no tooltips */
	RECTS_MAX = 20000,	/* of one panel: where there are more, they are coarser */
	COUNTS_MAX = 8000,	/* points of one line */
	LABEL_LIFE = 30,	/* a part of the width: what went in less has no name beside it */
};

/* Does not rely on colour alone: areas without access are empty, executable ones are dark. */
static const char style[] =
	".page{fill:#fff}"
	"text{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#333}"
	".title{font-size:17px;font-weight:bold;fill:#111}"
	".head{font-size:13px;font-weight:bold;fill:#111}"
	".note{font-size:11px;fill:#666}"
	".small{font-size:9.5px;fill:#777}"
	".addr{font-family:monospace;font-size:10px;fill:#666}"
	".name{font-size:10px;fill:#333}"
	".plot{fill:#f7f7f5;stroke:none}"
	".frame{fill:none;stroke:#bbb;stroke-width:1}"
	".gap{stroke:#c9c9c4;stroke-width:1;stroke-dasharray:1.5 3}"
	".grid{stroke:#e2e2de;stroke-width:1}"
	".mark{stroke:#111;stroke-width:1}"
	".fork{stroke:#111;stroke-width:1.2;stroke-dasharray:5 3}"
	".limit{stroke:#c0392b;stroke-width:1.2;stroke-dasharray:7 3}"
	".count{fill:none;stroke:#2c3e50;stroke-width:1.6}"
	".under{fill:#2c3e50;fill-opacity:.13;stroke:none}"
	"rect{shape-rendering:crispEdges}"
	".k0{fill:#2f5f8f}.k1{fill:#a9c6e3}.k2{fill:#e8973a}.k3{fill:#c8423f}.k4{fill:#6aab5e}"
	".k5{fill:#8e2f8e}.k6{fill:#7d6bb0}.k7{fill:#d8b93c}.k8{fill:#dededa}.k9{fill:#67b7c4}"
	".k10{fill:#9a9a9a}"
	".before{opacity:.28}\n";

/* The position of a panel and its axes. */
struct panel {
	FILE *file;
	const struct history *history;
	const struct picture *picture;
	const struct history_space *space;
	struct scale scale;
	double top;			/* of its addresses */
	double x, width;		/* of its plot */
	double first, last;		/* on the horizontal axis; first < last */
	bool titles;
	double grain;			/* pixels: areas are drawn as multiples of it */
	struct maple_tree drawn;	/* keys of the rectangles that are there: see draw_rect() */
	unsigned int rects;
	bool counting;			/* nothing is drawn: they are only counted */
};

/* The value of @moment on the horizontal axis: seconds, or lines of the log. */
static double moment_value(const struct history *history, bool by_call, unsigned int moment)
{
	const unsigned int last = (unsigned int)history->moments - 1;
	const bool behind = moment > last;

	moment = behind ? last : moment;
	if (by_call)
		return (double)history->lines[moment] + behind;
	/* A step without a time gets that of the previous one. */
	while (moment > 0 && history->times[moment] < 0)
		moment--;
	return history->times[moment] > 0 ? history->times[moment] : 0;
}

static double x_of(const struct panel *panel, unsigned int moment)
{
	double value = moment_value(panel->history, panel->picture->by_call, moment);
	double share = (value - panel->first) / (panel->last - panel->first);

	return panel->x + panel->width * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static double y_of(const struct panel *panel, unsigned long addr)
{
	return panel->top + scale_at(&panel->scale, addr);
}

static const char *base_name(const char *name)
{
	const char *slash = name[0] == '/' ? strrchr(name, '/') : NULL;

	return slash && slash[1] ? slash + 1 : name;
}

/* ---- areas ---------------------------------------------------------------------------------- */

/* Draws a rectangle unless the same one is there; all but one of very small areas go so. */
static void draw_rect(struct panel *panel, enum area_kind kind, const char *extra, double x,
		      double y, double width, double height, const char *title)
{
	/* A line between areas, where there is room for it. */
	const double gap = height > LINE_LEAST ? 0.6 : 0;
	const unsigned long column = (unsigned long)(x / panel->grain) & 0x3ffff;
	const unsigned long row = (unsigned long)(y / panel->grain) & 0x3ffff;
	const unsigned long right = (unsigned long)(width / panel->grain) & 0x3ffff;
	/* Of those that are higher than a grain none is another's double. */
	const unsigned long key = ((column << 18 | row) << 18 | right) << 4 | (kind & 15);
	char class[32];

	if (height <= panel->grain) {
		if (mtree_load(&panel->drawn, key & LONG_MAX))
			return;
		if (mtree_store(&panel->drawn, key & LONG_MAX, panel, GFP_KERNEL))
			return;
	}
	panel->rects++;
	if (panel->counting)
		return;
	snprintf(class, sizeof(class), "k%d%s", (int)kind, extra);
	svg_rect(panel->file, class, x, y, width, height - gap, title);
}

static void draw_area(struct panel *panel, const struct history_area *area, unsigned int until,
		      const char *extra)
{
	const double grain = panel->grain;
	/*
	 * Whole grains: short-lived areas must stay visible, and the background must not show
	 * between two areas that touch.
	 */
	double x = floor(x_of(panel, area->begin) / grain) * grain;
	double right = ceil(x_of(panel, until) / grain) * grain;
	const double high = y_of(panel, area->end), low = y_of(panel, area->start);
	double y = floor(high / grain) * grain;
	double bottom = (low - high > LINE_LEAST ? floor(low / grain) : ceil(low / grain)) * grain;
	char size[32], title[512];

	title[0] = '\0';
	right = right > x ? right : x + grain;
	bottom = bottom > y ? bottom : y + grain;
	/* It does not stand out of the plot. */
	right = fmin(right, panel->x + panel->width);
	x = fmin(x, right - fmin(grain, 1));
	bottom = fmin(bottom, panel->top + panel->scale.height);
	if (panel->titles && !panel->counting) {
		scale_format_size(area->end - area->start, size, sizeof(size));
		snprintf(title, sizeof(title), "%lx-%lx %.4s %s\n%s%s%.300s", area->start,
			 area->end, area->what->text, size,
			 area_kind_name((enum area_kind)area->kind),
			 history_name(area)[0] ? ": " : "", history_name(area));
	}
	draw_rect(panel, (enum area_kind)area->kind, extra, x, y, right - x, bottom - y,
		  panel->titles ? title : NULL);
}

static void draw_all_areas(struct panel *panel)
{
	const struct history_space *space = panel->space;
	const struct history_space *parent = space->from ?
		history_find(panel->history, space->from) : NULL;

	panel->rects = 0;
	mt_init(&panel->drawn);
	/* Areas copied by fork: show their history in the parent, faintly. */
	for (size_t i = 0; parent && i < parent->area_count; i++) {
		const struct history_area *area = &parent->areas[i];

		if (area->begin < space->begin && area->until > area->begin)
			draw_area(panel, area, area->until < space->begin ? area->until :
				  space->begin, " before");
	}
	for (size_t i = 0; i < space->area_count; i++)
		draw_area(panel, &space->areas[i], space->areas[i].until, "");
	mtree_destroy(&panel->drawn);
}

/* As fine as it can be with no more rectangles than are allowed. */
static void draw_areas(struct panel *panel)
{
	panel->counting = true;
	for (panel->grain = 0.5; panel->grain < 64; panel->grain *= 2) {
		draw_all_areas(panel);
		if (panel->rects <= RECTS_MAX)
			break;
	}
	panel->counting = false;
	draw_all_areas(panel);
}

static void draw_gaps(const struct panel *panel)
{
	char size[32], text[48];

	for (size_t i = 0; i < panel->scale.count; i++) {
		const struct scale_part *part = &panel->scale.parts[i];
		double y = panel->top + part->top + part->height / 2;

		if (part->used || part->height < 9)
			continue;
		svg_line(panel->file, "gap", panel->x, y, panel->x + panel->width, y);
		scale_format_size(part->end - part->start, size, sizeof(size));
		snprintf(text, sizeof(text), "%s free", size);
		svg_text(panel->file, "small", SVG_END, panel->x - 6, y + 3.5, text);
	}
}

/* Prints the lowest address of each group of areas between wide gaps. */
static void draw_addresses(const struct panel *panel)
{
	double group_top = 0;
	char text[32];

	for (size_t i = panel->scale.count; i-- > 0;) {
		const struct scale_part *part = &panel->scale.parts[i];
		const struct scale_part *below = i > 0 ? part - 1 : NULL;
		double bottom = part->top + part->height;

		if (!part->used && part->height >= 9)
			group_top = bottom;
		/* Only above a wide gap or at the bottom, and only if there is room for a line. */
		if (!part->used || (below && (below->used || below->height < 9)) ||
		    bottom - group_top < LABEL_HEIGHT)
			continue;
		snprintf(text, sizeof(text), "%lx", part->start);
		svg_text(panel->file, "addr", SVG_END, panel->x - 6, panel->top + bottom - 1, text);
	}
}

/* ---- names on the right --------------------------------------------------------------------- */

/* Adjacent areas with the same name. */
struct label {
	const char *name;
	enum area_kind kind;
	unsigned long start, end;
	double y, height;
};

static int by_height(const void *a, const void *b)
{
	const struct label *left = a, *right = b;

	return (left->height < right->height) - (left->height > right->height);
}

static int by_start(const void *a, const void *b)
{
	const struct history_area *left = *(const struct history_area *const *)a;
	const struct history_area *right = *(const struct history_area *const *)b;

	if (left->start != right->start)
		return (left->start > right->start) - (left->start < right->start);
	return (left->end > right->end) - (left->end < right->end);
}

static bool has_own_name(const struct history_area *area)
{
	return history_name(area)[0] != '\0';
}

/* What was there for a moment only, as the cache of the linker, would name what came after it. */
static bool lasts(const struct panel *panel, const struct history_area *area)
{
	return area->until == HISTORY_OPEN || area->until >= panel->space->until ||
	       x_of(panel, area->until) - x_of(panel, area->begin) >=
	       panel->width / LABEL_LIFE;
}

/* Collects the labels of a panel. Returns how many, or -1: out of memory. */
static long collect_labels(const struct panel *panel, struct label **labels)
{
	const struct history_space *space = panel->space;
	const struct history_area **sorted = calloc(space->area_count + 1, sizeof(*sorted));
	struct label *list = calloc(space->area_count + 1, sizeof(*list));
	size_t lasting = 0;
	long count = 0;

	if (!sorted || !list) {
		free(sorted);
		free(list);
		return -1;
	}
	for (size_t i = 0; i < space->area_count; i++)
		if (lasts(panel, &space->areas[i]))
			sorted[lasting++] = &space->areas[i];
	qsort(sorted, lasting, sizeof(*sorted), by_start);
	for (size_t i = 0; i < lasting; i++) {
		const struct history_area *area = sorted[i];
		struct label *last = count > 0 ? &list[count - 1] : NULL;

		if (last && last->end >= area->start && strcmp(last->name, history_name(area)) == 0 &&
		    (has_own_name(area) || last->kind == area->kind)) {
			last->end = area->end > last->end ? area->end : last->end;
			continue;
		}
		list[count++] = (struct label){ .name = history_name(area),
						.kind = (enum area_kind)area->kind,
						.start = area->start, .end = area->end };
	}
	for (long i = 0; i < count; i++) {
		double top = y_of(panel, list[i].end), bottom = y_of(panel, list[i].start);

		list[i].y = (top + bottom) / 2;
		list[i].height = bottom - top;
	}
	qsort(list, (size_t)count, sizeof(*list), by_height);
	free(sorted);
	*labels = list;
	return count;
}

static void write_label(const struct panel *panel, const struct label *label)
{
	char text[160], size[32];

	scale_format_size(label->end - label->start, size, sizeof(size));
	snprintf(text, sizeof(text), "%.28s  %s",
		 label->name[0] ? base_name(label->name) : area_kind_name(label->kind), size);
	svg_text(panel->file, "name", SVG_START, panel->x + panel->width + 7, label->y + 3.5, text);
}

/* Of what has no name, and cannot be seen apart, a label would tell nothing. */
static bool has_room(const struct label *label)
{
	return label->name[0] || label->height >= LABEL_LEAST;
}

/* Draws the labels of the largest areas first, and skips those for which there is no room. */
static int draw_labels(const struct panel *panel)
{
	struct label *labels = NULL;
	long count = collect_labels(panel, &labels);
	long kept = 0;

	if (count < 0)
		return -ENOMEM;
	for (long i = 0; i < count; i++) {
		bool room = has_room(&labels[i]);

		for (long k = 0; k < kept && room; k++)
			room = fabs(labels[k].y - labels[i].y) >= LABEL_HEIGHT;
		if (!room)
			continue;
		labels[kept] = labels[i];
		write_label(panel, &labels[kept++]);
	}
	free(labels);
	return 0;
}

/* ---- forks, counts, axis -------------------------------------------------------------------- */

static void draw_forks(const struct panel *panel, double bottom)
{
	const struct history_space *space = panel->space;
	double last = -1000;
	char text[64];

	for (size_t i = 0; i < space->fork_count; i++) {
		double x = x_of(panel, space->forks[i].moment);

		if (x - last < 2)
			continue;
		if (space->fork_count > FORK_LINES) {
			svg_line(panel->file, "mark", x, panel->top - 6, x, panel->top);
			last = x;
			continue;
		}
		svg_line(panel->file, "fork", x, panel->top - 4, x, bottom);
		snprintf(text, sizeof(text), "fork: %d", (int)space->forks[i].child);
		if (x - last > 70)
			svg_text(panel->file, "small", SVG_MIDDLE, x, panel->top - 6, text);
		last = x;
	}
	if (space->fork_count > FORK_LINES) {
		snprintf(text, sizeof(text), "%zu forks", space->fork_count);
		svg_text(panel->file, "small", SVG_START, panel->x + panel->width + 7,
			 panel->top - 2, text);
	}
	if (!space->from)
		return;
	last = x_of(panel, space->begin);
	svg_line(panel->file, "fork", last, panel->top - 4, last, bottom);
	svg_text(panel->file, "small", SVG_MIDDLE, last, panel->top - 6, "the fork");
}

static void count_line(const struct panel *panel, double top, double unit, bool closed)
{
	const struct history_space *space = panel->space;
	double base = top + COUNT_HEIGHT, y = base, last = 0;

	svg_path_begin(panel->file, closed ? "under" : "count");
	if (closed)
		svg_path_point(panel->file, x_of(panel, space->begin), base);
	for (size_t i = 0; i < space->count_count; i++) {
		double x = x_of(panel, space->counts[i].moment);

		/* Of many points those that would not be seen apart are left out. */
		if (space->count_count > COUNTS_MAX && i + 1 < space->count_count &&
		    x - last < panel->width / (COUNTS_MAX / 2.0) &&
		    fabs((double)space->counts[i].areas * unit - (base - y)) < 0.5)
			continue;
		last = x;
		if (i > 0)
			svg_path_point(panel->file, x, y);
		y = base - (double)space->counts[i].areas * unit;
		svg_path_point(panel->file, x, y);
	}
	svg_path_point(panel->file, x_of(panel, space->until), y);
	if (closed)
		svg_path_point(panel->file, x_of(panel, space->until), base);
	svg_path_end(panel->file);
}

static void draw_counts(const struct panel *panel, double top)
{
	const struct history_space *space = panel->space;
	unsigned long most = space->peak ? space->peak : 1;
	bool near = space->limit <= most * 5;
	double unit =
		COUNT_HEIGHT / ((double)(near && space->limit > most ? space->limit : most) * 1.12);
	double bottom = top + COUNT_HEIGHT;
	char text[64];

	svg_rect(panel->file, "plot", panel->x, top, panel->width, COUNT_HEIGHT, NULL);
	for (int i = 0; i <= 2; i++) {
		double y = bottom - (double)most * unit * i / 2;

		svg_line(panel->file, "grid", panel->x, y, panel->x + panel->width, y);
		snprintf(text, sizeof(text), "%lu", most * (unsigned long)i / 2);
		svg_text(panel->file, "addr", SVG_END, panel->x - 6, y + 3.5, text);
	}
	count_line(panel, top, unit, true);
	count_line(panel, top, unit, false);
	if (near)
		svg_line(panel->file, "limit", panel->x, bottom - (double)space->limit * unit,
			 panel->x + panel->width, bottom - (double)space->limit * unit);
	svg_rect(panel->file, "frame", panel->x, top, panel->width, COUNT_HEIGHT, NULL);
	svg_text(panel->file, "name", SVG_START, panel->x + panel->width + 7, top + 12,
		 "number of areas");
	snprintf(text, sizeof(text), "at most %lu of %lu (%.1f%%)", space->peak, space->limit,
		 100.0 * (double)space->peak / (double)(space->limit ? space->limit : 1));
	svg_text(panel->file, "name", SVG_START, panel->x + panel->width + 7, top + 26, text);
	snprintf(text, sizeof(text), "%lu at the end", space->at_end);
	svg_text(panel->file, "name", SVG_START, panel->x + panel->width + 7, top + 40, text);
}

/* A round step between ticks such that there are four to nine in @range. */
static double round_step(double range)
{
	double step = pow(10, floor(log10(range / 4)));

	if (range / step > 40)
		return step * 10;
	if (range / step > 20)
		return step * 5;
	return range / step > 9 ? step * 2 : step;
}

static void draw_axis(const struct panel *panel, double y)
{
	double range = panel->last - panel->first, step = round_step(range);
	double first = ceil(panel->first / step);
	char text[48];

	/* An integer counter: adding a step to a very large time may not change it. */
	for (int i = 0; i < TICKS_MAX; i++) {
		double at = (first + i) * step;
		double x = panel->x + panel->width * (at - panel->first) / range;

		if (!(at <= panel->last))
			break;
		svg_line(panel->file, "frame", x, y, x, y + 4);
		if (panel->picture->by_call)
			snprintf(text, sizeof(text), "%.0f", at);
		else if (range < 1)
			snprintf(text, sizeof(text), "%.6g ms", at * 1000);
		else
			snprintf(text, sizeof(text), "%.5g s", at);
		if (x < panel->x + panel->width - 30)
			svg_text(panel->file, "addr", SVG_MIDDLE, x, y + 15, text);
	}
	svg_text(panel->file, "name", SVG_START, panel->x + panel->width + 7, y + 15,
		 panel->picture->by_call ? "lines of the log" : "time");
}

/* ---- panels --------------------------------------------------------------------------------- */

static void draw_head(const struct panel *panel)
{
	const struct history_space *space = panel->space;
	const struct history_space *parent = space->from ?
		history_find(panel->history, space->from) : NULL;
	char text[256], origin[100] = "";

	if (parent)
		snprintf(origin, sizeof(origin), "; begun by a fork of process %d: to the left of "
			 "the line is what it copied", (int)parent->pid);
	snprintf(text, sizeof(text), "%s, process %d", space->command[0] ? space->command : "?",
		 (int)space->pid);
	svg_text(panel->file, "head", SVG_START, MARGIN, panel->top - 34, text);
	snprintf(text, sizeof(text), "%lu calls%s%s%s", space->calls,
		 origin,
		 space->incomplete ? "; areas that were there at the start are not in the log" : "",
		 space->differs ? "; libvmspace and the log differ" : "");
	svg_text(panel->file, "note", SVG_START, MARGIN, panel->top - 19, text);
}

/* Draws a panel at @top. Returns where it ends, or -1: out of memory. */
static double draw_panel(struct panel *panel, double top)
{
	struct history_space *shown[2] = { (struct history_space *)panel->space, NULL };
	double bottom, count_top;

	if (panel->space->from)
		shown[1] = history_find(panel->history, panel->space->from);
	if (scale_make(&panel->scale, shown, shown[1] ? 2 : 1, panel->picture->max_height) != 0)
		return -1;
	panel->top = top + HEAD_HEIGHT;
	panel->titles = panel->space->area_count <= TITLES_MAX;
	bottom = panel->top + panel->scale.height;
	count_top = bottom + COUNT_GAP;
	draw_head(panel);
	svg_rect(panel->file, "plot", panel->x, panel->top, panel->width, panel->scale.height,
		 NULL);
	draw_gaps(panel);
	draw_areas(panel);
	draw_addresses(panel);
	svg_rect(panel->file, "frame", panel->x, panel->top, panel->width, panel->scale.height,
		 NULL);
	if (draw_labels(panel) != 0)
		bottom = -1;
	draw_counts(panel, count_top);
	draw_forks(panel, count_top + COUNT_HEIGHT);
	draw_axis(panel, count_top + COUNT_HEIGHT);
	scale_free(&panel->scale);
	return bottom < 0 ? -1 : count_top + COUNT_HEIGHT + AXIS_HEIGHT;
}

static double panel_height(const struct history *history, const struct picture *picture,
			   const struct history_space *space)
{
	struct history_space *shown[2] = { (struct history_space *)space, NULL };
	struct scale scale;
	double height;

	if (space->from)
		shown[1] = history_find(history, space->from);
	if (scale_make(&scale, shown, shown[1] ? 2 : 1, picture->max_height) != 0)
		return 0;
	height = HEAD_HEIGHT + scale.height + COUNT_GAP + COUNT_HEIGHT + AXIS_HEIGHT;
	scale_free(&scale);
	return height;
}

static void draw_legend(FILE *file, const struct picture *picture)
{
	bool used[AREA_KINDS] = { false };
	double x = MARGIN;
	char class[16];

	for (size_t i = 0; i < picture->space_count; i++)
		for (size_t k = 0; k < picture->spaces[i]->area_count; k++)
			used[picture->spaces[i]->areas[k].kind] = true;
	for (int kind = 0; kind < AREA_KINDS; kind++) {
		if (!used[kind])
			continue;
		snprintf(class, sizeof(class), "k%d", kind);
		svg_rect(file, class, x, 34, 13, 11, NULL);
		svg_text(file, "name", SVG_START, x + 17, 43.5,
			 area_kind_name((enum area_kind)kind));
		x += 34 + 5.4 * (double)strlen(area_kind_name((enum area_kind)kind));
	}
}

/* The axis covers the life of the address space; after a fork also some time before it. */
static void set_axis(struct panel *panel)
{
	const struct history_space *space = panel->space;
	const struct history_space *parent = space->from ?
		history_find(panel->history, space->from) : NULL;
	bool by_call = panel->picture->by_call;
	double begin = moment_value(panel->history, by_call, space->begin);
	double end = moment_value(panel->history, by_call, space->until);
	double born = parent ? moment_value(panel->history, by_call, parent->begin) : begin;
	double before = end > begin ? (end - begin) / 2 : begin - born;

	panel->first = begin - before > born ? begin - before : born;
	panel->last = panel->first + (by_call ? 1 : 1e-6 + fabs(panel->first) * 1e-9);
	panel->last = end > panel->last ? end : panel->last;
}

int picture_write(FILE *file, const struct history *history, const struct picture *picture)
{
	struct panel panel = {
		.file = file, .history = history, .picture = picture,
		.x = LEFT, .width = picture->width - LEFT - RIGHT,
	};
	double height = TITLE_HEIGHT + MARGIN, top = TITLE_HEIGHT;
	char text[128];

	for (size_t i = 0; i < picture->space_count; i++)
		height += panel_height(history, picture, picture->spaces[i]);
	svg_begin(file, picture->width, height, style);
	svg_text(file, "title", SVG_START, MARGIN, 24, picture->title);
	draw_legend(file, picture);
	for (size_t i = 0; i < picture->space_count; i++) {
		panel.space = picture->spaces[i];
		set_axis(&panel);
		top = draw_panel(&panel, top);
		if (top < 0)
			return -ENOMEM;
	}
	if (picture->left_out) {
		snprintf(text, sizeof(text), "%zu more address spaces are not shown",
			 picture->left_out);
		svg_text(file, "note", SVG_END, picture->width - MARGIN, 24, text);
	}
	svg_finish(file);
	return 0;
}
