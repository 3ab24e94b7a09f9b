/* SPDX-License-Identifier: MIT */
/* small_guest.c - guests with pages smaller than the host's: their calls, and what the host reaches. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_rules.h>

#include "scarce.h"
#include "small_guest.h"

struct vmspace_memfd *memfd;
struct guest parent, child;
size_t page, host_page;
unsigned long n;
int pipes[2];

struct vmspace_window *new_window(void)
{
	struct vmspace_window *window;

	assert_int_equal(vmspace_window_create(&window, memfd, START, UNITS * host_page), 0);
	return window;
}

void begin_space(void)
{
	struct vmspace_config config;

	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = page;
	config.pmd_size = 0;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = vmspace_window_memory(parent.window);
	assert_null(vmspace_config_check(&config));
	assert_int_equal(vmspace_create(&parent.space, &config), 0);
	assert_int_equal(mt_set_allocator(&parent.space->tree, &scarce_nodes), 0);
}

/* Pages as small as there can be where the host's are really larger; else larger ones are pretended. */
static void begin_pages(size_t guest, size_t host)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20 };

	page = guest;
	host_page = host ? host : (size_t)sysconf(_SC_PAGESIZE);
	n = host_page / page;
	assert_int_equal(vmspace_memfd_create_pages(&memfd, &memory, guest, host), 0);
	parent.window = new_window();
	begin_space();
	child = (struct guest){ NULL, NULL };
	assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
}

int begin_small(void **state)
{
	(void)state;
	begin_pages(1024, 0);
	return 0;
}

int begin_pretended(void **state)
{
	size_t system = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	begin_pages(system, 4 * system);
	return 0;
}

void end_guest(struct guest *guest)
{
	const char *reason = "";

	if (guest->space && !vmspace_check(guest->space, &reason))
		fail_msg("%s", reason);
	vmspace_destroy(guest->space);
	vmspace_window_destroy(guest->window);
}

int end_guests(void **state)
{
	(void)state;
	end_guest(&child);
	end_guest(&parent);
	vmspace_memfd_destroy(memfd);
	close(pipes[0]);
	close(pipes[1]);
	return 0;
}

unsigned long at(unsigned long number)
{
	return START + number * page;
}

void map(unsigned long first, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = at(first), .length = pages * page, .prot = prot,
			  .flags = flags | MAP_FIXED },
	};

	if (!(flags & MAP_ANONYMOUS))
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = 9 };
	assert_int_equal(vmspace_call(parent.space, &req), at(first));
}

void map_anon(unsigned long first, unsigned long pages, int prot)
{
	map(first, pages, prot, MAP_PRIVATE | MAP_ANONYMOUS);
}

void unmap(unsigned long first, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP,
				       .munmap = { at(first), pages * page } };

	assert_int_equal(vmspace_call(parent.space, &req), 0);
}

void protect(unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT,
				       .mprotect = { at(first), pages * page, prot, -1 } };

	assert_int_equal(vmspace_call(parent.space, &req), 0);
}

enum vmspace_fault_result touch(struct guest *guest, unsigned long number, unsigned int access)
{
	return vmspace_touch(guest->space, at(number), access, NULL);
}

void put(struct guest *guest, unsigned long number, unsigned int value)
{
	assert_int_equal(vmspace_copy_to(guest->space, at(number) + 8, &value, sizeof(value)),
			 sizeof(value));
}

unsigned int get(struct guest *guest, unsigned long number)
{
	unsigned int value = 0;

	assert_int_equal(vmspace_copy_from(guest->space, &value, at(number) + 8, sizeof(value)),
			 sizeof(value));
	return value;
}

unsigned int *host(struct guest *guest, unsigned long number)
{
	return (unsigned int *)((char *)vmspace_window_host(guest->window, at(number)) + 8);
}

bool reaches(struct guest *guest, unsigned long number)
{
	char byte;

	if (write(pipes[1], host(guest, number), 1) != 1) {
		assert_int_equal(errno, EFAULT);
		return false;
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	return true;
}

bool writes(struct guest *guest, unsigned long number)
{
	unsigned int *to = host(guest, number);
	char byte;

	if (!reaches(guest, number))
		return false;
	byte = *(volatile char *)to;
	assert_int_equal(write(pipes[1], &byte, 1), 1);
	if (read(pipes[0], to, 1) == 1)
		return true;
	assert_int_equal(errno, EFAULT);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	return false;
}

void check_unit(struct guest *guest, unsigned long unit, enum direct direct)
{
	for (unsigned long i = unit * n; i < (unit + 1) * n; i++) {
		assert_int_equal(vmspace_window_is_direct(guest->window, at(i), READ), direct != NOT);
		assert_int_equal(vmspace_window_is_direct(guest->window, at(i), WRITE),
				 direct == WRITABLE);
		assert_int_equal(reaches(guest, i), direct != NOT);
		assert_int_equal(writes(guest, i), direct == WRITABLE);
	}
}

void fork_guest(void)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	child.window = new_window();
	req.fork.child_memory = vmspace_window_memory(child.window);
	assert_int_equal(vmspace_call(parent.space, &req), 0);
	child.space = req.fork.child;
}
