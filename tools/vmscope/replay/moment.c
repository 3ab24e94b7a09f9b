/* SPDX-License-Identifier: MIT */
/* A moment of a log, as a user names it. */
#include "replay/moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY 86400.0
#define BILLION 1e9	/* seconds since 1970, and not since the log began */

/* Logs tell microseconds; a stamp less another one is not exact. */
#define HALF_A_MICROSECOND 5e-7

static const char digits[] = "0123456789";

static bool parse_line(const char *text, struct moment *moment)
{
	char *end;

	errno = 0;
	moment->kind = MOMENT_LINE;
	moment->line = strtoul(text, &end, 10);
	return *end == '\0' && !errno && moment->line > 0;
}

/* Digits with at most one point among them, and how many characters they are; 0: none. */
static size_t decimal_length(const char *text)
{
	size_t whole = strspn(text, digits);
	size_t fraction = whole && text[whole] == '.' ? 1 + strspn(text + whole + 1, digits) : 0;

	return whole + fraction;
}

static bool parse_of_day(const char *text, struct moment *moment)
{
	unsigned int hours, minutes;

	if (strspn(text, digits) != 2 || text[2] != ':' || strspn(text + 3, digits) != 2 ||
	    text[5] != ':' || strspn(text + 6, digits) != 2 ||
	    text[6 + decimal_length(text + 6)] != '\0')
		return false;
	hours = (unsigned int)strtoul(text, NULL, 10);
	minutes = (unsigned int)strtoul(text + 3, NULL, 10);
	moment->kind = MOMENT_OF_DAY;
	moment->seconds = hours * 3600 + minutes * 60 + strtod(text + 6, NULL);
	return hours < 24 && minutes < 60 && strtod(text + 6, NULL) < 61;
}

bool moment_parse(const char *text, struct moment *moment)
{
	size_t length = decimal_length(text);

	*moment = (struct moment){ 0 };
	if (length && length == strspn(text, digits) && text[length] == '\0')
		return parse_line(text, moment);
	if (length && (text[length] == '\0' || strcmp(text + length, "s") == 0)) {
		moment->kind = MOMENT_SECONDS;
		moment->seconds = strtod(text, NULL);
		return true;
	}
	return parse_of_day(text, moment);
}

double moment_since(const struct moment *moment, double origin)
{
	double since = moment->seconds - origin;
	bool of_day = origin >= 0 && origin < DAY;

	if (moment->kind == MOMENT_OF_DAY)
		since = !of_day ? -1 : since < -HALF_A_MICROSECOND ? since + DAY : since;
	else if (origin < DAY || moment->seconds < DAY)
		since = moment->seconds;
	return since + HALF_A_MICROSECOND;
}

bool moment_is_told(const struct moment *moment, double origin)
{
	if (moment->kind == MOMENT_OF_DAY)
		return origin >= 0 && origin < DAY;
	return moment->kind == MOMENT_LINE || moment->seconds < BILLION || origin >= DAY;
}
