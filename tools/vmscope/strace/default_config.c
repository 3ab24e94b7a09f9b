/* SPDX-License-Identifier: MIT */
/* The machine that a log of strace(1) is assumed to be from. */
#include "strace/default_config.h"

#include <mapletree/vmspace_rules.h>

void strace_default_config(struct vmspace_config *config)
{
	*config = (struct vmspace_config){
		.page_size = 4096,
		.task_size = 0x7ffffffff000,
		.map_window = 0x7ffffffff000,
		.mmap_base_legacy = 0x2aaaaaaab000,
		.mmap_min_addr = 65536,
		.hint_min_addr = 65536,
		.stack_guard_gap = 256,
		.max_map_count = 65530,
		.pmd_size = 2 << 20,
		.thp = VMSPACE_THP_MADVISE,
		.anon_names = true,
		.ksm = true,
		.lock_privileged = true,
		.move_all_privileged = true,
		.rlimit_as = VMSPACE_NO_LIMIT,
		.rlimit_data = VMSPACE_NO_LIMIT,
		.rlimit_data_max = VMSPACE_NO_LIMIT,
		.rlimit_stack = VMSPACE_NO_LIMIT,
		.rlimit_memlock = VMSPACE_NO_LIMIT,
	};
	(void)vmspace_config_kernel(config, "6.18");
}
