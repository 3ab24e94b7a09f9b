/* SPDX-License-Identifier: MIT */
/* Writing SVG: the few shapes that the picture needs. Coordinates are in pixels. */
#include "report/svg.h"

/* Text may contain any bytes; what XML does not allow is replaced by a question mark. */
static void put_text(FILE *file, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '<')
			fputs("&lt;", file);
		else if (c == '>')
			fputs("&gt;", file);
		else if (c == '&')
			fputs("&amp;", file);
		else if (c == '\n')
			putc('\n', file);
		else if (c < 32 || c > 126)
			putc('?', file);
		else
			putc(c, file);
	}
}

void svg_begin(FILE *file, double width, double height, const char *style)
{
	fprintf(file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\">\n<style>\n%s</style>\n"
		"<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n",
		width, height, width, height, style);
}

void svg_finish(FILE *file)
{
	fputs("</svg>\n", file);
}

void svg_rect(FILE *file, const char *class, double x, double y, double width, double height,
	      const char *title)
{
	fprintf(file, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
		class, x, y, width, height);
	if (!title) {
		fputs("/>\n", file);
		return;
	}
	fputs("><title>", file);
	put_text(file, title);
	fputs("</title></rect>\n", file);
}

void svg_line(FILE *file, const char *class, double x1, double y1, double x2, double y2)
{
	fprintf(file, "<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
		class,
		x1, y1, x2, y2);
}

void svg_text(FILE *file, const char *class, enum svg_anchor anchor, double x, double y,
	      const char *text)
{
	static const char *const anchors[] = { "start", "middle", "end" };

	fprintf(file, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.2f\" y=\"%.2f\">", class,
		anchors[anchor], x, y);
	put_text(file, text);
	fputs("</text>\n", file);
}

void svg_path_begin(FILE *file, const char *class)
{
	fprintf(file, "<polyline class=\"%s\" points=\"", class);
}

void svg_path_point(FILE *file, double x, double y)
{
	fprintf(file, "%.2f,%.2f ", x, y);
}

void svg_path_end(FILE *file)
{
	fputs("\"/>\n", file);
}
