/* SPDX-License-Identifier: MIT */
/*
 * units.h - one space for tests of libvmspace by itself, without a host. After <cmocka.h>.
 */
#ifndef UNITS_H
#define UNITS_H

#include <string.h>
#include <sys/mman.h>

#include <mapletree/vmspace_rules.h>

#define PAGE 4096UL
#define RW_FLAGS (VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC | VMA_ACCOUNT)

static struct vmspace *space;
static struct vmspace_request req;

static inline int create(void **state)
{
	struct vmspace_config config;

	(void)state;
	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	/* Not those of this process: under valgrind it has less. */
	config.task_size = config.map_window = 0x7ffffffff000;
	config.mmap_base_legacy = 0x2aaaaaaab000;
	config.anon_names = true;
	config.mmap_base = 0x7f0000000000;
	return vmspace_create(&space, &config);
}

static inline int destroy(void **state)
{
	(void)state;
	vmspace_destroy(space);
	return 0;
}

static inline long call(void)
{
	const char *reason = "";
	long result = vmspace_call(space, &req);

	if (!vmspace_check(space, &reason))
		fail_msg("%s", reason);
	return result;
}

static inline long map(unsigned long addr, unsigned long pages, int prot, const struct vma_backing *file)
{
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_MMAP;
	req.mmap = (struct vmspace_mmap){ .addr = addr, .length = pages * PAGE, .prot = prot };
	req.mmap.flags = MAP_PRIVATE | MAP_FIXED | (file ? 0 : MAP_ANONYMOUS);
	if (file)
		req.mmap.backing = *file;
	return call();
}

static inline long name(unsigned long addr, unsigned long pages, const char *text)
{
	memset(&req, 0, sizeof(req));
	req.op = VMSPACE_SET_ANON_NAME;
	req.set_anon_name = (struct vmspace_set_anon_name){ addr, pages * PAGE, text };
	return call();
}

#define SPACE(name) cmocka_unit_test_setup_teardown(name, create, destroy)

#endif
