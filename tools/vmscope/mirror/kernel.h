/* SPDX-License-Identifier: MIT */
/* What the kernel shows of one address space: /proc/PID/maps, pagemap, status. */
#ifndef VMSCOPE_MIRROR_KERNEL_H
#define VMSCOPE_MIRROR_KERNEL_H

#include <mapletree/vmspace_proc.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Open files of one address space. They refer to that address space even after the process through
 * which they were opened has executed another program or has exited.
 */
struct kernel_view {
	int maps_fd, pagemap_fd;	/* -1: not open */
	bool no_scan;			/* the kernel lacks PAGEMAP_SCAN; then smaps_fd is open */
	int smaps_fd;
	bool no_guards;			/* ... or its category of guard regions */
	char *text;			/* of the maps when last read; NUL-terminated */
	size_t length, capacity;	/* length < capacity unless text is NULL */
	bool text_current;		/* text is still what the maps are */
	bool no_query;			/* the kernel lacks PROCMAP_QUERY, or it is refused here */
	char *line;			/* what kernel_query() answered last; NULL before */
};

#define KERNEL_VIEW_INIT { .maps_fd = -1, .pagemap_fd = -1, .smaps_fd = -1 }

/* Opens a view of the address space of thread @tid. Returns 0 or -errno. */
int kernel_open(struct kernel_view *view, pid_t tid);
void kernel_close(struct kernel_view *view);

/* Whether an error returned by the functions below means that the process has exited. */
static inline bool kernel_is_gone(int error)
{
	return error == -ESRCH || error == -ENOENT;
}

/* Reads the maps into view->text. Returns 0 or -errno; -ESRCH if the address space is gone. */
int kernel_read_maps(struct kernel_view *view);

/*
 * Whether a private area has anonymous pages in [start, end). Pages of files do not count, nor does
 * the zero page; the huge zero page counts, as it comes with an anon_vma. False if the kernel does
 * not tell.
 */
bool kernel_has_anon(struct kernel_view *view, unsigned long start, unsigned long end);
/* Its way before Linux 6.7. */
bool anon_by_reading(struct kernel_view *view, unsigned long start, unsigned long end);

/*
 * Finds the first guard page (MADV_GUARD_INSTALL) in [start, end): in *@at, which may be address 0.
 * False: there is none, or the kernel is older than 6.16 and does not tell.
 */
bool kernel_first_guard(const struct kernel_view *view, unsigned long start, unsigned long end,
			unsigned long *at);

/* Finds the line of the area that contains @addr in view->text. */
bool kernel_find_line(const struct kernel_view *view, unsigned long addr,
		      struct vmspace_line *line);

/*
 * The line in maps of the area that contains @addr, or of the next one, without reading all of
 * them. Returns 1; 0 if there is none; -errno if the kernel does not tell (before Linux 6.11).
 * *@line is valid until the next query. Unlike maps, it does not know [vsyscall].
 */
int kernel_query(struct kernel_view *view, unsigned long addr, struct vmspace_line *line);

/*
 * The line of the area that contains @addr: from view->text if that is current, else by a query, or
 * by reading the maps where there is none. Valid until the next of these. False: there is none.
 */
bool kernel_line_at(struct kernel_view *view, unsigned long addr, struct vmspace_line *line);

/* Whether it is the line of [vsyscall], which is in maps, but is no area: no limit counts it. */
bool kernel_is_gate(const struct vmspace_line *line);

/* The start of the area that ends at @end; @start if there is none. */
unsigned long kernel_stack_start(struct kernel_view *view, unsigned long start, unsigned long end);

/* Reads @fd from its start to its end into a growing buffer. Returns the length or -errno. */
ssize_t kernel_read_all(int fd, char **text, size_t *capacity);

/* Reads a whole file of /proc/@tid as a string, which the caller frees. NULL with errno. */
char *kernel_read_file(pid_t tid, const char *name);

/*
 * Those flags of @tid's area at @addr that a driver may have added; all others follow from the call
 * that mapped it. 0 if there is no area.
 */
vma_flags_t kernel_driver_flags(pid_t tid, unsigned long addr);

/* Of the flags in /proc/PID/stat: a thread of the kernel's own, which has no areas. */
#define KERNEL_THREAD 0x00200000u

/* Writes the name of process @pid's command into @buf, "?" if it cannot be read. */
void kernel_read_command(pid_t pid, char *buf, size_t size);

/* The number after @key ("VmLck:") in the text of /proc/PID/status; @otherwise if there is none. */
unsigned long kernel_status_number(const char *status, const char *key, int base,
				   unsigned long otherwise);

/* The same of file @name of /proc/@tid; @otherwise also if it cannot be read. */
unsigned long kernel_file_number(pid_t tid, const char *name, const char *key, int base,
				 unsigned long otherwise);

/* The number in file @name of /proc/sys; 0 if it cannot be read. */
unsigned long kernel_setting(const char *name);

/* A message for @error, the positive errno of a failed open(), and what helps against it. */
const char *kernel_reason(int error);

/* Whether thread @tid sleeps in the kernel: it is neither runnable nor stopped. */
bool kernel_is_asleep(pid_t tid);

/* Copies @size bytes at @addr from @tid's memory. Returns the number of bytes copied. */
size_t kernel_read_memory(pid_t tid, unsigned long addr, void *buf, size_t size);

#endif
