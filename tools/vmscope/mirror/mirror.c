/* SPDX-License-Identifier: MIT */
/* The life of a mirror: it is created from the kernel or by fork, and ends with its process. */
#include "mirror/mirror.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/log_space.h"
#include "log/maps_file.h"
#include "mirror/snapshot.h"
#include "mirror/state.h"
#include "mirror/verify.h"

static struct mirror *new_mirror(struct session *session, const struct log_who *who)
{
	struct mirror *mirror = calloc(1, sizeof(*mirror));

	assert(who->space > 0);
	if (!mirror)
		return NULL;
	mirror->session = session;
	mirror->space_id = who->space;
	host_init(&mirror->host);
	mirror_record_in(mirror, &mirror->observed);
	mirror->comparison.answers = mirror->host.answers;
	guess_init(&mirror->guess, session, &mirror->host, &mirror->comparison);
	kernel_read_command(who->pid, mirror->command, sizeof(mirror->command));
	return mirror;
}

void mirror_close_answers(struct mirror *mirror, struct call_answers *answers)
{
	struct call_answers **link = &mirror->calls;

	if (!answers)
		return;
	while (*link != answers) {
		assert(*link);
		link = &(*link)->next;
	}
	*link = answers->next;
	answers_clear(&answers->answers);
	free(answers);
}

void mirror_free(struct mirror *mirror)
{
	if (!mirror)
		return;
	assert(!mirror->host.untouched && !mirror->host.child_view);
	vmspace_destroy(mirror->vm);
	host_close(&mirror->host);
	comparison_free(&mirror->comparison);
	nearby_text_free(&mirror->theirs);
	nearby_text_free(&mirror->ours);
	guess_end(&mirror->guess);
	open_file_clear(&mirror->files);
	uffd_clear(&mirror->uffds);
	site_close(mirror->sites);
	while (mirror->calls)
		mirror_close_answers(mirror, mirror->calls);
	answers_clear(&mirror->observed);
	answers_clear(&mirror->asked_again);
	free(mirror);
}

/* Fills in the mirror's address space as the kernel shows it; @record gets what was read. */
static int load(struct mirror *mirror, const struct log_who *who, bool attach,
		struct json_object *record)
{
	struct vmspace_config config;
	int rc;

	vmspace_config_init(&config);
	vmspace_config_read(&config, who->pid);
	config.host = host_callbacks(&mirror->host);
	config.hooks = &mirror->guess.hooks;
	mirror->brk_unknown = attach;
	rc = host_open(&mirror->host, who->tid);
	if (rc == 0)
		rc = vmspace_create(&mirror->vm, &config);
	if (rc == 0)
		rc = snapshot_load(mirror->vm, who->tid, attach, record);
	if (rc == 0)
		mirror->locks = vmspace_count_pages(mirror->vm, 0, ULONG_MAX, VMA_LOCKED) > 0;
	if (rc == 0 && attach)
		rc = guess_attached(&mirror->guess, who->pid, mirror->vm);
	if (rc == 0 && attach)
		rc = open_file_attached(&mirror->files, mirror->vm);
	return rc;
}

int mirror_create(struct session *session, const struct log_who *who, bool attach,
		  struct mirror **out)
{
	struct mirror *mirror = new_mirror(session, who);
	struct json_object *record = session->log ? json_object_new_object() : NULL;
	int rc = mirror ? load(mirror, who, attach, record) : -ENOMEM;

	*out = NULL;
	if (rc != 0) {
		json_object_put(record);
		mirror_free(mirror);
		return rc;
	}
	log_space_begins(session, who, mirror->vm, attach, record);
	mirror->host.view.text_current = false;
	if (session->options->verify_end || session->options->verify_every)
		verify(mirror, who, NULL, NULL, true);
	*out = mirror;
	return 0;
}

/* Forks the mirror's address space into @child, whose view of the kernel is open. */
static void fork_space(struct mirror *mirror, struct mirror *child,
		       const struct log_who *parent_who, const struct log_who *child_who)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct answers answers = { .asked = NULL };
	struct vmspace_host callbacks = host_callbacks(&child->host);

	assert(!mirror->host.child_view);
	req.fork.child_host = &callbacks;
	req.fork.child_hooks = &child->guess.hooks;
	req.host = (struct vmspace_host_result){ .valid = true, .result = child_who->pid };
	mirror->host.view.text_current = false;
	mirror->host.child_view = &child->host.view;
	mirror_record_in(mirror, &answers);
	vmspace_call(mirror->vm, &req);
	mirror_record_in(mirror, &mirror->observed);
	mirror->host.child_view = NULL;
	log_space_forked(mirror->session, child_who, parent_who->space, &answers);
	answers_clear(&answers);
	child->vm = req.fork.child;
}

