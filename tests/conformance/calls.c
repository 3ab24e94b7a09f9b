/* SPDX-License-Identifier: MIT */
/*
 * calls.c - every call of FORMAT.md sections 3 and 4, made through the public header.
 */
#include "replay.h"

#include <string.h>
#include <urcu-bp.h>

/* ---- trees ------------------------------------------------------------------------------ */

static void tree_store(struct replay *r, struct tree *t, const struct argument *a)
{
	results_error(&r->got, mtree_store(&t->mt, a[0].index, a[1].entry, GFP_KERNEL));
}

static void tree_store_range(struct replay *r, struct tree *t, const struct argument *a)
{
	results_error(&r->got, mtree_store_range(&t->mt, a[0].index, a[1].index, a[2].entry,
						 GFP_KERNEL));
}

static void tree_insert(struct replay *r, struct tree *t, const struct argument *a)
{
	results_error(&r->got, mtree_insert(&t->mt, a[0].index, a[1].entry, GFP_KERNEL));
}

static void tree_insert_range(struct replay *r, struct tree *t, const struct argument *a)
{
	results_error(&r->got, mtree_insert_range(&t->mt, a[0].index, a[1].index, a[2].entry,
						  GFP_KERNEL));
}

static void tree_erase(struct replay *r, struct tree *t, const struct argument *a)
{
	results_entry(&r->got, mtree_erase(&t->mt, a[0].index));
}

static void tree_load(struct replay *r, struct tree *t, const struct argument *a)
{
	results_entry(&r->got, mtree_load(&t->mt, a[0].index));
}

static void tree_alloc_range(struct replay *r, struct tree *t, const struct argument *a)
{
	unsigned long start = 0;
	int error = mtree_alloc_range(&t->mt, &start, a[3].entry, a[0].index, a[1].index,
				      a[2].index, GFP_KERNEL);

	results_error(&r->got, error);
	if (error == 0)
		results_index(&r->got, start);
}

static void tree_alloc_rrange(struct replay *r, struct tree *t, const struct argument *a)
{
	unsigned long start = 0;
	int error = mtree_alloc_rrange(&t->mt, &start, a[3].entry, a[0].index, a[1].index,
				       a[2].index, GFP_KERNEL);

	results_error(&r->got, error);
	if (error == 0)
		results_index(&r->got, start);
}

static void tree_alloc_cyclic(struct replay *r, struct tree *t, const struct argument *a)
{
	unsigned long start = 0;
	unsigned long next = a[2].index;
	int error = mtree_alloc_cyclic(&t->mt, &start, a[3].entry, a[0].index, a[1].index, &next,
				       GFP_KERNEL);

	results_error(&r->got, error);
	if (error >= 0) {
		results_index(&r->got, start);
		results_index(&r->got, next);
	}
}

static void tree_find(struct replay *r, struct tree *t, const struct argument *a)
{
	unsigned long index = a[0].index;

	results_entry(&r->got, mt_find(&t->mt, &index, a[1].index));
	results_index(&r->got, index);
}

static void tree_find_after(struct replay *r, struct tree *t, const struct argument *a)
{
	unsigned long index = a[0].index;

	results_entry(&r->got, mt_find_after(&t->mt, &index, a[1].index));
	results_index(&r->got, index);
}

static void tree_next(struct replay *r, struct tree *t, const struct argument *a)
{
	results_entry(&r->got, mt_next(&t->mt, a[0].index, a[1].index));
}

static void tree_prev(struct replay *r, struct tree *t, const struct argument *a)
{
	results_entry(&r->got, mt_prev(&t->mt, a[0].index, a[1].index));
}

static void tree_for_each(struct replay *r, struct tree *t, const struct argument *a)
{
	unsigned long index = a[0].index;
	unsigned long count = 0;
	struct results list = { 0 };
	void *entry;

	mt_for_each(&t->mt, entry, index, a[1].index) {
		results_entry(&list, entry);
		count++;
	}
	results_count(&r->got, count);
	if (count)
		results_text(&r->got, list.text);
	results_free(&list);
}

static void tree_empty(struct replay *r, struct tree *t, const struct argument *a)
{
	(void)a;
	results_count(&r->got, mtree_empty(&t->mt));
}

static void tree_in_rcu(struct replay *r, struct tree *t, const struct argument *a)
{
	(void)a;
	results_count(&r->got, mt_in_rcu(&t->mt));
}

static void tree_set_rcu(struct replay *r, struct tree *t, const struct argument *a)
{
	(void)r;
	(void)a;
	mt_set_in_rcu(&t->mt);
}

static void tree_clear_rcu(struct replay *r, struct tree *t, const struct argument *a)
{
	(void)r;
	(void)a;
	mt_clear_in_rcu(&t->mt);
}

