/* SPDX-License-Identifier: MIT */
/* calls_file.c - paths, descriptors, and system calls about them that need a function of their own. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "process.h"

/* ---- paths ---- */

static bool is_own(const char *path, const char *name)
{
	char by_pid[64];

	snprintf(by_pid, sizeof(by_pid), "/proc/%d/%s", (int)getpid(), name);
	return !strcmp(path, by_pid) || (!strncmp(path, "/proc/self/", 11) && !strcmp(path + 11, name)) ||
	       (!strncmp(path, "/proc/thread-self/", 18) && !strcmp(path + 18, name));
}

int path_to_host(char *to, const char *path)
{
	struct stat is;
	int length;

	if (is_own(path, "exe") && process.program)
		path = process.program;
	if (process.sysroot && path[0] == '/') {
		length = snprintf(to, PATH_MAX, "%s%s", process.sysroot, path);
		if (length < PATH_MAX && !lstat(to, &is))
			return 0;
	}
	length = snprintf(to, PATH_MAX, "%s", path);
	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Takes a path of the guest's. */
static int take_path(char host[PATH_MAX], char guest[PATH_MAX], uint64_t from)
{
	long length = guest_string(guest, from, PATH_MAX);

	return length < 0 ? (int)length : path_to_host(host, guest);
}

static int directory(uint64_t fd)
{
	return (int)fd == AT_FDCWD ? AT_FDCWD : guest_fd(fd);
}

static int write_line(void *fd, const char *line, size_t length)
{
	return write(*(const int *)fd, line, length) == (ssize_t)length ? 0 : -EIO;
}

/* /proc/self/maps: the guest's areas, as they are now. */
static long open_maps(uint64_t flags)
{
	int fd = memfd_create("maps", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);

	if (fd < 0)
		return -errno;
	if (vmspace_show_lines(memory.space, write_line, &fd)) {
		close(fd);
		return -ENOMEM;
	}
	lseek(fd, 0, SEEK_SET);
	return new_fd(fd);
}

long call_openat(struct thread *thread, const uint64_t a[6])
{
	char path[PATH_MAX], guest[PATH_MAX];
	int at = directory(a[0]), err = take_path(path, guest, a[1]);

	(void)thread;
	if (err)
		return err;
	if (at == -EBADF && guest[0] != '/')
		return at;
	if (is_own(guest, "maps"))
		return open_maps(a[2]);
	/* Of files whose layout is the same here; O_LARGEFILE is the C library's own affair. */
	return new_fd(host_call(SYS_openat, at, (long)path, (long)a[2], (long)a[3], 0, 0));
}

long call_readlinkat(struct thread *thread, const uint64_t a[6])
{
	char path[PATH_MAX], guest[PATH_MAX], link[PATH_MAX];
	int at = directory(a[0]), err = take_path(path, guest, a[1]);
	long length;

	(void)thread;
	if (err || (int)a[3] <= 0)
		return err ? err : -EINVAL;
	if (is_own(guest, "exe")) {
		length = (long)strlen(process.program);
		memcpy(link, process.program, (size_t)length);
	} else {
		length = host_call(SYS_readlinkat, at, (long)path, (long)link, sizeof(link), 0, 0);
	}
	if (length > (long)a[3])
		length = (long)a[3];
	return length > 0 && guest_write(a[2], link, (size_t)length) ? -EFAULT : length;
}

/* ---- stat ---- */

/* struct stat of riscv64 */
struct guest_stat {
	uint64_t dev, ino;
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev, unused_1;
	int64_t size;
	int32_t blksize, unused_2;
	int64_t blocks, atime;
	uint64_t atime_nsec;
	int64_t mtime;
	uint64_t mtime_nsec;
	int64_t ctime;
	uint64_t ctime_nsec;
	uint32_t unused_3[2];
};

static_assert(sizeof(struct guest_stat) == 128, "struct stat of riscv64");

static long give_stat(uint64_t to, const struct stat *is)
{
	struct guest_stat out = {
		.dev = is->st_dev, .ino = is->st_ino, .mode = is->st_mode, .nlink = (uint32_t)is->st_nlink,
		.uid = is->st_uid, .gid = is->st_gid, .rdev = is->st_rdev, .size = is->st_size,
		.blksize = (int32_t)is->st_blksize, .blocks = is->st_blocks,
		.atime = is->st_atim.tv_sec, .atime_nsec = (uint64_t)is->st_atim.tv_nsec,
		.mtime = is->st_mtim.tv_sec, .mtime_nsec = (uint64_t)is->st_mtim.tv_nsec,
		.ctime = is->st_ctim.tv_sec, .ctime_nsec = (uint64_t)is->st_ctim.tv_nsec,
	};

	return guest_write(to, &out, sizeof(out));
}

long call_newfstatat(struct thread *thread, const uint64_t a[6])
{
	char path[PATH_MAX], guest[PATH_MAX];
	int at = directory(a[0]), err = take_path(path, guest, a[1]);
	struct stat is;
	long result;

	(void)thread;
	if (err)
		return err;
	result = host_call(SYS_newfstatat, at, (long)path, (long)&is, (long)a[3], 0, 0);
	return result < 0 ? result : give_stat(a[2], &is);
}

long call_fstat(struct thread *thread, const uint64_t a[6])
{
	struct stat is;

	(void)thread;
	if (guest_fd(a[0]) < 0)
		return -EBADF;
	return fstat((int)a[0], &is) ? -errno : give_stat(a[1], &is);
}

/* ---- descriptors ---- */

long call_close(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return guest_fd(a[0]) < 0 ? -EBADF : host_call(SYS_close, (long)a[0], 0, 0, 0, 0, 0);
}

long call_close_range(struct thread *thread, const uint64_t a[6])
{
	uint64_t most = (uint64_t)guest_descriptors() - 1;

	(void)thread;
	if (a[0] > a[1])
		return -EINVAL;
	if (a[0] > most)
		return 0;
	return host_call(SYS_close_range, (long)a[0], (long)(a[1] < most ? a[1] : most), (long)a[2], 0, 0, 0);
}

long call_dup(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return guest_fd(a[0]) < 0 ? -EBADF : new_fd(host_call(SYS_dup, (long)a[0], 0, 0, 0, 0, 0));
}

long call_dup3(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	if (guest_fd(a[0]) < 0 || guest_fd(a[1]) < 0)
		return -EBADF;
	return host_call(SYS_dup3, (long)a[0], (long)a[1], (long)a[2], 0, 0, 0);
}

static long lock(int fd, int command, uint64_t at)
{
	struct flock lock;
	long result;

	if (guest_read(&lock, at, sizeof(lock)))
		return -EFAULT;
	result = host_call(SYS_fcntl, fd, command, (long)&lock, 0, 0, 0);
	if (result >= 0 && guest_write(at, &lock, sizeof(lock)))
		return -EFAULT;
	return result;
}

long call_fcntl(struct thread *thread, const uint64_t a[6])
{
	int fd = guest_fd(a[0]), command = (int)a[1];

	(void)thread;
	if (fd < 0)
		return fd;
	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		if (a[2] >= (uint64_t)guest_descriptors())
			return -EINVAL;
		return new_fd(host_call(SYS_fcntl, fd, command, (long)a[2], 0, 0, 0));
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock(fd, command, a[2]);
	case F_GETOWN_EX:
	case F_SETOWN_EX:
		return -EINVAL;
	default:
		return host_call(SYS_fcntl, fd, command, (long)a[2], 0, 0, 0);
	}
}

