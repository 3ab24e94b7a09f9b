/* SPDX-License-Identifier: MIT */
/* The arguments of random calls about the pages and attributes of areas. */
#include <linux/userfaultfd.h>
#include <sys/mman.h>

#include "check/calls.h"
#include "check/draw.h"
#include "check/puppet_uffd.h"

#define MADV_COLLAPSE_ADVICE 25
#define MADV_GUARD_INSTALL_ADVICE 102
#define MADV_GUARD_REMOVE_ADVICE 103

void call_madvise(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_DONTFORK, MADV_DOFORK,
		MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_DONTNEED, MADV_FREE,
		MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE,
		24, MADV_REMOVE, MADV_COLLAPSE_ADVICE, MADV_GUARD_INSTALL_ADVICE,
		MADV_GUARD_REMOVE_ADVICE, 77,
	};
	struct span s = draw_range(c, p);

	r->op = VMSPACE_MADVISE;
	r->madvise = (struct vmspace_madvise){
		s.start, s.end - s.start, advice[below(c, sizeof(advice) / sizeof(advice[0]))] };
	if (chance(c, 60))
		r->madvise.addr += below(c, PAGE);
	if (chance(c, 60))
		r->madvise.length = 0;
}

/* PR_SET_VMA_ANON_NAME. The names are static, since scripts keep pointers to them. */
void call_name(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const char *const names[] = { "first", "second", "two words", NULL, "", "no\\ne" };
	struct span s = draw_range(c, p);

	r->op = VMSPACE_SET_ANON_NAME;
	r->set_anon_name = (struct vmspace_set_anon_name){
		s.start, s.end - s.start, names[below(c, chance(c, 20) ? 6 : 4)] };
	if (chance(c, 40))
		r->set_anon_name.addr += below(c, PAGE);
	if (chance(c, 40))
		r->set_anon_name.length = chance(c, 2) ? 0 : -below(c, 10 * PAGE);
}

void call_mlock(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	r->op = chance(c, 2) ? VMSPACE_MLOCK : VMSPACE_MUNLOCK;
	r->mlock = (struct vmspace_mlock){ s.start, s.end - s.start, 0, false };
	if (chance(c, 3) && r->op == VMSPACE_MLOCK) {
		r->mlock.mlock2 = true;
		r->mlock.flags = chance(c, 10) ? (int)below(c, 8) : (int)below(c, 2);
	}
	if (chance(c, 10))
		r->mlock.addr += below(c, PAGE);
}

void call_mlockall(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	(void)p;
	if (chance(c, 3)) {
		r->op = VMSPACE_MLOCKALL;
		r->mlockall.flags = (int)below(c, chance(c, 8) ? 16 : 8);
	} else {
		r->op = VMSPACE_MUNLOCKALL;
	}
}

void call_fault(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	r->op = VMSPACE_FAULT;
	r->fault.addr =
		s.start + below(c, (s.end - s.start) / PAGE + 1) * PAGE + below(c, PAGE - 8);
	if (chance(c, 12))
		r->fault.addr = s.start - below(c, chance(c, 3) ? 64 : 8) * PAGE - 64;
	r->fault.access = chance(c, 4) ? VMSPACE_ACCESS_READ : VMSPACE_ACCESS_WRITE;
}

void call_mseal(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	r->op = VMSPACE_MSEAL;
	r->mseal = (struct vmspace_mseal){ s.start, s.end - s.start, chance(c, 10) };
}

void call_msync(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

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

void call_mincore(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	r->op = VMSPACE_MINCORE;
	r->mincore = (struct vmspace_mincore){ .addr = s.start, .length = s.end - s.start,
					       .bad_vec = chance(c, 40) };
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
void call_policy(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const int modes[] = { 0, 1, 2, 3, 4, 5, 2 | 1 << 15, 3 | 1 << 14, 2 | 1 << 13,
				     1 | 1 << 15, 0, 2 };
	struct span s = draw_range(c, p);

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
	if (!vmspace_config(p->space)->move_all_privileged && chance(c, 6))
		r->mbind.flags = 4; /* MPOL_MF_MOVE_ALL */
	if (chance(c, 30))
		r->mbind.addr += below(c, PAGE);
	if (chance(c, 60))
		r->mbind.length = 0;
}

/* The ranges are never freed, since scripts keep pointers to them. */
void call_process_madvise(struct generator *c, const struct pair *p,
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
		struct span s = draw_range(c, p);

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
void call_uffd(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	static const uint64_t modes[] = {
		UFFDIO_REGISTER_MODE_MISSING, UFFDIO_REGISTER_MODE_WP,
		UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
		UFFDIO_REGISTER_MODE_MINOR,
	};
	struct vmspace_uffd *u = &r->uffd;
	struct span s = draw_range(c, p);

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
