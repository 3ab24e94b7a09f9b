/* SPDX-License-Identifier: MIT */
/*
 * oracle_rules.c - the case of each rule in which versions of Linux differ, made in a real process
 * and in libvmspace; both agree, and what was found out about the running kernel is right.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "check/puppet_uffd.h"
#include "rules_cases.h"

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

static struct rules_world world;
static struct backing_file sealed;

static long call(struct vmspace_request *r)
{
	req = *r;
	return both(&pair);
}

static void become_child(struct rules_world *w)
{
	struct pair child;

	assert_true(pair_fork(&pair, &child));
	pair_end(&pair);
	pair = child;
	w->space = pair.space;
}

static void leave(struct rules_world *w, unsigned long pages)
{
	(void)w;
	set_limit(RLIMIT_AS, now().total_vm + pages);
}

static void fill(struct rules_world *w)
{
	const unsigned long limit = vmspace_config(pair.space)->max_map_count;

	(void)w;
	pair.results_only = true;
	for (unsigned long n = now().areas; n < limit; n++)
		map(AT(1000 + n), 1, n % 2 ? PROT_READ : PROT_NONE, FIXED | MAP_NORESERVE);
}

static void drop_all_privileges(struct rules_world *w)
{
	(void)w;
	drop_privileges();
}

static void make_segment(struct rules_world *w, unsigned long pages)
{
	(void)w;
	pair.shm_id = shmget(IPC_PRIVATE, pages * PAGE, 0600);
	assert_true(pair.shm_id >= 0);
}

static bool huge_pages_are_possible(void)
{
	unsigned long size = 2UL << 20;
	void *at = mmap(NULL, size, RW, ANON | MAP_HUGETLB | MAP_NORESERVE, -1, 0);

	return vmspace_config(pair.space)->pmd_size == size && at != MAP_FAILED &&
	       !munmap(at, size);
}

static unsigned long top_of_areas(void)
{
	struct vma_info info = { .start = 0 };
	unsigned long top = 0;

	while (vmspace_next(pair.space, top, &info))
		top = info.end;
	return top;
}

/* Can the case be made here at all? */
static void skip_what_cannot_be(const struct rules_case *it)
{
	const struct vmspace_config *c = vmspace_config(pair.space);

	if (!strcmp(it->rule, "uffd-takes-special") &&
	    !(puppet_uffd_features() & UFFD_FEATURE_WP_ASYNC))
		case_skip("the kernel has no UFFD_FEATURE_WP_ASYNC");
	if (!strcmp(it->rule, "uffd-no-droppable") && !has_rule("droppable"))
		case_skip("the kernel has no MAP_DROPPABLE");
	if (it->need == NEEDS_HUGE_PAGES && !huge_pages_are_possible())
		case_skip("no huge pages of 2 MiB");
	if (it->need == NEEDS_UFFD && puppet_uffd_right(NULL) == PUPPET_UFFD_NONE)
		case_skip("userfaultfd(2) is refused");
	if ((!strcmp(it->rule, "advise-empty") || !strcmp(it->rule, "advise-willneed")) &&
	    !c->move_all_privileged && has_rule("advise-privileged"))
		case_skip("process_madvise takes a privilege");
	if (c->max_map_count > 100000 && !strcmp(it->rule, "advise-count-error"))
		case_skip("vm.max_map_count is above 100000");
	if ((!strcmp(it->rule, "replaced-not-charged") || !strcmp(it->rule, "remap-cut-free") ||
	     !strcmp(it->rule, "dontunmap-unchecked")) &&
	    (c->overcommit != 0 || !c->ram_pages || c->ram_pages > 1UL << 30))
		case_skip("vm.overcommit_memory is not 0, or the size of memory is not known");
	if (!strcmp(it->rule, "dontunmap-counts-once") && has_rule("dontunmap-part"))
		case_skip("dontunmap-part leaves it nothing to decide");
	if (!c->memory_nodes &&
	    (!strcmp(it->rule, "weighted-interleave") || !strcmp(it->rule, "preferred-many") ||
	     !strcmp(it->rule, "numa-balancing") || !strcmp(it->rule, "home-node") ||
	     !strcmp(it->rule, "balance-many") || !strcmp(it->rule, "balance-asked")))
		case_skip("the kernel has no memory policies");
	if (!has_rule("numa-balancing") && !strcmp(it->rule, "balance-asked"))
		case_skip("numa-balancing leaves it nothing to decide");
	if (c->mmap_bottom_up && !strcmp(it->rule, "guard-own-hole"))
		case_skip("the kernel places mappings from below");
	if (!strcmp(it->rule, "uffd-nothing-above") && top_of_areas() >= c->task_size)
		case_skip("the stack ends where user space ends");
	if ((!strcmp(it->rule, "unmergeable-drops") || !strcmp(it->rule, "seal-special")) &&
	    !has_rule("mseal"))
		case_skip("the kernel has no mseal");
	if (!c->ksm && !strcmp(it->rule, "unmergeable-drops"))
		case_skip("the kernel merges no equal pages");
	if (!c->pkeys && !strcmp(it->rule, "key-before-place"))
		case_skip("the processor has no protection keys");
	if (!strcmp(it->rule, "lock-counts-wide") && has_rule("onfault-readable"))
		case_skip("the kernel goes through each page that it locks or unlocks, for hours");
	if (!strcmp(it->rule, "lock-counts-wide") && !c->lock_privileged &&
	    c->rlimit_memlock != VMSPACE_NO_LIMIT)
		case_skip("RLIMIT_MEMLOCK");
	if (!c->pmd_size && (!strcmp(it->rule, "stack-nohugepage") ||
			     !strncmp(it->rule, "anon-aligned", 12)))
		case_skip("the kernel has no huge pages");
}

