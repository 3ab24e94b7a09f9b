/* SPDX-License-Identifier: MIT */
/*
 * The mirror of one address space: taken over from the kernel once, at exec or attach, then
 * changed by the calls alone, and compared with the kernel.
 */
#include "mirror.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "apply.h"
#include "check.h"
#include "dump.h"
#include "difference.h"
#include "guess.h"
#include "hash.h"
#include "inject.h"
#include "logform.h"
#include "logspace.h"
#include "openfile.h"
#include "takeover.h"
#include "uffd.h"

enum { REPORT_LINES = 40 };

/* Where the kernel takes longer than this to tell all flags, only every so many calls ask it. */
enum { SLOW_FLAGS_NS = 2000000, SLOW_FLAGS_EVERY = 32 };

/* What was asked for one call; from its entry to its record in the log. */
struct call_notes {
	struct call_notes *next;
	struct notes notes;
};

struct mirror {
	struct session *session;
	unsigned int space;		/* its number */
	struct vmspace *vm;
	struct kernel_view view;
	struct pending *asking;		/* the call that is being gathered, or NULL */
	struct kernel_view *forked;	/* the child's while a fork is mirrored, else NULL */
	struct check check;
	/* For the log; without one sink is NULL and the others stay empty. */
	struct notes *sink;		/* gets what the kernel answers */
	struct notes seen;		/* what comparisons took in, not yet written */
	struct notes again;		/* what was asked for another alternative */
	struct call_notes *calls;	/* under way */
	struct site_finder *sites;	/* NULL until the first call whose site is wanted */
	bool flags_are_slow;		/* smaps took long the last time */
	unsigned int flags_skipped;	/* comparisons of flags since */
	uint64_t seen_text;		/* hash of the kernel's maps when last seen(), 0: never */
	struct openfiles files;		/* those that areas map */
	struct uffds uffds;		/* those that areas are, or were, registered with */
	struct guess guess;		/* what is open about it */
	bool open_break;		/* the break is known by its page only */
	char command[32];		/* of the process, for messages */
	unsigned long reported;		/* differences; the mirror has diverged if > 0 */
	bool silent;			/* no more comparing */
	char last_seen[640];		/* the last difference reported, see difference_first() */
};

static bool host_has_anon(void *ctx, unsigned long start, unsigned long end)
{
	struct mirror *mirror = ctx;
	struct pending *asking = mirror->asking;

	/* At a fork the child tells how it was at that moment: it has not run since. */
	bool has = kernel_has_anon(mirror->forked ? mirror->forked : &mirror->view, start, end);

	notes_asked(mirror->sink, start, end, has);
	if (has)
		return true;
	if (asking && asking->untouched_count < QUESTIONS_MAX) {
		asking->untouched[asking->untouched_count].start = start;
		asking->untouched[asking->untouched_count++].end = end;
	}
	return false;
}

static unsigned long host_stack_start(void *ctx, unsigned long start, unsigned long end)
{
	struct mirror *mirror = ctx;
	unsigned long now = kernel_stack_start(&mirror->view, start, end);

	if (now < start)
		notes_stack(mirror->sink, end, now);
	return now;
}

static struct vmspace_host host_of(struct mirror *mirror)
{
	return (struct vmspace_host){
		.ctx = mirror,
		.has_anon = host_has_anon,
		.stack_start = host_stack_start,
	};
}

static void read_command(struct mirror *mirror, pid_t pid)
{
	char *comm = kernel_read_file(pid, "comm");

	snprintf(mirror->command, sizeof(mirror->command), "%.*s",
		 comm ? (int)strcspn(comm, "\n") : 1, comm ? comm : "?");
	free(comm);
}

/* Has what the kernel answers kept in @notes, if a log wants it. */
static void note_in(struct mirror *mirror, struct notes *notes)
{
	mirror->sink = mirror->session->log ? notes : NULL;
}

static struct call_notes *open_notes(struct mirror *mirror)
{
	struct call_notes *notes = mirror->session->log ? calloc(1, sizeof(*notes)) : NULL;

