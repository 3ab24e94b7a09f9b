/* SPDX-License-Identifier: MIT */
/* fork.c - the child's address space, and exact copies (vmspace_clone()). */
#include <errno.h>
#include <string.h>

#include "commit.h"
#include "fork.h"
#include "ops.h"
#include "outcome.h"
#include "sync.h"
#include "window.h"
#include "words.h"

void fork_inherit(struct vmspace *child, const struct vmspace *parent)
{
	child->image = parent->image;
	child->pkeys = parent->pkeys;
	child->mmap_base = parent->mmap_base;
	child->base_guessed = parent->base_guessed;
	child->largest_area = parent->largest_area;
	child->next_anon_id = parent->next_anon_id;
	child->next_file_id = parent->next_file_id;
}

static long give_areas(struct vmspace *parent, struct vmspace *child)
{
	long err = fork_may_share(parent, child) ? fork_share(parent, child) : -EOVERFLOW;

	return err == -EOVERFLOW ? fork_copy(parent, child, false) : err;
}

/* Are the frames of the child's window others than those of the parent's? */
static bool windows_differ(const struct vmspace_memory *child, const struct vmspace_memory *parent)
{
	const struct vmspace_memfd *childs = child ? window_memfd(child) : NULL;
	const struct vmspace_memfd *parents = parent ? window_memfd(parent) : NULL;

	return childs && parents && childs != parents;
}

static long create_child(struct vmspace *space, struct vmspace **child,
			 const struct vmspace_config *config)
{
	int err;

	if (windows_differ(config->memory, space->config.memory))
		return outcome_fail(space, -EINVAL,
				    "child_memory is a window on another memfd: create it on that "
				    "of the parent's window");
	err = vmspace_create(child, config);
	if (err == -EBUSY)
		return outcome_fail(space, err,
				    "child_memory is a window that a space uses: create one for "
				    "the child");
	if (err == -EINVAL)
		return outcome_fail(space, err, vmspace_config_check(config));
	return err ? outcome_no_memory(space) : 0;
}

long fork_call(struct vmspace *space, struct vmspace_request *req)
{
	struct vmspace_config config = space->config;
	struct vmspace *child;
	long err;

	req->fork.child = NULL;
	if (space->host_error)
		return outcome_fail(space, space->host_error, "refused by the host");
	err = commit_check_fork(space);
	if (err)
		return err;
	config.host = req->fork.child_host ? *req->fork.child_host : (struct vmspace_host){ 0 };
	config.hooks = req->fork.child_hooks;
	if (req->fork.child_memory)
		config.memory = req->fork.child_memory;
	else if (config.memory && config.memory->map)
		return outcome_fail(space, -EINVAL,
				    "fork needs child_memory: the parent's has a map()");
	err = create_child(space, &child, &config);
	if (err)
		return err;
	fork_inherit(child, space);
	if (words_inherit(child, space, false) || give_areas(space, child)) {
		vmspace_destroy(child);
		return outcome_no_memory(space);
	}
	words_fork(space, child);
	req->fork.child = child;
	return req->host.valid ? req->host.result : 0;
}

static int make_clone(struct vmspace **out, const struct vmspace *space)
{
	struct vmspace_config config = space->config;
	struct vmspace *copy;
	int err;

	config.memory = NULL;
	config.hooks = NULL;
	/* A copy to try requests on is not charged. */
	if (config.commit_pool) {
		config.committed_elsewhere = commit_total(space) - space->committed_vm;
		config.commit_pool = NULL;
	}
	err = vmspace_create(&copy, &config);
	if (err)
		return err;
	fork_inherit(copy, space);
	err = words_inherit(copy, space, true);
	/* It changes nothing of the space but its lock, and what says that it is not alone. */
	if (!err)
		err = (int)fork_copy((struct vmspace *)(uintptr_t)space, copy, true);
	if (err) {
		vmspace_destroy(copy);
		return err;
	}
	/* Of the counters, only locked_vm is more than a sum over the areas. */
	copy->locked_vm = space->locked_vm;
	copy->locked_leak = space->locked_leak;
	copy->pinned_vm = space->pinned_vm;
	copy->default_flags = space->default_flags;
	memcpy(copy->requests, space->requests, sizeof(copy->requests));
	copy->areas_peak = space->areas_peak;
	copy->merges = space->merges;
	copy->splits = space->splits;
	copy->changes = space->changes;
	copy->host_questions = space->host_questions;
	*out = copy;
	return 0;
}

int vmspace_clone(struct vmspace **out, const struct vmspace *space)
{
	int err;

	*out = NULL;
	if (space_is_snapshot(space)) /* nothing changes it */
		return make_clone(out, space);
	sync_enter(space);
	err = make_clone(out, space);
	sync_leave(space);
	return err;
}
