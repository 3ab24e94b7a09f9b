/* SPDX-License-Identifier: MIT */
/* What a mapping of another process's file descriptor, or a line of maps, is backed by. */
#include "mirror/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mirror/kernel.h"

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* The flags of open(2): from "flags:" in /proc/PID/fdinfo/FD, which is octal. */
static int open_mode(pid_t tid, int fd)
{
	char name[32];

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	return (int)kernel_file_number(tid, name, "flags:", 8, O_RDWR) & (O_ACCMODE | O_PATH);
}

static unsigned int mode_flags(int mode)
{
	switch (mode & O_ACCMODE) {
	case O_RDONLY:
		return VMA_BACKING_NO_WRITE;
	case O_WRONLY:
		return VMA_BACKING_NO_READ;
	default:
		return 0;
	}
}

/* Seals belong to the inode, so any descriptor of it shows them. */
static unsigned int seal_flags(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int seals;

	if (fd < 0)
		return 0;
	seals = fcntl(fd, F_GET_SEALS);
	close(fd);
	if (seals < 0 || !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)))
		return 0;
	return VMA_BACKING_SEAL_WRITE | (seals & F_SEAL_WRITE ? 0 : VMA_BACKING_SEAL_FUTURE);
}

/* What a file system makes of mappings. */
static unsigned int system_flags(unsigned long magic)
{
	switch (magic) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
		return VMA_BACKING_ALIGN_HUGE | VMA_BACKING_SYNC;
	case BTRFS_SUPER_MAGIC:
		return VMA_BACKING_ALIGN_HUGE;
	default:
		return 0;
	}
}

/*
 * Looks through overlayfs at the file system below it: in its upper directory, or else in its lower
 * one, as given by the mount options. If that directory is not accessible from here, assumes ext4.
 */
static unsigned int flags_below(const struct vma_backing *backing)
{
	char line[4096], device[32], dir[1024];
	unsigned int flags = system_flags(EXT4_SUPER_MAGIC);
	FILE *mounts = fopen("/proc/self/mountinfo", "re");

	snprintf(device, sizeof(device), " %u:%u ", backing->dev_major, backing->dev_minor);
	while (mounts && fgets(line, sizeof(line), mounts)) {
		const char *at = strstr(line, "upperdir=");
		struct statfs below;

		if (!strstr(line, device) || !strstr(line, " - overlay "))
			continue;
		at = at ? at : strstr(line, "lowerdir=");
		if (at && sscanf(at + strlen("upperdir="), "%1023[^,: \n]", dir) == 1 &&
		    statfs(dir, &below) == 0)
			flags = system_flags((unsigned long)below.f_type);
		break;
	}
	if (mounts)
		fclose(mounts);
	return flags;
}

/* Files that cannot be mapped at all, one of each mount that is internal to the kernel. */
static int open_eventfd(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static int open_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	close(ends[1]);
	return ends[0];
}

static int open_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* mmap(2) refuses to execute from a mount before it finds that the file cannot be mapped. */
static bool refuses_exec(int fd)
{
	void *at = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	bool refused = at == MAP_FAILED && errno == EPERM;

	if (at != MAP_FAILED)
		munmap(at, 1);
	if (fd >= 0)
		close(fd);
	return refused;
}

/*
 * Is the file on a mount internal to the kernel from which nothing is executed? Most are so in
 * newer kernels; statvfs(3) does not show it. (io_uring, perf events ... are anonymous inodes.)
 */
static bool is_noexec_inside(const char *name)
{
	static struct {
		const char *prefix;
		int (*open)(void);
		int known; /* 1: yes, -1: no */
	} mounts[] = { { "pipe:[", open_pipe, 0 }, { "socket:[", open_socket, 0 },
		       { "anon_inode:", open_eventfd, 0 } };

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		if (strncmp(name, mounts[i].prefix, strlen(mounts[i].prefix)) != 0)
			continue;
		if (!mounts[i].known)
			mounts[i].known = refuses_exec(mounts[i].open()) ? 1 : -1;
		return mounts[i].known > 0;
	}
	return strncmp(name, "/[aio]", 6) == 0;
}

/*
 * The device and the inode that maps shows of a file on overlayfs: before Linux 6.8 those of the
 * file below. Seen by mapping it here.
 */
static void look_below(struct vma_backing *backing, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	struct vmspace_line line;
	struct kernel_view view = KERNEL_VIEW_INIT;

	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return;
	if (!kernel_open(&view, getpid()) && !kernel_read_maps(&view) &&
	    kernel_find_line(&view, (unsigned long)at, &line)) {
		backing->dev_major = line.dev_major;
		backing->dev_minor = line.dev_minor;
		backing->inode = line.inode;
	}
	kernel_close(&view);
	munmap(at, page);
}

