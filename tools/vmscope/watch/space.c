/* SPDX-License-Identifier: MIT */
/* An address space that is watched: what the kernel tells of it, applied to libvmspace in order. */
#include "watch/space.h"

#include <assert.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log/answers.h"
#include "log/codec.h"
#include "log/difference.h"
#include "log/log_space.h"
#include "mirror/inject.h"
#include "mirror/request.h"
#include "watch/areas.h"
#include "watch/stacks.h"

enum { RESTART_FIRST = 512, RESTART_LAST = 516 };	/* results of calls that will be repeated */

static struct answers *record_in(struct watched *space)
{
	return space->session->log ? &space->answers : NULL;
}

void watched_doubt(struct watched *space, const char *what)
{
	space->unsure++;
	space->doubt = what;
}

static void doubt_merges(struct watched *space, unsigned long count, const char *what)
{
	space->unsure_merges += count;
	if (count)
		space->doubt_merges = what;
}

/* ---- what libvmspace asks ------------------------------------------------------------------- */

static const struct watch_area *find_shown(const struct watched *space, unsigned long addr)
{
	size_t low = 0, high = space->shown_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->shown[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < space->shown_count ? &space->shown[low] : NULL;
}

/* Whether the outcome of the call may depend on anon_vmas: munmap() never merges. */
static bool decides(const struct watch_call_event *call)
{
	return !call || call->number != (__u32)call_kinds[CALL_MUNMAP].nr;
}

/*
 * Whether mmap() has made one area of its own, what was before it, and what was behind, at @start:
 * @area. Then at most one of both has had an anon_vma of its own, and it does not matter which.
 */
static bool is_joined(const struct watch_call_event *call, const struct watch_area *area,
		      unsigned long start)
{
	return call && call->number == (__u32)call_kinds[CALL_MMAP].nr && call->result > 0 &&
	       area->start < (__u64)call->result && (__u64)call->result < start;
}

/*
 * Whether the area has an anon_vma is told by the kernel for those around the addresses of the
 * call, at the call (but not in it: another thread may touch pages in between); and for all areas
 * at a fork. Elsewhere it is asked now, and is not known for sure. (The question waits for the
 * lock, which a program that makes calls all the time gives seldom.)
 */
static bool has_anon(void *ctx, unsigned long start, unsigned long end)
{
	struct watched *space = ctx;
	const struct watch_area *area = NULL;
	bool has = false;

	if (space->shown)
		area = find_shown(space, start);
	for (unsigned int i = 0; space->call && !area && i < space->call->near_count; i++)
		if (space->call->near[i].start <= start && start < space->call->near[i].end)
			area = &space->call->near[i];
	if (area && area->start <= start && start < area->end) {
		has = area->anon && !is_joined(space->call, area, start);
		if (space->shared && decides(space->call))
			doubt_merges(space, 1,
				     "whether a thread touched pages during another's call");
	} else {
		has = !*space->behind && kernel_has_anon(&space->view, start, end);
		if (decides(space->call))
			doubt_merges(space, 1, "whether an area had pages before a call");
	}
	answers_add_anon(record_in(space), start, end, has);
	return has;
}

static unsigned long stack_start(void *ctx, unsigned long start, unsigned long end)
{
	struct watched *space = ctx;
	const struct watch_area *area = space->shown ? find_shown(space, end - 1) : NULL;

	for (unsigned int i = 0; space->call && !area && i < space->call->near_count; i++)
		if (space->call->near[i].end == end)
			area = &space->call->near[i];
	if (!area || area->end != end || area->start >= start)
		return start;
	answers_add_stack(record_in(space), end, area->start);
	space->session->totals.stack_growths++;
	return area->start;
}

static struct vmspace_host host_of(struct watched *space)
{
	return (struct vmspace_host){ .ctx = space, .has_anon = has_anon,
				      .stack_start = stack_start };
}

/* ---- beginning ------------------------------------------------------------------------------ */

struct watched *watched_new(struct session *session, unsigned int id, pid_t pid, pid_t tid,
			    const bool *behind)
{
	struct watched *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->session = session;
	space->id = id;
	space->pid = pid;
	space->behind = behind;
	space->view = (struct kernel_view)KERNEL_VIEW_INIT;
	kernel_open(&space->view, tid); /* if it has ended by now, nothing is known there */
	return space;
}

void watched_free(struct watched *space)
{
	vmspace_destroy(space->vm);
	answers_clear(&space->answers);
	uffd_clear(&space->uffds);
	site_close(space->sites);
	kernel_close(&space->view);
	free(space);
}

static struct log_who who_of(const struct watched *space, const struct watch_head *head)
{
	return (struct log_who){ (pid_t)head->pid, (pid_t)head->tid, space->id };
}

static void log_begin(struct watched *space, const struct log_who *who,
		      const struct vmspace_area *list, size_t count,
		      const struct vmspace_image *image, bool attach)
{
	struct json_object *record, *areas;

	if (!space->session->log)
		return;
	record = json_object_new_object();
	areas = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		json_object_array_add(areas, encode_area(&list[i]));
	json_object_object_add(record, "image", encode_image(image));
	json_object_object_add(record, "areas", areas);
	log_space_begins(space->session, who, space->vm, attach, record);
}

static bool may(const struct watch_limits *limits, unsigned int capability)
{
	return limits->capabilities >> capability & 1;
}

static unsigned long limit_of(__u64 limit)
{
	return limit == RLIM_INFINITY ? VMSPACE_NO_LIMIT : limit;
}

static void set_limits(struct vmspace_config *config, const struct watch_limits *limits)
{
	config->rlimit_as = limit_of(limits->as.soft);
	config->rlimit_data = limit_of(limits->data.soft);
	config->rlimit_data_max = limit_of(limits->data.hard);
	config->rlimit_stack = limit_of(limits->stack.soft);
	config->rlimit_memlock = limit_of(limits->memlock.soft);
	config->admin = may(limits, CAP_SYS_ADMIN);
	config->low_privileged = may(limits, CAP_SYS_RAWIO);
	config->lock_privileged = may(limits, CAP_IPC_LOCK);
	config->move_all_privileged = may(limits, CAP_SYS_NICE);
	config->read_implies_exec = limits->personality & READ_IMPLIES_EXEC;
}

/*
 * The configuration to begin with, or to go on with where the space was read again: how its program
 * is laid out was decided when that was executed.
 */
static struct vmspace_config config_of(struct watched *space, const struct watch_space_event *event,
				       const struct watch_limits *limits)
{
	struct vmspace_config config;

	if (space->vm) {
		config = *vmspace_config(space->vm);
	} else {
		vmspace_config_init(&config);
		vmspace_config_read(&config, space->pid); /* now; unless they were told */
	}
	if (limits && limits->told) {
		set_limits(&config, limits);
		if (!space->vm)
			config.mmap_bottom_up = limits->personality & ADDR_COMPAT_LAYOUT ||
						kernel_setting("vm/legacy_va_layout");
	}
	config.mmap_base = event->mmap_base;
	config.host = host_of(space);
	return config;
}

void watched_begin(struct watched *space, const struct watch_space_event *event,
		   const struct watch_limits *limits, const struct watch_area *areas, size_t count,
		   bool attach)
{
	const struct log_who who = who_of(space, &event->head);
	struct vmspace_area *list = areas_convert(areas, count, who.tid);
	const struct vmspace_config config = config_of(space, event, limits);
	struct vmspace_image image = {
		.start_code = event->start_code, .end_code = event->end_code,
		.start_data = event->start_data, .end_data = event->end_data,
		.start_brk = event->start_brk, .brk = event->brk,
		.start_stack = event->start_stack,
	};
	int rc;

	areas_find_gate(&image);
	snprintf(space->command, sizeof(space->command), "%s", event->command);
	vmspace_destroy(space->vm);
	space->vm = NULL;
	space->files = FILES_UNKNOWN;
	rc = list ? vmspace_create(&space->vm, &config) : -ENOMEM;
	if (rc == 0)
		rc = vmspace_exec(space->vm, list, count, &image);
	if (rc == 0)
		log_begin(space, &who, list, count, &image, attach);
	else if (rc == -ENOMEM)
		session_fail(space->session, "out of memory");
	else
		session_fail(space->session, "the areas of process %d make no sense", who.pid);
	/* Which of its areas share an anon_vma, and from where they were moved, is not known. */
	space->unsure_merges = 0;
	doubt_merges(space, attach, "what its areas were before they were read");
	free(list);
}

void watched_fork(struct watched *space, struct watched *child,
		  const struct watch_space_event *event, const struct watch_area *areas,
		  size_t count)
{
	const struct log_who who = who_of(child, &event->head);
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace_host host = host_of(child);

	req.fork.child_host = &host;
	req.host = (struct vmspace_host_result){ .valid = true, .result = who.pid };
	if (count > 0) { /* if they are not shown to be all, they are known one by one */
		space->shown = child->shown = areas;
		space->shown_count = child->shown_count = count;
	}
	vmspace_call(space->vm, &req);
	space->shown = child->shown = NULL;
	child->vm = req.fork.child;
	if (!child->vm) {
		session_fail(space->session, "out of memory");
		return;
	}
	snprintf(child->command, sizeof(child->command), "%s", event->command);
	child->unsure += space->unsure;
	child->doubt = space->doubt;
	doubt_merges(child, space->unsure_merges, space->doubt_merges);
	child->differs = space->differs;
	uffd_copy(&child->uffds, &space->uffds);
	doubt_merges(child, space->uffds_fork, "when a userfaultfd of its parent ends");
	child->uffds_fork = space->uffds_fork;
	log_space_forked(space->session, &who, space->id, &space->answers);
	answers_clear(&space->answers);
	watched_compare(child, event, areas, count);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* The file's area that the call has mapped, if one is there. */
static bool find_made(const struct watch_call_event *event, struct watch_area *made)
{
	const struct watch_area *told = &event->near[WATCH_MADE];

	if (event->near_count <= WATCH_MADE || !told->end || !told->file)
		return false;
	*made = areas_named(told, event->path);
	return true;
}

/*
 * What the call has mapped, as the kernel shows it. False: nothing shows what file it was: it was
 * refused, and the descriptor is closed by now; or areas were being changed, so that nobody could
 * look.
 */
static bool identify(struct watched *space, const struct watch_call_event *event,
		     struct request *request)
{
	struct watch_area made;
	struct vmspace_mmap *mmap = &request->vm.mmap;
	struct vma_backing backing;

	if (request->vm.op != VMSPACE_MMAP)
		return true;
	if (event->result < 0) {
		bool gone = mmap->bad_fd;

		mmap->bad_fd = event->result == -EBADF;
		return !gone || mmap->bad_fd;
	}
	if (!find_made(event, &made)) {
		if ((mmap->flags & (MAP_TYPE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS))
			return true;
		watched_doubt(space, "what a call had mapped while others changed areas");
		return mmap->flags & MAP_ANONYMOUS;
	}
	areas_backing(&made, (pid_t)event->head.tid, &backing);
	if (mmap->backing.kind == VMA_BACKING_SHMEM || mmap->flags & MAP_ANONYMOUS) {
		mmap->backing.dev_major = backing.dev_major;
		mmap->backing.dev_minor = backing.dev_minor;
		mmap->backing.inode = backing.inode;
		return true;
	}
	mmap->bad_fd = false;
	mmap->backing = backing;
	return true;
}

static void identify_uffd(struct watched *space, const struct watch_call_event *event,
			  struct request *request)
{
	if (request->vm.op != VMSPACE_UFFD_REGISTER && request->vm.op != VMSPACE_UFFD_UNREGISTER)
		return;
	request->vm.uffd.context = uffd_context(&space->uffds, (pid_t)event->head.tid,
						request->uffd_inode, (int)event->args[0]);
	if (!event->ends_told && event->result == 0) /* then areas that it kept apart will be one */
		doubt_merges(space, 1, "when a userfaultfd ends");
	space->uffds_fork |= (event->memory.features & UFFD_FEATURE_EVENT_FORK) != 0;
}

void watched_uffd_end(struct watched *space, const struct watch_uffd_event *event)
{
	const struct log_who who = { space->pid, space->pid, space->id }; /* whoever has closed it */
	struct vmspace_request req = { .op = VMSPACE_UFFD_RELEASE };

	req.uffd.context = uffd_forget(&space->uffds, event->inode);
	if (!req.uffd.context)
		return;
	answers_add_uffd_end(record_in(space), req.uffd.context);
	vmspace_call(space->vm, &req);
	log_space_observed(space->session, &who, &space->answers);
}

void watched_used(struct watched *space, pid_t pid)
{
	watched_doubt(space, "what another process did with its userfaultfd");
	if (space->said_used || space->session->options->quiet)
		return;
	space->said_used = true;
	session_say("process %d (%s): process %d has used a userfaultfd of it: what that changes "
		    "is not followed, and areas that differ for it are read again",
		    (int)space->pid, space->command, (int)pid);
}

/* What a segment is, and how large, the area tells that it was attached as. */
static bool build_shmat(const struct watch_call_event *event, struct request *request)
{
	struct vmspace_shmat *shmat = &request->vm.shmat;
	struct watch_area made;

	if (event->number != (__u32)call_kinds[CALL_SHMAT].nr || event->result < 0 ||
	    !find_made(event, &made))
		return false;
	*request = (struct request){ .vm = { .op = VMSPACE_SHMAT } };
	areas_backing(&made, (pid_t)event->head.tid, &shmat->backing);
	shmat->addr = event->args[1];
	shmat->flags = (int)event->args[2];
	shmat->size = made.end - made.start;
	shmat->backing.kind = VMA_BACKING_SYSV;
	shmat->backing.flags = 0;
	shmat->backing.file_id = 0;
	request->vm.host = (struct vmspace_host_result){ .valid = true, .result = event->result };
	return true;
}

void watched_limits(struct watched *space, const struct watch_head *head,
		    const struct watch_limits *limits)
{
	const struct log_who who = who_of(space, head);
	struct vmspace_config config = *vmspace_config(space->vm);
	const struct vmspace_config before = config;

	if (!limits->told)
		return;
	set_limits(&config, limits);
	if (memcmp(&before, &config, sizeof(config)) == 0)
		return;
	vmspace_configure(space->vm, &config);
	log_space_limits(space->session, &who, space->vm);
}

static void report(struct watched *space, const struct log_who *who, const struct call *call,
		   const char *what)
{
	char text[256];

	space->session->totals.differences++;
	space->differs = true;
	log_difference(space->session, who, call, what, NULL, NULL);
	session_say("difference %lu: process %d (%s), thread %d: %s",
		    space->session->totals.differences, who->pid, space->command, who->tid, what);
	if (call) {
		call_format(call, true, text, sizeof(text));
		fprintf(stderr, "  after call %lu: %s\n", (unsigned long)call->number, text);
	}
}

static void perform(struct watched *space, const struct log_who *who, struct call *call,
		    struct request *request, enum request_model model)
{
	struct vmspace_request *req = &request->vm;
	struct log_call record = { .call = call, .change = LOG_UNKNOWN };
	bool known = build_shmat(space->call, request) ||
		     (model == REQUEST_MADE &&
		      request_finish(request, model, who->tid, call, &space->view));
	bool differs, unsure;

	if (space->session->log) {
		record.extra = json_object_new_object();
		stacks_tell(space, who->pid, record.extra);
	}
	stacks_note(space, call);
	if (known) {
		vmspace_gather(space->vm, req);
		vmspace_complete(space->vm, req);
		record.req = req;
	} else {
		watched_doubt(space, "what a call did");
	}
	differs = known && req->out.differs;
	unsure = space->unsure || space->unsure_merges;
	if (record.extra) {
		answers_move_to(&space->answers, record.extra);
		if (differs && unsure)
			json_object_object_add(record.extra, "unsure",
					       json_object_new_boolean(true));
	}
	if (differs && unsure)
		watched_doubt(space, "what a call did that depends on what was not known before");
	log_call(space->session, who, &record);
	if (known && req->out.out_of_memory)
		session_fail(space->session, "out of memory");
	else if (differs && !unsure && !space->differs) {
		report(space, who, call, "the kernel's answer is not libvmspace's");
		difference_result(stderr, call, req);
	}
}

/* What the kernel has told of the memory that @event's arguments point to. */
static struct call_memory memory_of(const struct watch_call_event *event)
{
	const struct watch_memory *memory = &event->memory;
	struct call_memory told = { .own = event->head.turn != 0 };

	if (event->has_memory) { /* else the event ends before it */
		told.addr = memory->addr;
		told.size = memory->size;
		told.bytes = memory->bytes;
		told.uffd_inode = memory->inode;
		told.uffd_features = memory->features;
	}
	return told;
}

/*
 * Says so where a call is not known: what its arguments point to could not be read; or it is a
 * prctl() of another kind. (What else is not known, others have to do with, and is said when it
 * matters.)
 */
static void say_unknown(struct watched *space, const struct log_who *who, const struct call *call)
{
	const bool unread = call->memory->addr && !call->memory->size;
	const bool other = call->kind->id == CALL_PRCTL && call->result >= 0 && !unread;

	if ((!unread && !other) || space->said_unknown)
		return;
	space->said_unknown = true;
	session_say("process %d (%s): %s%s%s: such calls are not followed, and areas that differ "
		    "for it are read again", who->pid, space->command,
		    unread ? "what an argument of " : "a ", call->kind->name,
		    unread ? " points to could not be read" : " that libvmspace does not model");
}

void watched_call(struct watched *space, const struct watch_call_event *event,
		  const struct watch_stack_event *stack)
{
	const struct log_who who = who_of(space, &event->head);
	const struct call_kind *kind = call_find(event->number);
	struct totals *totals = &space->session->totals;
	const struct call_memory memory = memory_of(event);
	struct call call = { .kind = kind, .result = event->result, .memory = &memory };
	struct request *request;
	enum request_model model;

	if (!kind || call_is_clone(kind) || call_is_exec(kind) ||
	    (event->result <= -RESTART_FIRST && event->result >= -RESTART_LAST))
		return;
	memcpy(call.args, event->args, sizeof(call.args));
	request = calloc(1, sizeof(*request));
	if (!request) {
		session_fail(space->session, "out of memory");
		return;
	}
	space->call = event;
	space->stack = stack;
	space->view.text_current = false;
	model = request_build(request, space->vm, who.tid, &call);
	if (model == REQUEST_MADE && !identify(space, event, request))
		model = REQUEST_UNKNOWN;
	identify_uffd(space, event, request);
	if (model == REQUEST_UNKNOWN)
		say_unknown(space, &who, &call);
	if (model != REQUEST_NONE) {
		call.number = ++totals->calls;
		totals->by_kind[kind->id]++;
		if (inject_for(space->session->options, call.number) != INJECT_DROP)
			perform(space, &who, &call, request, model);
	}
	space->call = NULL;
	space->stack = NULL;
	free(request);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool is_equal(const struct vma_info *info, const struct watch_area *area)
{
	return info->start == area->start && info->end == area->end &&
	       ((info->flags ^ areas_flags(area->flags)) & WATCH_FLAGS) == 0 &&
	       (!area->file || info->offset == area->page_offset * (uint64_t)sysconf(_SC_PAGESIZE)) &&
	       info->backing.inode == area->inode;
}

/* Do the same pages have the same attributes, in areas that may begin and end elsewhere? */
static bool same_pages(const struct watched *space, const struct watch_area *areas, size_t count)
{
	struct vma_info info;
	unsigned long at = 0;
	size_t i = 0;

	while (vmspace_next(space->vm, at, &info)) {
		for (at = info.start; at < info.end; i += at >= areas[i].end) {
			const struct watch_area *theirs = i < count ? &areas[i] : NULL;
			unsigned long behind, offset;

			if (!theirs || theirs->start > at || theirs->end <= at)
				return false;
			behind = at - theirs->start;
			offset = info.offset + (at - info.start);
			if (((info.flags ^ areas_flags(theirs->flags)) & WATCH_FLAGS) ||
			    info.backing.inode != theirs->inode ||
			    (theirs->file && offset != theirs->page_offset * 4096 + behind))
				return false;
			at = theirs->end < info.end ? theirs->end : info.end;
		}
	}
	return i == count;
}

/* Compares all; if they differ, writes the first difference to @why. */
static bool all_equal(const struct watched *space, const struct watch_area *areas, size_t count,
		      char *why, size_t size)
{
	struct vma_info info = { .end = 0 };
	bool have = vmspace_next(space->vm, 0, &info);
	size_t i = 0;

	while (have && i < count && is_equal(&info, &areas[i])) {
		have = vmspace_next(space->vm, info.end, &info);
		i++;
	}
	if (!have && i == count)
		return true;
	snprintf(why, size, "the areas are not the kernel's: it has %lx-%lx flags %lx offset %lx "
		 "inode %lu, libvmspace %lx-%lx flags %lx offset %lx inode %lu",
		 i < count ? (unsigned long)areas[i].start : 0,
		 i < count ? (unsigned long)areas[i].end : 0,
		 i < count ? (unsigned long)areas_flags(areas[i].flags) : 0,
		 i < count && areas[i].file ? (unsigned long)areas[i].page_offset * 4096 : 0,
		 i < count ? (unsigned long)areas[i].inode : 0, have ? info.start : 0,
		 have ? info.end : 0, have ? (unsigned long)info.flags : 0,
		 have ? (unsigned long)info.offset : 0,
		 have ? (unsigned long)info.backing.inode : 0);
	return false;
}

/* Files that others have renamed or removed have other paths than libvmspace's. */
static void apply_renames(struct watched *space, const struct watch_area *areas, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = areas_name(&areas[i]);
		struct vma_info info;
		struct vma_backing is;

		if (!name || !areas[i].file || !vmspace_lookup(space->vm, areas[i].start, &info) ||
		    info.backing.inode != areas[i].inode || !info.backing.name ||
		    strcmp(info.backing.name, name) == 0)
			continue;
		is = info.backing;
		is.name = name;
		if (vmspace_identify(space->vm, areas[i].start, &is) != 0)
			continue;
		answers_add_rename(record_in(space), areas[i].start, &is);
		space->session->totals.renames++;
	}
}

void watched_compare(struct watched *space, const struct watch_space_event *event,
		     const struct watch_area *areas, size_t count)
{
	const struct log_who who = who_of(space, &event->head);
	struct totals *totals = &space->session->totals;
	unsigned long unsure;
	char why[320];
	int grown;

	if (!event->shown || space->differs || space->session->failed)
		return;
	space->shown = areas;
	space->shown_count = count;
	grown = vmspace_refresh(space->vm);
	space->shown = NULL;
	apply_renames(space, areas, count);
	log_space_observed(space->session, &who, &space->answers);
	if (grown == -ENOMEM)
		session_fail(space->session, "out of memory");
	totals->checks++;
	totals->whole_checks++;
	if (all_equal(space, areas, count, why, sizeof(why))) {
		space->unsure = 0; /* whatever it was */
		return;
	}
	unsure = space->unsure;
	if (space->unsure_merges && same_pages(space, areas, count))
		unsure += space->unsure_merges;
	if (!unsure) {
		report(space, &who, NULL, why);
		return;
	}
	totals->rereads++;
	if (!space->session->options->quiet)
		session_say("process %d (%s): read again, as %lu things were not known for sure "
			    "(last: %s): %s", who.pid, space->command, unsure,
			    space->unsure ? space->doubt : space->doubt_merges, why);
	space->unsure = 0;
	watched_begin(space, event, NULL, areas, count, true);
}

void watched_end(struct watched *space, const struct log_who *who, const char *occasion)
{
	struct totals *totals = &space->session->totals;
	struct vmspace_stats stats;

	log_space_ends(space->session, who, space->vm, space->command, occasion);
	vmspace_stats(space->vm, &stats);
	totals->areas += stats.areas;
	totals->merges += stats.merges;
	totals->splits += stats.splits;
	totals->questions += stats.host_questions;
	if (stats.areas_peak > totals->areas_peak)
		totals->areas_peak = stats.areas_peak;
	if (stats.tree_bytes > totals->tree_bytes) {
		totals->tree_nodes = stats.tree_nodes;
		totals->tree_bytes = stats.tree_bytes;
		totals->tree_height = stats.tree_height;
	}
}
