/* SPDX-License-Identifier: MIT */
/*
 * rules_cases.h - for each rule in which versions of Linux differ, calls that show it.
 *
 * A case is run in a space by itself, with the rule and without (vmspace_rules.c), and in a space
 * and a real process at once (oracle_rules.c).
 */
#ifndef RULES_CASES_H
#define RULES_CASES_H

#include <stdbool.h>
#include <mapletree/vmspace_rules.h>

/* What a case acts on. */
struct rules_world {
	struct vmspace *space;
	/* Makes the request; returns its result. */
	long (*call)(struct vmspace_request *req);
	/* Goes on in a child of the space, and of the process; world->space is the child's then. */
	void (*become_child)(struct rules_world *world);
	/* Of address space, no more than so many pages beyond what there is. */
	void (*leave)(struct rules_world *world, unsigned long pages);
	/* There are as many areas as vm.max_map_count allows. */
	void (*fill)(struct rules_world *world);
	/* All capabilities are lost. */
	void (*drop_privileges)(struct rules_world *world);
	/* Of so many pages; mapped by shmat() until the case ends. */
	void (*make_segment)(struct rules_world *world, unsigned long pages);
	struct vma_backing memory;   /* a memfd of at least 16 pages */
	struct vma_backing sealed;   /* one of 8 pages, with F_SEAL_FUTURE_WRITE */
};

struct rules_case {
	const char *rule, *name;
	/* Returns what the rule decides: `with` or `without` it. */
	long (*run)(void);
	long with, without;
	enum rules_need { NEEDS_NOTHING, NEEDS_UFFD, NEEDS_HUGE_PAGES } need;
};

extern const struct rules_case rules_cases[];
extern const unsigned int rules_cases_count;

/* Runs the case on the world. */
long rules_case_run(const struct rules_case *it, struct rules_world *world);

#endif