	if (!notes) {
		if (mirror->session->log)
			session_fail(mirror->session, "out of memory");
		return NULL;
	}
	notes->next = mirror->calls;
	mirror->calls = notes;
	return notes;
}

/* NULL is ignored. */
static void close_notes(struct mirror *mirror, struct call_notes *notes)
{
	struct call_notes **link = &mirror->calls;

	if (!notes)
		return;
	while (*link != notes)
		link = &(*link)->next;
	*link = notes->next;
	notes_clear(&notes->notes);
	free(notes);
}

static struct mirror *new_mirror(struct session *session, const struct log_who *who)
{
	struct mirror *mirror = calloc(1, sizeof(*mirror));

	if (!mirror)
		return NULL;
	mirror->session = session;
	mirror->space = who->space;
	mirror->view = (struct kernel_view)KERNEL_VIEW_INIT;
	note_in(mirror, &mirror->seen);
	mirror->check.notes = mirror->sink;
	guess_init(&mirror->guess, session, &mirror->view, &mirror->check);
	read_command(mirror, who->pid);
	return mirror;
}

void mirror_free(struct mirror *mirror)
{
	if (!mirror)
		return;
	vmspace_destroy(mirror->vm);
	kernel_close(&mirror->view);
	check_free(&mirror->check);
	guess_end(&mirror->guess);
	openfile_clear(&mirror->files);
	uffd_clear(&mirror->uffds);
	site_close(mirror->sites);
	while (mirror->calls)
		close_notes(mirror, mirror->calls);
	notes_clear(&mirror->seen);
	notes_clear(&mirror->again);
	free(mirror);
}

static void report_areas(struct mirror *mirror)
{
	difference_areas(stderr, mirror->view.text, mirror->check.text, REPORT_LINES);
}

/* Says that a difference was found, how @what calls it, and what led to it. */
static void report(struct mirror *mirror, const struct log_who *who, const struct call *call,
		   const struct pending *pending, const char *what, bool areas)
{
	struct session *session = mirror->session;
	char text[256] = "no call";

	session->totals.differences++;
	mirror->reported++;
	mirror->guess.closed = true;
	if (call)
		call_format(call, true, text, sizeof(text));
	log_difference(session, who, call, what, areas ? mirror->view.text : NULL,
		       areas ? mirror->check.text : NULL);
	fprintf(stderr, "vmscope: difference %lu: process %d (%s), thread %d: %s\n",
		session->totals.differences, (int)who->pid, mirror->command, (int)who->tid, what);
	if (call)
		fprintf(stderr, "  after call %lu: %s\n", (unsigned long)call->number, text);
	if (areas)
		report_areas(mirror);
	if (pending && (pending->model == REQUEST_MADE || pending->model == REQUEST_LATE)) {
		if (pending->request.vm.out.differs)
			difference_result(stderr, call, &pending->request.vm);
		difference_outcome(stderr, &pending->request.vm.out);
	} else if (pending && pending->model == REQUEST_UNKNOWN) {
		fprintf(stderr, "  libvmspace does not model this call\n");
	}
	if (mirror->reported >= session->options->max_differences) {
		mirror->silent = true;
		fprintf(stderr, "vmscope: process %d (%s) is no longer compared\n", (int)who->pid,
			mirror->command);
	}
}

static enum check_result compare_flags(struct mirror *mirror, const struct log_who *who)
{
	struct timespec before, after;
	enum check_result result;

