/* SPDX-License-Identifier: MIT */
/* The arguments of random calls. */
#include "check/generator_args.h"

#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "check/puppet_uffd.h"

#define PAGE GENERATOR_PAGE
#define ARENA 0x10000000000UL
#define MADV_COLLAPSE_ADVICE 25
#define MADV_GUARD_INSTALL_ADVICE 102
#define MADV_GUARD_REMOVE_ADVICE 103
#define MAP_DROPPABLE_TYPE 8
#ifndef MAP_TYPE
#define MAP_TYPE 0x0f
#endif

static unsigned long below(struct generator *c, unsigned long n)
{
	return random_below(c, n);
}

static bool chance(struct generator *c, unsigned long one_in)
{
	return random_below(c, one_in) == 0;
}

static unsigned long some_length(struct generator *c)
{
	if (chance(c, 40))
		return PAGE * 512 * (1 + below(c, 3));
	if (chance(c, 40))
		return PAGE * 512 * (1 + below(c, 2)) + PAGE * (1 + below(c, 20));
	return PAGE * (1 + below(c, chance(c, 3) ? 12 : 4));
}

/* A range in or around an area that is not reserved, or somewhere in the arena. */
static struct span some_range(struct generator *c, const struct pair *p)
{
	struct vma_info info;
	struct span span;

	for (int tries = 0; tries < 50; tries++) {
		unsigned long at = chance(c, 4) ? below(c, 0x7fff) << 32
						: ARENA + below(c, c->arena_pages) * PAGE;
		unsigned long pages;

		if (chance(c, 8))
			vmspace_prev(p->space, 0x7fff00000000UL, &info);
		if (!vmspace_next(p->space, at, &info))
			continue;
		pages = (info.end - info.start) / PAGE;
		span.start = info.start + (chance(c, 2) ? 0 : below(c, pages) * PAGE);
		if (chance(c, 2))
			span.end = info.end;
		else
			span.end = span.start + PAGE * (1 + below(c, pages < 20 ? pages : 20));
		if (chance(c, 4))
			span.end += PAGE * below(c, 10);
		if (chance(c, 8) && span.start > ARENA + 4 * PAGE)
			span.start -= PAGE * below(c, 4);
		if (!generator_is_reserved(c, span.start, span.end - span.start))
			return span;
	}
	span.start = ARENA + below(c, c->arena_pages) * PAGE;
	span.end = span.start + some_length(c);
	return span;
}

static int some_prot(struct generator *c)
{
	static const int usual[] = { PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
				     PROT_NONE, PROT_READ | PROT_EXEC, PROT_WRITE,
				     PROT_READ | PROT_WRITE | PROT_EXEC, PROT_EXEC };

	return usual[below(c, sizeof(usual) / sizeof(usual[0]))];
}

static int some_map_flags(struct generator *c)
{
	int flags = 0;

	if (chance(c, 12))
		flags |= MAP_NORESERVE;
	if (chance(c, 14))
		flags |= MAP_POPULATE;
	if (chance(c, 14))
		flags |= MAP_STACK;
	if (chance(c, 40))
		flags |= MAP_LOCKED;
	if (chance(c, 40))
		flags |= MAP_NONBLOCK;
	if (chance(c, 30))
		flags |= 0x40; /* MAP_32BIT */
	if (chance(c, 60))
		flags |= MAP_DENYWRITE | MAP_EXECUTABLE;
	return flags;
}

static void some_place(struct generator *c, struct vmspace_mmap *m)
{
	switch (below(c, 5)) {
	case 0:
		break; /* no hint */
	case 1:
		m->addr = ARENA + below(c, c->arena_pages) * PAGE +
			  (chance(c, 6) ? below(c, PAGE) : 0);
		break;
	default:
		m->addr = ARENA + below(c, c->arena_pages) * PAGE;
		m->flags |= chance(c, 4) ? MAP_FIXED_NOREPLACE : MAP_FIXED;
	}
}

/* The part common to all kinds of mmap(), without the type of the mapping. */
static struct vmspace_mmap *begin_mmap(struct generator *c, struct vmspace_request *r)
{
	struct vmspace_mmap *m = &r->mmap;

