/* SPDX-License-Identifier: MIT */
/*
 * vmspace_proc.h - live processes: parse /proc/PID, create a vmspace from a process, compare the
 * two.
 *
 * A running process changes while it is read: stop it first (SIGSTOP, ptrace). All calls work on
 * threads (tid) as well. They need the permissions that /proc asks for (ptrace(2),
 * PTRACE_MODE_READ), and memory; they block in read() only, and keep nothing open.
 */
#ifndef MAPLETREE_VMSPACE_PROC_H
#define MAPLETREE_VMSPACE_PROC_H

#include <mapletree/vmspace.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- texts ---------------------------------------------------------------------------------- */

/* One line of /proc/PID/maps, parsed; the strings point into the text. */
struct vmspace_line {
	unsigned long start, end;
	char perms[5];
	uint64_t offset, inode;
	unsigned int dev_major, dev_minor;
	const char *name;            /* escaped, not NUL-terminated; name_length 0: none */
	size_t name_length;
	const char *text;            /* the whole line */
	size_t length;               /* with its newline */
};

/*
 * Parse the line at `text`, which a newline or NUL ends. Returns the text after it, or NULL if
 * this is no such line (also: the end of the text; a number with 0x before it, or too large for its
 * member here; permissions that there are not); *line is unspecified then.
 */
VMSPACE_PUBLIC const char *vmspace_parse_line(const char *text, struct vmspace_line *line);

/*
 * The backing of that line's area: kind (derived from the name, see proc_pid_maps(5)), device,
 * inode, and name, its escapes undone, which is put into buf, cut to size - 1 bytes (PATH_MAX + 16
 * are enough). backing->name is buf, or NULL for anonymous memory and where there is no name.
 */
VMSPACE_PUBLIC void vmspace_line_backing(const struct vmspace_line *line,
					 struct vma_backing *backing, char *buf, size_t size);

/* One entry of /proc/PID/smaps: the line, and what maps does not show. */
struct vmspace_entry {
	struct vmspace_line line;
	bool has_flags;              /* there was a line VmFlags: it is of smaps, not of maps */
	vma_flags_t flags;
	unsigned int pkey;
	bool has_anon;               /* anonymous pages, in memory or swapped */
};

/* Parse the entry at `text`, of smaps or of maps. Returns like vmspace_parse_line(). */
VMSPACE_PUBLIC const char *vmspace_parse_entry(const char *text, struct vmspace_entry *entry);

/*
 * All areas of the text of smaps; or of maps, which says less: then flags are derived from the
 * permissions, and no area has anonymous pages. *areas is the caller's, freed by
 * vmspace_free_areas(). *line (may be NULL): the number of the last line read.
 * Returns 0; -EINVAL: line *line is of neither, or there is none at all; -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_parse_areas(const char *text, struct vmspace_area **areas,
				       size_t *count, unsigned long *line);
/* NULL is ignored. */
VMSPACE_PUBLIC void vmspace_free_areas(struct vmspace_area *areas, size_t count);

/* ---- processes ------------------------------------------------------------------------------ */

/*
 * Read the limits (getrlimit) and privileges (capabilities, personality) of process `pid` into a
 * config that vmspace_config_init() has filled; what cannot be read counts as no limit, no
 * privilege. mmap_bottom_up follows from the personality (ADDR_COMPAT_LAYOUT) and, but for
 * x86-64, RLIMIT_STACK (none). Changes of these two take effect with the next exec of the process:
 * keep the old value until then.
 */
VMSPACE_PUBLIC void vmspace_config_read(struct vmspace_config *config, pid_t pid);

/*
 * What vmspace_exec() needs of process `pid`, from /proc/PID/{smaps,stat}. attach: it has run for a
 * while, and may have been copied by fork (then areas with anonymous pages may have had them before
 * that); false: it has just begun to run a program. *areas: see vmspace_parse_areas().
 * Returns 0, or -ESRCH (no such process, or one without memory), -EACCES, -ENOMEM ...
 */
VMSPACE_PUBLIC int vmspace_read_process(pid_t pid, bool attach, struct vmspace_area **areas,
					size_t *count, struct vmspace_image *image);

/*
 * A new space equal to what process `pid` is now: areas, break, counters, limits, privileges. What
 * /proc does not tell (which areas share an anon_vma, the exact break, whether mlockall() holds
 * for the future) is guessed as vmspace_exec() says. *out is the caller's, ended by
 * vmspace_destroy(); it asks no host: vmspace_configure() may give it one.
 * Returns 0, or a negative errno (as vmspace_read_process()); *out is NULL then.
 */
VMSPACE_PUBLIC int vmspace_load(struct vmspace **out, pid_t pid);

/*
 * VMSPACE_LOAD_MAPS - read maps, not smaps, for which the kernel walks all pages: ten times as fast.
 * Then flags are derived from the permissions; what maps does not tell is taken for absent: locks,
 * advice, keys, seals, and whether areas have anonymous pages, on which it depends whether they
 * merge. VMSPACE_VERIFY_MAPS holds for the space, VMSPACE_VERIFY_FLAGS perhaps not.
 */
#define VMSPACE_LOAD_MAPS 1u

/* vmspace_load(), as VMSPACE_LOAD_* in `how` say. Also returns -EINVAL: others are set in it. */
VMSPACE_PUBLIC int vmspace_load_how(struct vmspace **out, pid_t pid, unsigned int how);

/* What to compare; bits. */
#define VMSPACE_VERIFY_MAPS     1u  /* each line of /proc/PID/maps */
#define VMSPACE_VERIFY_FLAGS    2u  /* VmFlags and keys of /proc/PID/smaps; not soft-dirty marks */
#define VMSPACE_VERIFY_COUNTERS 4u  /* VmSize, VmLck, VmPin, VmData, VmStk, VmExe, VmLib */
#define VMSPACE_VERIFY_ALL      7u

/* The first difference. */
struct vmspace_difference {
	unsigned int what;           /* VMSPACE_VERIFY_*; 0: none */
	unsigned long addr;          /* of the first area that differs; 0 for counters */
	char text[640];              /* both sides, in words; cut if it is longer */
};

/*
 * Is the space equal to process `pid`, in all of `what`? Stacks that have grown are a difference
 * (vmspace_refresh() follows them). Changes nothing. `difference` may be NULL.
 * Returns 0 (equal), 1 (not), or a negative errno, as vmspace_read_process().
 */
VMSPACE_PUBLIC int vmspace_verify(const struct vmspace *space, pid_t pid, unsigned int what,
				  struct vmspace_difference *difference);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_PROC_H */
