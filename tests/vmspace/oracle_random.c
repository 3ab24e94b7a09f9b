/* SPDX-License-Identifier: MIT */
/*
 * oracle_random.c - random calls, made for real and in libvmspace; after each, both are equal.
 *
 * usage: oracle_random [--seed N] [--ops N] [--rounds N] [--mirror] [--verbose]
 *                      [--aslr] [--bottom-up] [--read-implies-exec]
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#include "kernel_side.h"
#include "pair.h"

#define PAGE 4096UL
#define ARENA 0x10000000000UL
#define ARENA_PAGES 160UL
#define PAIRS_MAX 3
#define BUSY_AREAS 70
#define KEPT_MAX 64
#define MADV_GUARD_INSTALL_ADVICE 102
#define MADV_GUARD_REMOVE_ADVICE 103

struct span {
	unsigned long start, end;
};

static uint64_t seed;
static struct span kept[KEPT_MAX]; /* the puppet's own areas: not touched */
static int kept_count;

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static uint64_t rnd(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dULL;
}

static unsigned long below(unsigned long n)
{
	return (unsigned long)((rnd() >> 16) % n);
}

static bool chance(unsigned long one_in)
{
	return !below(one_in);
}

static void keep_own_areas(const struct pair *p)
{
	struct vma_info info;
	struct vmspace_stats stats;
	unsigned long at = 0;

	kept_count = 0;
	vmspace_stats(p->space, &stats);
	for (; vmspace_next(p->space, at, &info); at = info.end) {
		bool heap = info.start < stats.brk && info.end > stats.start_brk;

		if (!heap && kept_count < KEPT_MAX)
			kept[kept_count++] = (struct span){ info.start, info.end };
	}
}

static bool is_kept(unsigned long start, unsigned long length)
{
	for (int i = 0; i < kept_count; i++)
		if (start < kept[i].end && start + length > kept[i].start)
			return true;
	return start + length < start;
}

static unsigned long some_length(void)
{
	if (chance(40))
		return PAGE * 512 * (1 + below(3));
	if (chance(40))
		return PAGE * 512 * (1 + below(2)) + PAGE * (1 + below(20));
	return PAGE * (1 + below(chance(3) ? 12 : 4));
}

/* A range in or around an area that may be changed; or somewhere in the arena. */
static struct span some_range(const struct pair *p)
{
	struct vma_info info;
	struct span span;

	for (int tries = 0; tries < 50; tries++) {
		unsigned long at = chance(4) ? below(0x7fff) << 32 : ARENA + below(ARENA_PAGES) * PAGE;
		unsigned long pages;

		if (chance(8))
			vmspace_prev(p->space, 0x7fff00000000UL, &info);
		if (!vmspace_next(p->space, at, &info))
			continue;
		pages = (info.end - info.start) / PAGE;
		span.start = info.start + (chance(2) ? 0 : below(pages) * PAGE);
		if (chance(2))
			span.end = info.end;
		else
			span.end = span.start + PAGE * (1 + below(pages < 20 ? pages : 20));
		if (chance(4))
			span.end += PAGE * below(10);
		if (chance(8) && span.start > ARENA + 4 * PAGE)
			span.start -= PAGE * below(4);
		if (!is_kept(span.start, span.end - span.start))
			return span;
	}
	span.start = ARENA + below(ARENA_PAGES) * PAGE;
	span.end = span.start + some_length();
	return span;
}

static int some_prot(void)
{
	static const int usual[] = { PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
				     PROT_NONE, PROT_READ | PROT_EXEC, PROT_WRITE,
				     PROT_READ | PROT_WRITE | PROT_EXEC, PROT_EXEC };

	return usual[below(sizeof(usual) / sizeof(usual[0]))];
}

static int some_map_flags(void)
{
	int flags = 0;

	if (chance(12))
		flags |= MAP_NORESERVE;
	if (chance(14))
		flags |= MAP_POPULATE;
	if (chance(14))
		flags |= MAP_STACK;
	if (chance(40))
		flags |= MAP_LOCKED;
	if (chance(40))
		flags |= MAP_NONBLOCK;
	if (chance(30))
		flags |= 0x40; /* MAP_32BIT */
	if (chance(60))
		flags |= MAP_DENYWRITE | MAP_EXECUTABLE;
	return flags;
}

static void some_place(struct vmspace_mmap *m)
{
	switch (below(5)) {
	case 0:
		break; /* no hint */
	case 1:
		m->addr = ARENA + below(ARENA_PAGES) * PAGE + (chance(6) ? below(PAGE) : 0);
		break;
	default:
		m->addr = ARENA + below(ARENA_PAGES) * PAGE;
		m->flags |= chance(4) ? MAP_FIXED_NOREPLACE : MAP_FIXED;
	}
}