	r->op = VMSPACE_MMAP;
	m->length = some_length(c);
	if (chance(c, 30))
		m->length -= below(c, PAGE);
	m->prot = some_prot(c);
	m->flags = some_map_flags(c);
	some_place(c, m);
	if (chance(c, 200))
		m->length = 0;
	return m;
}

/* Makes some arguments invalid. */
static void spoil_mmap(struct generator *c, struct vmspace_mmap *m)
{
	if (chance(c, 100))
		m->flags &= ~MAP_TYPE;
	if (chance(c, 200))
		m->offset |= 1;
}

static void make_mmap(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_mmap *m = begin_mmap(c, r);

	(void)p;
	m->flags |= MAP_ANONYMOUS | MAP_PRIVATE;
	if (chance(c, 25))
		m->flags |= MAP_GROWSDOWN;
	if (chance(c, 60))
		m->flags = (m->flags & ~MAP_TYPE) | MAP_DROPPABLE_TYPE;
	spoil_mmap(c, m);
}

static void make_mmap_shared(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_mmap *m = begin_mmap(c, r);

	(void)p;
	m->flags |= MAP_ANONYMOUS | MAP_SHARED;
	spoil_mmap(c, m);
}

static void make_mmap_file(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_mmap *m = begin_mmap(c, r);

	(void)p;
	m->backing = *pair_backing(
		(enum puppet_file)below(c, chance(c, 50) ? PUPPET_ZERO : PUPPET_PIPE));
	m->offset = below(c, 64) * PAGE;
	/* Often continue the mapping below, as program loaders do. */
	if (m->addr >= ARENA && chance(c, 2))
		m->offset = (m->addr - ARENA) / PAGE * PAGE;
	m->flags |= chance(c, 3) ? MAP_SHARED : MAP_PRIVATE;
	if (chance(c, 30))
		m->flags = (m->flags & ~MAP_TYPE) | MAP_SHARED_VALIDATE;
	spoil_mmap(c, m);
}

static void make_munmap(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = VMSPACE_MUNMAP;
	r->munmap = (struct vmspace_munmap){ s.start, s.end - s.start };
	if (chance(c, 50))
		r->munmap.addr += 1 + below(c, PAGE - 1);
	else if (chance(c, 50))
		r->munmap.length -= below(c, PAGE);
	if (chance(c, 100))
		r->munmap.length = 0;
}

static void make_mprotect(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = VMSPACE_MPROTECT;
	r->mprotect = (struct vmspace_mprotect){ s.start, s.end - s.start, some_prot(c), -1 };
	if (chance(c, 30))
		r->mprotect.prot |= chance(c, 4) ? PROT_GROWSUP : PROT_GROWSDOWN;
	if (chance(c, 60))
		r->mprotect.prot |= 1 << below(c, 10);
	if (chance(c, 60))
		r->mprotect.addr += below(c, PAGE);
	if (chance(c, 30))
		r->mprotect.pkey = 0;
}

static void make_mremap(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);
	struct vmspace_mremap *m = &r->mremap;

	r->op = VMSPACE_MREMAP;
	m->addr = s.start;
	m->old_length = s.end - s.start;
	m->new_length = chance(c, 2) ? m->old_length : some_length(c);
	m->flags = chance(c, 6) ? 0 : MREMAP_MAYMOVE;
	if (chance(c, 2))
		m->flags |= MREMAP_FIXED;
	if (chance(c, 6)) {
		m->flags |= 4; /* MREMAP_DONTUNMAP */
		if (!chance(c, 10))
			m->new_length = m->old_length;
	}
	m->new_addr = ARENA + below(c, c->arena_pages) * PAGE;
	if (chance(c, 12))
		m->old_length = 0;
	if (chance(c, 60))
		m->flags = (int)below(c, 16);
	if (chance(c, 100))
		m->addr += below(c, PAGE);
	if (chance(c, 100))
		m->new_length = 0;
	if (chance(c, 60))
		m->old_length -= below(c, PAGE);
	if (chance(c, 60))
		m->new_length += below(c, PAGE);
}

