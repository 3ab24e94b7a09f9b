/* SPDX-License-Identifier: MIT */
/* Reading /proc/PID/smaps: what maps does not show of each area. */
#include "smaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vma_flags_t parse_flags(const char *at, const char *end)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)(end - at), at);
	return vma_flags_parse(text, NULL);
}

const char *smaps_next(const char *text, struct smaps_area *area)
{
	const char *at = kernel_parse_line(text, &area->line);

	area->flags = 0;
	area->pkey = 0;
	area->has_anon = false;
	/* Details begin with a capital letter, the next area with a hexadecimal digit. */
	while (at && *at >= 'A' && *at <= 'Z' && strchrnul(at, ':') < strchrnul(at, '\n')) {
		const char *end = strchrnul(at, '\n');

		if (strncmp(at, "Anonymous:", 10) == 0 || strncmp(at, "Swap:", 5) == 0)
			area->has_anon |= strtoul(strchr(at, ':') + 1, NULL, 10) > 0;
		else if (strncmp(at, "ProtectionKey:", 14) == 0)
			area->pkey = (unsigned int)strtoul(at + 14, NULL, 10);
		else if (strncmp(at, "VmFlags:", 8) == 0)
			area->flags = parse_flags(at + 8, end);
		at = *end ? end + 1 : end;
	}
	return at;
}

vma_flags_t smaps_flags(pid_t tid, unsigned long addr)
{
	char *text = kernel_read_file(tid, "smaps");
	const char *at = text;
	struct smaps_area area;
	vma_flags_t flags = 0;

	while (at && (at = smaps_next(at, &area)))
		if (addr >= area.line.start && addr < area.line.end)
			flags = area.flags;
	free(text);
	return flags;
}