	/* Processor time: that others are busy says nothing about the areas. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	result = check_flags(&mirror->check, mirror->vm, who->tid);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	mirror->flags_are_slow = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
				 before.tv_nsec > SLOW_FLAGS_NS;
	mirror->flags_skipped = 0;
	return result;
}

/* Compares; @call is the last call, with its @pending state, or NULL. */
static void compare(struct mirror *mirror, const struct log_who *who, const struct call *call,
		    const struct pending *pending, bool flags_too)
{
	struct totals *totals = &mirror->session->totals;
	enum check_result result;
	char seen[sizeof(mirror->last_seen)];

	if (mirror->silent)
		return;
	uffd_take_ends(&mirror->uffds, mirror->vm, who->tid, mirror->sink);
	result = check_areas(&mirror->check, mirror->vm, &mirror->view);
	logspace_seen(mirror->session, who, &mirror->seen);
	totals->checks++;
	totals->stack_growths += mirror->check.growths;
	totals->renames += mirror->check.renames;
	if (result == CHECK_EQUAL && flags_too) {
		result = compare_flags(mirror, who);
		totals->flag_checks++;
	}
	switch (result) {
	case CHECK_EQUAL:
		return;
	case CHECK_FAILED:
		if (mirror->check.error == -ENOMEM)
			session_fail(mirror->session, "out of memory");
		else if (kernel_is_gone(mirror->check.error))
			mirror->silent = true; /* killed meanwhile: there are no areas to compare with */
		else
			mirror_give_up(mirror, kernel_reason(-mirror->check.error));
		return;
	case CHECK_BROKEN:
	case CHECK_FLAGS:
		if (strcmp(mirror->check.why, mirror->last_seen) == 0)
			return;
		strcpy(mirror->last_seen, mirror->check.why);
		report(mirror, who, call, pending, mirror->check.why, false);
		return;
	case CHECK_STACK:
	case CHECK_AREAS:
		difference_first(mirror->view.text, mirror->check.text, seen, sizeof(seen));
		if (strcmp(seen, mirror->last_seen) == 0)
			return; /* the one that has been reported is still there */
		strcpy(mirror->last_seen, seen);
		report(mirror, who, call, pending,
		       result == CHECK_STACK ? "an area grew in a way that Linux does not allow" :
					       "the areas are not the kernel's", true);
		return;
	}
}

/*
 * Reads the maps for the comparison to come. Tells whether they have changed since the last time:
 * the log says so of a call, without asking the mirror.
 */
static enum log_change observe(struct mirror *mirror)
{
	uint64_t before = mirror->seen_text, hash;

	if (mirror->silent || kernel_read_maps(&mirror->view) != 0)
		return LOG_UNKNOWN;
	hash = hash_bytes(HASH_INIT, mirror->view.text, mirror->view.length);
	mirror->seen_text = hash;
	return before == 0 ? LOG_UNKNOWN : before == hash ? LOG_SAME : LOG_CHANGED;
}

int mirror_take(struct session *session, const struct log_who *who, bool attach,
		struct mirror **out)
{
	struct mirror *mirror = new_mirror(session, who);
	struct json_object *record = session->log ? json_object_new_object() : NULL;
	struct vmspace_config config;
	int rc;

	*out = NULL;
	if (!mirror) {
		json_object_put(record);
		return -ENOMEM;
	}
	vmspace_config_init(&config);
	vmspace_config_read(&config, who->pid);
	config.host = host_of(mirror);
	mirror->open_break = attach;
	rc = kernel_open(&mirror->view, who->tid);
	if (rc == 0)
		rc = vmspace_create(&mirror->vm, &config);
	if (rc == 0)
		rc = takeover_read(mirror->vm, who->tid, attach, record);
	if (rc == 0 && attach)
		rc = guess_attached(&mirror->guess, mirror->vm);
	if (rc != 0) {
		json_object_put(record);
		mirror_free(mirror);
		return rc;
	}
	logspace_taken(session, who, mirror->vm, attach, record);
	mirror->view.text_current = false;
	if (session->log)
		observe(mirror);
	if (session->options->verify_end || session->options->verify_every)
		compare(mirror, who, NULL, NULL, true);
	*out = mirror;
	return 0;
}

/* Whether an area of that file was there when we attached: then its open file is not known. */
static bool was_mapped(const struct mirror *mirror, const struct vma_backing *backing)
{
	struct vma_info info;

	for (unsigned long at = 0; vmspace_next(mirror->vm, at, &info); at = info.end)
		if (info.backing.inode == backing->inode && info.backing.file_id == 0 &&
		    info.backing.dev_major == backing->dev_major &&
		    info.backing.dev_minor == backing->dev_minor)
			return true;
	return false;
}

static void identify_file(struct mirror *mirror, const struct log_who *who, const struct call *call,
			  struct request *request)
{
	struct vma_backing *backing = &request->vm.mmap.backing;

