/* SPDX-License-Identifier: MIT */
/*
 * beyond_kernel.c - what the kernel's interface does not have, with its results checked; the same
 * text compiles as C11, C17 and C++17.
 */
#include <mapletree/maple_tree.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <urcu/urcu-bp.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

/* Value i at 3 * i + 1 and the index after it. */
static void fill(struct maple_tree *mt, unsigned long count)
{
	unsigned long i;

	for (i = 0; i < count; i++)
		assert_int_equal(mtree_store_range(mt, 3 * i + 1, 3 * i + 2, xa_mk_value(i),
						   GFP_KERNEL),
				 0);
}

static void snapshots_share_their_nodes(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, 0), snap = MTREE_INIT(snap, 0);
	struct mt_statistics stats;
	MA_STATE(mas, &snap, 0, 0);

	(void)state;
	fill(&mt, 100);
	assert_int_equal(mtree_snapshot(&mt, &snap, GFP_KERNEL), 0);
	assert_int_equal(mtree_snapshot(&mt, &snap, GFP_KERNEL), -EINVAL);
	mt_get_statistics(&snap, &stats);
	assert_int_equal(stats.shared, stats.nodes);
	mtree_destroy(&mt);
	mtree_lock(&snap);
	assert_int_equal(mas_snapshot(&mas, &mt, GFP_KERNEL), 0);
	mtree_unlock(&snap);
	mtree_erase(&mt, 1);
	assert_ptr_equal(mtree_load(&snap, 1), xa_mk_value(0));
	assert_null(mtree_load(&mt, 1));
	mtree_destroy(&mt);
	mtree_destroy(&snap);
}

static void trees_and_cursors_may_have_any_size(void **state)
{
	struct maple_tree *mt = mt_new(MT_FLAGS_ALLOC_RANGE);
	struct ma_state *mas = mas_new(mt, 10, 19);
	unsigned long first = 0, last = 0;

	(void)state;
	mtree_lock(mt);
	assert_int_equal(mas_get_status(mas), ma_start);
	assert_int_equal(mas_store_gfp(mas, xa_mk_value(1), GFP_KERNEL), 0);
	mas_set(mas, 0);
	assert_ptr_equal(mas_find(mas, ULONG_MAX), xa_mk_value(1));
	mas_get_range(mas, &first, &last);
	assert_int_equal(first, 10);
	assert_int_equal(last, 19);
	assert_int_equal(mas_get_error(mas), 0);
	mas_set_range(mas, 1, 0);
	assert_int_equal(mas_store_gfp(mas, xa_mk_value(1), GFP_KERNEL), -EINVAL);
	assert_int_equal(mas_get_error(mas), -EINVAL);
	mas_free(mas);
	mtree_unlock(mt);
	mt_free(mt);
	mas_free(NULL);
	mt_free(NULL);
}

static bool same_parity(const void *a, const void *b)
{
	return xa_to_value(a) % 2 == xa_to_value(b) % 2;
}

static void *plus_one(void *old, unsigned long first, unsigned long last, void *ctx)
{
	*(unsigned long *)ctx += last - first + 1;
	return old ? xa_mk_value(xa_to_value(old) + 1) : NULL;
}

static void sum_up(void *old, unsigned long first, unsigned long last, void *ctx)
{
	*(unsigned long *)ctx += xa_to_value(old) * (last - first + 1);
}

