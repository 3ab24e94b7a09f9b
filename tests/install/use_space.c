/* SPDX-License-Identifier: MIT */
/*
 * use_space.c - a user's program of libvmspace: compiles as C and as C++ against the installed
 * headers alone.
 */
#include <mapletree/vmspace.h>
#include <mapletree/vmspace_guest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void expect(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "use_space: %s\n", what);
		exit(1);
	}
}

int main(void)
{
	struct vmspace_config config;
	struct vmspace_request request;
	struct vmspace *space = NULL;
	const char *reason = NULL;
	char maps[512];

	vmspace_config_init(&config);
	expect(vmspace_create(&space, &config) == 0, "vmspace_create");
	memset(&request, 0, sizeof(request));
	request.op = VMSPACE_MMAP;
	request.mmap.addr = 0x10000;
	request.mmap.length = 0x3000;
	request.mmap.prot = PROT_READ | PROT_WRITE;
	request.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	expect(vmspace_call(space, &request) == 0x10000, "mmap");
	expect(vmspace_munmap(space, 0x12000, 0x1000) == 0, "munmap");
	expect(vmspace_show(space, maps, sizeof(maps)) < sizeof(maps), "vmspace_show");
	expect(strncmp(maps, "00010000-00012000 rw-p ", 23) == 0, "the maps line");
	expect(vmspace_check(space, &reason), "vmspace_check");
	vmspace_destroy(space);
	return 0;
}
