/* SPDX-License-Identifier: MIT */
/*
 * paths.c DIRECTORY - maps files of all kinds of names, reads its own maps, makes a call that is
 * easily found in a log (MARK bytes), removes a file that is mapped, and writes what it has read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

enum { SIZE = 8192, MARK = 0x7b000, MOST = 1 << 20 };

static char maps[MOST];

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void map(int fd, int flags)
{
	if (mmap(NULL, SIZE, PROT_READ, flags, fd, 0) == MAP_FAILED)
		fail("mmap");
	if (fd >= 0)
		close(fd); /* so that nothing but the area tells of the file */
}

static int make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, SIZE) != 0)
		fail(path);
	return fd;
}

static void map_without_directory(void)
{
	int fd = memfd_create("kept", MFD_CLOEXEC), segment = shmget(IPC_PRIVATE, SIZE, 0600);

	if (fd < 0 || ftruncate(fd, SIZE) != 0)
		fail("memfd_create");
	map(fd, MAP_SHARED);
	map(-1, MAP_SHARED | MAP_ANONYMOUS);
	if (segment < 0)
		fail("shmget");
	if (shmat(segment, NULL, 0) == (void *)-1)
		fail("shmat");
	shmctl(segment, IPC_RMID, NULL);
}

static size_t read_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	if (fd < 0)
		fail("maps");
	while ((got = read(fd, maps + length, MOST - length)) > 0)
		length += (size_t)got;
	close(fd);
	return length;
}

int main(int argc, char **argv)
{
	size_t length;
	int gone;

	if (argc != 2 || chdir(argv[1]) != 0)
		fail("the directory");
	map(make("a name with spaces"), MAP_PRIVATE);
	map(make("of two\nlines"), MAP_SHARED);
	gone = make("gone");
	unlink("gone");
	map(gone, MAP_SHARED);
	gone = make("goes later");
	map(gone, MAP_PRIVATE);
	map_without_directory();
	length = read_maps();
	if (mmap(NULL, MARK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		fail("mmap");
	unlink("goes later");
	fflush(stdout);
	return write(STDOUT_FILENO, maps, length) != (ssize_t)length;
}