static void make_mmap(struct pair *p, struct vmspace_request *r)
{
	struct vmspace_mmap *m = &r->mmap;

	r->op = VMSPACE_MMAP;
	m->length = some_length();
	if (chance(30))
		m->length -= below(PAGE);
	m->prot = some_prot();
	m->flags = some_map_flags();
	some_place(m);
	if (chance(3)) {
		p->file = (enum puppet_file)below(PUPPET_PIPE);
		m->backing = *pair_backing(p->file);
		m->offset = below(64) * PAGE;
		/* Often continuing what is there, as loaders do. */
		if (m->addr >= ARENA && chance(2))
			m->offset = (m->addr - ARENA) / PAGE * PAGE;
		m->flags |= chance(3) ? MAP_SHARED : MAP_PRIVATE;
		if (chance(30))
			m->flags = (m->flags & ~15) | MAP_SHARED_VALIDATE;
	} else {
		m->flags |= MAP_ANONYMOUS | (chance(8) ? MAP_SHARED : MAP_PRIVATE);
		if (chance(25))
			m->flags |= MAP_GROWSDOWN;
		if (chance(60))
			m->flags = (m->flags & ~15) | 8; /* MAP_DROPPABLE */
	}
	if (chance(100))
		m->flags &= ~15;
	if (chance(200))
		m->length = 0;
	if (chance(200))
		m->offset |= 1;
}

static void make_munmap(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);

	r->op = VMSPACE_MUNMAP;
	r->munmap = (struct vmspace_munmap){ s.start, s.end - s.start };
	if (chance(50))
		r->munmap.addr += 1 + below(PAGE - 1);
	else if (chance(50))
		r->munmap.length -= below(PAGE);
	if (chance(100))
		r->munmap.length = 0;
}

static void make_mprotect(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);

	r->op = VMSPACE_MPROTECT;
	r->mprotect = (struct vmspace_mprotect){ s.start, s.end - s.start, some_prot(), -1 };
	if (chance(30))
		r->mprotect.prot |= chance(4) ? PROT_GROWSUP : PROT_GROWSDOWN;
	if (chance(60))
		r->mprotect.prot |= 1 << below(10);
	if (chance(60))
		r->mprotect.addr += below(PAGE);
	if (chance(30))
		r->mprotect.pkey = 0;
}

static void make_mremap(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);
	struct vmspace_mremap *m = &r->mremap;

	r->op = VMSPACE_MREMAP;
	m->addr = s.start;
	m->old_length = s.end - s.start;
	m->new_length = chance(2) ? m->old_length : some_length();
	m->flags = chance(6) ? 0 : MREMAP_MAYMOVE;
	if (chance(2))
		m->flags |= MREMAP_FIXED;
	if (chance(6)) {
		m->flags |= 4; /* MREMAP_DONTUNMAP */
		if (!chance(10))
			m->new_length = m->old_length;
	}
	m->new_addr = ARENA + below(ARENA_PAGES) * PAGE;
	if (chance(12))
		m->old_length = 0;
	if (chance(60))
		m->flags = (int)below(16);
	if (chance(100))
		m->addr += below(PAGE);
	if (chance(100))
		m->new_length = 0;
	if (chance(60))
		m->old_length -= below(PAGE);
	if (chance(60))
		m->new_length += below(PAGE);
}

static void make_brk(struct pair *p, struct vmspace_request *r)
{
	struct vmspace_stats stats;
	unsigned long to;

	vmspace_stats(p->space, &stats);
	r->op = VMSPACE_BRK;
	to = stats.brk + below(20) * PAGE - 10 * PAGE + below(3);
	if (to < stats.start_brk || to > stats.start_brk + 200 * PAGE)
		to = stats.start_brk + below(20) * PAGE;
	r->brk.brk = chance(20) ? 0 : to;
}

/*
 * Guards are a matter of pages, which libvmspace does not keep. Without a host to ask it cannot know
 * that one keeps mlock() from touching a private file's page, so none are made there then.
 */
static bool guards_mislead(const struct pair *p, struct span s)
{
	struct vma_info info;

	if (p->mirror)
		return false;
	for (unsigned long at = s.start; vmspace_next(p->space, at, &info) && info.start < s.end;
	     at = info.end)
		if (info.backing.kind != VMA_BACKING_ANON && !(info.flags & VMA_MAYSHARE))
			return true;
	return false;
}

