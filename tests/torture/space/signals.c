/* SPDX-License-Identifier: MIT */
/*
 * signals.c - looks areas up in signal handlers that interrupt calls of the same space in the same
 * thread, and in other threads.
 *
 * Each call is made in a twin first, a plain space that nobody looks at: so it is known of each
 * page what there is before the call and after it. Whatever a lookup finds meanwhile is the one or the
 * other; and it is found: a handler that waits for the call that it interrupts ends the program
 * (alarm). The handler runs after each single instruction of a call (x86-64), or whenever a timer
 * fires. Threads look on as well, and compare what is told of an area with itself.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include <mapletree/vmspace.h>

#include "../options.h"
#include "random.h"

#if defined(__SANITIZE_THREAD__)
#define HANDLERS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HANDLERS 0 /* its runtime delivers signals later */
#endif
#endif
#ifndef HANDLERS
#define HANDLERS 1
#endif

#ifdef __x86_64__
#define STEPS 1
#else
#define STEPS 0
#endif

#define PAGE 4096UL
#define PAGES 48UL
#define BASE 0x100000000UL
#define NAMES 4
#define STUCK 60 /* seconds for one call */
#define READERS 2

/* What there is at a page. */
struct state {
	bool mapped;
	struct vma_info info;
};

enum phase { OUTSIDE, INSIDE };

static struct {
	struct vmspace *space, *twin;
	struct state before[PAGES], after[PAGES];
	bool edge[PAGES + 1];        /* an area may begin or end at this page */
	bool hole;                   /* the call may unmap before it maps */
	volatile sig_atomic_t phase;
	volatile unsigned long inside;
	unsigned long masked;        /* how often a call has blocked signals */
	unsigned long stepped;       /* of them, after single steps */
	unsigned int turn;
	const char *op;              /* of the present call */
	char backing[2][16];
} world;

static struct random rnd;
static bool stop; /* atomic */
static unsigned long thread_looks; /* atomic */

#if HANDLERS && STEPS
/*
 * Instead of the C library's: liburcu blocks all signals while it waits for a grace period, which a call may
 * do now and then. The processor goes on stepping then, and a blocked SIGTRAP would end the process.
 */
__attribute__((visibility("default")))
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	sigset_t but_steps;

	if (set && how != SIG_UNBLOCK) {
		but_steps = *set;
		world.masked += world.phase == INSIDE && sigismember(set, SIGTRAP) == 1;
		sigdelset(&but_steps, SIGTRAP);
		set = &but_steps;
	}
	return syscall(SYS_rt_sigprocmask, how, set, before, 8) ? errno : 0;
}
#endif

/* May be called in a handler: the process ends. */
static void wrong(const char *what, unsigned long page)
{
	static char line[200];
	int length = snprintf(line, sizeof(line), "# %s: page %lu: %s\n", world.op, page, what);

	if (write(STDOUT_FILENO, line, (size_t)length) < 0)
		_exit(2);
	_exit(1);
}