static void make_brk(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_stats stats;
	unsigned long to;

	vmspace_stats(p->space, &stats);
	r->op = VMSPACE_BRK;
	to = stats.brk + below(c, 20) * PAGE - 10 * PAGE + below(c, 3);
	if (to < stats.start_brk || to > stats.start_brk + 200 * PAGE)
		to = stats.start_brk + below(c, 20) * PAGE;
	r->brk.brk = chance(c, 20) ? 0 : to;
}

static void make_madvise(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_DONTFORK, MADV_DOFORK,
		MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_DONTNEED, MADV_FREE,
		MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE,
		24, MADV_REMOVE, MADV_COLLAPSE_ADVICE, MADV_GUARD_INSTALL_ADVICE,
		MADV_GUARD_REMOVE_ADVICE, 77,
	};
	struct span s = some_range(c, p);

	r->op = VMSPACE_MADVISE;
	r->madvise = (struct vmspace_madvise){
		s.start, s.end - s.start, advice[below(c, sizeof(advice) / sizeof(advice[0]))] };
	if (chance(c, 60))
		r->madvise.addr += below(c, PAGE);
	if (chance(c, 60))
		r->madvise.length = 0;
}

/* PR_SET_VMA_ANON_NAME. The names are static, since scripts keep pointers to them. */
static void make_name(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const char *const names[] = { "first", "second", "two words", NULL, "", "no\\ne" };
	struct span s = some_range(c, p);

	r->op = VMSPACE_SET_ANON_NAME;
	r->set_anon_name = (struct vmspace_set_anon_name){
		s.start, s.end - s.start, names[below(c, chance(c, 20) ? 6 : 4)] };
	if (chance(c, 40))
		r->set_anon_name.addr += below(c, PAGE);
	if (chance(c, 40))
		r->set_anon_name.length = chance(c, 2) ? 0 : -below(c, 10 * PAGE);
}

static void make_mlock(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = chance(c, 2) ? VMSPACE_MLOCK : VMSPACE_MUNLOCK;
	r->mlock = (struct vmspace_mlock){ s.start, s.end - s.start, 0, false };
	if (chance(c, 3) && r->op == VMSPACE_MLOCK) {
		r->mlock.mlock2 = true;
		r->mlock.flags = chance(c, 10) ? (int)below(c, 8) : (int)below(c, 2);
	}
	if (chance(c, 10))
		r->mlock.addr += below(c, PAGE);
}

static void make_mlockall(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	(void)p;
	if (chance(c, 3)) {
		r->op = VMSPACE_MLOCKALL;
		r->mlockall.flags = (int)below(c, chance(c, 8) ? 16 : 8);
	} else {
		r->op = VMSPACE_MUNLOCKALL;
	}
}

static void make_fault(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = VMSPACE_FAULT;
	r->fault.addr =
		s.start + below(c, (s.end - s.start) / PAGE + 1) * PAGE + below(c, PAGE - 8);
	if (chance(c, 12))
		r->fault.addr = s.start - below(c, 8) * PAGE - 64;
	r->fault.access = chance(c, 4) ? VMSPACE_ACCESS_READ : VMSPACE_ACCESS_WRITE;
}

static void make_shm(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	if (chance(c, 3)) {
		r->op = VMSPACE_SHMDT;
		r->shmdt.addr = s.start;
		return;
	}
	r->op = VMSPACE_SHMAT;
	r->shmat.size = 5 * PAGE;
	r->shmat.backing.name = "/SYSV00000000 (deleted)";
	if (chance(c, 3))
		r->shmat.flags |= SHM_RDONLY;
	if (chance(c, 3))
		r->shmat.addr = ARENA + below(c, c->arena_pages) * PAGE;
	if (r->shmat.addr && chance(c, 4))
		r->shmat.flags |= SHM_REMAP;
	if (r->shmat.addr && chance(c, 4)) {
		r->shmat.addr += below(c, PAGE);
		r->shmat.flags |= SHM_RND;
	}
	if (chance(c, 8))
		r->shmat.flags |= SHM_EXEC;
}

