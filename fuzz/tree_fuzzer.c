/* SPDX-License-Identifier: MIT */
/*
 * tree_fuzzer.c - interpret bytes as operations on maple trees, every result compared with the
 * flat-array model's.
 *
 * An operation is a byte, six bits for what and two for which of four trees, and its arguments.
 * Any bytes are a valid program.
 */
#include "fuzzer.h"
#include "world.h"

#define OPERATIONS_MAX 400

static operation *const operations[64] = {
	/* what changes content stands here more often */
	op_store, op_store, op_store, op_store, op_store, op_store, op_store, op_store,
	op_insert, op_insert, op_insert, op_insert, op_erase, op_erase, op_erase, op_erase,
	op_alloc, op_alloc, op_alloc_area, op_alloc_area, op_alloc_cyclic, op_gap, op_gap, op_bulk,
	op_look, op_look, op_find, op_snapshot, op_iterate, op_statistics, op_print, op_dup,
	op_destroy, op_renew, op_switch_rcu, op_snapshot, op_fail_memory, op_fail_memory,
	op_pass_grace, op_pass_grace,
	op_cursor_set, op_cursor_set, op_cursor_move, op_cursor_move, op_cursor_read, op_cursor_read,
	op_cursor_read, op_cursor_read,
	op_cursor_store, op_cursor_store, op_cursor_store, op_cursor_nomem, op_cursor_preallocate,
	op_cursor_store_prealloc, op_cursor_store_prealloc, op_cursor_erase,
	op_cursor_erase, op_cursor_area, op_cursor_cyclic, op_cursor_pause, op_reader_enter,
	op_reader_step, op_reader_step, op_reader_leave,
};

void fuzzer_print_calls(void)
{
	world_print_calls = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct world world;

	world_open(&world, bytes, size);
	for (unsigned int i = 0; i < OPERATIONS_MAX && input_left(&world.in); i++) {
		unsigned int code = input_byte(&world.in);

		operations[code % 64](&world, &world.tree[code / 64]);
		if (memory_failed(&world))
			heap_allow(&world.heap);
	}
	world_close(&world);
	return 0;
}
