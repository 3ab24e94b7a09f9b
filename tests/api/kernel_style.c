/* SPDX-License-Identifier: MIT */
/*
 * kernel_style.c - the kernel's interface in the idioms of kernel code, with its results checked;
 * the same text compiles as C11, C17 and C++17. What happens without memory: kernel_memory.c.
 */
#include <mapletree/maple_tree.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

#define PAGE_SHIFT           12
#define SINGLE_DEPTH_NESTING 1
#define MM_MT_FLAGS          (MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN | MT_FLAGS_USE_RCU)

struct area {
	unsigned long start, end; /* [start, end) */
	unsigned int copies;
};

/* An address space: its tree is changed under mmap_lock. */
struct space {
	struct maple_tree mt;
	pthread_mutex_t mmap_lock;
};

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static DEFINE_MTREE(plain_tree);
static struct maple_tree irq_tree = MTREE_INIT(irq_tree, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_IRQ);
static struct maple_tree init_tree = MTREE_INIT_EXT(init_tree, MM_MT_FLAGS, init_lock);

static void assert_sound(struct maple_tree *mt)
{
	const char *reason = NULL;

	if (!mt_check(mt, &reason))
		fail_msg("%s", reason);
	mt_validate(mt);
}

/* ---- trees and entries ------------------------------------------------------------------ */

static void trees_are_initialised(void **state)
{
	struct maple_tree stack_tree, *mt = &stack_tree;

	(void)state;
	maple_tree_init();
	assert_true(mtree_empty(&plain_tree));
	assert_int_equal(plain_tree.ma_flags, 0);
	assert_null(plain_tree.ma_root);
	assert_int_equal(irq_tree.ma_flags & MT_FLAGS_LOCK_MASK, MT_FLAGS_LOCK_IRQ);
	assert_false(mt_external_lock(&irq_tree));
	assert_int_equal(init_tree.ma_flags & MT_FLAGS_LOCK_MASK, MT_FLAGS_LOCK_EXTERN);
	assert_true(mt_external_lock(&init_tree));
	assert_true(mt_in_rcu(&init_tree));

	mt_init(mt);
	mt_on_stack(stack_tree);
	assert_int_equal(mt->ma_flags, 0);
	assert_int_equal(mt_set_in_rcu(mt), 0);
	assert_true(mt_in_rcu(mt));
	mt_clear_in_rcu(mt);
	assert_false(mt_in_rcu(mt));

	mt_init_flags(mt, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_BH);
	mt_set_external_lock(mt, &init_lock);
	assert_int_equal(mt->ma_flags, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_BH);
	assert_int_equal(mt_height(mt), 0);
	assert_true(mtree_trylock(mt));
	mtree_unlock(mt);
	mtree_destroy(mt);
}

static void entries_are_pointers_values_and_errors(void **state)
{
	int thing;

	(void)state;
	assert_int_equal(xa_to_value(xa_mk_value(0)), 0);
	assert_int_equal(xa_to_value(xa_mk_value(LONG_MAX)), LONG_MAX);
	assert_true(xa_is_value(xa_mk_value(7)));
	assert_false(xa_is_value(&thing));
	assert_false(xa_is_value(NULL));
	assert_true(xa_is_internal(xa_mk_internal(5)));
	assert_false(xa_is_internal(&thing));
	assert_true(xa_is_zero(XA_ZERO_ENTRY));
	assert_false(xa_is_zero(xa_mk_internal(256)));
	assert_true(xa_is_err(MA_ERROR(-ENOMEM)));
	assert_false(xa_is_err(XA_ZERO_ENTRY));
	assert_false(xa_is_err(&thing));
	assert_int_equal(xa_err(MA_ERROR(-ENOMEM)), -ENOMEM);
	assert_int_equal(xa_err(MA_ERROR(-EBUSY)), -EBUSY);
	assert_int_equal(xa_err(&thing), 0);
	assert_int_equal(xa_err(xa_mk_value(1)), 0);
}