static void make_remap_pages(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = VMSPACE_REMAP_FILE_PAGES;
	r->remap_file_pages = (struct vmspace_remap_file_pages){
		.addr = s.start, .size = s.end - s.start, .page_offset = below(c, 16),
		.flags = chance(c, 2) ? MAP_NONBLOCK : 0 };
}

static void make_mseal(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = VMSPACE_MSEAL;
	r->mseal = (struct vmspace_mseal){ s.start, s.end - s.start, chance(c, 10) };
}

static void make_msync(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = VMSPACE_MSYNC;
	r->msync = (struct vmspace_msync){ s.start, s.end - s.start, MS_ASYNC };
	if (chance(c, 3))
		r->msync.flags = (int)below(c, 8);
	if (chance(c, 60))
		r->msync.flags = (int)below(c, 32);
	if (chance(c, 30))
		r->msync.addr += below(c, PAGE);
	if (chance(c, 60))
		r->msync.length = chance(c, 2) ? 0 : -below(c, 10 * PAGE);
}

static void make_mincore(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = some_range(c, p);

	r->op = VMSPACE_MINCORE;
	r->mincore = (struct vmspace_mincore){ s.start, s.end - s.start, chance(c, 40) };
	/* mincore() writes a byte for each page to the puppet's scratch memory. */
	if (r->mincore.length > PUPPET_SCRATCH_BYTES * PAGE)
		r->mincore.length = PUPPET_SCRATCH_BYTES * PAGE;
	if (chance(c, 30))
		r->mincore.addr += below(c, PAGE);
	if (chance(c, 30))
		r->mincore.length -= below(c, PAGE);
	if (chance(c, 60))
		r->mincore.length = chance(c, 2) ? 0 : -below(c, 10 * PAGE);
}

/* mbind() and set_mempolicy_home_node(). */
static void make_policy(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const int modes[] = { 0, 1, 2, 3, 4, 5, 2 | 1 << 15, 3 | 1 << 14, 2 | 1 << 13,
				     1 | 1 << 15, 0, 2 };
	struct span s = some_range(c, p);

	if (chance(c, 5)) {
		r->op = VMSPACE_SET_HOME_NODE;
		r->home_node = (struct vmspace_home_node){ s.start, s.end - s.start,
							   chance(c, 20), chance(c, 40) };
		if (chance(c, 30))
			r->home_node.addr += below(c, PAGE);
		return;
	}
	r->op = VMSPACE_MBIND;
	r->mbind = (struct vmspace_mbind){ s.start, s.end - s.start,
		modes[below(c, sizeof(modes) / sizeof(modes[0]))], 1, 0 };
	if (r->mbind.mode == 0 || r->mbind.mode == 4)
		r->mbind.nodes = chance(c, 20);
	else if (chance(c, 8))
		r->mbind.nodes = below(c, 8);
	if (chance(c, 30))
		r->mbind.mode = (int)below(c, 9) | (int)below(c, 8) << 13;
	if (chance(c, 8))
		r->mbind.flags = (unsigned int)below(c, 5);
	if (chance(c, 60))
		r->mbind.flags = (unsigned int)below(c, 32);
	/* MPOL_MF_STRICT fails for pages on other nodes, which libvmspace does not know. */
	if (r->mbind.mode == 4 || !(r->mbind.nodes & 1))
		r->mbind.flags &= ~1u;
	if (chance(c, 30))
		r->mbind.addr += below(c, PAGE);
	if (chance(c, 60))
		r->mbind.length = 0;
}

/* The ranges are never freed, since scripts keep pointers to them. */
static void make_process_madvise(struct generator *c, const struct pair *p,
				 struct vmspace_request *r)
{
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_DONTFORK, MADV_DOFORK,
		MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_NOHUGEPAGE,
		MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_DONTNEED, MADV_FREE, MADV_WILLNEED,
		MADV_COLD, MADV_PAGEOUT, 77,
	};
	static struct vmspace_range ring[1 << 16];
	static size_t next;
	size_t count = 1 + below(c, 4);
	struct vmspace_range *ranges;

	if (next + count > sizeof(ring) / sizeof(ring[0]))
		next = 0;
	ranges = &ring[next];
	next += count;
	for (size_t i = 0; i < count; i++) {
		struct span s = some_range(c, p);

		ranges[i] = (struct vmspace_range){ s.start, s.end - s.start };
		if (chance(c, 40))
			ranges[i].length = 0;
		if (chance(c, 60))
			ranges[i].addr += below(c, PAGE);
	}
	r->op = VMSPACE_PROCESS_MADVISE;
	r->process_madvise = (struct vmspace_process_madvise){
		ranges, count, advice[below(c, sizeof(advice) / sizeof(advice[0]))],
		chance(c, 60) };
}