static void stuck(int signal)
{
	(void)signal;
	wrong("a lookup waits", PAGES);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Do they say the same of page n? They need not begin or end at the same places. */
static bool agree(const struct vma_info *a, const struct vma_info *b)
{
	return a->flags == b->flags && a->pkey == b->pkey &&
	       a->page_offset - a->start / PAGE == b->page_offset - b->start / PAGE &&
	       a->backing.kind == b->backing.kind && a->backing.inode == b->backing.inode &&
	       same_text(a->backing.name, b->backing.name) && same_text(a->anon_name, b->anon_name);
}

/* What a lookup of page n says, in the middle of a call. */
static void compare(unsigned long n, bool found, const struct vma_info *info)
{
	const struct state *before = &world.before[n], *after = &world.after[n];
	unsigned long addr = BASE + n * PAGE;

	if (!found) {
		if (before->mapped && after->mapped && !world.hole)
			wrong("not found, though it was there and will be", n);
		return;
	}
	if (info->start > addr || info->end <= addr)
		wrong("found an area that does not contain it", n);
	if (!(before->mapped && agree(info, &before->info)) &&
	    !(after->mapped && agree(info, &after->info)))
		wrong("neither as before the call nor as after it", n);
	if (info->start < BASE || info->end > BASE + PAGES * PAGE || info->start % PAGE ||
	    info->end % PAGE || !world.edge[(info->start - BASE) / PAGE] ||
	    !world.edge[(info->end - BASE) / PAGE])
		wrong("the area begins or ends where none does", n);
}

static void look(void)
{
	unsigned int turn = world.turn++;
	unsigned long n = turn * 29UL % PAGES, first = n;
	struct vma_info info;
	bool found;

	switch (turn % 4) {
	case 0:
		found = vmspace_next(world.space, BASE + n * PAGE, &info);
		if (found && info.end <= BASE + n * PAGE)
			wrong("the next area ends below", n);
		first = found && info.start > BASE + n * PAGE ? (info.start - BASE) / PAGE : n;
		break;
	case 1:
		found = vmspace_prev(world.space, BASE + n * PAGE, &info);
		if (found && info.start >= BASE + n * PAGE)
			wrong("the previous area begins above", n);
		if (found)
			first = (info.start - BASE) / PAGE;
		break;
	default:
		found = vmspace_lookup(world.space, BASE + n * PAGE, &info);
		compare(n, found, &info);
		break;
	}
	if (found && turn % 4 < 2 && first < PAGES)
		compare(first, true, &info);
}

static void handle(int signal)
{
	(void)signal;
	if (world.phase != INSIDE)
		return;
	world.inside++;
	urcu_bp_read_lock(); /* names stay */
	look();
	urcu_bp_read_unlock();
}

static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };
static const char *const names[NAMES] = { NULL, "one", "two", "three" };

/* Names that stay, in the place of the twin's. */
static void keep_names(struct vma_info *info)
{
	const char *name = info->anon_name;

	if (info->backing.kind == VMA_BACKING_FILE)
		info->backing.name = world.backing[info->backing.inode - 1];
	for (int i = 1; name && i < NAMES; i++)
		if (!strcmp(name, names[i]))
			info->anon_name = names[i];
}

/* What there is in the twin. */
static void see(struct state *state)
{
	for (unsigned long n = 0; n < PAGES; n++) {
		state[n].mapped = vmspace_lookup(world.twin, BASE + n * PAGE, &state[n].info);
		if (!state[n].mapped)
			continue;
		keep_names(&state[n].info);
		world.edge[(state[n].info.start - BASE) / PAGE] = true;
		world.edge[(state[n].info.end - BASE) / PAGE] = true;
	}
}

static void mark(unsigned long addr, unsigned long length)
{
	if (addr >= BASE && addr + length <= BASE + PAGES * PAGE)
		world.edge[(addr - BASE) / PAGE] = world.edge[(addr + length - BASE) / PAGE] = true;
}

static void any_mmap(struct vmspace_request *req, unsigned long addr, unsigned long length)
{
	unsigned int file = (unsigned int)random_below(&rnd, 3);

	req->op = VMSPACE_MMAP;
	req->mmap = (struct vmspace_mmap){ .addr = addr, .length = length,
					   .prot = prots[random_below(&rnd, 4)],
					   .flags = MAP_PRIVATE | MAP_FIXED };
	if (!file) {
		req->mmap.flags |= MAP_ANONYMOUS;
		return;
	}
	/* A page of a file is mapped at one place only: threads can tell whether it is right. */
	req->mmap.offset = addr - BASE;
	req->mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = file,
						  .name = world.backing[file - 1] };
}

/*
 * Areas are moved one by one. Two that could not be one where they were may be one where they come to, the
 * first having been there before; in between the border is seen.
 */
static void mark_moved(unsigned long from, unsigned long count, unsigned long to)
{
	bool edge[PAGES + 1];

	memcpy(edge, world.edge, sizeof(edge));
	for (unsigned long i = 0; i <= count; i++)
		world.edge[to + i] |= edge[from + i];
}