	if (request->vm.op != VMSPACE_MMAP || !request->file.is_regular ||
	    (mirror->guess.attached && was_mapped(mirror, backing)))
		return;
	backing->file_id = openfile_id(&mirror->files, who->pid, who->tid, (int)call->args[4],
				       backing);
}

static void identify_uffd(struct mirror *mirror, const struct call *call, struct request *request)
{
	if (request->vm.op == VMSPACE_UFFD_REGISTER || request->vm.op == VMSPACE_UFFD_UNREGISTER)
		request->vm.uffd.context =
			uffd_context(&mirror->uffds, request->uffd_inode, (int)call->args[0]);
}

/* Whether the call may take away the last area of a file. */
static bool may_end_file(const struct mirror *mirror, const struct request *request)
{
	const struct vmspace_request *req = &request->vm;
	struct vma_info info;

	switch (req->op) {
	case VMSPACE_MUNMAP:
		return vmspace_next(mirror->vm, req->munmap.addr, &info) &&
		       (info.backing.file_id || info.end < req->munmap.addr + req->munmap.length);
	case VMSPACE_MMAP:
		return req->mmap.flags & MAP_FIXED || request->file.is_regular;
	case VMSPACE_MREMAP:
		return true;
	default:
		return false;
	}
}

/* Where in the program the call is made, if the log is to tell. */
static void find_site(struct mirror *mirror, const struct log_who *who, struct pending *pending)
{
	pending->site[0] = '\0';
	if (!mirror->session->options->sites)
		return;
	if (!mirror->sites)
		mirror->sites = site_open(who->pid);
	if (mirror->sites)
		site_find(mirror->sites, who->tid, pending->site);
}

void mirror_begin(struct mirror *mirror, const struct log_who *who, struct call *call,
		  struct pending *pending, bool alone)
{
	struct totals *totals = &mirror->session->totals;

	mirror->view.text_current = false;
	pending->alone = alone;
	pending->inject = INJECT_NOTHING;
	pending->notes = NULL;
	pending->model = request_build(&pending->request, mirror->vm, who->tid, call);
	call->number = 0;
	if (pending->model == REQUEST_NONE)
		return;
	call->number = ++totals->calls;
	totals->by_kind[call->kind->id]++;
	pending->inject = inject_for(mirror->session->options, call->number);
	pending->prune = false;
	pending->untouched_count = 0;
	find_site(mirror, who, pending);
	if (pending->model != REQUEST_MADE)
		return;
	/* Privileges change without a call that we stop at. */
	if (pending->request.vm.op == VMSPACE_MLOCK || pending->request.vm.op == VMSPACE_MLOCKALL)
		mirror_limits(mirror, who->pid);
	if (uffd_take_ends(&mirror->uffds, mirror->vm, who->tid, mirror->sink))
		logspace_seen(mirror->session, who, &mirror->seen);
	identify_file(mirror, who, call, &pending->request);
	identify_uffd(mirror, call, &pending->request);
	pending->prune = mirror->files.first && may_end_file(mirror, &pending->request);
	if (pending->inject == INJECT_ALTER)
		inject_alter(&pending->request.vm, vmspace_config(mirror->vm)->page_size);
	pending->notes = open_notes(mirror);
	note_in(mirror, pending->notes ? &pending->notes->notes : NULL);
	mirror->asking = pending;
	vmspace_gather(mirror->vm, &pending->request.vm);
	mirror->asking = NULL;
	note_in(mirror, &mirror->seen);
}

bool mirror_foresees(const struct mirror *mirror, const struct call *call,
		     const struct pending *pending)
{
	const unsigned long every = mirror->session->options->verify_every;
	const struct vmspace_config *config = vmspace_config(mirror->vm);
	unsigned long start = call->args[0], length = call->args[1];
	struct vmspace_stats stats;
	struct vma_info info;

	if (call->kind->id != CALL_MUNMAP || pending->inject != INJECT_NOTHING ||
	    (every != 0 && call->number % every == 0) || start % config->page_size != 0 ||
	    !vmspace_lookup(mirror->vm, start, &info) || length == 0 || length > info.end - start ||
	    info.backing.kind != VMA_BACKING_ANON || info.flags & VMA_SEALED)
		return false;
	/* In the midst of an area it makes one more, and there is a limit to their number. */
	if (start == info.start || info.end - start - length < config->page_size)
		return true;
	vmspace_stats(mirror->vm, &stats);
	return stats.areas + 1 < config->max_map_count;
}

static struct json_object *turns_array(const struct guess *guess)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < guess->turn_count; i++)
		json_object_array_add(array, turn_write(&guess->turns[i]));
	return array;
}

