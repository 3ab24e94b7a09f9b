/* SPDX-License-Identifier: MIT */
/* Where the calls of an address space that is watched were made. */
#include "watch/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of the areas those of files: others tell nothing of functions. */
static int write_file(void *ctx, const char *line, size_t length)
{
	return !memchr(line, '/', length) || fwrite(line, 1, length, ctx) == length ? 0 : -1;
}

/*
 * The files that the process has mapped are read from the mirror: it stands where the call was made,
 * while the process itself is further on, or is no more.
 */
static bool learn_files(struct watched *space)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	bool learnt = memory && vmspace_show_lines(space->vm, write_file, memory) == 0;

	learnt = memory && fclose(memory) == 0 && learnt;
	learnt = learnt && size > 0 && site_remap(space->sites, text);
	free(text);
	return learnt;
}

void stacks_tell(struct watched *space, pid_t pid, struct json_object *record)
{
	const struct watch_stack_event *from = space->stack;
	char site[SITE_MAX], room[STACK_MAX], *stack;
	struct site_copy copy;

	if (!space->session->options->sites)
		return;
	if (!from) {
		space->session->totals.stacks_lost++;
		return;
	}
	copy = (struct site_copy){
		.ip = from->ip, .sp = from->sp, .bp = from->bp, .bx = from->bx, .r12 = from->r12,
		.r13 = from->r13, .r14 = from->r14, .r15 = from->r15,
		.bytes = from->bytes, .size = from->size,
	};
	if (!space->sites)
		space->sites = site_open_copies(pid);
	if (space->sites && space->files == FILES_UNKNOWN)
		space->files = learn_files(space) ? FILES_KNOWN : FILES_MISSING;
	if (!space->sites || space->files != FILES_KNOWN ||
	    !site_find_copy(space->sites, &copy, site, room, &stack)) {
		space->session->totals.stacks_lost++;
		return;
	}
	json_object_object_add(record, "site", json_object_new_string(site));
	json_object_object_add(record, "stack", json_object_new_string(stack));
}

/* Whether code of a file is mapped somewhere in [start, end). */
static bool has_code(const struct vmspace *vm, unsigned long start, unsigned long end)
{
	struct vma_info info;

	for (unsigned long at = start; at < end && vmspace_next(vm, at, &info); at = info.end) {
		if (info.start >= end)
			break;
		if (info.flags & VMA_EXEC && info.backing.kind == VMA_BACKING_FILE)
			return true;
	}
	return false;
}

void stacks_note(struct watched *space, const struct call *call)
{
	const unsigned long *args = call->args, start = args[0], length = args[1];

	if (!space->sites || call->result < 0)
		return;
	switch (call->kind->id) {
	case CALL_MMAP:
		if (args[2] & PROT_EXEC && !(args[3] & MAP_ANONYMOUS))
			space->files = FILES_UNKNOWN;
		if (!(args[3] & MAP_FIXED))
			return;
		break;
	case CALL_MUNMAP:
	case CALL_MREMAP:
		break;
	default:
		return;
	}
	if (has_code(space->vm, start, start + length))
		space->files = FILES_UNKNOWN;
}
