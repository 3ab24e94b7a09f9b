/* SPDX-License-Identifier: MIT */
/* The files that random calls map: one of each kind that the kernel treats in a way of its own. */
#include "check/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <mapletree/vmspace_proc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check/page.h"
#include "check/puppet_wire.h"
#include "mirror/kernel.h"

#define FILE_BYTES (64UL << 20)

static struct puppet_file_info infos[PUPPET_FILE_COUNT];

int puppet_fd(enum puppet_file file)
{
	return FD_FILES + (int)file;
}

const struct puppet_file_info *puppet_file_info(enum puppet_file file)
{
	return &infos[file];
}

/* ---- how each is opened ---------------------------------------------------------------------- */

/* The path of a file that is removed as soon as it is open. */
static const char *temporary(const char *name)
{
	static char path[300];
	const char *dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";

	snprintf(path, sizeof(path), "%s/vmscope-check-%s-%d", dir, name, (int)getpid());
	return path;
}

static int open_removed(const char *path, int flags)
{
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600);

	if (fd >= 0)
		unlink(path);
	return fd;
}

static int reopen(enum puppet_file file, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", puppet_fd(file));
	return open(path, flags);
}

static int open_rw(void) { return open_removed(temporary("one"), O_RDWR); }
static int open_rw_again(void) { return reopen(PUPPET_FILE_RW, O_RDWR); }
static int open_rdonly(void) { return reopen(PUPPET_FILE_RW, O_RDONLY); }
static int open_other(void) { return open_removed(temporary("two"), O_RDWR); }
static int open_memfd(void) { return memfd_create("puppet", 0); }
static int open_zero(void) { return open("/dev/zero", O_RDWR); }
static int open_wronly(void) { return reopen(PUPPET_FILE_RW, O_WRONLY); }
static int open_path(void) { return open("/dev/null", O_PATH); }
static int open_named(void) { return open_removed(temporary("t w o\n\\n lines\t"), O_RDWR); }
static int open_huge(void) { return memfd_create("huge", MFD_HUGETLB); }
static int open_executable(void) { return open("/proc/self/exe", O_RDONLY); }
static int open_directory(void) { return open("/", O_RDONLY | O_DIRECTORY); }
static int open_socket(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
static int open_event(void) { return epoll_create1(0); }
static int open_null(void) { return open("/dev/null", O_RDWR); }
static int open_proc(void) { return open("/proc/self/maps", O_RDONLY); }

static int open_tmpfs(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/shm/vmscope-check-%d", (int)getpid());
	return open_removed(path, O_RDWR);
}

static int open_pipe(void)
{
	int ends[2];

	if (pipe(ends) != 0)
		return -1;
	close(ends[1]);
	return ends[0];
}

/* A file on a mount that is attached nowhere, and gets @attributes when it has the file. */
static int open_mounted(uint64_t attributes, int flags)
{
	const struct mount_attr attr = { .attr_set = attributes };
	int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), mount = -1, fd = -1;

	if (fs >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mount >= 0)
		fd = openat(mount, "file", O_RDWR | O_CREAT, 0700);
	if (fd >= 0 && ftruncate(fd, (off_t)FILE_BYTES) == 0) {
		close(fd);
		fd = -1;
		if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
			fd = openat(mount, "file", flags);
	}
	if (mount >= 0)
		close(mount);
	if (fs >= 0)
		close(fs);
	return fd;
}

static int open_noexec(void) { return open_mounted(MOUNT_ATTR_NOEXEC, O_RDWR); }
static int open_rdonly_mount(void) { return open_mounted(MOUNT_ATTR_RDONLY, O_RDONLY); }

static int open_sealed(int seals)
{
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)FILE_BYTES) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_seal_write(void) { return open_sealed(F_SEAL_WRITE); }
static int open_seal_future(void) { return open_sealed(F_SEAL_FUTURE_WRITE); }
static int open_seal_size(void) { return open_sealed(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); }

static int open_io_uring(void)
{
	struct io_uring_params params = { .flags = 0 };

	return (int)syscall(SYS_io_uring_setup, 4, &params);
}

