/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - trees as text: what the unit tests share.
 */
#ifndef UNIT_FIXTURE_H
#define UNIT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <mapletree/maple_tree.h>

/* The entry that content strings show as that letter. */
#define E(letter) ((void *)(((unsigned long)(letter) << 4) + 0x10000))

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/*
 * expect_content - @mt holds exactly the ranges of @expected, as in "1-2:a 5:b f0-max:zero" (hex
 * indexes), read by walks; and it is sound.
 */
void expect_content(struct maple_tree *mt, const char *expected);

/* The cursor's index, last and status. */
void expect_place(const struct ma_state *mas, unsigned long index, unsigned long last,
		  enum maple_status status);

/* Stores @count entries of @width indexes each, @stride apart, from @first up. */
void fill(struct maple_tree *mt, unsigned long first, unsigned long width, unsigned long stride,
	  unsigned long count);

/* Destroys @mt and checks that it is empty. */
void end(struct maple_tree *mt);

#endif