/* Adds to @detail what was asked for the call, and what was guessed. */
static void add_notes(struct mirror *mirror, struct pending *pending, unsigned int guesses,
		      struct json_object *detail)
{
	if (pending->notes)
		notes_give(&pending->notes->notes, detail);
	if (guesses & 1u << GUESS_RACED)
		notes_give_asked(&mirror->again, detail, "asked_again");
	if (guesses && mirror->guess.turn_count > 0)
		json_object_object_add(detail, "turned", turns_array(&mirror->guess));
}

/* The call is in the log. */
static void drop_notes(struct mirror *mirror, const struct log_who *who, struct pending *pending)
{
	close_notes(mirror, pending->notes);
	pending->notes = NULL;
	json_object_put(mirror->again.asked);
	mirror->again.asked = NULL;
	if (!who)
		return;
	logspace_seen(mirror->session, who, &mirror->again);
	logspace_seen(mirror->session, who, &mirror->seen);
}

unsigned int mirror_lost(struct mirror *mirror, struct pending *pending, bool alone,
			 struct json_object *detail)
{
	unsigned int guesses = 0;

	if (pending->model == REQUEST_MADE) {
		mirror->view.text_current = false;
		if (!alone) {
			mirror->guess.shared = true;
			guesses = guess_lost(&mirror->guess, &mirror->vm, &pending->request.vm);
		}
		if (guesses) {
			json_object_object_add(detail, "do", log_request(&pending->request.vm, 0));
			add_notes(mirror, pending, guesses, detail);
		}
		vmspace_abort(mirror->vm, &pending->request.vm);
	}
	drop_notes(mirror, NULL, pending);
	pending->model = REQUEST_NONE;
	return guesses;
}

/* Whether the call may have changed flags that maps does not show. */
static bool changes_flags(const struct vmspace_request *req)
{
	switch (req->op) {
	case VMSPACE_MLOCK:
	case VMSPACE_MUNLOCK:
	case VMSPACE_MLOCKALL:
	case VMSPACE_MUNLOCKALL:
	case VMSPACE_MSEAL:
	case VMSPACE_UFFD_REGISTER:
	case VMSPACE_UFFD_UNREGISTER:
		return true;
	case VMSPACE_MADVISE:
		return req->madvise.advice != MADV_DONTNEED && req->madvise.advice != MADV_FREE;
	default:
		return false;
	}
}

/* Whether an area that was untouched at the entry of the call has an anonymous page now. */
static bool was_touched(struct mirror *mirror, const struct pending *pending)
{
	for (unsigned int i = 0; i < pending->untouched_count; i++)
		if (kernel_has_anon(&mirror->view, pending->untouched[i].start,
				    pending->untouched[i].end))
			return true;
	return false;
}

/* Gives shared memory in the request the identity that the kernel gave it, for the log. */
static void complete_identity(const struct mirror *mirror, struct vmspace_request *req)
{
	struct vma_info info;

	if (req->op != VMSPACE_MMAP || req->mmap.backing.kind != VMA_BACKING_SHMEM ||
	    req->host.result < 0 ||
	    !vmspace_lookup(mirror->vm, (unsigned long)req->host.result, &info))
		return;
	req->mmap.backing.dev_major = info.backing.dev_major;
	req->mmap.backing.dev_minor = info.backing.dev_minor;
	req->mmap.backing.inode = info.backing.inode;
}