static uint64_t draw_features(struct generator *c)
{
	const uint64_t possible = puppet_uffd_features();
	uint64_t features = 0;

	for (uint64_t bit = 1; bit && bit <= possible; bit <<= 1)
		if (possible & bit && chance(c, 2))
			features |= bit;
	return features;
}

/* An existing userfaultfd or a new one. The context number determines the features. */
static void some_uffd(struct generator *c, const struct pair *p, struct vmspace_uffd *u)
{
	const struct puppet *puppet = &p->puppet;
	const struct puppet_uffd *known;

	if (!puppet->uffd_count || (puppet->uffd_count < PUPPET_UFFDS && chance(c, 8))) {
		u->context = ++c->last_uffd;
		u->features = chance(c, 3) ? 0 : draw_features(c);
		return;
	}
	known = &puppet->uffds[below(c, puppet->uffd_count)];
	u->context = known->context;
	u->features = known->features;
}

/* UFFDIO_REGISTER, UFFDIO_UNREGISTER, or the last close of a userfaultfd. */
static void make_uffd(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const uint64_t modes[] = {
		UFFDIO_REGISTER_MODE_MISSING, UFFDIO_REGISTER_MODE_WP,
		UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
		UFFDIO_REGISTER_MODE_MINOR,
	};
	struct vmspace_uffd *u = &r->uffd;
	struct span s = some_range(c, p);

	some_uffd(c, p, u);
	if (chance(c, 12) && puppet_uffd_find(&p->puppet, u->context)) {
		r->op = VMSPACE_UFFD_RELEASE;
		*u = (struct vmspace_uffd){ .context = u->context };
		return;
	}
	u->addr = s.start;
	u->length = s.end - s.start;
	if (chance(c, 4)) {
		r->op = VMSPACE_UFFD_UNREGISTER;
	} else {
		r->op = VMSPACE_UFFD_REGISTER;
		u->mode = chance(c, 12) ? below(c, 16) : modes[below(c, chance(c, 3) ? 4 : 3)];
	}
	if (chance(c, 60))
		u->addr += below(c, PAGE);
	if (chance(c, 60))
		u->length = chance(c, 2) ? below(c, PAGE) : -below(c, 10 * PAGE);
	if (chance(c, 100))
		u->addr = below(c, 4) * (1UL << 46);
}

static void (*const makers[GEN_KINDS])(struct generator *c, const struct pair *p,
				    struct vmspace_request *r) = {
	[GEN_MMAP] = make_mmap, [GEN_MMAP_FILE] = make_mmap_file,
	[GEN_MMAP_SHARED] = make_mmap_shared, [GEN_MUNMAP] = make_munmap,
	[GEN_MPROTECT] = make_mprotect, [GEN_MREMAP] = make_mremap, [GEN_BRK] = make_brk,
	[GEN_MADVISE] = make_madvise, [GEN_MLOCK] = make_mlock,
	[GEN_MLOCKALL] = make_mlockall, [GEN_FAULT] = make_fault, [GEN_SHM] = make_shm,
	[GEN_REMAP_PAGES] = make_remap_pages, [GEN_MSEAL] = make_mseal,
	[GEN_MSYNC] = make_msync, [GEN_MINCORE] = make_mincore, [GEN_POLICY] = make_policy,
	[GEN_PROCESS_MADVISE] = make_process_madvise, [GEN_NAME] = make_name,
	[GEN_UFFD] = make_uffd,
};

void generator_fill(struct generator *c, const struct pair *p, enum gen_kind kind,
		    struct vmspace_request *req)
{
	memset(req, 0, sizeof(*req));
	makers[kind](c, p, req);
}
