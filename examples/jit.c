/* SPDX-License-Identifier: MIT */
/*
 * jit.c - a guest's compiler at work: code is written through a window of guest memory and executed in
 * the window's view for code, from which it goes when the guest may not execute it any more.
 *
 * For x86-64 and aarch64.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_window.h>

#define GUEST 0x400000UL /* where the guest has its code */

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;

static void must(int done, const char *what)
{
	if (!done) {
		fprintf(stderr, "jit: %s failed\n", what);
		exit(1);
	}
}

static void begin(void)
{
	struct vmspace_memfd_config limits = { .limit = (size_t)1 << 20 };
	struct vmspace_config config;

	page = (size_t)sysconf(_SC_PAGESIZE);
	must(!vmspace_memfd_create(&memfd, &limits), "memfd");
	must(!vmspace_window_create(&window, memfd, GUEST, 16 * page), "window");
	must(!vmspace_window_create_code(window), "view for code");
	vmspace_config_init(&config);
	config.memory = vmspace_window_memory(window);
	must(!vmspace_create(&space, &config), "space");
}

static void end(void)
{
	vmspace_destroy(space);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
}

/* The guest's mmap and mprotect. */
static void guest_map(void)
{
	must(vmspace_mmap(space, GUEST, page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, NULL, 0) == (long)GUEST, "mmap");
}

static void guest_protect(int prot)
{
	must(vmspace_mprotect(space, GUEST, page, prot) == 0, "mprotect");
}

/* Compile x + number, for a small number. Returns the size of the code. */
static size_t compile(unsigned char *code, unsigned int number)
{
#ifdef __x86_64__
	unsigned char text[] = { 0x8d, 0x47, (unsigned char)number, 0xc3 }; /* lea eax, [rdi + n]; ret */
#else
	uint32_t text[] = { 0x11000000 | number << 10, 0xd65f03c0 }; /* add w0, w0, #n; ret */
#endif

	memcpy(code, text, sizeof(text));
	return sizeof(text);
}

/* Run the guest's code: what a handler of SIGSEGV does in an emulator is done before the jump here. */
static void run(int argument)
{
	int (*function)(int);
	void *code = vmspace_window_code(window, GUEST);

	if (vmspace_touch(space, GUEST, VMSPACE_ACCESS_EXEC, NULL) != VMSPACE_FAULT_OK) {
		puts("the guest may not execute it");
		return;
	}
	memcpy(&function, &code, sizeof(function));
	printf("%d gives %d\n", argument, function(argument));
}

static void write_code(unsigned int number)
{
	char *view = vmspace_window_code(window, GUEST);
	size_t size;

	must(vmspace_touch(space, GUEST, VMSPACE_ACCESS_WRITE, NULL) == VMSPACE_FAULT_OK, "write");
	size = compile(vmspace_window_host(window, GUEST), number);
	__builtin___clear_cache(view, view + size);
}

int main(void)
{
	begin();
	guest_map();
	write_code(35);
	run(7);
	guest_protect(PROT_READ | PROT_EXEC);
	run(7);
	guest_protect(PROT_READ | PROT_WRITE | PROT_EXEC);
	write_code(1);
	run(7);
	guest_protect(PROT_READ);
	run(7);
	end();
	return 0;
}