long call_ioctl(struct thread *thread, const uint64_t a[6])
{
	static const struct { unsigned long number; size_t size; } known[] = {
		{ TCGETS, 36 }, { TCSETS, 36 }, { TCSETSW, 36 }, { TCSETSF, 36 },
		{ TIOCGWINSZ, 8 }, { TIOCSWINSZ, 8 }, { TIOCGPGRP, 4 }, { TIOCSPGRP, 4 },
		{ FIONREAD, 4 }, { FIONBIO, 4 }, { TIOCGSID, 4 },
	};
	char data[64];
	long result;

	(void)thread;
	if (guest_fd(a[0]) < 0)
		return -EBADF;
	if (a[1] == FIOCLEX || a[1] == FIONCLEX)
		return host_call(SYS_ioctl, (long)a[0], (long)a[1], 0, 0, 0, 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].number != a[1])
			continue;
		if (guest_read(data, a[2], known[i].size))
			return -EFAULT;
		result = host_call(SYS_ioctl, (long)a[0], (long)a[1], (long)data, 0, 0, 0);
		if (result >= 0 && guest_write(a[2], data, known[i].size))
			return -EFAULT;
		return result;
	}
	return -ENOTTY;
}

/* ---- vectors: as one read or write of at most so many bytes ---- */

