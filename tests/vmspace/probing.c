/* SPDX-License-Identifier: MIT */
/*
 * probing.c - what finding out about the running kernel says, and leaves behind, where calls are
 * refused, limits are low, or calls block. Each case is in a process of its own, because a process
 * finds out only once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mapletree/vmspace_rules.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

enum { SKIPPED = 77, FAILED = 1 };

/* What a process found out. */
static struct found {
	struct vmspace_kernel kernel;
	bool oldest; /* its rules are taken where nothing was found out */
	int cleanups;
} *found;

static struct vmspace_kernel reference; /* found out with nothing in the way */

static void find_out(void)
{
	found->kernel = *vmspace_running_kernel();
	found->oldest = !strcmp(found->kernel.version, VMSPACE_KERNEL_OLDEST);
}

/* Run `act` in a process; its exit status, 0 if it returns. */
static int in_process(void (*act)(const void *), const void *argument)
{
	int status;
	pid_t child;

	memset(found, 0, sizeof(*found));
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		act(argument);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void run(void (*act)(const void *), const void *argument)
{
	int status = in_process(act, argument);

	if (status == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

/* Where something was probed, it is what it is with nothing in the way. */
static void assert_agrees(const char *where)
{
	for (unsigned int i = 0; vmspace_rule(i); i++) {
		uint64_t bit = UINT64_C(1) << (i % 64);
		uint64_t both = found->kernel.probed[i / 64] & reference.probed[i / 64] & bit;

		if ((found->kernel.rules[i / 64] ^ reference.rules[i / 64]) & both)
			fail_msg("%s: %s is judged wrongly", where, vmspace_rule(i)->name);
	}
}

static bool probed(const char *rule)
{
	int i = vmspace_rule_find(rule);

	return found->kernel.probed[i / 64] >> (i % 64) & 1;
}

/* ---- calls that are forbidden --------------------------------------------------------------- */

/* What seccomp does about a call; a listener for those that wait, else 0. */
static int filter(long call, uint32_t action, unsigned long flags)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, rules };
	long result;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(SKIPPED);
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (result < 0)
		_exit(SKIPPED);
	return (int)result;
}

static void refuse(long call, int error)
{
	filter(call, SECCOMP_RET_ERRNO | (uint32_t)error, 0);
}

static void limit_hard(int which, unsigned long value)
{
	struct rlimit limit = { value, value };

	if (setrlimit((__rlimit_resource_t)which, &limit))
		_exit(SKIPPED);
}

struct refusal {
	const char *name;
	long call;
	int error;
};

static void find_out_refused(const void *argument)
{
	const struct refusal *refusal = argument;

	refuse(refusal->call, refusal->error);
	find_out();
}

static void a_refused_call_is_no_answer(void **state)
{
#define REFUSAL(name, error) { #name ": " #error, SYS_##name, error }
	static const struct refusal refusals[] = {
		REFUSAL(mremap, EPERM), REFUSAL(mremap, ENOMEM), REFUSAL(mremap, ENOSYS),
		REFUSAL(madvise, EPERM), REFUSAL(madvise, ENOSYS), REFUSAL(madvise, EAGAIN),
		REFUSAL(process_madvise, EPERM), REFUSAL(mseal, EPERM), REFUSAL(mlock2, EPERM),
		REFUSAL(mlockall, EPERM), REFUSAL(remap_file_pages, EPERM), REFUSAL(ioctl, EPERM),
		REFUSAL(pkey_alloc, EPERM), REFUSAL(memfd_create, EPERM),
		REFUSAL(prlimit64, EPERM),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		run(find_out_refused, &refusals[i]);
		assert_agrees(refusals[i].name);
	}
}

/*
 * mlockall(MCL_FUTURE) works and nothing takes it back. What is mapped from then on is filled with
 * memory at once, so there must not be room for it: a mistake would use up the machine's.
 */
static void find_out_locked(const void *argument)
{
	limit_hard(RLIMIT_AS, 1UL << 30);
	refuse(SYS_munlockall, *(const int *)argument);
	find_out();
}

static void a_lock_that_cannot_be_undone(void **state)
{
	(void)state;
	for (int error = 0; error <= EPERM; error++) {
		run(find_out_locked, &error);
		assert_agrees(error ? "munlockall is refused" : "munlockall does nothing");
	}
}

/* ---- limits --------------------------------------------------------------------------------- */

static void find_out_small(const void *argument)
{
	struct rlimit limit;
	int which = *(const int *)argument;

	getrlimit((__rlimit_resource_t)which, &limit);
	limit.rlim_cur = 4096;
	if (setrlimit((__rlimit_resource_t)which, &limit))
		_exit(SKIPPED);
	find_out();
}

static void find_out_smaller(const void *argument)
{
	limit_hard(*(const int *)argument, 4096);
	find_out();
}

static void limits_are_no_answer(void **state)
{
	static const int limits[] = { RLIMIT_DATA, RLIMIT_MEMLOCK, RLIMIT_FSIZE };

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		run(find_out_small, &limits[i]);
		assert_agrees("a soft limit");
		/* There is a higher one. */
		assert_memory_equal(found->kernel.probed, reference.probed,
				    sizeof(reference.probed));
		run(find_out_smaller, &limits[i]);
		assert_agrees("a hard limit");
	}
}

/* ---- what is left behind -------------------------------------------------------------------- */

static void find_out_in_new_namespace(const void *argument)
{
	int status;
	pid_t child;

	(void)argument;
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		_exit(SKIPPED);
	find_out();
	child = fork();
	if (child == 0)
		_exit(getpid() == 1 ? 0 : FAILED);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		_exit(FAILED);
}

