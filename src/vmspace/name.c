/* SPDX-License-Identifier: MIT */
/* name.c - prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME): names of anonymous areas. */
#include <errno.h>
#include <string.h>

#include "edit.h"
#include "ops.h"
#include "outcome.h"

#define NAME_SIZE_MAX 80 /* with the closing NUL */

static bool char_allowed(unsigned char c)
{
	return c > 0x1f && c < 0x7f && !strchr("\\`$[]", c);
}

static long check_name(const char *name)
{
	size_t length = strnlen(name, NAME_SIZE_MAX);

	if (length == NAME_SIZE_MAX)
		return -EINVAL;
	for (size_t i = 0; i < length; i++)
		if (!char_allowed((unsigned char)name[i]))
			return -EINVAL;
	return 0;
}

static long name_part(struct edit_span *span, void *arg)
{
	const struct vma *vma = span->vma;
	struct edit_attrs want = edit_attrs_of(vma);
	struct anon_name *name = arg;

	if (vma->backing && vma->backing->is.kind != VMA_BACKING_SHMEM)
		return -EBADF;
	if (anon_name_same(vma->name, name))
		return 0;
	want.name = name;
	return edit_change(span, &want);
}

long name_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_set_anon_name *args = &req->set_anon_name;
	unsigned long length = space_ceil(space, args->length);
	struct anon_name *name = NULL;
	long err = 0;

	if (!space->config.anon_names)
		return -EINVAL;
	if (args->name)
		err = check_name(args->name);
	if (err)
		return err;
	if (!space_aligned(space, args->addr))
		return -EINVAL;
	if ((args->length && !length) || args->addr + length < args->addr)
		return -EINVAL;
	if (!length)
		return 0;
	if (args->name) {
		name = anon_name_new(args->name);
		if (!name)
			return outcome_no_memory(space);
	}
	err = edit_each(space, args->addr, args->addr + length, 0, name_part, name);
	anon_name_put(name);
	return err;
}
