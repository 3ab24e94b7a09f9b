/* SPDX-License-Identifier: MIT */
/*
 * self_mirror.c [THREADS [SECONDS [SEED]]] - a program that mirrors itself: each thread's system
 * calls raise SIGSYS (syscall user dispatch), whose handler makes them between vmspace_begin() and
 * vmspace_end(); a SIGPROF handler looks addresses up meanwhile. At quiet moments, and at the end,
 * the mirror has to be equal to /proc/self/maps.
 *
 * Exit status: 0: it was; 1: it was not; 2: wrong arguments; 77: this cannot be tried here.
 */
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_begin.h>
#include <mapletree/vmspace_proc.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SKIPPED = 77 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if !defined(__x86_64__) || !defined(__LP64__) || !defined(__GLIBC__) || defined(SANITIZED)

int main(void)
{
	puts("SKIP: this is for x86-64 with glibc, without a sanitizer (which maps memory itself)");
	return SKIPPED;
}

#else

#define PAGE 4096UL
#define RW (PROT_READ | PROT_WRITE)
#define MOST_THREADS 64

/* <linux/prctl.h>; the C library's may be older than the kernel. */
#define SET_USER_DISPATCH 59
enum { DISPATCH_ON = 1, ALLOW = 0, BLOCK = 1 };

static struct vmspace *space;
static unsigned long calls, lookups, wrong, predictions; /* atomic */

/* ---- memory of the mirror -------------------------------------------------------------------- */

/*
 * The handler must not use the memory of malloc(): it may have interrupted malloc(), and what it
 * maps would change the mappings that are being followed. So what it allocates comes from a pool
 * that was mapped before. Each chunk of the pool has blocks of one size, a power of two.
 */
#define POOL_BYTES (512UL << 20)
#define CHUNK_SHIFT 21
#define CLASSES (CHUNK_SHIFT + 1)

static struct pool {
	struct mt_mutex lock;
	char *start;
	unsigned long chunks;                  /* in use */
	unsigned char class[POOL_BYTES >> CHUNK_SHIFT];
	struct free_block { struct free_block *next; } *free[CLASSES];
} pool;

/* Does this thread work for the mirror? Then what it allocates is the mirror's. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* glibc's own functions, under the names that remain when others take those of the standard. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);

static void pool_init(void)
{
	/* Shared memory does not merge with what the program maps. Chunks are aligned. */
	const size_t chunk = 1UL << CHUNK_SHIFT;
	const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
	char *at = mmap(NULL, POOL_BYTES + chunk, RW, flags, -1, 0);

	if (at == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	pool.start = at + (-(uintptr_t)at & (chunk - 1));
}

static bool in_pool(const void *block)
{
	return pool.start && (uintptr_t)block - (uintptr_t)pool.start < POOL_BYTES;
}

static bool add_chunk(unsigned int class)
{
	char *at = pool.start + (pool.chunks << CHUNK_SHIFT);

	if (pool.chunks == POOL_BYTES >> CHUNK_SHIFT)
		return false;
	pool.class[pool.chunks++] = (unsigned char)class;
	for (size_t i = 0; i < 1UL << CHUNK_SHIFT; i += 1UL << class) {
		struct free_block *block = (struct free_block *)(void *)(at + i);

		block->next = pool.free[class];
		pool.free[class] = block;
	}
	return true;
}

static void *pool_alloc(size_t align, size_t size)
{
	size_t bytes = size > align ? size : align;
	struct free_block *block = NULL;
	unsigned int class = 4;

	while (class < CLASSES && 1UL << class < bytes)
		class++;
	if (class == CLASSES)
		return NULL;
	mt_mutex_lock(&pool.lock);
	if (pool.free[class] || add_chunk(class)) {
		block = pool.free[class];
		pool.free[class] = block->next;
	}
	mt_mutex_unlock(&pool.lock);
	return block;
}

static size_t pool_size(const void *block)
{
	return 1UL << pool.class[((uintptr_t)block - (uintptr_t)pool.start) >> CHUNK_SHIFT];
}

