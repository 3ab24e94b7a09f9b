/* SPDX-License-Identifier: MIT */
/* Areas as the kernel tells of them, in libvmspace's terms. */
#ifndef VMSCOPE_WATCH_AREAS_H
#define VMSCOPE_WATCH_AREAS_H

#include <mapletree/vmspace.h>
#include <stddef.h>
#include <sys/types.h>

#include "watch/event.h"

/* Flags that are compared: those of maps, and growsdown. */
#define WATCH_FLAGS (VMA_READ | VMA_WRITE | VMA_EXEC | VMA_SHARED | VMA_MAYSHARE | VMA_GROWSDOWN | \
		     VMA_LOCKED | VMA_DONTCOPY)

/* The flags of libvmspace for the kernel's vm_flags. */
vma_flags_t areas_flags(__u64 vm_flags);

/*
 * @area with the name of its file that the event with @path behind it tells, until areas_forget().
 */
struct watch_area areas_named(const struct watch_area *area, const char *path);

/* That name; NULL: not told. */
const char *areas_name(const struct watch_area *area);

/*
 * Describes the file of @area, or what else it maps. @tid is a thread of the process, which may
 * have ended meanwhile: what was not told is looked up there. Names stay valid until
 * areas_forget().
 */
void areas_backing(const struct watch_area *area, pid_t tid, struct vma_backing *backing);

/*
 * @areas of thread @tid for vmspace_exec(), in an array that the caller frees. NULL: out of memory.
 */
struct vmspace_area *areas_convert(const struct watch_area *areas, size_t count, pid_t tid);

/*
 * Whether processes have a page [vsyscall], which the kernel shows as no area: all have it, or
 * none.
 */
void areas_find_gate(struct vmspace_image *image);

/* Frees what was remembered of files. */
void areas_forget(void);

#endif
