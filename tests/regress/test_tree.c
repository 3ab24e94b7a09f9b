/* SPDX-License-Identifier: MIT */
/*
 * test_tree.c - bugs that our tree once had, one test each.
 */
#include "fixture.h"

/* A leaf that became too empty was joined with the leaf before it, and the result, a lone entry at
 * 0, was left in a node. */
static void a_join_can_leave_a_lone_entry_at_zero(void **state)
{
	static const unsigned int modes[] = { 0, MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU,
					      MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU };

	(void)state;
	for (unsigned int m = 0; m < 4; m++) {
		struct maple_tree mt;

		mt_init_flags(&mt, modes[m]);
		for (unsigned long i = 16; i-- > 0;)
			mtree_store(&mt, i, E('a'), GFP_KERNEL);
		mtree_store_range(&mt, 1, ULONG_MAX, NULL, GFP_KERNEL);
		expect_content(&mt, "0:a");
		assert_int_equal(mt_height(&mt), 0);
		end(&mt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_join_can_leave_a_lone_entry_at_zero),
	};

	return cmocka_run_group_tests_name("regress_tree", tests, NULL, NULL);
}