static void pool_free(void *block)
{
	unsigned int class = pool.class[((uintptr_t)block - (uintptr_t)pool.start) >> CHUNK_SHIFT];
	struct free_block *freed = block;

	mt_mutex_lock(&pool.lock);
	freed->next = pool.free[class];
	pool.free[class] = freed;
	mt_mutex_unlock(&pool.lock);
}

void *malloc(size_t size)
{
	return inside ? pool_alloc(16, size) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	void *block;

	if (!inside)
		return __libc_calloc(count, size);
	block = size && count > POOL_BYTES / size ? NULL : pool_alloc(16, count * size);
	return block ? memset(block, 0, count * size) : NULL;
}

void free(void *block)
{
	if (in_pool(block))
		pool_free(block);
	else
		__libc_free(block);
}

void *realloc(void *block, size_t size)
{
	size_t before;
	void *larger;

	if (!in_pool(block) && (block || !inside))
		return __libc_realloc(block, size);
	before = block ? pool_size(block) : 0;
	if (size <= before)
		return block;
	larger = pool_alloc(16, size);
	if (larger && block) {
		memcpy(larger, block, before);
		pool_free(block);
	}
	return larger;
}

void *aligned_alloc(size_t align, size_t size)
{
	return inside ? pool_alloc(align, size) : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *block = aligned_alloc(align, size);

	*out = block ? block : *out;
	return block ? 0 : ENOMEM;
}

/* ---- what the kernel knows ------------------------------------------------------------------- */

/* PAGEMAP_SCAN (Documentation/admin-guide/mm/pagemap.rst), since Linux 6.7. */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, mask, any_of, returned;
};
#define SCAN_CALL _IOWR('f', 16, struct scan)
enum { SCAN_FILE = 4, SCAN_PRESENT = 8, SCAN_SWAPPED = 16, SCAN_ZERO = 32, SCAN_HUGE = 64 };

static int pagemap = -1;

static bool scan(unsigned long start, unsigned long end, uint64_t with, uint64_t without,
		 uint64_t any)
{
	struct { uint64_t start, end, categories; } found;
	struct scan arg = {
		.size = sizeof(arg), .start = start, .end = end, .vec = (uintptr_t)&found,
		.vec_len = 1, .max_pages = 1, .inverted = without, .mask = with | without,
		.any_of = any, .returned = SCAN_PRESENT,
	};

	return ioctl(pagemap, SCAN_CALL, &arg) > 0;
}