/* Passes on what is known about the parent beside its areas. Returns 0 or -ENOMEM. */
static int inherit(struct mirror *child, const struct mirror *parent)
{
	uffd_copy(&child->uffds, &parent->uffds);
	if (open_file_copy(&child->files, &parent->files) != 0 ||
	    guess_fork(&child->guess, &parent->guess, child->vm) != 0)
		return -ENOMEM;
	child->brk_unknown = parent->brk_unknown;
	child->reported = parent->reported;
	/* The parent has diverged: comparing a copy of it proves nothing. */
	child->verify_off = parent->verify_off || parent->reported > 0;
	child->guess.closed = child->verify_off;
	memcpy(child->last_reported, parent->last_reported, sizeof(child->last_reported));
	return 0;
}

struct mirror *mirror_fork(struct mirror *mirror, const struct log_who *parent,
			   const struct log_who *child)
{
	struct session *session = mirror->session;
	struct mirror *copy = new_mirror(session, child);
	int rc = copy ? host_open(&copy->host, child->tid) : -ENOMEM;

	assert(parent->space == mirror->space_id && child->space != parent->space);
	if (rc == 0) {
		fork_space(mirror, copy, parent, child);
		rc = copy->vm ? inherit(copy, mirror) : -ENOMEM;
	}
	if (rc != 0) {
		mirror_free(copy);
		if (rc == -ENOMEM) {
			session_fail(session, "out of memory");
		} else if (!kernel_is_gone(rc)) {
			session_say("process %d is not followed: %s", (int)child->pid,
				    kernel_reason(-rc));
			session->totals.unfollowed++;
		}
		return NULL;
	}
	if (session->options->verify_every)
		verify(copy, child, NULL, NULL, session->options->verify_every == 1);
	return copy;
}

void mirror_before_exec(struct mirror *mirror, const struct log_who *who)
{
	mirror->host.view.text_current = false;
	if (mirror->session->options->verify_end)
		verify(mirror, who, NULL, NULL, true);
}

static void add_to_totals(struct mirror *mirror)
{
	struct totals *totals = &mirror->session->totals;
	struct vmspace_stats stats;

	vmspace_stats(mirror->vm, &stats);
	totals->areas += stats.areas;
	totals->merges += stats.merges;
	totals->splits += stats.splits;
	totals->questions += stats.host_questions;
	if (stats.areas_peak > totals->areas_peak)
		totals->areas_peak = stats.areas_peak;
	if (stats.tree_bytes <= totals->tree_bytes)
		return;
	totals->tree_nodes = stats.tree_nodes;
	totals->tree_bytes = stats.tree_bytes;
	totals->tree_height = stats.tree_height;
}

void mirror_gone(struct mirror *mirror, const struct log_who *who, const char *occasion)
{
	struct session *session = mirror->session;

	assert(who->space == mirror->space_id);
	if (session->maps_file && strcmp(occasion, "exec") != 0)
		maps_file_write(session->maps_file, who->pid, mirror->command, occasion,
				mirror->vm);
	log_space_ends(session, who, mirror->vm, mirror->command, occasion);
	add_to_totals(mirror);
}

void mirror_finish(struct mirror *mirror, const struct log_who *who, const char *occasion)
{
	mirror->host.view.text_current = false;
	if (mirror->session->options->verify_end)
		verify(mirror, who, NULL, NULL, true);
	mirror_gone(mirror, who, occasion);
}

void mirror_refresh_limits(struct mirror *mirror, pid_t pid, pid_t tid)
{
	const struct log_who who = { pid, tid, mirror->space_id };
	struct vmspace_config config = *vmspace_config(mirror->vm);
	const struct vmspace_config before = config;

	vmspace_config_read(&config, tid);
	config.mmap_bottom_up = before.mmap_bottom_up; /* fixed until the next exec */
	vmspace_configure(mirror->vm, &config);
	if (memcmp(&before, &config, sizeof(config)) != 0)
		log_space_limits(mirror->session, &who, mirror->vm);
}

void mirror_give_up(struct mirror *mirror, pid_t pid, const char *why)
{
	if (mirror->verify_off)
		return;
	mirror->verify_off = true;
	mirror->guess.closed = true;
	mirror->session->totals.unfollowed++;
	session_say("process %d (%s) is no longer compared: %s", (int)pid, mirror->command, why);
}
