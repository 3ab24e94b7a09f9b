/* SPDX-License-Identifier: MIT */
/* memory.c - the guest's address space: an emulator's use of libvmspace. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <ucontext.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_rules.h>

#include "cpu.h"
#include "process.h"

#define FRAMES_LIMIT (8ULL << 30)
#define GUEST_FDS    512 /* the library's own descriptors are there and above */
#define VDSO_NAME    "[vdso]"

struct guest_memory memory;

unsigned int code_changes = 1;

int guest_descriptors(void)
{
	return GUEST_FDS;
}

int own_descriptor(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, GUEST_FDS), err = errno;

	close(fd);
	return own < 0 ? -err : own;
}

/* ---- files that are mapped ---- */

/*
 * The library asks for a file's descriptor when its first page is touched, which may be after the
 * guest has closed its own: one of ours is kept for each file that was mapped.
 */
static struct mapped_file {
	struct mapped_file *next;
	dev_t device;
	ino_t inode;
	int fd;
} *mapped_files;
static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER;

static struct mapped_file *find_mapped(dev_t device, ino_t inode)
{
	struct mapped_file *file = mapped_files;

	while (file && (file->device != device || file->inode != inode))
		file = file->next;
	return file;
}

static int descriptor(void *ctx, const struct vma_backing *backing)
{
	struct mapped_file *file;
	int fd;

	(void)ctx;
	pthread_mutex_lock(&mapped_lock);
	file = find_mapped(makedev(backing->dev_major, backing->dev_minor), backing->inode);
	fd = file ? file->fd : -1;
	pthread_mutex_unlock(&mapped_lock);
	return fd;
}

/* Another guest mapping may want to write the file: the descriptor can, if the guest's may or data only. */
static int open_mapped(int fd, const struct stat *is)
{
	char path[64];
	int own = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR || !(is->st_mode & 0111))
		own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		own = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		own = dup(fd);
	return own < 0 ? -errno : own_descriptor(own);
}

static int remember_mapped(int fd, const struct stat *is)
{
	struct mapped_file *file;
	int err = 0;

	pthread_mutex_lock(&mapped_lock);
	if (!find_mapped(is->st_dev, is->st_ino)) {
		file = malloc(sizeof(*file));
		err = file ? open_mapped(fd, is) : -ENOMEM;
		if (err >= 0) {
			*file = (struct mapped_file){ mapped_files, is->st_dev, is->st_ino, err };
			mapped_files = file;
			err = 0;
		} else {
			free(file);
		}
	}
	pthread_mutex_unlock(&mapped_lock);
	return err;
}

/* What the file's file system has to do with its areas. */
static unsigned int file_system_flags(int fd)
{
	struct statfs is;
	unsigned int flags = 0;

	if (fstatfs(fd, &is))
		return 0;
	if (is.f_type == TMPFS_MAGIC)
		flags |= VMA_BACKING_TMPFS;
	if (is.f_type == OVERLAYFS_SUPER_MAGIC)
		flags |= VMA_BACKING_MAP_ALONE;
	if (is.f_flags & ST_NOEXEC)
		flags |= VMA_BACKING_NO_EXEC;
	return flags;
}

/* What the guest's descriptor lets be mapped; `name` is the file's path, to be kept while used. */
static int describe_file(struct vma_backing *backing, int fd, char *name, size_t size)
{
	struct stat is;
	int mode = fcntl(fd, F_GETFL);
	char link[64];
	ssize_t length;

	if (mode < 0 || fstat(fd, &is))
		return -EBADF;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, name, size - 1);
	name[length < 0 ? 0 : length] = 0;
	*backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .name = name,
					 .dev_major = major(is.st_dev), .dev_minor = minor(is.st_dev),
					 .inode = is.st_ino, .flags = file_system_flags(fd) };
	if ((mode & O_ACCMODE) != O_RDWR)
		backing->flags |= VMA_BACKING_NO_WRITE;
	if ((mode & O_ACCMODE) == O_WRONLY || (mode & O_PATH))
		backing->flags |= VMA_BACKING_NO_READ;
	if (!S_ISREG(is.st_mode)) {
		backing->flags |= VMA_BACKING_NO_MMAP;
		return 0;
	}
	if (backing->flags & VMA_BACKING_NO_READ)
		return 0;
	return remember_mapped(fd, &is);
}

/*
 * Memory that is to be shared with children, which are processes of their own: a file that has no
 * name, so that its pages are the same in all of them.
 */
static int shared_file(unsigned long length)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)length)) {
		close(fd);
		return -ENOMEM;
	}
	return own_descriptor(fd);
}

/* ---- calls ---- */

long memory_mmap(unsigned long addr, unsigned long length, int prot, int flags, int fd, uint64_t offset)
{
	bool shared_anon = (flags & MAP_ANONYMOUS) && (flags & MAP_TYPE) != MAP_PRIVATE && length;
	struct vma_backing file;
	char name[4096];
	int err = -EBADF;
	long result;

	if (shared_anon) {
		fd = shared_file((length + GUEST_PAGE - 1) / GUEST_PAGE * GUEST_PAGE);
		if (fd < 0)
			return fd;
		flags &= ~MAP_ANONYMOUS;
		offset = 0;
	}
	if (!(flags & MAP_ANONYMOUS))
		err = describe_file(&file, fd, name, sizeof(name));
	if (shared_anon) {
		close(fd);
		file.name = "/dev/zero (deleted)";
	}
	if (err && err != -EBADF)
		return err;
	result = vmspace_mmap(memory.space, addr, length, prot, flags, err ? NULL : &file, offset);
	return flags & MAP_FIXED ? memory_changed(result) : result;
}