static void make_madvise(struct pair *p, struct vmspace_request *r)
{
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_DONTFORK, MADV_DOFORK,
		MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_DONTNEED, MADV_FREE,
		MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE,
		24, MADV_GUARD_INSTALL_ADVICE, MADV_GUARD_REMOVE_ADVICE, 77,
	};
	struct span s = some_range(p);

	r->op = VMSPACE_MADVISE;
	r->madvise = (struct vmspace_madvise){
		s.start, s.end - s.start, advice[below(sizeof(advice) / sizeof(advice[0]))] };
	if (chance(60))
		r->madvise.addr += below(PAGE);
	if (chance(60))
		r->madvise.length = 0;
	if (r->madvise.advice == MADV_GUARD_INSTALL_ADVICE && guards_mislead(p, s))
		r->madvise.advice = MADV_COLD;
}

static void make_mlock(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);

	r->op = chance(2) ? VMSPACE_MLOCK : VMSPACE_MUNLOCK;
	r->mlock = (struct vmspace_mlock){ s.start, s.end - s.start, 0, false };
	if (chance(3) && r->op == VMSPACE_MLOCK) {
		r->mlock.mlock2 = true;
		r->mlock.flags = chance(10) ? (int)below(8) : (int)below(2);
	}
	if (chance(10))
		r->mlock.addr += below(PAGE);
}

static void make_mlockall(struct pair *p, struct vmspace_request *r)
{
	(void)p;
	if (chance(3)) {
		r->op = VMSPACE_MLOCKALL;
		r->mlockall.flags = (int)below(chance(8) ? 16 : 8);
	} else {
		r->op = VMSPACE_MUNLOCKALL;
	}
}

static void make_fault(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);

	r->op = VMSPACE_FAULT;
	r->fault.addr = s.start + below((s.end - s.start) / PAGE + 1) * PAGE + below(PAGE - 8);
	if (chance(12))
		r->fault.addr = s.start - below(8) * PAGE - 64;
	r->fault.access = chance(4) ? VMSPACE_ACCESS_READ : VMSPACE_ACCESS_WRITE;
}

static void make_shm(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);

	if (chance(3)) {
		r->op = VMSPACE_SHMDT;
		r->shmdt.addr = s.start;
		return;
	}
	r->op = VMSPACE_SHMAT;
	r->shmat.size = 5 * PAGE;
	r->shmat.backing.name = "/SYSV00000000 (deleted)";
	if (chance(3))
		r->shmat.flags |= SHM_RDONLY;
	if (chance(3))
		r->shmat.addr = ARENA + below(ARENA_PAGES) * PAGE;
	if (r->shmat.addr && chance(4))
		r->shmat.flags |= SHM_REMAP;
	if (r->shmat.addr && chance(4)) {
		r->shmat.addr += below(PAGE);
		r->shmat.flags |= SHM_RND;
	}
	if (chance(8))
		r->shmat.flags |= SHM_EXEC;
}

static void make_remap_pages(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);

	r->op = VMSPACE_REMAP_FILE_PAGES;
	r->remap_file_pages = (struct vmspace_remap_file_pages){
		s.start, s.end - s.start, 0, below(16), chance(2) ? MAP_NONBLOCK : 0 };
}

static void make_mseal(struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(p);

	r->op = VMSPACE_MSEAL;
	r->mseal = (struct vmspace_mseal){ s.start, s.end - s.start, chance(10) };
}

static const struct {
	void (*make)(struct pair *p, struct vmspace_request *r);
	unsigned int weight;
} makers[] = {
	{ make_mmap, 26 }, { make_munmap, 8 }, { make_mprotect, 18 }, { make_mremap, 10 },
	{ make_brk, 5 }, { make_madvise, 10 }, { make_mlock, 6 }, { make_fault, 22 },
	{ make_shm, 2 }, { make_remap_pages, 1 },
};

static void make(struct pair *p, struct vmspace_request *r)
{
	struct vmspace_stats stats;
	unsigned long total = 0, pick;
	size_t i;

	memset(r, 0, sizeof(*r));
	vmspace_stats(p->space, &stats);
	if (stats.areas > BUSY_AREAS && chance(3)) {
		make_munmap(p, r);
		return;
	}
	if (chance(150)) {
		make_mlockall(p, r);
		return;
	}
	if (chance(400)) {
		make_mseal(p, r);
		return;
	}
	for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		total += makers[i].weight;
	pick = below(total);
	for (i = 0; pick >= makers[i].weight; i++)
		pick -= makers[i].weight;
	makers[i].make(p, r);
}