static void intervals_join_and_are_updated(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	struct mt_area area = { 0, 1000, 10, 64, MT_FIT_LOWEST, 0 };
	mt_same_fn *same = same_parity;
	mt_update_fn *update = plus_one;
	mt_erased_fn *erased = sum_up;
	unsigned long seen = 0;
	MA_STATE(mas, &mt, 20, 29);

	(void)state;
	assert_int_equal(mtree_store_merge(&mt, 0, 9, xa_mk_value(1), same, GFP_KERNEL), 0);
	assert_int_equal(mtree_store_merge(&mt, 10, 19, xa_mk_value(3), same, GFP_KERNEL), 0);
	mtree_lock(&mt);
	assert_int_equal(mas_store_merge(&mas, xa_mk_value(5), same, GFP_KERNEL), 0);
	assert_int_equal(mas.index, 0);
	assert_int_equal(mas.last, 29);
	mas_set_range(&mas, 10, 39);
	assert_int_equal(mas_update_range(&mas, update, &seen, same, GFP_KERNEL), 0);
	assert_int_equal(seen, 30);
	assert_int_equal(mas_alloc_area(&mas, &area, xa_mk_value(9), GFP_KERNEL), 0);
	assert_int_equal(mas.index, 64);
	mtree_unlock(&mt);
	assert_int_equal(mtree_update_range(&mt, 0, 9, update, &seen, NULL, GFP_KERNEL), 0);
	assert_ptr_equal(mtree_load(&mt, 9), xa_mk_value(6));
	assert_ptr_equal(mt_next(&mt, 0, ULONG_MAX), xa_mk_value(9));
	seen = 0;
	assert_int_equal(mtree_erase_range(&mt, 5, 64, erased, &seen, GFP_KERNEL), 0);
	assert_int_equal(seen, 25 * 6 + 9);
	mas_lock(&mas);
	mas_set_range(&mas, 0, ULONG_MAX);
	assert_int_equal(mas_erase_range(&mas, NULL, NULL, GFP_KERNEL), 0);
	mas_unlock(&mas);
	assert_true(mtree_empty(&mt));
	mtree_destroy(&mt);
}

static unsigned int references;

static void get(void *entry)
{
	(void)entry;
	references++;
}

static void put(void *entry)
{
	(void)entry;
	references--;
}

static void entries_are_referred_to(void **state)
{
	static const struct mt_entry_ops ops = { get, put };
	struct maple_tree mt = MTREE_INIT(mt, 0), snap = MTREE_INIT(snap, 0);

	(void)state;
	assert_int_equal(mt_set_entry_ops(&mt, &ops), 0);
	assert_int_equal(mt_set_entry_ops(&snap, &ops), 0);
	fill(&mt, 100);
	assert_int_equal(references, 100);
	assert_int_equal(mt_set_entry_ops(&mt, NULL), -EBUSY);
	assert_int_equal(mtree_snapshot(&mt, &snap, GFP_KERNEL), 0);
	assert_int_equal(references, 100);
	mtree_erase(&mt, 1);
	mtree_destroy(&mt);
	assert_int_equal(references, 100);
	mtree_destroy(&snap);
	assert_int_equal(references, 0);
}

static void readers_hold_the_read_side_only(void **state)
{
	static const struct mt_rcu flavour = MT_RCU_FLAVOUR(bp);
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU);
	unsigned long seen = 0;
	void *entry;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	mtree_lock(&mt);
	assert_int_equal(mt_set_rcu_flavour(&mt, &flavour), 0);
	mtree_unlock(&mt);
	fill(&mt, 20);
	urcu_bp_read_lock();
	mas_for_each(&mas, entry, ULONG_MAX)
		seen++;
	urcu_bp_read_unlock();
	assert_int_equal(seen, 20);
	mtree_lock(&mt);
	assert_int_equal(mt_set_rcu_flavour(&mt, NULL), -EBUSY);
	mtree_unlock(&mt);
	mtree_destroy(&mt);
	urcu_bp_barrier();
}

static void a_forked_process_goes_on(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU);
	int status = -1;
	pid_t pid;

	(void)state;
	if (getenv("EMULATED")) /* qemu-user 7.2 aborts when a forked child starts a thread */
		skip();
	fill(&mt, 20);
	mtree_lock(&mt);
	mt_before_fork();
	pid = fork();
	if (pid == 0) {
		mt_after_fork_child();
		mtree_unlock(&mt);
		_exit(mtree_erase(&mt, 1) != xa_mk_value(0) || mtree_load(&mt, 1) ||
		      mtree_load(&mt, 4) != xa_mk_value(1));
	}
	mt_after_fork_parent();
	mtree_unlock(&mt);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ptr_equal(mtree_load(&mt, 1), xa_mk_value(0));
	mtree_destroy(&mt);
	urcu_bp_barrier();
}

