/* SPDX-License-Identifier: MIT */
/* import.h - what is wrong with input that somebody else has written. */
#ifndef VMSPACE_IMPORT_H
#define VMSPACE_IMPORT_H

#include <mapletree/vmspace_import.h>

/* Says at `offset` what is wrong; `mistake` may be NULL. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int import_wrong(struct vmspace_mistake *mistake,
						       size_t offset, const char *format, ...);

/*
 * vmspace_parse_areas() of a text, of which *mistake tells the line and the offset, counted from
 * `before` bytes before it.
 */
int import_text(const char *text, size_t before, struct vmspace_area **areas, size_t *count,
		struct vmspace_mistake *mistake);

#endif