static void run(void **state)
{
	const struct rules_case *it = *state;
	unsigned int rule = (unsigned int)vmspace_rule_find(it->rule);
	bool with;

	skip_what_cannot_be(it);
	with = vmspace_config_has_rule(vmspace_config(pair.space), rule);
	world = (struct rules_world){ .space = pair.space, .call = call,
				      .become_child = become_child, .leave = leave, .fill = fill,
				      .drop_privileges = drop_all_privileges,
				      .make_segment = make_segment,
				      .memory = *pair_backing(PUPPET_MEMFD),
				      .sealed = sealed.backing };
	pair.shm_id = -1;
	assert_int_equal(rules_case_run(it, &world), with ? it->with : it->without);
	if (pair.shm_id >= 0)
		shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* No child of this process is left that wait(2) would find. */
static void probing_is_not_noticed(void **state)
{
	const struct vmspace_kernel *kernel = vmspace_running_kernel();
	int status;

	(void)state;
	assert_ptr_equal(kernel, vmspace_running_kernel());
	assert_int_equal(waitpid(-1, &status, 0), -1);
	assert_int_equal(errno, ECHILD);
}

/* In a process that has many threads and children of its own. */
static void *probe(void *result)
{
	*(const struct vmspace_kernel **)result = vmspace_running_kernel();
	return NULL;
}

static void threads_probe_at_once(void **state)
{
	const struct vmspace_kernel *results[8];
	pthread_t threads[8];
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		for (int i = 0; i < 8; i++)
			if (pthread_create(&threads[i], NULL, probe, &results[i]))
				_exit(2);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		for (int i = 1; i < 8; i++)
			if (results[i] != results[0])
				_exit(1);
		_exit(results[0]->probed[0] ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int sealed_file(void)
{
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, 8 * PAGE) || fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void tell_of_kernel(void)
{
	const struct vmspace_kernel *kernel = vmspace_running_kernel();

	printf("# Linux %s, %s version\n", kernel->release, kernel->known ? "a known" : "an unknown");
	for (unsigned int i = 0; vmspace_rule(i); i++)
		if (kernel->unlike[i / 64] >> (i % 64) & 1)
			printf("# not as the version: %s\n", vmspace_rule(i)->name);
	fflush(stdout);
}

int main(void)
{
	struct CMUnitTest *tests = calloc(rules_cases_count + 2, sizeof(*tests));
	size_t count = 0;
	int failed;

	if (!tests)
		return 1;
	/* The first, before anything has probed. */
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(threads_probe_at_once);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(probing_is_not_noticed);
	signal(SIGPIPE, SIG_IGN);
	if (!case_add_file(&sealed, sealed_file()))
		return 1;
	if (case_possible())
		for (unsigned int i = 0; i < rules_cases_count; i++)
			tests[count++] = (struct CMUnitTest){
				rules_cases[i].name, run, case_start, case_end,
				(void *)(uintptr_t)&rules_cases[i] };
	failed = _cmocka_run_group_tests("rules", tests, count, NULL, NULL);
	tell_of_kernel();
	free(tests);
	return case_status(failed, count);
}
