/* SPDX-License-Identifier: MIT */
/* A system call as the mirror sees it: gathered at its entry, completed at its exit, logged. */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "log/codec.h"
#include "log/log_space.h"
#include "mirror/apply.h"
#include "mirror/inject.h"
#include "mirror/mirror.h"
#include "mirror/state.h"
#include "mirror/verify.h"

#define MOVE_ALL 4u	/* MPOL_MF_MOVE_ALL */

/* ---- at the entry --------------------------------------------------------------------------- */

/* Starts recording answers for a call. NULL: there is no log, or the session has failed. */
static struct call_answers *open_answers(struct mirror *mirror)
{
	struct call_answers *answers;

	if (!mirror->session->log)
		return NULL;
	answers = calloc(1, sizeof(*answers));
	if (!answers) {
		session_fail(mirror->session, "out of memory");
		return NULL;
	}
	answers->next = mirror->calls;
	mirror->calls = answers;
	return answers;
}

/* Gathers the request; what the kernel answers is recorded for this call. */
static void gather(struct mirror *mirror, struct pending_call *pending,
		   struct untouched *untouched)
{
	assert(!pending->answers);
	pending->answers = open_answers(mirror);
	mirror_record_in(mirror, pending->answers ? &pending->answers->answers : NULL);
	host_gather(&mirror->host, mirror->vm, &pending->request.vm, untouched);
	mirror_record_in(mirror, &mirror->observed);
}

static void identify_file(struct mirror *mirror, const struct log_who *who, const struct call *call,
			  struct request *request)
{
	struct vma_backing *backing = &request->vm.mmap.backing;

	if (request->vm.op != VMSPACE_MMAP || !request->file.is_regular ||
	    open_file_is_unknown(&mirror->files, backing))
		return;
	backing->file_id = open_file_id(&mirror->files, who->pid, who->tid, (int)call->args[4],
					backing);
}

static void identify_uffd(struct mirror *mirror, pid_t tid, const struct call *call,
			  struct request *request)
{
	if (request->vm.op == VMSPACE_UFFD_REGISTER || request->vm.op == VMSPACE_UFFD_UNREGISTER)
		request->vm.uffd.context =
			uffd_context(&mirror->uffds, tid, request->uffd_inode,
				     (int)call->args[0]);
}

static void find_site(struct mirror *mirror, const struct log_who *who,
		      struct pending_call *pending)
{
	if (!mirror->session->options->sites || !mirror->session->log)
		return;
	if (!mirror->sites)
		mirror->sites = site_open(who->pid);
	if (mirror->sites)
		site_find(mirror->sites, who->tid, pending->site);
}

/* Counts and numbers the call. */
static void begin_call(struct mirror *mirror, const struct log_who *who, struct call *call,
		       struct pending_call *pending)
{
	struct totals *totals = &mirror->session->totals;

	call->number = ++totals->calls;
	totals->by_kind[call->kind->id]++;
	pending->inject = inject_for(mirror->session->options, call->number);
	find_site(mirror, who, pending);
}

/*
 * May the outcome depend on the thread's capabilities? They change without a call that we stop at,
 * in each thread by itself.
 */
static bool takes_privilege(struct mirror *mirror, const struct vmspace_request *req)
{
	const struct vmspace_config *config = vmspace_config(mirror->vm);

	switch (req->op) {
	case VMSPACE_MLOCK:
	case VMSPACE_MLOCKALL:
		mirror->locks = true;
		return true;
	case VMSPACE_MBIND:
		return req->mbind.flags & MOVE_ALL;
	case VMSPACE_MMAP:
		mirror->locks |= (req->mmap.flags & MAP_LOCKED) != 0;
		return mirror->locks || (req->mmap.addr < config->mmap_min_addr &&
					 req->mmap.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE));
	case VMSPACE_MREMAP:
		return mirror->locks || (req->mremap.flags & MREMAP_FIXED &&
					 req->mremap.new_addr < config->mmap_min_addr);
	case VMSPACE_SHMAT:
		return mirror->locks ||
		       (req->shmat.addr && req->shmat.addr < config->mmap_min_addr);
	case VMSPACE_BRK:
	case VMSPACE_REMAP_FILE_PAGES:
		return mirror->locks;
	default:
		return false;
	}
}

void mirror_call_enter(struct mirror *mirror, const struct log_who *who, struct call *call,
		       struct pending_call *pending, bool alone)
{
	struct vmspace_request *req = &pending->request.vm;

