/* SPDX-License-Identifier: MIT */
/* What the kernel says about one address space: /proc/PID/maps, pagemap, status. */
#ifndef VMSCOPE_MIRROR_KERNEL_H
#define VMSCOPE_MIRROR_KERNEL_H

#include <mapletree/vmspace_proc.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Open files on one address space. They stay with that address space when the process that
 * they were opened through executes another program or ends.
 */
struct kernel_view {
	int maps_fd, pagemap_fd;	/* -1: not open */
	bool no_scan;			/* the kernel lacks PAGEMAP_SCAN */
	bool no_guards;			/* ... or its category of guard regions */
	char *text;			/* the last text read; NUL-terminated */
	size_t length, capacity;	/* length < capacity where text is not NULL */
	bool text_current;		/* text is what the maps say now */
};

#define KERNEL_VIEW_INIT { .maps_fd = -1, .pagemap_fd = -1 }

/* Opens the view of the space of thread @tid. Returns 0 or -errno. */
int kernel_open(struct kernel_view *view, pid_t tid);
void kernel_close(struct kernel_view *view);

/* Whether an error of the calls below says that the process has ended and its areas are gone. */
static inline bool kernel_is_gone(int error)
{
	return error == -ESRCH || error == -ENOENT;
}

/* Reads the maps into view->text. Returns 0 or -errno; -ESRCH if the space is gone. */
int kernel_read_maps(struct kernel_view *view);

/*
 * Has a private area an anonymous page (not of a file, not the zero page, but the huge zero page, which
 * comes with an anon_vma) in [start, end)? Before Linux 6.7 the zero page counts as one. False if the
 * kernel will not say.
 */
bool kernel_has_anon(struct kernel_view *view, unsigned long start, unsigned long end);

/* The first page in [start, end) that is guarded (MADV_GUARD_INSTALL); 0 if none is, or before Linux 6.16. */
unsigned long kernel_first_guard(const struct kernel_view *view, unsigned long start,
				 unsigned long end);

/* Finds the line of the area that holds @addr in view->text. */
bool kernel_find_line(const struct kernel_view *view, unsigned long addr, struct vmspace_line *line);

/* Where the area that ends at @end begins; @start if there is none. Reads the maps if need be. */
unsigned long kernel_stack_start(struct kernel_view *view, unsigned long start, unsigned long end);

/* Reads a whole file of /proc/@tid, NUL-terminated; the caller frees it. NULL with errno. */
char *kernel_read_file(pid_t tid, const char *name);

/* Writes the name of process @pid's command into @buf, "?" if it cannot be read. */
void kernel_read_command(pid_t pid, char *buf, size_t size);

/* The number in line @key ("VmLck:") of the text of /proc/PID/status, or @otherwise. */
unsigned long kernel_status_number(const char *status, const char *key, int base,
				   unsigned long otherwise);

/* Words for @error, a positive errno of an open() here, and what helps. */
const char *kernel_reason(int error);

/* Whether thread @tid sleeps in the kernel: does not run, is not ready to, and is not stopped. */
bool kernel_is_asleep(pid_t tid);

/* Copies @size bytes at @addr of @tid's memory. Returns the bytes copied, 0 for none. */
size_t kernel_read_memory(pid_t tid, unsigned long addr, void *buf, size_t size);

#endif