static void tree_dup(struct replay *r, struct tree *t, const struct argument *a)
{
	tree_unlock(a[0].tree);
	results_error(&r->got, mtree_dup(&t->mt, &a[0].tree->mt, GFP_KERNEL));
}

static void tree_dup_locked(struct replay *r, struct tree *t, const struct argument *a)
{
	tree_lock(t);
	tree_lock(a[0].tree);
	results_error(&r->got, __mt_dup(&t->mt, &a[0].tree->mt, GFP_KERNEL));
}

static void tree_destroy(struct replay *r, struct tree *t, const struct argument *a)
{
	(void)r;
	(void)a;
	mtree_destroy(&t->mt);
}

static void tree_destroy_locked(struct replay *r, struct tree *t, const struct argument *a)
{
	(void)r;
	(void)a;
	tree_lock(t);
	__mt_destroy(&t->mt);
	tree_unlock(t);
}

/* Section 2: walks alone, each at the previous last + 1; gaps are reported whole, by one walk. */
static void tree_content(struct replay *r, struct tree *t, const struct argument *a)
{
	MA_STATE(mas, &t->mt, 0, 0);
	struct results list = { 0 };
	unsigned long count = 0;
	unsigned long index = 0;
	bool after_gap = false;

	(void)a;
	urcu_bp_read_lock();
	for (;;) {
		void *entry;

		mas_set(&mas, index);
		entry = mas_walk(&mas);
		if (mas.index != index || mas.last < index)
			results_text(&list, "walk-from-inside:");
		if (!entry && after_gap)
			results_text(&list, "second-gap:");
		if (entry || mas.index != index || mas.last < index || after_gap)
			results_range(&list, mas.index, mas.last, entry);
		count += entry != NULL;
		after_gap = entry == NULL;
		if (mas.last == ULONG_MAX || mas.last < index)
			break;
		index = mas.last + 1;
	}
	urcu_bp_read_unlock();
	results_count(&r->got, count);
	if (list.length)
		results_text(&r->got, list.text);
	results_free(&list);
}

/* ---- cursors ---------------------------------------------------------------------------- */

static void write_place(struct replay *r, const struct cursor *m)
{
	results_index(&r->got, m->mas.index);
	results_index(&r->got, m->mas.last);
}

static void write_read(struct replay *r, const struct cursor *m, const void *entry)
{
	results_entry(&r->got, entry);
	write_place(r, m);
	results_status(&r->got, m->mas.status);
}

static void cursor_new(struct replay *r, struct cursor *m, const struct argument *a)
{
	MA_STATE(mas, &a[0].tree->mt, a[1].index, a[2].index);

	(void)r;
	m->tree = a[0].tree;
	m->mas = mas;
}

static void cursor_init(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)r;
	m->tree = a[0].tree;
	mas_init(&m->mas, &a[0].tree->mt, a[1].index);
}

static void cursor_set(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)r;
	mas_set(&m->mas, a[0].index);
}

static void cursor_set_range(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)r;
	mas_set_range(&m->mas, a[0].index, a[1].index);
}

static void cursor_reset(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)r;
	(void)a;
	mas_reset(&m->mas);
}

static void cursor_pause(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)r;
	(void)a;
	mas_pause(&m->mas);
}

static void cursor_position(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)r;
	m->mas.index = a[0].index;
	m->mas.last = a[1].index;
}

static void cursor_is_active(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)a;
	results_count(&r->got, mas_is_active(&m->mas));
}

static void cursor_walk(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)a;
	write_read(r, m, mas_walk(&m->mas));
}

#define CURSOR_READ(name)                                                                          \
	static void cursor_##name(struct replay *r, struct cursor *m, const struct argument *a)    \
	{                                                                                          \
		write_read(r, m, mas_##name(&m->mas, a[0].index));                                 \
	}

CURSOR_READ(find)
CURSOR_READ(find_range)
CURSOR_READ(find_rev)
CURSOR_READ(find_range_rev)
CURSOR_READ(next)
CURSOR_READ(next_range)
CURSOR_READ(prev)
CURSOR_READ(prev_range)

static void cursor_for_each(struct replay *r, struct cursor *m, const struct argument *a)
{
	struct results list = { 0 };
	unsigned long count = 0;
	void *entry;

	mas_for_each(&m->mas, entry, a[0].index) {
		results_range(&list, m->mas.index, m->mas.last, entry);
		count++;
	}
	results_count(&r->got, count);
	if (count)
		results_text(&r->got, list.text);
	results_free(&list);
}

static void cursor_store(struct replay *r, struct cursor *m, const struct argument *a)
{
	results_entry(&r->got, mas_store(&m->mas, a[0].entry));
	write_place(r, m);
}

static void cursor_store_gfp(struct replay *r, struct cursor *m, const struct argument *a)
{
	results_error(&r->got, mas_store_gfp(&m->mas, a[0].entry, GFP_KERNEL));
	write_place(r, m);
}

static void cursor_preallocate(struct replay *r, struct cursor *m, const struct argument *a)
{
	results_error(&r->got, mas_preallocate(&m->mas, a[0].entry, GFP_KERNEL));
}

static void cursor_store_prealloc(struct replay *r, struct cursor *m, const struct argument *a)
{
	mas_store_prealloc(&m->mas, a[0].entry);
	write_place(r, m);
}

static void cursor_erase(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)a;
	results_entry(&r->got, mas_erase(&m->mas));
	write_place(r, m);
}

