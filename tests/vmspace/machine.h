/* SPDX-License-Identifier: MIT */
/* machine.h - a machine for tests that ask nothing of the one they run on. After <cmocka.h>. */
#ifndef MACHINE_H
#define MACHINE_H

#include <mapletree/vmspace_rules.h>

/* A machine of 1000 pages, and Linux of that version. */
static inline struct vmspace_config machine(const char *version)
{
	struct vmspace_config config = {
		.page_size = 4096,
		.task_size = 0x7ffffffff000UL,
		.map_window = 0x7ffffffff000UL,
		.mmap_base = 0x7ffff7fff000UL,
		.mmap_base_legacy = 0x2aaaaaaab000UL,
		.mmap_min_addr = 65536,
		.stack_guard_gap = 256,
		.max_map_count = 65530,
		.pmd_size = 2UL << 20,
		.ram_pages = 1000,
		.memory_nodes = 1,
		.lock_privileged = true,
		.pkeys = true,
		.ksm = true,
		.rlimit_as = VMSPACE_NO_LIMIT,
		.rlimit_data = VMSPACE_NO_LIMIT,
		.rlimit_data_max = VMSPACE_NO_LIMIT,
		.rlimit_stack = VMSPACE_NO_LIMIT,
		.rlimit_memlock = VMSPACE_NO_LIMIT,
	};

	assert_int_equal(vmspace_config_kernel(&config, version), 0);
	return config;
}

#endif