int memory_sync(unsigned long start, unsigned long end)
{
	struct vma_iterator it;
	struct vma_info info;
	int result = 0, fd;

	vma_iter_init(&it, memory.space, start);
	while (!result && vma_iter_find(&it, end, &info)) {
		if (!(info.flags & VMA_SHARED) || info.backing.kind != VMA_BACKING_FILE)
			continue;
		fd = descriptor(NULL, &info.backing);
		if (fd >= 0 && fdatasync(fd))
			result = -errno;
	}
	return result;
}

/* The kernel's page: li a7, 139 (rt_sigreturn); ecall. */
static int read_page(void *ctx, const struct vma_backing *file, uint64_t index, void *page)
{
	static const uint32_t code[] = { 0x08b00893, 0x00000073 };

	(void)ctx;
	if (!file->name || strcmp(file->name, VDSO_NAME) || index)
		return -ENXIO;
	memcpy(page, code, sizeof(code));
	return 0;
}

long memory_map_vdso(void)
{
	const struct vma_backing vdso = { .kind = VMA_BACKING_SPECIAL, .name = VDSO_NAME };

	return vmspace_mmap(memory.space, 0, GUEST_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, &vdso, 0);
}

/* ---- access ---- */

int guest_read(void *to, uint64_t from, size_t size)
{
	return vmspace_copy_from(memory.space, to, from, size) == size ? 0 : -EFAULT;
}

int guest_write(uint64_t to, const void *from, size_t size)
{
	return vmspace_copy_to(memory.space, to, from, size) == size ? 0 : -EFAULT;
}

long guest_string(char *to, uint64_t from, size_t size)
{
	long length = vmspace_strncpy_from(memory.space, to, from, size);

	return length == (long)size ? -ENAMETOOLONG : length;
}

_Noreturn static void raise_fault(struct cpu *cpu, enum vmspace_fault_result result, unsigned long addr)
{
	switch (result) {
	case VMSPACE_FAULT_ACCERR: cpu_raise(cpu, SIGSEGV, SEGV_ACCERR, addr);
	case VMSPACE_FAULT_BUS: cpu_raise(cpu, SIGBUS, BUS_ADRERR, addr);
	case VMSPACE_FAULT_NOMEM: cpu_raise(cpu, SIGKILL, SI_KERNEL, addr);
	default: cpu_raise(cpu, SIGSEGV, SEGV_MAPERR, addr);
	}
}

void memory_touch_code(struct cpu *cpu, unsigned long addr)
{
	enum vmspace_fault_result result =
		vmspace_touch(memory.space, addr, VMSPACE_ACCESS_EXEC, NULL);

	if (result)
		raise_fault(cpu, result, addr);
}

/*
 * The host's fault. It was raised by an instruction of the guest's and nothing else, so the handler may
 * do what any function may.
 */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *state = context;
	struct cpu *cpu = running;
	enum vmspace_fault_result result;
	unsigned int access;
	unsigned long addr;

	if (info->si_code <= 0) {
		signal_arrived(signo, info, context);
		return;
	}
	if (!cpu || !vmspace_window_guest(memory.window, info->si_addr, &addr)) {
		signal(signo, SIG_DFL); /* the emulator's own */
		return;
	}
	if (signo == SIGBUS)
		raise_fault(cpu, VMSPACE_FAULT_BUS, addr);
	if (state->uc_mcontext.gregs[REG_ERR] & 2)
		access = VMSPACE_ACCESS_WRITE;
	else if (addr - cpu->pc < 4)
		access = VMSPACE_ACCESS_EXEC;
	else
		access = VMSPACE_ACCESS_READ;
	result = vmspace_touch(memory.space, addr, access, NULL);
	if (result)
		raise_fault(cpu, result, addr);
}

void memory_create(bool as_kernel)
{
	struct vmspace_memfd_config limits = { .limit = FRAMES_LIMIT, .read_page = read_page };
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	struct vmspace_config config;
	struct utsname name;

	if (vmspace_memfd_create(&memory.memfd, &limits))
		die("no memory for the guest: memfd_create() failed");
	vmspace_memfd_use_files(memory.memfd, descriptor);
	if (vmspace_window_create(&memory.window, memory.memfd, 0, GUEST_TOP))
		die("no room for the guest's 256 GiB of addresses (is there a limit: ulimit -v?)");
	/* The rules are those of the version that uname() tells, if it is one that is known. */
	if ((uname(&name) || vmspace_config_preset(&config, "riscv64", name.release)) &&
	    vmspace_config_preset(&config, "riscv64", NULL))
		die("libvmspace does not know riscv64");
	if (as_kernel)
		memcpy(config.rules, vmspace_running_kernel()->rules, sizeof(config.rules));
	config.memory = vmspace_window_memory(memory.window);
	if (vmspace_create(&memory.space, &config))
		die(vmspace_config_check(&config));
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

pid_t memory_fork(void)
{
	int err = vmspace_memfd_before_fork(memory.memfd);
	pid_t pid;

	if (err)
		return err;
	mt_before_fork();
	pid = fork();
	if (pid) {
		err = -errno;
		mt_after_fork_parent();
		vmspace_memfd_after_fork_parent(memory.memfd);
		return pid < 0 ? err : pid;
	}
	mt_after_fork_child();
	if (vmspace_memfd_after_fork_child(memory.memfd) || vmspace_become_child(memory.space))
		die("no memory for the guest's child");
	/* No page of code is mapped now: to touch it before it is fetched is cheaper than a signal. */
	return (pid_t)memory_changed(0);
}