static void areas_have_alignment_and_gaps_have_bounds(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	struct mt_area area = { 1, 1023, 10, 64, MT_FIT_LOWEST, 0 };
	const enum mt_fit highest = MT_FIT_HIGHEST;
	unsigned long first, last;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	assert_int_equal(mtree_alloc_area(&mt, &area, &mt, GFP_KERNEL), 0);
	assert_int_equal(area.start, 64);
	area.fit = highest;
	mas_lock(&mas);
	assert_int_equal(mas_find_area(&mas, &area), 0);
	mas_unlock(&mas);
	assert_int_equal(area.start, 960);
	area.align = 3;
	assert_int_equal(mtree_alloc_area(&mt, &area, &mt, GFP_KERNEL), -EINVAL);
	assert_true(mtree_gap_around(&mt, 10, &first, &last));
	assert_int_equal(first, 0);
	assert_int_equal(last, 63);
	assert_false(mtree_gap_around(&mt, 64, &first, &last));
	assert_ptr_equal(mtree_load_range(&mt, 1000, &first, &last), mtree_load(&mt, 1000));
	assert_true(first <= 1000 && 1000 <= last);
	assert_int_equal(mtree_fill_gap(&mt, 10, &mt, &first, &last, GFP_KERNEL), 0);
	assert_int_equal(last, 63);
	assert_int_equal(mtree_fill_gap(&mt, 10, &mt, &first, &last, GFP_KERNEL), -EEXIST);
	mtree_destroy(&mt);
}

static void many_are_looked_up_at_once(void **state)
{
	const unsigned long keys[] = { 5, 0, 5, ULONG_MAX };
	void *entries[4];
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store_range(&mt, 4, 6, &mt, GFP_KERNEL), 0);
	mtree_load_many(&mt, keys, entries, 4);
	assert_ptr_equal(entries[0], &mt);
	assert_null(entries[1]);
	assert_ptr_equal(entries[2], &mt);
	assert_null(entries[3]);
	mtree_destroy(&mt);
}

static bool refuse;

static void *take(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	return refuse ? NULL : aligned_alloc(align, size);
}

static void give(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	free(block);
}

static void reserved_stores_need_no_memory(void **state)
{
	static const struct mt_allocator allocator = { take, give, NULL };
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 0, 0);
	unsigned long i;

	(void)state;
	mtree_lock(&mt);
	assert_int_equal(mt_set_allocator(&mt, &allocator), 0);
	mtree_unlock(&mt);
	fill(&mt, 1000);
	mtree_lock(&mt);
	assert_int_equal(mas_reserve(&mas, 50, 100), 0);
	refuse = true;
	for (i = 0; i < 50; i++) {
		mas_set_range(&mas, 57 * i + 2, 57 * i + 2);
		assert_int_equal(mas_store_gfp(&mas, xa_mk_value(i), GFP_KERNEL), 0);
	}
	refuse = false;
	mas_destroy(&mas);
	mtree_unlock(&mt);
	for (i = 0; i < 50; i++)
		assert_ptr_equal(mtree_load(&mt, 57 * i + 2), xa_mk_value(i));
	mtree_destroy(&mt);
}

static void a_tree_is_measured(void **state)
{
	struct mt_statistics statistics;
	const struct mt_level_statistics *leaves;
	const char *reason;
	DEFINE_MTREE(mt);

	(void)state;
	fill(&mt, 20);
	mtree_lock(&mt);
	mt_get_statistics(&mt, &statistics);
	assert_true(mt_check(&mt, NULL));
	assert_true(mt_check(&mt, &reason));
	mtree_unlock(&mt);
	assert_int_equal(statistics.entries, 20);
	assert_int_equal(statistics.gaps, 21);
	assert_int_equal(statistics.height, mt_height(&mt));
	assert_true(statistics.leaves <= statistics.nodes);
	assert_int_equal(statistics.bytes % statistics.nodes, 0);
	leaves = &statistics.level[0];
	assert_int_equal(leaves->nodes, statistics.leaves);
	assert_int_equal(leaves->used, 41);
	assert_true(leaves->used <= leaves->slots);
	assert_int_equal(statistics.level[statistics.height - 1].nodes, 1);
	mtree_destroy(&mt);
}

static void a_tree_remembers_where_it_was_written(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, 0);
	const struct mt_finger *finger = &mt.ma_finger;

	(void)state;
	assert_true(finger->min > finger->max);
	fill(&mt, 1000);
	mtree_store(&mt, 300, xa_mk_value(5000), GFP_KERNEL);
	assert_true(finger->min <= 300 && 300 <= finger->max);
	assert_int_equal(finger->height, mt_height(&mt));
	mtree_destroy(&mt);
	assert_true(finger->min > finger->max);
}

