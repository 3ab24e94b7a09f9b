/* SPDX-License-Identifier: MIT */
/*
 * vmspace_rules.h - the rules in which versions of Linux differ.
 *
 * A rule is a sentence about what Linux does, true in some versions and not in others
 * (docs/kernels.md has them all). A space's configuration says which rules apply:
 * vmspace_config_init() finds out which ones the running kernel follows, whatever its version
 * number (distributions backport); vmspace_config_kernel() takes those of a version by its number.
 *
 * Rules have numbers from 0; a rule keeps its number for ever, new ones are appended.
 */
#ifndef MAPLETREE_VMSPACE_RULES_H
#define MAPLETREE_VMSPACE_RULES_H

#include <mapletree/vmspace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace_rule {
	const char *name;            /* short: "stack-nohugepage" */
	const char *versions;        /* which follow it: "6.7-" (and later), "6.1-6.15 7.2-" */
	const char *source;          /* where this is documented, or "observed" */
	const char *test;            /* the case of tests/vmspace/oracle_rules.c that shows it */
	const char *text;            /* the rule in a sentence */
};

/* The rule of that number; NULL past the last one. Static. */
VMSPACE_PUBLIC const struct vmspace_rule *vmspace_rule(unsigned int number);

/* The number of the rule of that name, or -ENOENT. */
VMSPACE_PUBLIC int vmspace_rule_find(const char *name);

/* Does a rule apply? False if there is no such rule. */
VMSPACE_PUBLIC bool vmspace_config_has_rule(const struct vmspace_config *config,
					    unsigned int number);

/* Let a rule apply, or not. Returns 0, or -EINVAL: there is no such rule. */
VMSPACE_PUBLIC int vmspace_config_set_rule(struct vmspace_config *config, unsigned int number,
					   bool applies);

/* The versions whose rules are known, each with all that lie between. */
#define VMSPACE_KERNEL_OLDEST "5.10"
#define VMSPACE_KERNEL_NEWEST "7.3"

/*
 * Let the rules of a version of Linux apply, on any machine: "6.1", or a release as uname(2) gives
 * it ("6.1.0-47-amd64"). Changes the rules and nothing else: what a kernel was built with, sizes
 * and limits stay. Returns 0; or -EINVAL, nothing changed: that is no version, or not one from
 * VMSPACE_KERNEL_OLDEST to VMSPACE_KERNEL_NEWEST. A number between two known versions that was
 * never released ("5.20") has the rules of the last one before it.
 */
VMSPACE_PUBLIC int vmspace_config_kernel(struct vmspace_config *config, const char *version);

/* What was found out about the running kernel. */
struct vmspace_kernel {
	char release[65];            /* as uname(2) gives it */
	bool known;                  /* its version is one whose rules are known */
	/*
	 * Whose rules are taken where nothing was found out: the release if it is known, else
	 * VMSPACE_KERNEL_OLDEST for an older one and VMSPACE_KERNEL_NEWEST for all others.
	 */
	const char *version;
	uint64_t rules[VMSPACE_RULE_WORDS];  /* bit n: rule n applies */
	uint64_t probed[VMSPACE_RULE_WORDS]; /* found out by a probe */
	uint64_t unlike[VMSPACE_RULE_WORDS]; /* other than in that version: backported, say */
};

/*
 * The running kernel. The first call in a process probes: a child process, without threads and
 * unseen by wait(2) (but for __WALL and __WCLONE) and SIGCHLD, makes some hundred system calls in a
 * copy of the address space; it reads all of /proc/self/maps, so the more areas the longer. That
 * takes some milliseconds; a child that blocks is killed after ten seconds. Later calls return
 * what the first one found, as do processes forked after it. From any thread, which is not
 * cancelled meanwhile; not from a signal handler.
 *
 * Nothing is probed between unshare(CLONE_NEWPID), or setns(2) to a PID namespace, and the fork
 * that follows, because the child would be the namespace's init; nor where that cannot be told,
 * without /proc.
 */
VMSPACE_PUBLIC const struct vmspace_kernel *vmspace_running_kernel(void);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_RULES_H */