static int open_perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static const struct {
	int (*open)(void);
	unsigned long bytes;	/* 0: it has no size, or the one that it has already */
	unsigned long driver_pages, driver_offsets[3];
} kinds[PUPPET_FILE_COUNT] = {
	[PUPPET_FILE_RW] = { .open = open_rw, .bytes = FILE_BYTES },
	[PUPPET_FILE_RW_AGAIN] = { .open = open_rw_again, .bytes = FILE_BYTES },
	[PUPPET_FILE_RDONLY] = { .open = open_rdonly },
	[PUPPET_FILE_OTHER] = { .open = open_other, .bytes = FILE_BYTES },
	[PUPPET_MEMFD] = { .open = open_memfd, .bytes = FILE_BYTES },
	[PUPPET_PIPE] = { .open = open_pipe },
	[PUPPET_ZERO] = { .open = open_zero },
	[PUPPET_WRONLY] = { .open = open_wronly },
	[PUPPET_PATH] = { .open = open_path },
	[PUPPET_NAMED] = { .open = open_named, .bytes = FILE_BYTES },
	[PUPPET_TMPFS] = { .open = open_tmpfs, .bytes = FILE_BYTES },
	[PUPPET_NOEXEC] = { .open = open_noexec },
	[PUPPET_RDONLY_MOUNT] = { .open = open_rdonly_mount },
	[PUPPET_SEAL_WRITE] = { .open = open_seal_write },
	[PUPPET_SEAL_FUTURE] = { .open = open_seal_future },
	[PUPPET_SEAL_SIZE] = { .open = open_seal_size },
	[PUPPET_HUGE] = { .open = open_huge, .bytes = FILE_BYTES },
	[PUPPET_EXECUTABLE] = { .open = open_executable },
	[PUPPET_DIRECTORY] = { .open = open_directory },
	[PUPPET_SOCKET] = { .open = open_socket },
	[PUPPET_EVENT] = { .open = open_event },
	[PUPPET_NULL] = { .open = open_null },
	[PUPPET_PROC] = { .open = open_proc },
	[PUPPET_IO_URING] = { .open = open_io_uring, .driver_pages = 1,
			      .driver_offsets = { IORING_OFF_SQ_RING, IORING_OFF_CQ_RING,
						  IORING_OFF_SQES } },
	[PUPPET_PERF] = { .open = open_perf, .driver_pages = 2 },
};

/* ---- opening all ----------------------------------------------------------------------------- */

static bool place(int fd, int at)
{
	if (fd < 0 || dup2(fd, at) < 0)
		return false;
	if (fd != at)
		close(fd);
	return true;
}

/* Maps it, to see what its driver makes of that. */
static void probe_driver(int fd, struct puppet_file_info *info)
{
	size_t bytes = info->driver_bytes ? info->driver_bytes : PAGE;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	info->driver_refuses = at == MAP_FAILED;
	if (at == MAP_FAILED)
		return;
	info->driver_flags = kernel_driver_flags(getpid(), (unsigned long)at);
	munmap(at, bytes);
}

static void open_one(enum puppet_file file)
{
	struct puppet_file_info *info = &infos[file];
	struct stat st;
	int fd = puppet_fd(file);

	*info = (struct puppet_file_info){ .driver_bytes = kinds[file].driver_pages * PAGE };
	memcpy(info->driver_offsets, kinds[file].driver_offsets, sizeof(info->driver_offsets));
	info->there = place(kinds[file].open(), fd) &&
		      (!kinds[file].bytes || ftruncate(fd, (off_t)kinds[file].bytes) == 0) &&
		      fstat(fd, &st) == 0;
	if (!info->there)
		return;
	info->bytes = S_ISREG(st.st_mode) ? (unsigned long)st.st_size : ~0UL;
	if (file == PUPPET_PROC || (!S_ISREG(st.st_mode) && file > PUPPET_PIPE))
		probe_driver(fd, info);
}

int puppet_open_files(void)
{
	static pid_t opened_by;

	if (opened_by == getpid())
		return 0;
	for (int file = 0; file < PUPPET_FILE_COUNT; file++)
		open_one((enum puppet_file)file);
	for (int file = 0; file <= PUPPET_PIPE; file++)
		if (!infos[file].there)
			return errno ? -errno : -EINVAL;
	opened_by = getpid();
	return 0;
}
