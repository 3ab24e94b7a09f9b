/* SPDX-License-Identifier: MIT */
/* actors.h - the threads of the torture, and what they share. */
#ifndef TORTURE_ACTORS_H
#define TORTURE_ACTORS_H

#include "guest.h"
#include "random.h"

/* Pages of the guest, by number. Between the regions nothing is ever mapped. */
#define FAULTERS_MAX  4
#define SLICE         256UL /* of a faulter: mapped once, written by it alone */
#define STABLE        1UL
#define STABLE_PAGES  (FAULTERS_MAX * SLICE)
#define READONLY      (STABLE + STABLE_PAGES + 100)
#define READONLY_PAGES 300UL
#define MAPPERS       2048UL
#define MAPPERS_MAX   4
#define WINDOW        1024UL /* of a mapper: what only it maps; the windows touch */
#define STACK_PAGES   64UL   /* at the end of a window */

/* Who wrote a number, in its upper byte. */
#define TAG_SHIFT   56
#define TAG_FAULTER 0x10u
#define TAG_MAPPER  0x20u
#define TAG_CHILD   0x30u

enum kind {
	KIND_MAP, KIND_UNMAP, KIND_PROTECT, KIND_MOVE, KIND_DISCARD, KIND_NAME, KIND_STACK,
	KIND_FORK, KIND_SNAPSHOT, KIND_COLLECTED,
	KIND_NO_MEMORY, KIND_LOADS, KIND_STORES, KIND_LOOKUPS, KINDS,
};
extern const char *const kind_names[KINDS];

struct crowd {
	struct guest *guest;
	bool calm;                   /* faults in the stable region only, no fork */
	bool stop;                   /* atomic */
	unsigned int children;       /* alive; atomic */
};

struct actor {
	struct crowd *crowd;
	unsigned int number;         /* among those of its sort */
	struct random random;
	unsigned long long count[KINDS];
};

static inline bool stopped(const struct actor *me)
{
	return __atomic_load_n(&me->crowd->stop, __ATOMIC_RELAXED);
}

/* One system call on the space of a guest. */
long make_call(struct guest *guest, struct vmspace_request *req);
/* Map pages [first, first + count) anew, private and anonymous. */
long map_pages(struct guest *guest, unsigned long first, unsigned long count, int prot, int flags);
long unmap_pages(struct guest *guest, unsigned long first, unsigned long count);

/* Threads; the argument is a struct actor. */
void *faulter_run(void *actor);
void *reader_run(void *actor);
void *mapper_run(void *actor);
void *forker_run(void *actor);
void *viewer_run(void *actor);
void *collector_run(void *actor);
/* Before it runs; and when all have stopped: is what it has copied what is there? */
void collector_begin(void);
void collector_check(struct guest *guest);

#endif