	assert(who->space == mirror->space_id);
	mirror->host.view.text_current = false;
	pending->alone = alone;
	pending->inject = INJECT_NOTHING;
	pending->answers = NULL;
	pending->untouched.count = 0;
	pending->site[0] = '\0';
	pending->model = request_build(&pending->request, mirror->vm, who->tid, call);
	call->number = 0;
	if (pending->model == REQUEST_NONE)
		return;
	begin_call(mirror, who, call, pending);
	if (pending->model != REQUEST_MADE)
		return;
	if (takes_privilege(mirror, req))
		mirror_refresh_limits(mirror, who->pid, who->tid);
	if (uffd_apply_ends(&mirror->uffds, mirror->vm, who->tid, mirror->host.answers))
		log_space_observed(mirror->session, who, &mirror->observed);
	identify_file(mirror, who, call, &pending->request);
	identify_uffd(mirror, who->tid, call, &pending->request);
	if (pending->inject == INJECT_ALTER)
		inject_alter(req, vmspace_config(mirror->vm)->page_size);
	gather(mirror, pending, &pending->untouched);
}

bool mirror_call_is_certain(const struct mirror *mirror, const struct call *call,
			    const struct pending_call *pending)
{
	const unsigned long every = mirror->session->options->verify_every;
	const struct vmspace_config *config = vmspace_config(mirror->vm);
	unsigned long start = call->args[0], length = call->args[1];
	struct vma_info info;

	if (call->kind->id != CALL_MUNMAP || pending->inject != INJECT_NOTHING ||
	    (every != 0 && call->number % every == 0) || start % config->page_size != 0 ||
	    !vmspace_lookup(mirror->vm, start, &info) || length == 0 || length > info.end - start ||
	    info.backing.kind != VMA_BACKING_ANON || info.flags & VMA_SEALED)
		return false;
	/* In the middle of an area it makes one more, and vm.max_map_count limits them. */
	if (start == info.start || info.end - start - length < config->page_size)
		return true;
	return vmspace_count_areas(mirror->vm) + 1 < config->max_map_count;
}

/* ---- what the log gets ---------------------------------------------------------------------- */

static struct json_object *choices_array(const struct guess *guess)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < guess->choice_count; i++)
		json_object_array_add(array, anon_choice_encode(&guess->choices[i]));
	return array;
}

/* Moves what the kernel answered about the call, and what was guessed, to @detail. */
static void add_answers(struct mirror *mirror, struct pending_call *pending, unsigned int guesses,
			struct json_object *detail)
{
	if (pending->answers)
		answers_move_to(&pending->answers->answers, detail);
	if (guesses & 1u << GUESS_RACED)
		answers_move_anon_to(&mirror->asked_again, detail, "asked_again");
	if (guesses && mirror->guess.choice_count > 0)
		json_object_object_add(detail, "turned", choices_array(&mirror->guess));
}

/* The call has been logged, or never will be. */
static void drop_answers(struct mirror *mirror, struct pending_call *pending)
{
	mirror_close_answers(mirror, pending->answers);
	pending->answers = NULL;
	json_object_put(mirror->asked_again.asked);
	mirror->asked_again.asked = NULL;
}

/* ---- at the exit ---------------------------------------------------------------------------- */

/* Notes the pages of a new private mapping that lie beyond the end of its file. */
static void note_past_end(struct mirror *mirror, const struct request *request)
{
	const unsigned long page = vmspace_config(mirror->vm)->page_size;
	const struct vmspace_mmap *mmap = &request->vm.mmap;
	unsigned long start = (unsigned long)request->vm.host.result, pages, end;
	uint64_t file_pages;

	if (request->vm.op != VMSPACE_MMAP || request->vm.host.result < 0 ||
	    mmap->flags & MAP_ANONYMOUS || (mmap->flags & MAP_TYPE) != MAP_PRIVATE ||
	    mmap->backing.kind != VMA_BACKING_FILE || !request->file.is_regular)
		return;
	pages = mmap->length / page + (mmap->length % page != 0);
	end = start + pages * page;
	file_pages = request->file.bytes / page + (request->file.bytes % page != 0);
	if (file_pages > mmap->offset / page)
		start += (file_pages - mmap->offset / page < pages ?
			  file_pages - mmap->offset / page : pages) * page;
	if (start < end)
		guess_past_end(&mirror->guess, mirror->vm, start, end);
}

/* Which open files the call may have unmapped, or has not mapped, having changed areas @where. */
static void suspect_files(struct mirror *mirror, const struct call *call,
			  const struct vmspace_request *req, const struct nearby *where)
{
	struct vma_info info;

	if (req->op == VMSPACE_MMAP && call->result < 0 && call->result >= -4095 &&
	    req->mmap.backing.file_id)
		open_file_suspect(&mirror->files, &req->mmap.backing); /* made known for nothing */
	if (req->op != VMSPACE_MMAP && req->op != VMSPACE_MUNMAP && req->op != VMSPACE_MREMAP)
		return;
	for (unsigned int i = 0; i < where->count; i++)
		for (unsigned long at = where->ranges[i].start;
		     vmspace_next(mirror->vm, at, &info) && info.start < where->ranges[i].end;
		     at = info.end)
			open_file_suspect(&mirror->files, &info.backing);
}

