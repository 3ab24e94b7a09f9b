/* SPDX-License-Identifier: MIT */
/*
 * A real process and its vmspace: every request is made in both, and both must then be equal in
 * result, maps, flags and counters.
 */
#ifndef VMSCOPE_CHECK_PAIR_H
#define VMSCOPE_CHECK_PAIR_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdio.h>

#include "check/puppet.h"
#include "log/answers.h"
#include "mirror/compare.h"
#include "mirror/kernel.h"

/* How pairs are made and compared. */
struct pair_mode {
	bool mirror;		/* faults are not told: the kernel is asked, and results are given */
	bool bottom_up;		/* personality ADDR_COMPAT_LAYOUT */
	bool read_implies_exec;	/* personality READ_IMPLIES_EXEC */
	bool aslr;		/* addresses are others each time */
	bool no_uffd;		/* userfaultfd(2) is refused here: no such calls */
	unsigned int flags_every;/* compare VmFlags after every this many requests; 0: never */
	enum vmspace_op hide;	/* testing aid: libvmspace is not told of these; 0: of all */
	FILE *report;		/* what differs, in words; NULL: nobody wants them */
};

struct pair {
	struct pair_mode mode;
	struct puppet puppet;
	struct vmspace *space;
	struct kernel_view view;
	int status_fd;		/* /proc/PID/status */
	struct comparison check;
	bool hasty;		/* results are compared, areas are not */
	bool gone;		/* the puppet has died; the pair is of no more use */
	bool excused;		/* the last results differ, because of pages alone */
	bool guards;		/* guard regions exist: faults may fail in any area */
	int shm_id;		/* what shmat attaches */
	unsigned long made;	/* requests so far */
	struct answers *answers;	/* gets what the kernel was asked; NULL: nobody wants it */
	struct vmspace_request last;
	long kernel_result;	/* of the last request */
};

/*
 * Does libvmspace follow the rules of the running kernel (Linux 6.17 and later), and may processes be
 * placed by them alone? If not, @why (of @size bytes) says what is needed.
 */
bool pair_possible(char *why, size_t size);

/*
 * Starts a puppet, when none is left, and takes its areas over. @record: an object that gets them, as
 * snapshot_load() writes them, or NULL. Returns 0 or -errno. pair_end() ends it.
 */
int pair_start(struct pair *pair, const struct pair_mode *mode, struct json_object *record);

/* Makes the request in both. False if they differ, or if the puppet has died (pair->gone). */
bool pair_do(struct pair *pair, struct vmspace_request *req);

/* Forks both. False as above; *@child is to be ended also then, unless the puppet has died. */
bool pair_fork(struct pair *pair, struct pair *child);

void pair_end(struct pair *pair);

/* The backing of a puppet's file, for req.mmap.backing. */
const struct vma_backing *pair_backing(enum puppet_file file);

/* For pair.c: makes the request for real. The raw result, or PUPPET_GONE. */
long pair_call(struct pair *pair, const struct vmspace_request *req);

/* For pair.c: are both equal? Says what is not to way.report. */
bool pair_equal(struct pair *pair);

#endif
