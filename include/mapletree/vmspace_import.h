/* SPDX-License-Identifier: MIT */
/*
 * vmspace_import.h - areas that somebody else has read: texts of maps and smaps, core files,
 * minidumps, records of perf; spaces made of them, and brought up to date by them.
 *
 * Texts and files are not trusted: whatever is in them, the calls read only what they are given,
 * and say what is wrong, and where. None asks the kernel for anything.
 */
#ifndef MAPLETREE_VMSPACE_IMPORT_H
#define MAPLETREE_VMSPACE_IMPORT_H

#include <mapletree/vmspace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is wrong with the input, and where. */
struct vmspace_mistake {
	unsigned long line;          /* of a text, from 1; 0: it is not a text, or not about a line */
	size_t offset;               /* in bytes, from the beginning of the text, file or record */
	char text[160];              /* in words, with what was found; a sentence without a period */
};

/*
 * A new space with the areas of `text`, of smaps or of maps (see vmspace_parse_areas()), and with
 * `config`, which should be that of the machine and process where the text was read: page_size and
 * task_size at least. Ends of break and stack follow from the names [heap] and [stack]; which areas
 * share an anon_vma is not known. *out is the caller's, ended by vmspace_destroy(). `mistake` may
 * be NULL. Returns 0; -EINVAL with *mistake: a line is none, or its area is impossible; or there is
 * no line, or the config makes no sense; -ENOMEM. *out is NULL then.
 */
VMSPACE_PUBLIC int vmspace_load_text(struct vmspace **out, const struct vmspace_config *config,
				     const char *text, struct vmspace_mistake *mistake);

/*
 * Bring a space up to date: `count` areas, in ascending order, are what is mapped at their places
 * now. What was there before, or in parts, is unmapped as munmap does. They stay apart from their
 * neighbours, as in the text where they were lines of their own. An area named [heap] that begins
 * at the start of the break moves the break to its end. The strings are copied. Returns 0; -EINVAL,
 * with nothing changed: as vmspace_exec(), *done is the area that is impossible; another error of
 * munmap (-EPERM: a sealed area is in the way; -EBUSY: a part of one that cannot be cut is, as
 * [vdso]; -ENOMEM: out of memory, or too many areas): the first *done areas are in place, and what
 * was at the next may be unmapped. `done` may be NULL. No other thread uses these places meanwhile.
 */
VMSPACE_PUBLIC int vmspace_put_areas(struct vmspace *space, const struct vmspace_area *areas,
				     size_t count, size_t *done);

/*
 * vmspace_put_areas() of the lines of a text of maps or smaps. Returns 0; -EINVAL with *mistake
 * (may be NULL) and the space unchanged; or another error, as vmspace_put_areas(): mistake->line is
 * the line of the area that could not be put.
 */
VMSPACE_PUBLIC int vmspace_put_text(struct vmspace *space, const char *text,
				    struct vmspace_mistake *mistake);

/*
 * The areas of a core file of `size` bytes: those of its program headers, with names and offsets
 * from NT_FILE, [vdso] and [stack] from NT_AUXV. A core does not tell devices and inodes, whether
 * an area is shared (all are private here but those whose names say that they are shared memory),
 * and which one is the heap. Files whose areas the core left out are not there. 64-bit cores in the
 * byte order of this machine. *areas is the caller's, freed by vmspace_free_areas(); *page_size
 * (may be NULL) the size of a page by NT_FILE, 0 if there is none. Returns 0; -EINVAL with *mistake
 * (may be NULL); -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_parse_core(const void *core, size_t size, struct vmspace_area **areas,
				      size_t *count, unsigned long *page_size,
				      struct vmspace_mistake *mistake);

/*
 * The areas of a minidump of a Linux process, as Breakpad writes it: its stream of maps
 * (MD_LINUX_MAPS), which has their text. Returns as vmspace_parse_core(); a minidump without that
 * stream, of another system for instance, is -EINVAL. mistake->line is that of the text, and the
 * offset that of the file.
 */
VMSPACE_PUBLIC int vmspace_parse_minidump(const void *dump, size_t size,
					  struct vmspace_area **areas, size_t *count,
					  struct vmspace_mistake *mistake);

/*
 * The area of a record PERF_RECORD_MMAP2 (perf_event_open(2)) of `size` bytes, for
 * vmspace_put_areas(). *pid is set to the process. With build ids in the record (perf's
 * --buildid-mmap) it does not tell device and inode. area->backing.name points into the record.
 * Returns 0; -EINVAL with *mistake (may be NULL): the record is of another type, cut, or
 * impossible.
 */
VMSPACE_PUBLIC int vmspace_parse_mmap2(const void *record, size_t size, struct vmspace_area *area,
				       int *pid, struct vmspace_mistake *mistake);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_IMPORT_H */