static void allocation_contexts_tell_who_may_wait(void **state)
{
	static const gfp_t contexts[] = { /* six that may, six that may not */
		GFP_KERNEL | __GFP_NOFAIL | __GFP_ZERO, GFP_KERNEL_ACCOUNT, GFP_USER, GFP_NOFS,
		GFP_NOIO, __GFP_RECLAIM, GFP_NOWAIT, GFP_ATOMIC, GFP_KERNEL & GFP_NOWAIT,
		__GFP_ACCOUNT, __GFP_NORETRY | __GFP_NOWARN, __GFP_RETRY_MAYFAIL };
	DEFINE_MTREE(mt);
	for (int i = 0; i < 12; i++, (void)state) {
		assert_int_equal(mtree_store_range(&mt, 1, 9, &mt, contexts[i]), i < 6 ? 0 : -ENOMEM);
		mtree_destroy(&mt);
	}
}

/* ---- the normal interface ----------------------------------------------------------------- */

static void stores_cut_and_inserts_do_not(void **state)
{
	DEFINE_MTREE(mt);
	int low, high, middle;

	(void)state;
	assert_int_equal(mtree_store(&mt, 0, &low, GFP_KERNEL), 0);
	assert_int_equal(mt_height(&mt), 0);
	assert_int_equal(mtree_store_range(&mt, 10, ULONG_MAX, &high, GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 20, 29, &middle, GFP_KERNEL), 0);
	assert_in_range(mt_height(&mt), 1, MAPLE_HEIGHT_MAX);
	assert_int_equal((mt.ma_flags & MT_FLAGS_HEIGHT_MASK) >> MT_FLAGS_HEIGHT_OFFSET,
			 mt_height(&mt));
	assert_ptr_equal(mtree_load(&mt, 0), &low);
	assert_null(mtree_load(&mt, 1));
	assert_ptr_equal(mtree_load(&mt, 19), &high);
	assert_ptr_equal(mtree_load(&mt, 20), &middle);
	assert_ptr_equal(mtree_load(&mt, ULONG_MAX), &high);

	assert_int_equal(mtree_insert(&mt, 10, &low, GFP_KERNEL), -EEXIST);
	assert_int_equal(mtree_insert(&mt, 1, &low, GFP_KERNEL), 0);
	assert_int_equal(mtree_insert_range(&mt, 5, 10, &low, GFP_KERNEL), -EEXIST);
	assert_int_equal(mtree_insert_range(&mt, 5, 9, &low, GFP_KERNEL), 0);
	assert_int_equal(mtree_insert_range(&mt, 9, 5, &low, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_store_range(&mt, 9, 5, &low, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_store(&mt, 3, xa_mk_internal(3), GFP_KERNEL), -EINVAL);

	assert_int_equal(mtree_store(&mt, 3, XA_ZERO_ENTRY, GFP_KERNEL), 0);
	assert_null(mtree_load(&mt, 3));
	assert_int_equal(mtree_insert(&mt, 3, &low, GFP_KERNEL), -EEXIST);

	assert_ptr_equal(mtree_erase(&mt, 25), &middle);
	assert_null(mtree_erase(&mt, 25));
	assert_int_equal(mtree_store_range(&mt, 0, ULONG_MAX, NULL, GFP_KERNEL), 0);
	assert_true(mtree_empty(&mt));
	mtree_destroy(&mt);
}

static void lookups_find_neighbours(void **state)
{
	static const unsigned long starts[] = { 0, 100, 200, ULONG_MAX };
	DEFINE_MTREE(mt);
	unsigned long index, seen = 0;
	void *entry;

	(void)state;
	for (index = 0; index < 4; index++)
		assert_int_equal(mtree_insert(&mt, starts[index], xa_mk_value(index), GFP_KERNEL),
				 0);
	assert_int_equal(mtree_store_range(&mt, 110, 119, XA_ZERO_ENTRY, GFP_KERNEL), 0);

	index = 0;
	mt_for_each(&mt, entry, index, ULONG_MAX)
		assert_int_equal(xa_to_value(entry), seen++);
	assert_int_equal(seen, 4);
	assert_int_equal(index, 0); /* one past ULONG_MAX */
	assert_null(mt_find_after(&mt, &index, ULONG_MAX));

	index = 101;
	assert_ptr_equal(mt_find(&mt, &index, ULONG_MAX), xa_mk_value(2));
	assert_int_equal(index, 201);
	assert_null(mt_find_after(&mt, &index, 1000));
	assert_int_equal(index, 201);
	assert_ptr_equal(mt_next(&mt, 100, ULONG_MAX), xa_mk_value(2));
	assert_null(mt_next(&mt, 100, 199));
	assert_ptr_equal(mt_prev(&mt, 200, 0), xa_mk_value(1));
	assert_null(mt_prev(&mt, 200, 101));
	mtree_destroy(&mt);
}

static void free_ranges_are_allocated(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	unsigned long start = 0, next = 0;
	int i;

	(void)state;
	assert_int_equal(mtree_alloc_range(&mt, &start, &mt, 8, 16, 63, GFP_KERNEL), 0);
	assert_int_equal(start, 16);
	assert_int_equal(mtree_alloc_rrange(&mt, &start, &mt, 8, 16, 63, GFP_KERNEL), 0);
	assert_int_equal(start, 56);
	assert_int_equal(mtree_alloc_range(&mt, &start, &mt, 33, 16, 63, GFP_KERNEL), -EBUSY);
	assert_int_equal(mtree_alloc_range(&mt, &start, &mt, 0, 16, 63, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_alloc_rrange(&mt, &start, &mt, 1, 63, 16, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_alloc_range(&plain_tree, &start, &mt, 1, 0, 9, GFP_KERNEL),
			 -EINVAL);

	for (i = 0; i < 5; i++) {
		assert_int_equal(mtree_alloc_cyclic(&mt, &start, &mt, 100, 104, &next, GFP_KERNEL),
				 0);
		assert_int_equal(start, 100 + i);
	}
	mtree_erase(&mt, 102);
	assert_int_equal(mtree_alloc_cyclic(&mt, &start, &mt, 100, 104, &next, GFP_KERNEL), 1);
	assert_int_equal(start, 102);
	assert_int_equal(next, 103);
	assert_int_equal(mtree_alloc_cyclic(&mt, &start, &mt, 100, 104, &next, GFP_KERNEL),
			 -EBUSY);

	next = ULONG_MAX;
	assert_int_equal(mtree_alloc_cyclic(&mt, &start, &mt, 200, ULONG_MAX, &next, GFP_KERNEL),
			 0);
	assert_int_equal(start, ULONG_MAX);
	assert_true(mt.ma_flags & MT_FLAGS_ALLOC_WRAPPED);
	assert_int_equal(mtree_alloc_cyclic(&mt, &start, &mt, 200, ULONG_MAX, &next, GFP_KERNEL),
			 1);
	assert_int_equal(start, 200);
	assert_sound(&mt);
	mtree_destroy(&mt);
}

/* Pages 1-2, 4-5, 7-8, ... of @areas. */
static void fill(struct maple_tree *mt, struct area *areas, unsigned long count)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		MA_STATE(mas, mt, 3 * i + 1, 3 * i + 2);

		areas[i].start = mas.index;
		areas[i].end = mas.last + 1;
		areas[i].copies = 0;
		mas_lock(&mas);
		assert_int_equal(mas_store_gfp(&mas, &areas[i], GFP_KERNEL), 0);
		mas_unlock(&mas);
	}
}

static void a_cursor_walks_like_a_list(void **state)
{
	struct area areas[40], *area;
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 0, 0);
	unsigned long i = 0;
	void *entry;

	(void)state;
	fill(&mt, areas, 40);
	mas_lock(&mas);
	assert_int_equal(mas.status, ma_start);
	mas_for_each(&mas, entry, ULONG_MAX)
		assert_ptr_equal(entry, &areas[i++]);
	assert_int_equal(i, 40);
	mas_set(&mas, ULONG_MAX);
	mas_for_each_rev(&mas, entry, 0)
		assert_ptr_equal(entry, &areas[--i]);
	assert_int_equal(i, 0);

	mas_set_range(&mas, 4, 4);
	area = (struct area *)mas_walk(&mas);
	assert_ptr_equal(area, &areas[1]);
	assert_true(mas_is_active(&mas));
	assert_int_equal(mas.last + 1, area->end);
	assert_true(mas.min <= mas.index && mas.last <= mas.max && mas.offset <= mas.end);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), &areas[2]);
	assert_null(mas_next_range(&mas, ULONG_MAX)); /* the gap */
	assert_int_equal(mas.index, 9);
	assert_ptr_equal(mas_prev_range(&mas, 0), &areas[2]);
	assert_ptr_equal(mas_prev(&mas, 0), &areas[1]);

	mas_init(&mas, &mt, 3); /* in a gap: the first call leaves it */
	assert_ptr_equal(mas_find_range(&mas, 10), &areas[1]);
	assert_null(mas_find_range(&mas, 10));
	assert_int_equal(mas.index, 6);
	assert_ptr_equal(mas_find(&mas, 10), &areas[2]);
	mas_set(&mas, 6);
	assert_ptr_equal(mas_find_range_rev(&mas, 0), &areas[1]);
	assert_null(mas_find_range_rev(&mas, 0));
	assert_ptr_equal(mas_find_rev(&mas, 0), &areas[0]);
	mas_unlock(&mas);
	mtree_destroy(&mt);
}