/* vmspace_host: an anonymous page that was written; also the huge zero page. */
static bool has_anon(void *ctx, unsigned long start, unsigned long end)
{
	(void)ctx;
	return scan(start, end, 0, SCAN_FILE | SCAN_ZERO, SCAN_PRESENT | SCAN_SWAPPED) ||
	       scan(start, end, SCAN_ZERO | SCAN_HUGE, 0, 0);
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* What the kernel reads before each system call: whether it raises SIGSYS. */
static _Thread_local volatile char selector __attribute__((tls_model("initial-exec")));

/*
 * Where handlers return to. The kernel is told not to dispatch calls from here, as a handler must
 * have set the selector back when it returns.
 */
extern const char undispatched[], undispatched_end[];
__asm__(".pushsection .text\n"
	"	.globl undispatched, undispatched_end\n" /* for link-time optimisation */
	"undispatched:\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n"
	"undispatched_end:\n"
	"	.popsection");

static long raw(long number, const long a[6])
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/*
 * The call as a request. False: it is none that changes areas. This program maps no files once it
 * is followed; what they are would go into mmap.backing.
 */
static bool as_request(long number, const long a[6], struct vmspace_request *req)
{
	const unsigned long addr = (unsigned long)a[0], length = (unsigned long)a[1];

	switch (number) {
	case SYS_mmap:
		req->op = VMSPACE_MMAP;
		req->mmap = (struct vmspace_mmap){ .addr = addr, .length = length,
						   .prot = (int)a[2], .flags = (int)a[3] };
		return true;
	case SYS_munmap:
		req->op = VMSPACE_MUNMAP;
		req->munmap = (struct vmspace_munmap){ addr, length };
		return true;
	case SYS_mprotect:
		req->op = VMSPACE_MPROTECT;
		req->mprotect = (struct vmspace_mprotect){ addr, length, (int)a[2], -1 };
		return true;
	case SYS_mremap:
		req->op = VMSPACE_MREMAP;
		req->mremap = (struct vmspace_mremap){ addr, length, (unsigned long)a[2], (int)a[3],
						       (unsigned long)a[4] };
		return true;
	case SYS_brk:
		req->op = VMSPACE_BRK;
		req->brk.brk = addr;
		return true;
	case SYS_madvise:
		req->op = VMSPACE_MADVISE;
		req->madvise = (struct vmspace_madvise){ addr, length, (int)a[2] };
		return true;
	default:
		return false;
	}
}

static long followed(long number, long a[6], struct vmspace_request *req)
{
	struct vmspace_ticket ticket;
	long result = vmspace_begin(space, req, &ticket);

	if (result)
		return result;
	if (number == SYS_mmap) { /* where it is to be */
		a[0] = (long)req->mmap.addr;
		a[3] = req->mmap.flags;
	}
	result = raw(number, a);
	vmspace_end(space, &ticket, result);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (req->out.differs)
		__atomic_fetch_add(&predictions, 1, __ATOMIC_RELAXED);
	return result;
}

static void on_call(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	long a[6] = { regs[REG_RDI], regs[REG_RSI], regs[REG_RDX], regs[REG_R10], regs[REG_R8],
		      regs[REG_R9] };
	struct vmspace_request req;
	int before;

	(void)number;
	selector = ALLOW;
	before = errno;
	inside = true;
	req.host.unmapped = false;
	regs[REG_RAX] = as_request(info->si_syscall, a, &req) ? followed(info->si_syscall, a, &req)
							       : raw(info->si_syscall, a);
	inside = false;
	errno = before;
	selector = BLOCK;
}

/* The code that was interrupted, and the stack, are mapped, whatever call is under way. */
static void on_tick(int number, siginfo_t *info, void *context)
{
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned long at[2] = { (unsigned long)regs[REG_RIP], (unsigned long)regs[REG_RSP] };
	struct vma_info area;

	(void)number;
	(void)info;
	for (int i = 0; space && i < 2; i++)
		if (!vmspace_lookup(space, at[i], &area) || at[i] < area.start || at[i] >= area.end)
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&lookups, 1, __ATOMIC_RELAXED);
}

#define RESTORER 0x04000000UL /* SA_RESTORER of <asm/signal.h> */

/* As sigaction(), but the handler returns by `undispatched`. */
static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
	struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		const char *restorer;
		uint64_t mask;
	} action = { handler, SA_SIGINFO | SA_RESTART | RESTORER, undispatched, 0 };

	if (syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask))) {
		perror("rt_sigaction");
		exit(1);
	}
}

static int dispatch(int on)
{
	return prctl(SET_USER_DISPATCH, on, on ? undispatched : 0,
		     on ? undispatched_end - undispatched + 1 : 0, on ? &selector : 0);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define SLOTS 24

struct worker {
	pthread_t thread;
	uint64_t draws;
	struct mapping { char *at; unsigned long pages; } mapping[SLOTS];
	void *block[SLOTS];
};

static struct worker workers[MOST_THREADS];
static pthread_barrier_t together;
static bool pausing, stopping; /* atomic */
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;

static unsigned long draw(struct worker *w, unsigned long below)
{
	w->draws = w->draws * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(w->draws >> 33) % below;
}

static void map_one(struct worker *w, struct mapping *m)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, RW, RW };

	m->pages = 1 + draw(w, 40);
	m->at = mmap(NULL, m->pages * PAGE, prots[draw(w, 5)], MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->at == MAP_FAILED)
		m->at = NULL;
}

