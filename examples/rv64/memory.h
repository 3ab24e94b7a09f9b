/* SPDX-License-Identifier: MIT */
/* memory.h - the guest's address space, its window, and the calls that change it. */
#ifndef RV64_MEMORY_H
#define RV64_MEMORY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mapletree/vmspace_reading.h>
#include <mapletree/vmspace_window.h>

#define GUEST_TOP  (1ULL << 38) /* Sv39: user addresses are below */
#define GUEST_PAGE 4096ULL

struct guest_memory {
	struct vmspace_memfd *memfd;
	struct vmspace_window *window;
	struct vmspace *space;
};

/* The one address space of this process. */
extern struct guest_memory memory;

/*
 * A new, empty address space, and the handler of the host's faults in it. `as_kernel`: by the rules that
 * are found out about the running kernel, not those of its version. Ends the program if it cannot.
 */
void memory_create(bool as_kernel);

/* How often memory that may have been executable was changed. */
extern unsigned int code_changes;
static inline unsigned int code_generation(void)
{
	return __atomic_load_n(&code_changes, __ATOMIC_ACQUIRE);
}
/* A call of the guest's has changed memory: its result. */
static inline long memory_changed(long result)
{
	__atomic_add_fetch(&code_changes, 1, __ATOMIC_RELEASE);
	return result;
}

/* The guest's mmap(), of a file by descriptor `fd` (-1: none). The address, or -errno. */
long memory_mmap(unsigned long addr, unsigned long length, int prot, int flags, int fd, uint64_t offset);
/* Files that are mapped shared in the range are written to their disks. 0 or -errno. */
int memory_sync(unsigned long start, unsigned long end);
/* The page that returns from signal handlers, as the kernel's [vdso] does: its address, or -errno. */
long memory_map_vdso(void);

struct cpu;
/* The page may be executed, or the hart's instruction ends with a signal. */
void memory_touch_code(struct cpu *cpu, unsigned long addr);

/* Copy to and from the guest: 0 or -EFAULT. */
int guest_read(void *to, uint64_t from, size_t size);
int guest_write(uint64_t to, const void *from, size_t size);
/* A string of the guest's, of less than `size` bytes: its length, -EFAULT, or -ENAMETOOLONG. */
long guest_string(char *to, uint64_t from, size_t size);

/* The host's fork(), with a copy of the guest's memory in the child: as fork(), but -errno. */
pid_t memory_fork(void);

/* A descriptor of the emulator's own, moved to where the guest has none. -errno */
int own_descriptor(int fd);
/* Guests have descriptors below it. */
int guest_descriptors(void);

#endif