/* Shared memory that may become larger than its file: touching what is behind it fails. */
static bool outgrows_file(const struct pair *p, unsigned long addr)
{
	struct vma_info info;

	return vmspace_lookup(p->space, addr, &info) &&
	       (info.backing.kind == VMA_BACKING_SYSV || info.backing.kind == VMA_BACKING_SHMEM);
}

/* Requests that would hit what the puppet lives on. */
static bool harmful(const struct pair *p, const struct vmspace_request *r)
{
	switch (r->op) {
	case VMSPACE_REMAP_FILE_PAGES:
		return outgrows_file(p, r->remap_file_pages.addr);
	case VMSPACE_MMAP:
		return (r->mmap.flags & MAP_FIXED) && is_kept(r->mmap.addr, r->mmap.length);
	case VMSPACE_MREMAP:
		if (r->mremap.new_length > r->mremap.old_length &&
		    outgrows_file(p, r->mremap.addr & ~(PAGE - 1)))
			return true;
		return is_kept(r->mremap.addr, r->mremap.old_length) ||
		       is_kept(r->mremap.new_addr, r->mremap.new_length);
	case VMSPACE_FAULT:
		return is_kept(r->fault.addr, 1);
	case VMSPACE_MPROTECT:
		return is_kept(r->mprotect.addr, r->mprotect.length + PAGE);
	default:
		return false;
	}
}

static bool run_round(unsigned long ops, bool mirror, bool verbose)
{
	struct pair pairs[PAIRS_MAX];
	int alive = 1, which = 0;
	bool good = true;

	pair_start(&pairs[0], mirror);
	pairs[0].verbose = verbose;
	pairs[0].shm_id = shmget(IPC_PRIVATE, 5 * PAGE, 0700);
	keep_own_areas(&pairs[0]);
	for (unsigned long i = 0; i < ops && good; i++) {
		struct vmspace_request req;

		if (alive < PAIRS_MAX && chance(120)) {
			good = pair_fork(&pairs[which], &pairs[alive]);
			alive++;
			continue;
		}
		if (chance(20))
			which = (int)below((unsigned long)alive);
		make(&pairs[which], &req);
		if (!harmful(&pairs[which], &req))
			good = pair_do(&pairs[which], &req);
	}
	if (pairs[0].shm_id >= 0)
		shmctl(pairs[0].shm_id, IPC_RMID, NULL);
	while (alive--)
		pair_end(&pairs[alive]);
	return good;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' }, { "ops", required_argument, NULL, 'o' },
		{ "rounds", required_argument, NULL, 'r' }, { "mirror", no_argument, NULL, 'm' },
		{ "verbose", no_argument, NULL, 'v' }, { "aslr", no_argument, NULL, 'a' },
		{ "bottom-up", no_argument, NULL, 'b' },
		{ "read-implies-exec", no_argument, NULL, 'x' }, { NULL, 0, NULL, 0 },
	};
	unsigned long ops = 400, rounds = 10;
	bool mirror = false, verbose = false;
	uint64_t first = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's': first = strtoull(optarg, NULL, 0); break;
		case 'o': ops = strtoul(optarg, NULL, 0); break;
		case 'r': rounds = strtoul(optarg, NULL, 0); break;
		case 'm': mirror = true; break;
		case 'v': verbose = true; break;
		case 'a': puppet_personality &= ~(unsigned long)ADDR_NO_RANDOMIZE; break;
		case 'b': puppet_personality |= ADDR_COMPAT_LAYOUT; break;
		case 'x': puppet_personality |= READ_IMPLIES_EXEC; break;
		default:
			fprintf(stderr, "usage: oracle_random [--seed N] [--ops N] [--rounds N] "
					"[--mirror] [--verbose] [--aslr] [--bottom-up] "
					"[--read-implies-exec]\n");
			return 2;
		}
	}
	if (!kernel_is_modelled())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	for (unsigned long i = 0; i < rounds; i++) {
		seed = first + i + !(first + i);
		if (!run_round(ops, mirror, verbose)) {
			fprintf(stderr, "to repeat: oracle_random --seed %llu --ops %lu --rounds 1%s\n",
				(unsigned long long)(first + i), ops, mirror ? " --mirror" : "");
			return 1;
		}
	}
	printf("oracle_random: %lu rounds of %lu calls equal, seed %llu%s\n", rounds, ops,
	       (unsigned long long)first, mirror ? ", mirror" : "");
	return 0;
}