static void a_cursor_meets_its_limits(void **state)
{
	struct area areas[3];
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 4, 4);

	(void)state;
	fill(&mt, areas, 3);
	mas_lock(&mas);
	assert_ptr_equal(mas_walk(&mas), &areas[1]);
	assert_null(mas_next(&mas, 5));
	assert_int_equal(mas.status, ma_overflow);
	assert_ptr_equal(mas_prev(&mas, 0), &areas[1]);
	assert_null(mas_prev(&mas, 4));
	assert_int_equal(mas.status, ma_underflow);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), &areas[1]);
	mas_unlock(&mas);
	mtree_destroy(&mt);

	mas_set(&mas, 0);
	mas_lock(&mas);
	assert_null(mas_walk(&mas));
	assert_int_equal(mas.status, ma_none);
	mas_unlock(&mas);
	assert_int_equal(mtree_store(&mt, 0, &areas[0], GFP_KERNEL), 0);
	mas_lock(&mas);
	mas_reset(&mas);
	mas.index = mas.last = 0;
	assert_ptr_equal(mas_walk(&mas), &areas[0]);
	assert_int_equal(mas.status, ma_root);
	mas_unlock(&mas);
	mtree_destroy(&mt);
}

static void members_may_be_assigned_by_hand(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	struct area areas[20];
	enum maple_status before;
	unsigned int page = 4;
	MA_STATE(mas, &mt, page, -1);

	(void)state;
	assert_int_equal(mas.last, ULONG_MAX);
	fill(&mt, areas, 20);
	mas_lock(&mas);
	assert_ptr_equal(mas_walk(&mas), &areas[1]);
	mas.index = 10;
	mas.last = 10;
	assert_ptr_equal(mas_walk(&mas), &areas[3]);
	before = mas.status;
	assert_int_equal(before, ma_active);
	mas.status = ma_start;
	mas.index = mas.last = 30;
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), &areas[10]);
	__mas_set_range(&mas, mas.last, mas.last); /* unmap the tail: stay at the node */
	assert_int_equal(mas_store_gfp(&mas, NULL, GFP_KERNEL), 0);
	assert_ptr_equal(mtree_load(&mt, 31), &areas[10]);
	assert_null(mtree_load(&mt, 32));
	mas_reset(&mas);
	mas.offset = 0;
	assert_int_equal(mas_empty_area(&mas, 20, ULONG_MAX, 2), 0);
	assert_int_equal(mas.index, 32);
	assert_int_equal(mas.last, 33);
	assert_ptr_equal(mas.tree, &mt);
	mas_unlock(&mas);
	mtree_destroy(&mt);
}

