/* SPDX-License-Identifier: MIT */
/* large_files.c PATH - maps a file there that has no name any more, privately and shared; each time
 * more than a huge page. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

int main(int argc, char **argv)
{
	const int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600) : -1;

	if (fd < 0 || unlink(argv[1]) != 0 || ftruncate(fd, 5 * MIB) != 0)
		return 1;
	return mmap(NULL, 3 * MIB, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	       mmap(NULL, 5 * MIB, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED;
}