static void a_new_pid_namespace_keeps_its_first_process(void **state)
{
	(void)state;
	run(find_out_in_new_namespace, NULL);
	assert_agrees("a new PID namespace");
}

static void clean_up(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&found->cleanups, 1, __ATOMIC_SEQ_CST);
}

/* A thread that has been cancelled, and learns of it when it may. */
static void *find_out_cancelled(void *barrier)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	pthread_cleanup_push(clean_up, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	find_out();
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_while_finding_out(const void *argument)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	void *result;

	(void)argument;
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, find_out_cancelled, &barrier))
		_exit(FAILED);
	pthread_barrier_wait(&barrier);
	pthread_cancel(thread);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, &result);
	if (result != PTHREAD_CANCELED || waitpid(-1, NULL, __WALL | WNOHANG) != -1)
		_exit(FAILED);
}

static void a_cancelled_thread_finds_out_first(void **state)
{
	(void)state;
	run(cancel_while_finding_out, NULL);
	assert_int_equal(found->cleanups, 1);
	assert_memory_equal(found->kernel.probed, reference.probed, sizeof(reference.probed));
}

/* ---- calls that block ----------------------------------------------------------------------- */

/* Nobody answers the listener, so the call waits for ever. */
static void find_out_blocked(const void *argument)
{
	(void)argument;
	filter(SYS_mseal, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	find_out();
}

static void a_call_that_blocks_is_given_up(void **state)
{
	(void)state;
	alarm(120);
	run(find_out_blocked, NULL);
	alarm(0);
	assert_agrees("mseal blocks");
	assert_false(probed("mseal"));
	assert_true(probed("guards"));
}

/* The child of a process that is killed while it finds out. */
static void a_killed_process_leaves_no_child(void **state)
{
	struct timespec start, end;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		find_out_blocked(NULL);
		_exit(0);
	}
	for (int i = 0; i < 50; i++) { /* until it waits for its child */
		siginfo_t info = { 0 };

		usleep(20000);
		assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT), 0);
		if (info.si_pid)
			break;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status))
		skip();
	/* Its own child is this one's now, and ends too. */
	while (waitpid(-1, &status, __WALL) > 0)
		;
	clock_gettime(CLOCK_MONOTONIC, &end);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	assert_true(end.tv_sec - start.tv_sec < 5);
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* Then uname(2) says 2.6 and some more. */
static void find_out_old(const void *argument)
{
	(void)argument;
	if (personality(UNAME26) == -1)
		_exit(SKIPPED);
	find_out();
}

static void an_old_kernel_has_the_oldest_rules(void **state)
{
	(void)state;
	run(find_out_old, NULL);
	if (strncmp(found->kernel.release, "2.6.", 4) != 0)
		skip();
	assert_false(found->kernel.known);
	assert_true(found->oldest);
	assert_agrees("an old kernel");
}

static double seconds(const struct rusage *use)
{
	return (double)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) +
	       1e-6 * (double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
}

static void read_smaps(void)
{
	char buffer[4096];
	FILE *file = fopen("/proc/self/smaps", "re");

	if (!file)
		_exit(SKIPPED);
	while (fread(buffer, 1, sizeof(buffer), file) > 0)
		;
	fclose(file);
}

/* How many bytes this process has read. Not every kernel counts them. */
static long bytes_read(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	long bytes = 0;

	if (!file || fscanf(file, "rchar: %ld", &bytes) != 1)
		_exit(SKIPPED);
	fclose(file);
	return bytes;
}

/* Every other page is of an area of its own. */
static void find_out_crowded(const void *argument)
{
	const size_t areas = 40000, page = (size_t)sysconf(_SC_PAGESIZE);
	char *room = mmap(NULL, areas * page, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct rusage before, after, child;
	struct vmspace_config config;
	long whole, some;

	(void)argument;
	if (room == MAP_FAILED)
		_exit(SKIPPED);
	for (size_t i = 0; i < areas; i += 2)
		if (mprotect(room + i * page, page, PROT_READ))
			_exit(SKIPPED);
	getrusage(RUSAGE_SELF, &before);
	whole = bytes_read();
	read_smaps();
	whole = bytes_read() - whole;
	getrusage(RUSAGE_SELF, &after);
	find_out();
	/* What the child has read is not counted anywhere. */
	getrusage(RUSAGE_CHILDREN, &child);
	printf("# smaps of %zu areas: %.3f s, all probes: %.3f s\n", areas,
	       seconds(&after) - seconds(&before), seconds(&child));
	some = bytes_read();
	vmspace_config_init(&config);
	some = bytes_read() - some;
	printf("# smaps: %ld bytes, read for the configuration: %ld\n", whole, some);
	fflush(stdout);
	if (some > whole / 10)
		_exit(FAILED);
}

/* /proc is not read from end to end. */
static void many_areas_are_not_read_often(void **state)
{
	(void)state;
	run(find_out_crowded, NULL);
}

static void find_out_freely(const void *argument)
{
	(void)argument;
	find_out();
}

static int make_reference(void **state)
{
	(void)state;
	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (found == MAP_FAILED || in_process(find_out_freely, NULL))
		return -1;
	reference = found->kernel;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_that_cannot_be_undone),
		cmocka_unit_test(a_refused_call_is_no_answer),
		cmocka_unit_test(limits_are_no_answer),
		cmocka_unit_test(a_new_pid_namespace_keeps_its_first_process),
		cmocka_unit_test(a_cancelled_thread_finds_out_first),
		cmocka_unit_test(a_call_that_blocks_is_given_up),
		cmocka_unit_test(a_killed_process_leaves_no_child),
		cmocka_unit_test(an_old_kernel_has_the_oldest_rules),
		cmocka_unit_test(many_areas_are_not_read_often),
	};

	return cmocka_run_group_tests(tests, make_reference, NULL);
}