/* ---- cursors: writing --------------------------------------------------------------------- */

/* Drops the lock now and then, as a loop over many entries must. */
static void a_paused_cursor_goes_on_after_the_lock(void **state)
{
	struct area areas[100];
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 0, 0);
	unsigned long seen = 0;
	void *entry;

	(void)state;
	fill(&mt, areas, 100);
	mas_lock(&mas);
	mas_for_each(&mas, entry, ULONG_MAX) {
		assert_ptr_equal(entry, &areas[seen]);
		if (seen++ % 8)
			continue;
		mas_pause(&mas);
		assert_int_equal(mas.status, ma_pause);
		mas_unlock(&mas);
		assert_ptr_equal(mtree_erase(&mt, areas[seen - 1].start), entry);
		mas_lock(&mas);
	}
	mas_unlock(&mas);
	assert_int_equal(seen, 100);
	mtree_destroy(&mt);
}

static void every_spelling_of_the_lock_is_the_lock(void **state)
{
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 0, 0);
	unsigned long flags;

	(void)state;
	mtree_lock(&mt);
	assert_false(mtree_trylock(&mt));
	mtree_unlock(&mt);
	mtree_lock_nested(&mt, SINGLE_DEPTH_NESTING);
	assert_false(mtree_trylock(&mt));
	mtree_unlock(&mt);
	mtree_lock_irqsave(&mt, flags);
	assert_false(mtree_trylock(&mt));
	mtree_unlock_irqrestore(&mt, flags);
	mas_lock(&mas);
	assert_false(mtree_trylock(&mt));
	mas_unlock(&mas);
	mas_lock_nested(&mas, SINGLE_DEPTH_NESTING);
	assert_false(mtree_trylock(&mt));
	mas_unlock(&mas);
	mas_lock_irqsave(&mas, flags);
	assert_false(mtree_trylock(&mt));
	mas_unlock_irqrestore(&mas, flags);
	assert_true(mtree_trylock(&mt));
	mtree_unlock(&mt);
}

