/* SPDX-License-Identifier: MIT */
/*
 * Two userfaultfds, with areas of their own within one mapping; how they end:
 *
 * Usage: uffd [keep|close|child|parents|touched [MICROSECONDS]]
 *   keep      with the process
 *   close     one is closed, and its areas become one with those beside them
 *   child     the same, but the last descriptor is a child's
 *   parents   a child gives the first one, of its parent, the parent's area behind it, too
 *   touched   as close, with pages in the areas
 * Then it waits, maps and ends. Exits with 77 where it cannot have one.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define PAGE 4096L

static int give(int fd, const char *start, size_t length)
{
	struct uffdio_register asked = { .range = { (unsigned long)start, length },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };

	return ioctl(fd, UFFDIO_REGISTER, &asked);
}

static int open_for(const char *start, size_t length)
{
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || give(fd, start, length) != 0)
		exit(77);
	return fd;
}

/* The parent's areas change while it waits. */
static void close_in_child(int fd)
{
	const pid_t pid = fork();

	if (pid == 0) {
		usleep(20000);
		close(fd);
		_exit(0);
	}
	close(fd);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static void give_in_child(int fd, const char *start, size_t length)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(give(fd, start, length) != 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "keep";
	char *memory = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	int first;

	if (strcmp(how, "touched") == 0)
		memset(memory, 1, 8 * PAGE);
	first = open_for(memory + PAGE, 2 * PAGE);
	open_for(memory + 4 * PAGE, 2 * PAGE);
	munmap(memory + 7 * PAGE, PAGE);
	if (strcmp(how, "child") == 0)
		close_in_child(first);
	else if (strcmp(how, "parents") == 0)
		give_in_child(first, memory + 3 * PAGE, PAGE);
	else if (strcmp(how, "keep") != 0)
		close(first);
	if (argc > 2)
		usleep((useconds_t)atoi(argv[2]));
	munmap(memory + 6 * PAGE, PAGE);
	return 0;
}
