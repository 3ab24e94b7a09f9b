/* SPDX-License-Identifier: MIT */
/* Writing SVG: the few shapes that the picture needs. Coordinates are in pixels. */
#ifndef VMSCOPE_REPORT_SVG_H
#define VMSCOPE_REPORT_SVG_H

#include <stdio.h>

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

void svg_begin(FILE *file, double width, double height, const char *style);
void svg_finish(FILE *file);

/* @title is a tooltip; it may be NULL. */
void svg_rect(FILE *file, const char *class, double x, double y, double width, double height,
	      const char *title);
void svg_line(FILE *file, const char *class, double x1, double y1, double x2, double y2);
void svg_text(FILE *file, const char *class, enum svg_anchor anchor, double x, double y,
	      const char *text);

/* A polyline: one begin, one call for each point, one end. */
void svg_path_begin(FILE *file, const char *class);
void svg_path_point(FILE *file, double x, double y);
void svg_path_end(FILE *file);

#endif