static void threads_register_and_retired_memory_is_limited(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, 0);
	unsigned long i;

	(void)state;
	assert_int_equal(mt_thread_register(), 0);
	assert_int_equal(mt_set_in_rcu(&mt), 0);
	fill(&mt, 1000);
	mt_set_retire_limit(1);
	for (i = 0; i < 1000; i++)
		assert_ptr_equal(mtree_erase(&mt, 3 * i + 1), xa_mk_value(i));
	mt_wait_retired(&mt);
	assert_int_equal(mt_retired_bytes(), 0);
	mt_set_retire_limit(0);
	mtree_destroy(&mt);
	mt_thread_unregister();
	fill(&mt, 10);
	mtree_destroy(&mt);
	urcu_bp_barrier();
}

static void count_freed(void *number)
{
	++*(int *)number;
}

static void objects_are_retired_and_no_helper_is_needed(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU);
	int freed = 0, error;

	(void)state;
	assert_int_equal(mt_set_rcu_flavour(&mt, mt_rcu_polled()), 0);
	fill(&mt, 1000);
	assert_int_equal(mt_retire(&freed, count_freed), 0);
	mt_read_lock();
	assert_false(mt_poll());
	assert_int_equal(mt_synchronize(), -EDEADLK);
	mt_read_unlock();
	assert_int_equal(mt_synchronize(), 0);
	mtree_destroy(&mt);
	assert_int_equal(mt_barrier(), 0);
	assert_int_equal(freed, 1);
	assert_int_equal(mt_retired_bytes(), 0);
	assert_int_equal(mt_start_helper(0), 0);
	assert_int_equal(mt_retire(&freed, count_freed), 0);
	assert_int_equal(mt_barrier(), 0);
	assert_int_equal(freed, 2);
	error = mt_start_helper(MT_HELPER_OWN_FILES);
	assert_true(!error || error == -ENOSYS);
}

/* The kernel's loops take a pointer to any type; C++ converts none from void * by itself. */
static void loops_have_pointers_of_the_users_types(void **state)
{
	DEFINE_MTREE(tree);
	MA_STATE(mas, &tree, 0, 0);
	int numbers[3] = { 1, 2, 4 }, *number, up = 0, down = 0, all = 0;
	const int *constant;
	unsigned long index = 0;

	(void)state;
	for (unsigned long i = 0; i < 3; i++)
		assert_int_equal(mtree_store(&tree, 10 * i, &numbers[i], GFP_KERNEL), 0);
	mas_lock(&mas);
	mas_for_each(&mas, number, ULONG_MAX)
		up = up * 10 + *number;
	mas_set(&mas, ULONG_MAX);
	mas_for_each_rev(&mas, constant, 0)
		down = down * 10 + *constant;
	mas_unlock(&mas);
	mt_for_each(&tree, number, index, ULONG_MAX)
		all = all * 10 + *number;
	assert_int_equal(up, 124);
	assert_int_equal(down, 421);
	assert_int_equal(all, 124);
	mtree_destroy(&tree);
}

static void the_lock_is_for_programs_too(void **state)
{
	struct mt_mutex mutex = MT_MUTEX_INIT;
	DEFINE_MTREE(mt);

	(void)state;
	mt_mutex_lock(&mutex);
	assert_false(mt_mutex_trylock(&mutex));
	mt_mutex_unlock(&mutex);
	assert_true(mt_mutex_trylock(&mutex));
	mt_mutex_unlock(&mutex);
	assert_true(mtree_trylock(&mt));
	assert_false(mt_mutex_trylock(&mt.ma_lock));
	mtree_unlock(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_share_their_nodes),
		cmocka_unit_test(entries_are_referred_to),
		cmocka_unit_test(intervals_join_and_are_updated),
		cmocka_unit_test(trees_and_cursors_may_have_any_size),
		cmocka_unit_test(readers_hold_the_read_side_only),
		cmocka_unit_test(a_forked_process_goes_on),
		cmocka_unit_test(areas_have_alignment_and_gaps_have_bounds),
		cmocka_unit_test(many_are_looked_up_at_once),
		cmocka_unit_test(reserved_stores_need_no_memory),
		cmocka_unit_test(a_tree_is_measured),
		cmocka_unit_test(a_tree_remembers_where_it_was_written),
		cmocka_unit_test(threads_register_and_retired_memory_is_limited),
		cmocka_unit_test(objects_are_retired_and_no_helper_is_needed),
		cmocka_unit_test(loops_have_pointers_of_the_users_types),
		cmocka_unit_test(the_lock_is_for_programs_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