#define VECTOR_BYTES (256UL << 10)

struct vector {
	struct iovec parts[IOV_MAX];
	size_t count, size;
	char data[VECTOR_BYTES];
};

static long take_vector(struct vector **out, uint64_t at, uint64_t count)
{
	struct vector *vector;

	*out = NULL;
	if (count > IOV_MAX)
		return -EINVAL;
	vector = malloc(sizeof(*vector));
	if (!vector)
		return -ENOMEM;
	vector->count = count;
	vector->size = 0;
	if (guest_read(vector->parts, at, count * sizeof(vector->parts[0]))) {
		free(vector);
		return -EFAULT;
	}
	for (size_t i = 0; i < count; i++) {
		struct iovec *part = &vector->parts[i];

		if (part->iov_len > VECTOR_BYTES - vector->size)
			part->iov_len = VECTOR_BYTES - vector->size;
		vector->size += part->iov_len;
	}
	*out = vector;
	return 0;
}

static long read_vector(long number, const uint64_t a[6], bool placed)
{
	struct vector *vector;
	long result, left;
	const char *from;

	if (guest_fd(a[0]) < 0)
		return -EBADF;
	result = take_vector(&vector, a[1], a[2]);
	if (result)
		return result;
	result = host_call(number, (long)a[0], (long)vector->data, (long)vector->size,
			   placed ? (long)a[3] : 0, 0, 0);
	from = vector->data;
	left = result;
	for (size_t i = 0; left > 0 && i < vector->count; i++) {
		size_t size = vector->parts[i].iov_len;

		if (size > (size_t)left)
			size = (size_t)left;
		if (guest_write((uintptr_t)vector->parts[i].iov_base, from, size)) {
			result = -EFAULT;
			break;
		}
		from += size;
		left -= (long)size;
	}
	free(vector);
	return result;
}

static long write_vector(long number, const uint64_t a[6], bool placed)
{
	struct vector *vector;
	long result;
	char *to;

	if (guest_fd(a[0]) < 0)
		return -EBADF;
	result = take_vector(&vector, a[1], a[2]);
	if (result)
		return result;
	to = vector->data;
	for (size_t i = 0; !result && i < vector->count; i++) {
		result = guest_read(to, (uintptr_t)vector->parts[i].iov_base, vector->parts[i].iov_len);
		to += vector->parts[i].iov_len;
	}
	if (!result)
		result = host_call(number, (long)a[0], (long)vector->data, (long)vector->size,
				   placed ? (long)a[3] : 0, 0, 0);
	free(vector);
	return result;
}

long call_readv(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return read_vector(SYS_read, a, false);
}

long call_writev(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return write_vector(SYS_write, a, false);
}

long call_preadv(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return read_vector(SYS_pread64, a, true);
}

long call_pwritev(struct thread *thread, const uint64_t a[6])
{
	(void)thread;
	return write_vector(SYS_pwrite64, a, true);
}