static void cursor_expected(struct replay *r, struct cursor *m, const struct argument *a)
{
	results_error(&r->got, mas_expected_entries(&m->mas, a[0].index));
}

static void cursor_destroy(struct replay *r, struct cursor *m, const struct argument *a)
{
	(void)r;
	(void)a;
	mas_destroy(&m->mas);
}

static void cursor_empty_area(struct replay *r, struct cursor *m, const struct argument *a)
{
	int error = mas_empty_area(&m->mas, a[0].index, a[1].index, a[2].index);

	results_error(&r->got, error);
	if (error == 0)
		write_place(r, m);
}

static void cursor_empty_area_rev(struct replay *r, struct cursor *m, const struct argument *a)
{
	int error = mas_empty_area_rev(&m->mas, a[0].index, a[1].index, a[2].index);

	results_error(&r->got, error);
	if (error == 0)
		write_place(r, m);
}

static void cursor_alloc_cyclic(struct replay *r, struct cursor *m, const struct argument *a)
{
	unsigned long start = 0;
	unsigned long next = a[2].index;
	int error = mas_alloc_cyclic(&m->mas, &start, a[3].entry, a[0].index, a[1].index, &next,
				     GFP_KERNEL);

	results_error(&r->got, error);
	if (error >= 0) {
		results_index(&r->got, start);
		results_index(&r->got, next);
	}
}

/* ---- the tables ------------------------------------------------------------------------- */

#define T(name, signature, lock, changes) { #name, signature, lock, changes, tree_##name, NULL }
#define M(name, signature, lock, changes) { #name, signature, lock, changes, NULL, cursor_##name }

static const struct call tree_calls[] = {
	T(store, "IE", lock_free, true),
	T(store_range, "IIE", lock_free, true),
	T(insert, "IE", lock_free, true),
	T(insert_range, "IIE", lock_free, true),
	T(erase, "I", lock_free, true),
	T(load, "I", lock_any, false),
	T(alloc_range, "IIIE", lock_free, true),
	T(alloc_rrange, "IIIE", lock_free, true),
	T(alloc_cyclic, "IIIE", lock_free, true),
	T(find, "II", lock_any, false),
	T(find_after, "II", lock_any, false),
	T(next, "II", lock_any, false),
	T(prev, "II", lock_any, false),
	T(for_each, "II", lock_any, false),
	T(empty, "", lock_any, false),
	T(in_rcu, "", lock_any, false),
	T(set_rcu, "", lock_free, true),
	T(clear_rcu, "", lock_free, true),
	T(dup, "T", lock_free, true),
	T(dup_locked, "T", lock_free, true),
	T(destroy, "", lock_free, true),
	T(destroy_locked, "", lock_free, true),
	T(content, "", lock_any, false),
};

static const struct call cursor_calls[] = {
	M(new, "TII", lock_any, false),
	M(init, "TI", lock_any, false),
	M(set, "I", lock_any, false),
	M(set_range, "II", lock_any, false),
	M(reset, "", lock_any, false),
	M(pause, "", lock_any, false),
	M(position, "II", lock_any, false),
	M(is_active, "", lock_any, false),
	M(walk, "", lock_held, false),
	M(find, "I", lock_held, false),
	M(find_range, "I", lock_held, false),
	M(find_rev, "I", lock_held, false),
	M(find_range_rev, "I", lock_held, false),
	M(next, "I", lock_held, false),
	M(next_range, "I", lock_held, false),
	M(prev, "I", lock_held, false),
	M(prev_range, "I", lock_held, false),
	M(for_each, "I", lock_held, false),
	M(store, "E", lock_held, true),
	M(store_gfp, "E", lock_held, true),
	M(preallocate, "E", lock_held, true),
	M(store_prealloc, "E", lock_held, true),
	M(erase, "", lock_held, true),
	M(expected, "I", lock_held, true),
	M(destroy, "", lock_held, true),
	M(empty_area, "III", lock_held, false),
	M(empty_area_rev, "III", lock_held, false),
	M(alloc_cyclic, "IIIE", lock_held, true),
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

const struct call *call_find(char object, const char *name)
{
	const struct call *calls = object == 't' ? tree_calls : cursor_calls;
	size_t length = object == 't' ? LENGTH(tree_calls) : LENGTH(cursor_calls);

	for (size_t i = 0; i < length; i++) {
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	}
	return NULL;
}