static void remap_one(struct worker *w, struct mapping *m)
{
	unsigned long pages = 1 + draw(w, 60);
	char *at = mremap(m->at, m->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);

	if (at == MAP_FAILED) /* it is no longer one area */
		return;
	m->at = at;
	m->pages = pages;
}

static void change_one(struct worker *w, struct mapping *m)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, RW };
	static const int advices[] = { MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP,
				       MADV_DODUMP, MADV_NORMAL, MADV_SEQUENTIAL };
	unsigned long first = draw(w, m->pages), pages = 1 + draw(w, m->pages - first);
	char *at = m->at + first * PAGE;

	switch (draw(w, 4)) {
	case 0:
		mprotect(at, pages * PAGE, prots[draw(w, 4)]);
		break;
	case 1:
		madvise(at, pages * PAGE, advices[draw(w, 7)]);
		break;
	case 2: /* written to */
		if (!mprotect(at, pages * PAGE, RW))
			memset(at, 1, pages * PAGE);
		break;
	default: /* a new mapping in the place of a part */
		if (mmap(at, pages * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		    MAP_FAILED)
			return;
		break;
	}
}

/* Only these move the break, so what one has added is still the last when it is taken back. */
static void move_break(struct worker *w)
{
	long bytes = (long)(draw(w, 20) * PAGE);

	pthread_mutex_lock(&heap);
	if (sbrk(bytes) != (void *)-1)
		sbrk(-bytes);
	pthread_mutex_unlock(&heap);
}

static void use_malloc(struct worker *w)
{
	void **block = &w->block[draw(w, SLOTS)];
	size_t size = draw(w, 3) ? draw(w, 4000) : draw(w, 400000);

	if (draw(w, 3)) {
		free(*block);
		*block = malloc(size);
	} else {
		void *larger = realloc(*block, size + 1);

		*block = larger ? larger : *block;
	}
	if (*block)
		memset(*block, 1, size);
}

static void step(struct worker *w)
{
	struct mapping *m = &w->mapping[draw(w, SLOTS)];
	unsigned long what = draw(w, 12);

	if (what < 4)
		use_malloc(w);
	else if (what == 4)
		move_break(w);
	else if (!m->at)
		map_one(w, m);
	else if (what == 5)
		remap_one(w, m);
	else if (what < 10)
		change_one(w, m);
	else if (!munmap(m->at, m->pages * PAGE))
		m->at = NULL;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	/* It maps memory: before the mirror is made. */
	inside = true;
	if (mt_thread_register())
		abort();
	inside = false;
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together); /* the mirror is made */
	if (dispatch(DISPATCH_ON))
		abort();
	selector = BLOCK;
	while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		step(w);
		if (!__atomic_load_n(&pausing, __ATOMIC_ACQUIRE))
			continue;
		pthread_barrier_wait(&together);
		pthread_barrier_wait(&together);
	}
	selector = ALLOW;
	return NULL;
}

/* ---- the mirror ------------------------------------------------------------------------------ */

/* As vmspace_load() does, for several threads, with the host that tells of pages. */
static int make_mirror(void)
{
	struct vmspace_config config;
	struct vmspace_image image;
	struct vmspace_area *areas;
	size_t count;
	int err;

	vmspace_config_init(&config);
	vmspace_config_read(&config, getpid());
	config.threads = true;
	config.host.has_anon = has_anon;
	err = vmspace_create(&space, &config);
	if (!err)
		err = vmspace_read_process(getpid(), true, &areas, &count, &image);
	if (err)
		return err;
	image.brk = (unsigned long)sbrk(0);
	err = vmspace_exec(space, areas, count, &image);
	vmspace_free_areas(areas, count);
	return err;
}

static bool equal(void)
{
	struct vmspace_difference difference;
	int result = vmspace_verify(space, getpid(), VMSPACE_VERIFY_MAPS, &difference);

	if (result > 0)
		printf("different: %s\n", difference.text);
	else if (result < 0)
		printf("/proc/self/maps: %s\n", strerror(-result));
	return !result;
}