unsigned int backing_system_flags(unsigned long magic, const struct vma_backing *backing)
{
	switch (magic) {
	case OVERLAYFS_SUPER_MAGIC:
		return VMA_BACKING_MAP_ALONE | flags_below(backing);
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
		/* Nothing there is executable, however it is mounted. */
		return VMA_BACKING_NO_EXEC;
	case TMPFS_MAGIC:
		return VMA_BACKING_TMPFS;
	default:
		return system_flags(magic);
	}
}

static void describe_system(struct backing_file *file, const char *path)
{
	struct vma_backing *backing = &file->backing;
	struct statvfs mount;
	struct statfs fs;
	struct statx x;

	if (statvfs(path, &mount) == 0 && mount.f_flag & ST_NOEXEC)
		backing->flags |= VMA_BACKING_NO_EXEC;
	if (statfs(path, &fs) != 0)
		return;
	if (statx(AT_FDCWD, path, 0, 0, &x) == 0 && x.stx_attributes & STATX_ATTR_DAX)
		backing->flags |= VMA_BACKING_DAX;
	/* A device in it is mapped by its driver. */
	if (file->is_regular || !system_flags((unsigned long)fs.f_type))
		backing->flags |= backing_system_flags((unsigned long)fs.f_type, backing);
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC && file->is_regular)
		look_below(backing, path);
	if (fs.f_type == HUGETLBFS_MAGIC) {
		backing->kind = VMA_BACKING_HUGETLB;
		backing->huge_size = (unsigned long)fs.f_bsize;
	}
}

bool backing_of_fd(struct backing_file *file, pid_t tid, int fd)
{
	struct vma_backing *backing = &file->backing;
	char path[64];
	struct stat st;
	ssize_t length;
	int mode;

	memset(backing, 0, sizeof(*backing));
	file->is_regular = file->is_device = file->is_zero = false;
	backing->kind = VMA_BACKING_FILE;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, fd);
	length = fd < 0 ? -1 : readlink(path, file->name, sizeof(file->name) - 1);
	if (length < 0)
		return false;
	file->name[length] = '\0';
	backing->name = file->name;
	if (stat(path, &st) != 0)
		return false;
	mode = open_mode(tid, fd);
	if (mode & O_PATH)
		return false;
	backing->dev_major = major(st.st_dev);
	backing->dev_minor = minor(st.st_dev);
	backing->inode = st.st_ino;
	backing->flags = mode_flags(mode);
	if (S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISLNK(st.st_mode))
		backing->flags |= VMA_BACKING_NO_MMAP;
	if (st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH))
		backing->flags |= VMA_BACKING_EXECUTABLE;
	if (is_noexec_inside(file->name))
		backing->flags |= VMA_BACKING_NO_EXEC;
	file->is_regular = S_ISREG(st.st_mode);
	file->bytes = file->is_regular ? (uint64_t)st.st_size : 0;
	file->is_zero = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 5);
	file->is_device = !file->is_regular && !(backing->flags & VMA_BACKING_NO_MMAP);
	if (file->is_zero)
		backing->flags |= VMA_BACKING_MOVE_ALONE;
	if (!file->is_regular && !S_ISBLK(st.st_mode) && !S_ISSOCK(st.st_mode))
		backing->flags |= VMA_BACKING_ANY_OFFSET;
	describe_system(file, path);
	if (strncmp(file->name, "/memfd:", 7) == 0)
		backing->flags |= seal_flags(path);
	return true;
}

unsigned int backing_denials(pid_t tid, unsigned long start, unsigned long end)
{
	struct statvfs mount;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)tid, start, end);
	if (statvfs(path, &mount) != 0)
		return 0;
	return seal_flags(path) | (mount.f_flag & ST_NOEXEC ? VMA_BACKING_NO_EXEC : 0);
}

bool backing_path_is(const char *path, unsigned int dev_major, unsigned int dev_minor,
		     uint64_t inode)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == inode && major(st.st_dev) == dev_major &&
	       minor(st.st_dev) == dev_minor;
}

void backing_of_line(struct backing_file *file, const struct vmspace_line *line)
{
	vmspace_line_backing(line, &file->backing, file->name, sizeof(file->name));
	if (is_noexec_inside(file->name))
		file->backing.flags |= VMA_BACKING_NO_EXEC;
	file->is_regular = file->is_device = file->is_zero = false;
}