static void a_cursor_finds_free_areas(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	MA_STATE(mas, &mt, 0, 0);
	unsigned long id, next = 0;

	(void)state;
	mas_lock(&mas);
	assert_int_equal(mas_empty_area(&mas, 0x1000, 0x1fff, 0x100), 0);
	assert_int_equal(mas.index, 0x1000);
	assert_int_equal(mas_store_gfp(&mas, &mt, GFP_KERNEL), 0);
	mas_reset(&mas);
	assert_int_equal(mas_empty_area_rev(&mas, 0x1000, 0x1fff, 0x100), 0);
	assert_int_equal(mas.index, 0x1f00);
	assert_int_equal(mas.last, 0x1fff);
	assert_int_equal(mas_empty_area(&mas, 0x1000, 0x1fff, 0xf01), -EBUSY);
	assert_int_equal(mas_empty_area_rev(&mas, 0x1fff, 0x1000, 1), -EINVAL);
	mas_set(&mas, 0);
	assert_int_equal(mas_alloc_cyclic(&mas, &id, &mt, 1, 2, &next, GFP_KERNEL), 0);
	assert_int_equal(mas_alloc_cyclic(&mas, &id, &mt, 1, 2, &next, GFP_KERNEL), 0);
	assert_int_equal(id, 2);
	assert_int_equal(mas_alloc_cyclic(&mas, &id, &mt, 1, 2, &next, GFP_KERNEL), -EBUSY);
	assert_sound(&mt);
	mas_unlock(&mas);
	mtree_destroy(&mt);
}

/* ---- address spaces: external lock, duplication --------------------------------------------- */

static void space_init(struct space *mm)
{
	mt_init_flags(&mm->mt, MM_MT_FLAGS);
	pthread_mutex_init(&mm->mmap_lock, NULL);
	mt_set_external_lock(&mm->mt, &mm->mmap_lock);
}

static int space_map(struct space *mm, unsigned long size)
{
	MA_STATE(mas, &mm->mt, 0, 0);
	struct area *area = (struct area *)calloc(1, sizeof(*area));
	int error;

	pthread_mutex_lock(&mm->mmap_lock);
	error = mas_empty_area_rev(&mas, 0x10000, 0xffffff, size);
	if (!error) {
		area->start = mas.index;
		area->end = mas.last + 1;
		error = mas_store_gfp(&mas, area, GFP_KERNEL);
	}
	pthread_mutex_unlock(&mm->mmap_lock);
	return error;
}

/* Copies the tree, then puts a copy of its own in each area's place. */
static int space_fork(struct space *mm, struct space *old)
{
	MA_STATE(mas, &mm->mt, 0, 0);
	struct area *area, *copy;
	void *entry;
	int error;

	pthread_mutex_lock(&old->mmap_lock);
	pthread_mutex_lock(&mm->mmap_lock);
	error = __mt_dup(&old->mt, &mm->mt, GFP_KERNEL);
	if (error)
		goto out;
	mas_for_each(&mas, entry, ULONG_MAX) {
		area = (struct area *)entry;
		area->copies++;
		copy = (struct area *)malloc(sizeof(*copy));
		*copy = *area;
		mas.index = area->start;
		mas.last = area->end - 1;
		assert_ptr_equal(mas_store(&mas, copy), area);
		assert_false(mas_is_err(&mas));
	}
out:
	pthread_mutex_unlock(&mm->mmap_lock);
	pthread_mutex_unlock(&old->mmap_lock);
	return error;
}

