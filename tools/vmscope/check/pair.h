/* SPDX-License-Identifier: MIT */
/*
 * A real process and a vmspace: every request is made in both, and then both must be equal in
 * result, maps, flags and counters.
 */
#ifndef VMSCOPE_CHECK_PAIR_H
#define VMSCOPE_CHECK_PAIR_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdio.h>

#include "check/files.h"
#include "check/puppet.h"
#include "log/answers.h"
#include "mirror/compare.h"
#include "mirror/kernel.h"

/* What libvmspace gets to know, from the least to the most. */
enum pair_way {
	PAIR_PURE,	/* as an emulator: it decides before the call is made for real */
	PAIR_TOLD,	/* each call with its result, and each page that is touched */
	PAIR_ASKED,	/* as a mirror: each call with its result; it asks the kernel about pages */
	PAIR_WAYS
};

/* "pure", "told", "asked". */
const char *pair_way_name(enum pair_way way);

/* How pairs are started and compared. */
struct pair_mode {
	enum pair_way way;
	bool bottom_up;		/* personality ADDR_COMPAT_LAYOUT */
	bool read_implies_exec;	/* personality READ_IMPLIES_EXEC */
	bool aslr;		/* addresses are randomised */
	unsigned int flags_every;/* compare VmFlags after every so many requests; 0: never */
	enum vmspace_op hide;	/* for tests: libvmspace does not get these; 0: gets all */
	FILE *report;		/* where differences are described; may be NULL */
};

struct pair {
	struct pair_mode mode;
	struct puppet puppet;
	struct vmspace *space;
	struct kernel_view view;
	int status_fd;		/* /proc/PID/status */
	struct comparison comparison;
	bool results_only;		/* compare results only, not areas */
	bool gone;		/* the puppet has died */
	bool excused;		/* the last results differ legitimately, because of pages */
	bool guards;		/* there may be guard pages */
	bool pinned;		/* a driver may have pinned pages */
	bool lock_future;	/* mlockall(MCL_FUTURE) is in effect */
	bool key_0_free;	/* key 0, of all memory that has no other, was freed */
	int shm_id;		/* the segment that shmat() attaches */
	unsigned long requests;	/* number of requests so far */
	struct answers *answers;	/* gets the kernel's answers; may be NULL */
	struct vmspace_request last;
	long kernel_result;	/* of the last request */
};

/*
 * Whether pairs can be compared here: processes can be started whose places are not random. If not,
 * @why, of @size bytes, says what is needed.
 */
bool pair_possible(char *why, size_t size);

/*
 * Starts a puppet and reads its areas into a vmspace. There must be no puppet left. @record: see
 * snapshot_load(). Returns 0 or -errno. pair_end() ends it.
 */
int pair_start(struct pair *pair, const struct pair_mode *mode, struct json_object *record);

/* Makes the request in both. False: they differ, or the puppet has died (pair->gone). */
bool pair_do(struct pair *pair, struct vmspace_request *req);

/* Does a kernel with these rules follow the one of that name? */
bool rule_holds(const struct vmspace_config *config, const char *rule);

/*
 * Does libvmspace not claim to know the result? It is a random address, or whether MADV_COLLAPSE
 * succeeds. Given the result, it follows, even if the way is PAIR_PURE.
 */
bool pair_kernel_decides(const struct vmspace_request *req);

/* Forks both. False as above; the caller must end *@child even then, unless the puppet has died. */
bool pair_fork(struct pair *pair, struct pair *child);

void pair_end(struct pair *pair);

/* The backing of a puppet's file, for vmspace_mmap.backing. */
const struct vma_backing *pair_backing(enum puppet_file file);

/* For pair.c: makes the request in the real process. Returns the raw result, or PUPPET_GONE. */
long pair_call(struct pair *pair, const struct vmspace_request *req);

/* For pair.c: are both equal? Describes differences to mode.report. */
bool pair_equal(struct pair *pair);

#endif