/*
 * Applies the call, which may have changed areas @where. Returns the guesses that were kept: see
 * guess_apply(). @detail, unless NULL, gets what a replay has to know beside the request.
 */
static unsigned int complete(struct mirror *mirror, const struct log_who *who,
			     const struct call *call, struct pending_call *pending, bool alone,
			     const struct nearby *where, struct json_object *detail)
{
	struct vmspace_request *req = &pending->request.vm;
	bool late = pending->model == REQUEST_LATE;
	struct vmspace_request before;
	unsigned int guesses;

	if (!request_finish(&pending->request, pending->model, who->tid, call, &mirror->host.view))
		return 0;
	if (pending->inject == INJECT_DROP) {
		vmspace_abort(mirror->vm, req);
		return 0;
	}
	/* Only the result has told what the call does. */
	if (late)
		gather(mirror, pending, NULL);
	if (mirror->brk_unknown && req->op == VMSPACE_BRK) {
		if (apply_first_break(mirror->vm, req, &before) && detail)
			json_object_object_add(detail, "before", encode_request(&before));
		mirror->brk_unknown = false;
	}
	mirror_record_in(mirror, &mirror->asked_again);
	host_look_back(&mirror->host, req, &pending->untouched);
	guesses = guess_apply(&mirror->guess, &mirror->vm, req, who->tid,
			      !alone && host_was_touched(&mirror->host), where);
	host_look_now(&mirror->host);
	mirror_record_in(mirror, &mirror->observed);
	note_past_end(mirror, &pending->request);
	if (detail)
		add_answers(mirror, pending, guesses, detail);
	if (pending->inject == INJECT_DOUBLE && !req->out.differs) {
		host_gather(&mirror->host, mirror->vm, req, NULL);
		apply_request(mirror->session, mirror->vm, &mirror->host.view, req);
	}
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

/* Applies the call and logs it. @due: a comparison follows. */
static void complete_and_log(struct mirror *mirror, const struct log_who *who,
			     const struct call *call, struct pending_call *pending, bool alone,
			     bool due)
{
	struct vmspace_request *req = &pending->request.vm;
	struct log_call record = {
		.call = call,
		.req = pending->model == REQUEST_UNKNOWN ? NULL : req,
		.change = LOG_UNKNOWN,
		.injected = inject_name(pending->inject),
	};
	struct nearby where;

	nearby_of_call(&where, mirror->vm, call);
	if (due)
		record.change = verify_before(mirror, &where, pending);
	if (mirror->session->log)
		record.extra = json_object_new_object();
	if (pending->model == REQUEST_MADE)
		suspect_files(mirror, call, req, &where);
	record.guesses = complete(mirror, who, call, pending, alone, &where, record.extra);
	open_file_prune(&mirror->files, mirror->vm);
	if (record.extra && pending->site[0])
		json_object_object_add(record.extra, "site", json_object_new_string(pending->site));
	log_call(mirror->session, who, &record);
	drop_answers(mirror, pending);
	log_space_observed(mirror->session, who, &mirror->asked_again);
	log_space_observed(mirror->session, who, &mirror->observed);
}

void mirror_call_exit(struct mirror *mirror, const struct log_who *who, const struct call *call,
		      struct pending_call *pending, bool alone)
{
	const struct options *options = mirror->session->options;
	const struct vmspace_request *req = &pending->request.vm;
	const bool modelled = pending->model != REQUEST_UNKNOWN;
	const bool due = options->verify_every && call->number % options->verify_every == 0;

	if (pending->model == REQUEST_NONE)
		return;
	assert(who->space == mirror->space_id && call->number > 0);
	mirror->host.view.text_current = false;
	/* Another thread may have come since the entry, or have gone. */
	alone = alone && pending->alone;
	if (!alone)
		mirror->guess.shared = true;
	complete_and_log(mirror, who, call, pending, alone, due);
	if (modelled && req->out.differs)
		verify_report_result(mirror, who, call, pending);
	if (due)
		verify_call(mirror, who, call, pending,
			    options->verify_every == 1 && modelled && changes_flags(req) &&
				    verify_flags_due(mirror));
	pending->model = REQUEST_NONE;
}

unsigned int mirror_call_lost(struct mirror *mirror, struct pending_call *pending, bool alone,
			      struct json_object *detail)
{
	struct vmspace_request *req = &pending->request.vm;
	unsigned int guesses = 0;

	if (pending->model == REQUEST_MADE) {
		mirror->host.view.text_current = false;
		if (!alone) {
			mirror->guess.shared = true;
			guesses = guess_lost(&mirror->guess, &mirror->vm, req);
		}
		if (guesses) {
			json_object_object_add(detail, "do", log_request(req, 0));
			add_answers(mirror, pending, guesses, detail);
		}
		vmspace_abort(mirror->vm, req);
	}
	drop_answers(mirror, pending);
	pending->model = REQUEST_NONE;
	return guesses;
}