/* A gather at the exit of a call: only its result told what it does. */
static void gather_late(struct mirror *mirror, struct pending *pending)
{
	pending->notes = open_notes(mirror);
	note_in(mirror, pending->notes ? &pending->notes->notes : NULL);
	vmspace_gather(mirror->vm, &pending->request.vm);
	note_in(mirror, &mirror->seen);
}

/*
 * Applies the call. Returns the alternatives that had to be kept: see guess_apply(). @detail, if not
 * NULL, gets what a replay has to know beside the request.
 */
static unsigned int complete(struct mirror *mirror, const struct log_who *who,
			     const struct call *call, struct pending *pending, bool alone,
			     struct json_object *detail)
{
	struct vmspace_request *req = &pending->request.vm;
	bool late = pending->model == REQUEST_LATE;
	struct vmspace_request before;
	unsigned int guesses;

	if (!request_finish(&pending->request, pending->model, who->tid, call, &mirror->view))
		return 0;
	if (pending->inject == INJECT_DROP) {
		vmspace_abort(mirror->vm, req);
		return 0;
	}
	if (late)
		gather_late(mirror, pending);
	if (mirror->open_break && req->op == VMSPACE_BRK) {
		if (apply_first_break(mirror->vm, req, &before) && detail)
			json_object_object_add(detail, "before", logform_request(&before));
		mirror->open_break = false;
	}
	note_in(mirror, &mirror->again);
	guesses = guess_apply(&mirror->guess, &mirror->vm, req,
			      !alone && was_touched(mirror, pending));
	note_in(mirror, &mirror->seen);
	complete_identity(mirror, req);
	if (detail)
		add_notes(mirror, pending, guesses, detail);
	if (pending->inject == INJECT_DOUBLE && !req->out.differs) {
		vmspace_gather(mirror->vm, req);
		apply_request(mirror->session, mirror->vm, &mirror->view, req);
	}
	return guesses;
}

void mirror_end(struct mirror *mirror, const struct log_who *who, const struct call *call,
		struct pending *pending, bool alone)
{
	const struct options *options = mirror->session->options;
	struct vmspace_request *req = &pending->request.vm;
	bool modelled = pending->model == REQUEST_MADE || pending->model == REQUEST_LATE;
	bool due = options->verify_every && call->number % options->verify_every == 0;
	struct log_call record = {
		.call = call,
		.req = modelled ? req : NULL,
		.change = LOG_UNKNOWN,
		.injected = inject_name(pending->inject),
	};

	if (pending->model == REQUEST_NONE)
		return;
	mirror->view.text_current = false;
	if (mirror->session->log)
		record.extra = json_object_new_object();
	/* Another may have come since the entry, or have gone. */
	alone = alone && pending->alone;
	if (!alone)
		mirror->guess.shared = true;
	record.guesses = complete(mirror, who, call, pending, alone, record.extra);
	if (pending->prune)
		openfile_prune(&mirror->files, mirror->vm);
	if (due && mirror->session->log)
		record.change = observe(mirror);
	if (record.extra && pending->site[0])
		json_object_object_add(record.extra, "site", json_object_new_string(pending->site));
	log_call(mirror->session, who, &record);
	drop_notes(mirror, who, pending);
	if (modelled && req->out.differs && !mirror->silent)
		report(mirror, who, call, pending, "the kernel's answer is not libvmspace's",
		       false);
	if (due)
		compare(mirror, who, call, pending,
			options->verify_every == 1 && modelled && changes_flags(req) &&
			(!mirror->flags_are_slow || ++mirror->flags_skipped >= SLOW_FLAGS_EVERY));
	pending->model = REQUEST_NONE;
}