static void quiet(bool *same)
{
	__atomic_store_n(&pausing, true, __ATOMIC_RELEASE);
	pthread_barrier_wait(&together);
	*same = equal();
	__atomic_store_n(&pausing, false, __ATOMIC_RELEASE);
}

/* A stack that grows later is a change that no call makes. */
static __attribute__((noinline)) void grow_stack(void)
{
	volatile char bytes[512 << 10];

	for (size_t i = 0; i < sizeof(bytes); i += PAGE)
		bytes[i] = 0;
}

/*
 * Only the main arena of malloc() is at the break, which move_break() takes back without asking. So
 * no worker may have that one: this thread has it, and each of the others gets its own.
 */
static void own_arenas(void)
{
	free(malloc(1));
	mallopt(M_ARENA_MAX, 2 * MOST_THREADS);
}

static const char *cannot_run(void)
{
	struct scan nothing = { .size = sizeof(nothing) };
	const char *preload = getenv("LD_PRELOAD");

	if (preload && strstr(preload, "vgpreload"))
		return "valgrind runs it, which makes and maps what the program does not";
	if (dispatch(DISPATCH_ON) || dispatch(0))
		return "there is no syscall user dispatch here (Linux 5.11; not in emulators)";
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (pagemap < 0 || ioctl(pagemap, SCAN_CALL, &nothing) < 0)
		return "there is no PAGEMAP_SCAN here (Linux 6.7)";
	return NULL;
}

static unsigned long number(const char *text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (*end || !value || value > most) {
		fprintf(stderr, "%s: not a number from 1 to %lu\n", text, most);
		exit(2);
	}
	return value;
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (long)time.tv_sec;
}

/* A quiet moment each second. Ends with the first difference. */
static unsigned int watch(unsigned long seconds, unsigned int *moments)
{
	const long end = now() + (long)seconds;
	bool same = true, last = false;

	for (*moments = 0; !last; ++*moments) {
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
		quiet(&same);
		last = !same || now() >= end;
		if (last)
			__atomic_store_n(&stopping, true, __ATOMIC_RELEASE);
		pthread_barrier_wait(&together);
	}
	return !same;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 1 ? number(argv[1], MOST_THREADS) : 8;
	unsigned long seconds = argc > 2 ? number(argv[2], 1000000) : 2;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)time(NULL);
	const struct itimerval tick = { { 0, 1000 }, { 0, 1000 } };
	const char *reason = cannot_run();
	unsigned int moments, differences;
	int err;

	if (reason) {
		printf("SKIP: %s\n", reason);
		return SKIPPED;
	}
	own_arenas();
	pool_init();
	inside = true; /* this thread works for the mirror alone */
	grow_stack();
	mt_thread_register();
	pthread_barrier_init(&together, NULL, (unsigned int)threads + 1);
	for (unsigned long i = 0; i < threads; i++) {
		workers[i].draws = (seed + i) * 0x9e3779b97f4a7c15u;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
	printf("%lu threads, %lu seconds, seed %llu\n", threads, seconds, (unsigned long long)seed);
	pthread_barrier_wait(&together);
	handle(SIGSYS, on_call);
	handle(SIGPROF, on_tick);
	err = make_mirror();
	if (err) {
		fprintf(stderr, "the mirror: %s\n", strerror(-err));
		return 1;
	}
	setitimer(ITIMER_PROF, &tick, NULL);
	pthread_barrier_wait(&together);
	differences = watch(seconds, &moments);
	setitimer(ITIMER_PROF, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%lu calls (%lu with another result than predicted), "
	       "%lu ticks with lookups (%lu wrong), %u quiet moments: %u differences\n",
	       calls, predictions, lookups, wrong, moments, differences);
	vmspace_destroy(space);
	return differences || wrong ? 1 : 0;
}

#endif
