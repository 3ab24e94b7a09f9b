/* SPDX-License-Identifier: MIT */
/*
 * fixture.c - reads a tree into text, and compares.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <urcu-bp.h>

#define CONTENT_MAX 4096

static int print_index(char *text, size_t size, unsigned long index)
{
	if (index == ULONG_MAX)
		return snprintf(text, size, "max");
	return snprintf(text, size, "%lx", index);
}

static int print_entry(char *text, size_t size, const void *entry)
{
	unsigned long letter = ((unsigned long)entry - 0x10000) >> 4;

	if (xa_is_zero(entry))
		return snprintf(text, size, "zero");
	if (xa_is_value(entry))
		return snprintf(text, size, "v%lu", xa_to_value(entry));
	if (letter < 128)
		return snprintf(text, size, "%c", (char)letter);
	return snprintf(text, size, "%p", entry);
}

static void print_range(char *text, size_t size, const struct ma_state *mas, const void *entry)
{
	size_t length = strlen(text);

	if (length)
		length += snprintf(text + length, size - length, " ");
	length += print_index(text + length, size - length, mas->index);
	if (mas->last != mas->index) {
		length += snprintf(text + length, size - length, "-");
		length += print_index(text + length, size - length, mas->last);
	}
	length += snprintf(text + length, size - length, ":");
	print_entry(text + length, size - length, entry);
}

static void expect_sound(struct maple_tree *mt)
{
	const char *reason = NULL;
	bool external = mt_external_lock(mt);
	bool good;

	if (!external)
		mtree_lock(mt);
	good = mt_check(mt, &reason);
	if (!external)
		mtree_unlock(mt);
	if (!good)
		fail_msg("mt_check: %s", reason);
}

void expect_content(struct maple_tree *mt, const char *expected)
{
	char text[CONTENT_MAX] = "";
	MA_STATE(mas, mt, 0, 0);
	bool after_gap = false;
	unsigned long index = 0;

	expect_sound(mt);
	urcu_bp_read_lock();
	for (;;) {
		void *entry;

		mas_set(&mas, index);
		entry = mas_walk(&mas);
		assert_int_equal(mas.index, index);
		assert_true(mas.last >= index);
		assert_false(after_gap && !entry); /* gaps join */
		if (entry)
			print_range(text, sizeof(text), &mas, entry);
		after_gap = !entry;
		if (mas.last == ULONG_MAX)
			break;
		index = mas.last + 1;
	}
	urcu_bp_read_unlock();
	assert_string_equal(text, expected);
	assert_int_equal(mtree_empty(mt), expected[0] == 0);
}

void expect_place(const struct ma_state *mas, unsigned long index, unsigned long last,
		  enum maple_status status)
{
	assert_int_equal(mas->index, index);
	assert_int_equal(mas->last, last);
	assert_int_equal(mas->status, status);
}

void fill(struct maple_tree *mt, unsigned long first, unsigned long width, unsigned long stride,
	  unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		unsigned long start = first + i * stride;

		assert_int_equal(mtree_store_range(mt, start, start + width - 1, xa_mk_value(i),
						   GFP_KERNEL), 0);
	}
}

void end(struct maple_tree *mt)
{
	expect_sound(mt);
	if (mt_external_lock(mt))
		__mt_destroy(mt);
	else
		mtree_destroy(mt);
	assert_true(mtree_empty(mt));
	assert_int_equal(mt_height(mt), 0);
}
