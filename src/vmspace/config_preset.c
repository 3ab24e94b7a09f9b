/* SPDX-License-Identifier: MIT */
/* config_preset.c - configurations that have nothing of the machine the library runs on. */
#include <errno.h>
#include <string.h>

#include <mapletree/vmspace_rules.h>

#define PAGE	     4096UL
#define KIB	     1024UL
#define STACK_LIMIT  (8UL << 20) /* of a process by default */
#define STACK_GAP    (128UL << 20) /* at least; see vmspace_config_preset() */
#define HUGE	     (2UL << 20)

/* Where the user space of an architecture ends, with pages of 4 KiB. */
static const struct preset {
	const char *architecture;
	unsigned int bits;
	unsigned long left_out;      /* bytes below that that cannot be mapped */
	unsigned int unmapped_part;  /* bottom-up, mmap begins at this part of it */
	bool address_tags;
} presets[] = {
	{ "x86_64", 47, PAGE, 3, false },
	{ "aarch64", 48, 0, 4, true },
	{ "riscv64", 38, 0, 3, false },
};

static const struct preset *find_preset(const char *architecture)
{
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
		if (!strcmp(presets[i].architecture, architecture))
			return &presets[i];
	return NULL;
}

int vmspace_config_preset(struct vmspace_config *config, const char *architecture,
			  const char *version)
{
	const struct preset *preset = find_preset(architecture);
	struct vmspace_config made = {
		.page_size = PAGE, .mmap_min_addr = 64 * KIB, .hint_min_addr = 64 * KIB,
		.stack_guard_gap = 256, .max_map_count = 65530,
		.pmd_size = HUGE, .thp = VMSPACE_THP_NEVER,
		.overcommit_ratio = 50, .admin_reserve_kbytes = 8192,
		.user_reserve_kbytes = 131072, .anon_names = true, .ksm = true,
		.rlimit_as = VMSPACE_NO_LIMIT, .rlimit_data = VMSPACE_NO_LIMIT,
		.rlimit_data_max = VMSPACE_NO_LIMIT, .rlimit_stack = STACK_LIMIT,
		.rlimit_memlock = VMSPACE_NO_LIMIT,
	};

	if (!preset || preset->bits > 8 * sizeof(long) ||
	    vmspace_config_kernel(&made, version ? version : VMSPACE_KERNEL_NEWEST))
		return -EINVAL;
	made.task_size = (1UL << (preset->bits - 1)) * 2 - preset->left_out;
	made.map_window = made.task_size;
	made.mmap_base = made.map_window - STACK_GAP;
	made.mmap_base_legacy =
		(made.map_window / preset->unmapped_part + PAGE - 1) & ~(PAGE - 1);
	made.address_tags = preset->address_tags;
	*config = made;
	return 0;
}