static unsigned long space_exit(struct space *mm)
{
	MA_STATE(mas, &mm->mt, 0, 0);
	unsigned long count = 0;
	void *entry;

	pthread_mutex_lock(&mm->mmap_lock);
	mas_for_each(&mas, entry, ULONG_MAX) {
		free(entry);
		count++;
	}
	__mt_destroy(&mm->mt);
	pthread_mutex_unlock(&mm->mmap_lock);
	return count;
}

static void an_address_space_is_forked(void **state)
{
	struct space parent, child;
	struct area *area, *copy;
	int i;

	(void)state;
	space_init(&parent);
	space_init(&child);
	for (i = 0; i < 50; i++)
		assert_int_equal(space_map(&parent, 0x1000 * (i % 3 + 1)), 0);
	assert_int_equal(space_fork(&child, &parent), 0);
	area = (struct area *)mtree_load(&parent.mt, 0xffffff);
	copy = (struct area *)mtree_load(&child.mt, 0xffffff);
	assert_ptr_not_equal(area, copy);
	assert_int_equal(area->start, copy->start);
	assert_int_equal(area->copies, 1);
	assert_int_equal(space_fork(&child, &parent), -EINVAL); /* not empty */
	assert_sound(&child.mt);
	assert_int_equal(space_exit(&child), 50);
	assert_int_equal(space_exit(&parent), 50);
	assert_true(mtree_empty(&parent.mt));
	urcu_bp_barrier();
}

static void a_tree_is_duplicated(void **state)
{
	struct area areas[30];
	DEFINE_MTREE(mt);
	DEFINE_MTREE(copy);
	struct maple_tree other = MTREE_INIT(other, MT_FLAGS_ALLOC_RANGE);

	(void)state;
	fill(&mt, areas, 30);
	assert_int_equal(mtree_dup(&mt, &other, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_dup(&mt, &copy, GFP_KERNEL), 0);
	assert_ptr_equal(mtree_erase(&mt, 1), &areas[0]);
	assert_ptr_equal(mtree_load(&copy, 1), &areas[0]);
	mtree_destroy(&copy);
	mtree_destroy(&mt);
}

/* ---- looking inside --------------------------------------------------------------------------- */

/* The dumps go to standard error: into a pipe here. */
static void a_tree_can_be_looked_into(void **state)
{
	static const enum mt_dump_format formats[] = { mt_dump_dec, mt_dump_hex };
	struct area areas[20];
	char text[4096];
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 4, 4);
	int to[2], saved = dup(STDERR_FILENO);

	(void)state;
	fill(&mt, areas, 20);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(dup2(to[1], STDERR_FILENO), STDERR_FILENO);
	mas_lock(&mas);
	mt_dump(&mt, formats[0]);
	mt_dump(&mt, formats[1]);
	mas_walk(&mas);
	mas_dump(&mas);
	mas_unlock(&mas);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	close(to[1]);
	assert_true(read(to[0], text, sizeof(text)) > 100);
	close(to[0]);
	assert_true(mt_check(&mt, NULL));
	mtree_destroy(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_initialised),
		cmocka_unit_test(entries_are_pointers_values_and_errors),
		cmocka_unit_test(allocation_contexts_tell_who_may_wait),
		cmocka_unit_test(stores_cut_and_inserts_do_not),
		cmocka_unit_test(lookups_find_neighbours),
		cmocka_unit_test(free_ranges_are_allocated),
		cmocka_unit_test(a_cursor_walks_like_a_list),
		cmocka_unit_test(a_cursor_meets_its_limits),
		cmocka_unit_test(members_may_be_assigned_by_hand),
		cmocka_unit_test(a_paused_cursor_goes_on_after_the_lock),
		cmocka_unit_test(every_spelling_of_the_lock_is_the_lock),
		cmocka_unit_test(a_cursor_finds_free_areas),
		cmocka_unit_test(an_address_space_is_forked),
		cmocka_unit_test(a_tree_is_duplicated),
		cmocka_unit_test(a_tree_can_be_looked_into),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