struct mirror *mirror_fork(struct mirror *mirror, const struct log_who *parent,
			   const struct log_who *child)
{
	struct session *session = mirror->session;
	struct mirror *copy = new_mirror(session, child);
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct notes notes = { .asked = NULL };
	struct vmspace_host host;
	int rc;

	if (!copy) {
		session_fail(session, "out of memory");
		return NULL;
	}
	rc = kernel_open(&copy->view, child->tid);
	if (kernel_is_gone(rc)) {
		mirror_free(copy);
		return NULL;
	}
	if (rc != 0) {
		session_say("process %d is not followed: %s", (int)child->pid,
			    kernel_reason(-rc));
		session->totals.unfollowed++;
		mirror_free(copy);
		return NULL;
	}
	host = host_of(copy);
	req.fork.child_host = &host;
	req.host = (struct vmspace_host_result){ .valid = true, .result = child->pid };
	mirror->view.text_current = false;
	mirror->forked = &copy->view;
	note_in(mirror, &notes);
	vmspace_call(mirror->vm, &req);
	note_in(mirror, &mirror->seen);
	mirror->forked = NULL;
	logspace_copied(session, child, parent->space, &notes);
	notes_clear(&notes);
	copy->vm = req.fork.child;
	if (!copy->vm) {
		session_fail(session, "out of memory");
		mirror_free(copy);
		return NULL;
	}
	openfile_copy(&copy->files, &mirror->files);
	uffd_copy(&copy->uffds, &mirror->uffds);
	if (guess_fork(&copy->guess, &mirror->guess, copy->vm) != 0) {
		session_fail(session, "out of memory");
		mirror_free(copy);
		return NULL;
	}
	copy->open_break = mirror->open_break;
	copy->reported = mirror->reported;
	/* A copy of what has diverged proves nothing. */
	copy->silent = mirror->silent || mirror->reported > 0;
	copy->guess.closed = copy->silent;
	memcpy(copy->last_seen, mirror->last_seen, sizeof(copy->last_seen));
	if (session->options->verify_every)
		compare(copy, child, NULL, NULL, session->options->verify_every == 1);
	return copy;
}

static void count(struct mirror *mirror)
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

void mirror_before_exec(struct mirror *mirror, const struct log_who *who)
{
	mirror->view.text_current = false;
	if (mirror->session->options->verify_end)
		compare(mirror, who, NULL, NULL, true);
}

void mirror_replaced(struct mirror *mirror, const struct log_who *who, const char *occasion)
{
	if (mirror->session->dump && strcmp(occasion, "exec") != 0)
		dump_maps(mirror->session->dump, who->pid, mirror->command, occasion, mirror->vm);
	logspace_ended(mirror->session, who, mirror->vm, mirror->command, occasion);
	count(mirror);
}

void mirror_last(struct mirror *mirror, const struct log_who *who, const char *occasion)
{
	mirror->view.text_current = false;
	if (mirror->session->options->verify_end)
		compare(mirror, who, NULL, NULL, true);
	if (mirror->session->dump)
		dump_maps(mirror->session->dump, who->pid, mirror->command, occasion, mirror->vm);
	logspace_ended(mirror->session, who, mirror->vm, mirror->command, occasion);
	count(mirror);
}

void mirror_limits(struct mirror *mirror, pid_t pid)
{
	const struct log_who who = { pid, pid, mirror->space };
	struct vmspace_config config = *vmspace_config(mirror->vm);
	const struct vmspace_config before = config;

	vmspace_config_read(&config, pid);
	config.mmap_bottom_up = before.mmap_bottom_up; /* until the next exec */
	vmspace_configure(mirror->vm, &config);
	if (memcmp(&before, &config, sizeof(config)) != 0)
		logspace_limits(mirror->session, &who, mirror->vm);
}

void mirror_give_up(struct mirror *mirror, const char *why)
{
	if (mirror->silent)
		return;
	mirror->silent = true;
	mirror->guess.closed = true;
	mirror->session->totals.unfollowed++;
	session_say("process (%s) is no longer compared: %s", mirror->command,
		    why);
}