/* A call that stays within the pages. */
static void any_call(struct vmspace_request *req)
{
	unsigned long at = random_below(&rnd, PAGES), most = PAGES - at;
	unsigned long count = 1 + random_below(&rnd, most < 12 ? most : 12), to;
	unsigned long addr = BASE + at * PAGE, length = count * PAGE;
	static const int advice[] = { MADV_DONTFORK, MADV_DOFORK, MADV_RANDOM, MADV_NORMAL,
				      MADV_DONTNEED, MADV_DONTDUMP, MADV_DODUMP };

	*req = (struct vmspace_request){ 0 };
	world.hole = false;
	mark(addr, length);
	switch (random_below(&rnd, 9)) {
	case 0: case 1:
		any_mmap(req, addr, length);
		world.hole = true;
		break;
	case 2:
		req->op = VMSPACE_MUNMAP;
		req->munmap = (struct vmspace_munmap){ addr, length };
		break;
	case 3: case 4:
		req->op = VMSPACE_MPROTECT;
		req->mprotect = (struct vmspace_mprotect){ addr, length,
							   prots[random_below(&rnd, 4)], -1 };
		break;
	case 5:
		to = random_below(&rnd, PAGES - count + 1);
		req->op = VMSPACE_MREMAP;
		req->mremap = (struct vmspace_mremap){ .addr = addr, .old_length = length,
			.new_length = length, .flags = MREMAP_MAYMOVE | MREMAP_FIXED,
			.new_addr = BASE + to * PAGE };
		mark(req->mremap.new_addr, length);
		mark_moved(at, count, to);
		world.hole = true;
		break;
	case 6:
		req->op = VMSPACE_MADVISE;
		req->madvise = (struct vmspace_madvise){ addr, length,
							 advice[random_below(&rnd, 7)] };
		break;
	case 7:
		req->op = VMSPACE_SET_ANON_NAME;
		req->set_anon_name = (struct vmspace_set_anon_name){ addr, length,
								     names[random_below(&rnd, NAMES)] };
		break;
	default:
		req->op = VMSPACE_FAULT;
		req->fault = (struct vmspace_fault){ addr, VMSPACE_ACCESS_WRITE };
		break;
	}
	world.op = vmspace_op_name(req->op);
}

static void stepping(bool on)
{
#if STEPS
	/* The trap flag: a signal after each instruction. */
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory");
#else
	(void)on;
#endif
}

static void make_call(bool steps)
{
	struct vmspace_request req, twin;
	long expected, result;

	memset(world.edge, 0, sizeof(world.edge));
	see(world.before);
	any_call(&req);
	twin = req;
	expected = vmspace_call(world.twin, &twin);
	see(world.after);
	alarm(STUCK);
	world.phase = INSIDE;
	if (steps)
		stepping(true);
	result = vmspace_call(world.space, &req);
	if (steps)
		stepping(false);
	world.phase = OUTSIDE;
	alarm(0);
	if (result != expected)
		wrong("the twin's result is another one", PAGES);
	for (unsigned long n = 0; n < PAGES; n++) {
		struct state *now = &world.before[n];

		now->mapped = vmspace_lookup(world.space, BASE + n * PAGE, &now->info);
		if (now->mapped != world.after[n].mapped ||
		    (now->mapped && (!agree(&now->info, &world.after[n].info) ||
				     now->info.start != world.after[n].info.start ||
				     now->info.end != world.after[n].info.end)))
			wrong("the twin's area is another one", n);
	}
}

/* A thread: what is told of one area goes together, and steps lead onwards. */
static void *reader(void *unused)
{
	unsigned long looks = 0, addr = BASE;
	struct vma_info info;

	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		urcu_bp_read_lock();
		if (!vmspace_next(world.space, addr, &info)) {
			addr = BASE;
		} else {
			if (info.end <= addr || info.start >= info.end)
				wrong("a step does not lead onwards", (addr - BASE) / PAGE);
			if (info.backing.kind == VMA_BACKING_FILE &&
			    strcmp(info.backing.name, world.backing[info.backing.inode - 1]) != 0)
				wrong("a file with another one's name", (info.start - BASE) / PAGE);
			if (info.anon_name && !strstr("one two three", info.anon_name))
				wrong("a name that nobody gave", (info.start - BASE) / PAGE);
			addr = info.end;
		}
		urcu_bp_read_unlock();
		looks++;
	}
	__atomic_add_fetch(&thread_looks, looks, __ATOMIC_RELAXED);
	return NULL;
}

static uint64_t frame_alloc(void *ctx)
{
	static uint64_t last;

	(void)ctx;
	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static void frame_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
}

static void frame_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	(void)to;
	(void)from;
}

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	*frame = (uint64_t)1 << 40 | backing->inode << 20 | index;
	return 0;
}

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy, .file_page = file_page,
};

static void begin(bool has_memory)
{
	struct vmspace_config config;

	vmspace_config_init(&config);
	config.host = (struct vmspace_host){ 0 };
	if (vmspace_create(&world.twin, &config))
		abort();
	config.threads = true;
	config.memory = has_memory ? &memory : NULL;
	if (vmspace_create(&world.space, &config))
		abort();
	strcpy(world.backing[0], "/first");
	strcpy(world.backing[1], "/second");
}

static void end(void)
{
	const char *why = "";

	if (!vmspace_check(world.space, &why) || !vmspace_check(world.twin, &why))
		wrong(why, PAGES);
	vmspace_destroy(world.space);
	vmspace_destroy(world.twin);
}

/* A signal for this thread, at some instruction of the next call. */
static void time_next(timer_t timer)
{
	struct itimerspec next = { .it_value.tv_nsec = 1 + (long)random_below(&rnd, 60000) };

	timer_settime(timer, 0, &next, NULL);
}

enum way { STEP, TIMER, THREADS };

static unsigned long run_calls(enum way way, double length, timer_t timer)
{
	double until = seconds() + length;
	pthread_t thread[READERS];
	unsigned long calls = 0;

	stop = false;
	for (int i = 0; way == THREADS && i < READERS; i++)
		if (pthread_create(&thread[i], NULL, reader, NULL))
			abort();
	for (; seconds() < until || !calls; calls++) {
		if (way == TIMER)
			time_next(timer);
		make_call(way == STEP);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; way == THREADS && i < READERS; i++)
		pthread_join(thread[i], NULL);
	return calls;
}

static void run(double duration, unsigned long long *calls)
{
	struct sigaction handler = { .sa_handler = handle, .sa_flags = SA_RESTART };
	struct sigaction watch = { .sa_handler = stuck };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
	struct vma_info info;
	timer_t timer;

	event._sigev_un._tid = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		abort();
	sigaction(SIGTRAP, &handler, NULL);
	sigaction(SIGPROF, &handler, NULL);
	sigaction(SIGALRM, &watch, NULL);
	for (int round = 0; round < 2; round++) {
		begin(round);
		vmspace_lookup(world.space, BASE, &info); /* the thread is registered with liburcu */
		world.stepped -= world.inside;
		if (HANDLERS && STEPS)
			*calls += run_calls(STEP, duration / 6, timer);
		world.stepped += world.inside;
		if (HANDLERS)
			*calls += run_calls(TIMER, duration / 6, timer);
		*calls += run_calls(THREADS, duration / 6, timer);
		end();
	}
	timer_delete(timer);
}

int main(int argc, char **argv)
{
	unsigned long long calls = 0;
	struct options options;

	if (!take_options(&options, argc, argv))
		return 2;
	random_seed(&rnd, options.seed);
	run(options.duration, &calls);
	if (HANDLERS && !world.inside)
		wrong("no handler interrupted a call", PAGES);
	printf("# %llu calls, %lu lookups in handlers inside them, %lu of them after single steps, "
	       "%lu in threads beside them; signals blocked in %lu calls\n", calls, world.inside,
	       world.stepped, thread_looks, world.masked);
	if (options.tap)
		printf("1..1\nok 1 - every lookup as before a call or as after it\n");
	return 0;
}
