/* SPDX-License-Identifier: MIT */
/*
 * vmspace_fork_random.c - children that share their parent's areas are what children with copies are.
 *
 * Two families get the same random calls: in one forks share areas, in the other, whose spaces are
 * for several threads, they copy them. Members fork, are forked from, go, and are looked at by
 * snapshots, in any order. Results, areas, anon_vmas and counters must be equal all the time; with
 * memory refused at random in the first family, a call that fails has changed nothing.
 *
 *	vmspace_fork_random [--seed N] [--ops N]
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <mapletree/maple_tree_rcu.h>
#include <mapletree/vmspace_window.h>
#include <mapletree/vmspace_words.h>

#include "families.h"
#include "mman_names.h"
#include "options.h"
#include "scarce.h"

#define WINDOW 0x10000000UL    /* where most calls are made */
#define WINDOW_PAGES 64UL
#define REST 0x30000000UL      /* more areas, which random calls leave: builds that are shipped share no less */
#define REST_AREAS 256UL
#define MEMBERS 6

/* A member, in both families; or none. */
struct member {
	struct vmspace *space[FAMILIES];
	const struct vmspace *view[FAMILIES]; /* snapshots of it, or NULL */
};

static unsigned long long seed;
static uint64_t random_state;
static unsigned long ops = 4000;
static struct member member[MEMBERS];
static unsigned long shared_forks, becomes, refusals;

static unsigned long draw(unsigned long below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(random_state >> 33) % below;
}

/* ---- random calls --------------------------------------------------------------------------- */

static unsigned long draw_range(unsigned long *pages)
{
	if (!draw(4)) {
		*pages = draw(3) ? 1 + draw(6) : 1 + draw(2 * FILL_AREAS / 2);
		return FILL + draw(2 * FILL_AREAS) * PAGE;
	}
	*pages = 1 + draw(draw(4) ? 4 : WINDOW_PAGES);
	return WINDOW + draw(WINDOW_PAGES - 4) * PAGE;
}

static int draw_prot(void)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
				     PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };

	return prots[draw(5)];
}

static int draw_advice(void)
{
	static const int advices[] = { MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK, MADV_KEEPONFORK,
				       MADV_DONTDUMP, MADV_DODUMP, MADV_DONTNEED, MADV_RANDOM,
				       MADV_POPULATE_WRITE, MADV_GUARD_INSTALL };

	return advices[draw(10)];
}

static void draw_mmap(struct vmspace_request *req, unsigned long addr, unsigned long bytes)
{
	static const char *const files[] = { "/lib/a", "/lib/b" };
	bool file = !draw(3);

	*req = REQUEST(VMSPACE_MMAP, mmap, .addr = addr, .length = bytes, .prot = draw_prot());
	req->mmap.flags = (draw(5) ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED;
	if (!file) {
		req->mmap.flags |= MAP_ANONYMOUS;
		return;
	}
	req->mmap.offset = addr & 0xfffff;
	req->mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = 7,
						  .name = files[draw(2)] };
}

static void draw_uffd(struct vmspace_request *req, unsigned long addr, unsigned long bytes)
{
	*req = REQUEST(draw(2) ? VMSPACE_UFFD_REGISTER : VMSPACE_UFFD_UNREGISTER, uffd, .addr = addr,
		       .length = bytes, .mode = 1, .context = 1 + (unsigned int)draw(2));
	req->uffd.features = draw(2) ? 2 /* UFFD_FEATURE_EVENT_FORK */ : 0;
}

static void draw_call(struct vmspace_request *req)
{
	unsigned long pages, to_pages, addr = draw_range(&pages), bytes = pages * PAGE;

	switch (draw(20)) {
	case 0: case 1: case 2: case 3:
		draw_mmap(req, addr, bytes);
		return;
	case 4: case 5: case 6:
		*req = REQUEST(VMSPACE_MUNMAP, munmap, addr, bytes);
		return;
	case 7: case 8: case 9:
		*req = REQUEST(VMSPACE_MPROTECT, mprotect, addr, bytes, draw_prot(), -1);
		return;
	case 10: case 11:
		*req = REQUEST(VMSPACE_MREMAP, mremap, .addr = addr, .old_length = bytes);
		req->mremap.flags = draw(3) ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE;
		req->mremap.new_length = draw(2) ? bytes : PAGE * (1 + draw(8));
		req->mremap.new_addr = draw_range(&to_pages);
		if (!draw(4)) {
			req->mremap.new_length = bytes;
			req->mremap.flags |= MREMAP_DONTUNMAP;
		}
		return;
	case 12: case 13:
		*req = REQUEST(VMSPACE_MADVISE, madvise, addr, bytes, draw_advice());
		return;
	case 14:
		*req = REQUEST(draw(2) ? VMSPACE_MLOCK : VMSPACE_MUNLOCK, mlock, .addr = addr, .length = bytes);
		return;
	case 15:
		*req = REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, addr, bytes,
			       draw(2) ? "name" : NULL);
		return;
	case 16:
		*req = REQUEST(VMSPACE_MBIND, mbind, addr, bytes, draw(2) ? 2 : 0, 1, 0);
		return;
	case 17:
		draw_uffd(req, addr, bytes);
		return;
	default:
		*req = REQUEST(VMSPACE_FAULT, fault, addr, VMSPACE_ACCESS_WRITE);
	}
}

/* What says that the call of both is the same one: events, in order. */
static void match_events(const struct vmspace_outcome *a, const struct vmspace_outcome *b)
{
	assert_int_equal(a->event_count, b->event_count);
	for (size_t i = 0; i < a->event_count && i < VMSPACE_EVENT_MAX; i++) {
		assert_int_equal(a->events[i].kind, b->events[i].kind);
		assert_int_equal(a->events[i].start, b->events[i].start);
		assert_int_equal(a->events[i].end, b->events[i].end);
	}
}

static struct vmspace_request request[FAMILIES];

/* With memory refused, the call may have failed: then it has changed nothing, and is forgotten. */
static void call_both(const struct member *of, const struct vmspace_request *wanted, bool scarcely)
{
	request[SHARES] = request[COPIES] = *wanted;
	/* What calls keep in reserve takes many blocks at first. */
	scarce.one_of = scarcely && draw(2) ? draw(2) ? 8 : 200 : 0;
	vmspace_call(of->space[SHARES], &request[SHARES]);
	scarce.one_of = 0;
	if (request[SHARES].out.out_of_memory) {
		refusals++;
		match(of->space[SHARES], of->space[COPIES]);
		return;
	}
	vmspace_call(of->space[COPIES], &request[COPIES]);
	assert_int_equal(request[SHARES].out.result, request[COPIES].out.result);
	match_events(&request[SHARES].out, &request[COPIES].out);
}

static struct member *draw_member(bool living)
{
	struct member *of;

	do
		of = &member[draw(MEMBERS)];
	while (living && !of->space[SHARES]);
	return of;
}

static void close_views(struct member *of)
{
	if (!of->view[SHARES])
		return;
	match(of->view[SHARES], of->view[COPIES]);
	for (int family = 0; family < FAMILIES; family++) {
		vmspace_snapshot_close(of->view[family]);
		of->view[family] = NULL;
	}
}

static void end_member(struct member *of)
{
	if (!of->space[SHARES])
		return;
	if (draw(2))
		close_views(of);
	for (int family = 0; family < FAMILIES; family++) {
		vmspace_destroy(of->space[family]);
		of->space[family] = NULL;
	}
	close_views(of);
}

static void fork_both(const struct member *parent, struct member *child, bool scarcely)
{
	static const struct vmspace_request wanted = { .op = VMSPACE_FORK };

	if (child == parent || child == member) /* the first one stays */
		return;
	end_member(child);
	call_both(parent, &wanted, scarcely);
	if (request[SHARES].out.out_of_memory)
		return;
	for (int family = 0; family < FAMILIES; family++)
		child->space[family] = request[family].fork.child;
	shared_forks += shares(child->space[SHARES]);
	assert_false(shares(child->space[COPIES]));
	match(child->space[SHARES], child->space[COPIES]);
}

/*
 * One family's becomes the child of itself, the other's has a child and goes: there is no difference. Either
 * family may be the one.
 */
static void become_both(struct member *of, bool scarcely)
{
	int one = scarcely ? SHARES : (int)draw(FAMILIES), other = FAMILIES - 1 - one;
	struct vmspace *parent = of->space[other];
	int err;

	scarce.one_of = scarcely ? draw(2) ? 50 : 5000 : 0;
	err = vmspace_become_child(of->space[one]);
	scarce.one_of = 0;
	becomes += !err;
	if (err) {
		assert_true(scarcely && err == -ENOMEM);
		refusals++;
		match(of->space[SHARES], of->space[COPIES]);
		return;
	}
	of->space[other] = fork_of(parent);
	vmspace_destroy(parent);
	match(of->space[SHARES], of->space[COPIES]);
}

static void snapshot_both(struct member *of)
{
	close_views(of);
	for (int family = 0; family < FAMILIES; family++)
		assert_int_equal(vmspace_snapshot(&of->view[family], of->space[family]), 0);
}

/*
 * What mirrors correct. (Which anon_vma an area has is not corrected beside a view: those that were
 * opened show it, too, unless the area was inherited then, or a child came since.)
 */
static void correct_both(const struct member *of)
{
	const struct vma_backing is = { .kind = VMA_BACKING_FILE, .inode = 9, .name = "/lib/c" };
	unsigned long pages, addr = draw_range(&pages), kind = draw(6);
	struct vma_info info;

	for (int family = 0; family < FAMILIES; family++) {
		struct vmspace *space = of->space[family];

		if (kind == 0 && !of->view[family])
			vmspace_part_anon(space, addr);
		else if (kind == 1)
			vmspace_drop_anon(space, addr);
		else if (kind == 2 && vmspace_lookup(space, addr, &info))
			vmspace_inherit_anon(space, addr, info.anon_id && pages & 1);
		else if (kind == 3)
			vmspace_identify(space, addr, &is);
		else if (kind == 4)
			vmspace_set_word(space, addr, pages * PAGE, pages & 1);
		else if (kind == 5 && !of->view[family] &&
			 vmspace_lookup(space, WINDOW + 5 * PAGE, &info) && info.anon_id &&
			 !(info.flags & VMA_SHARED)) {
			uint64_t keep = info.anon_id;

			if (vmspace_lookup(space, addr, &info))
				vmspace_join_anon(space, keep, info.anon_id);
		}
	}
}

static void explain_both(const struct member *of)
{
	struct vma_explanation why[FAMILIES];
	unsigned long pages, addr = draw_range(&pages);
	int found = vmspace_explain(of->space[SHARES], addr, addr + pages * PAGE, &why[SHARES]);

	assert_int_equal(vmspace_explain(of->space[COPIES], addr, addr + pages * PAGE, &why[COPIES]),
			 found);
	assert_int_equal(why[SHARES].verdict, why[COPIES].verdict);
}

static void match_all(void)
{
	for (int i = 0; i < MEMBERS; i++)
		if (member[i].space[SHARES])
			match(member[i].space[SHARES], member[i].space[COPIES]);
}

static void step(bool scarcely)
{
	struct member *of = draw_member(true);
	struct vmspace_request wanted;

	switch (draw(40)) {
	case 0: case 1: case 2:
		fork_both(of, draw_member(false), scarcely);
		return;
	case 3:
		if (of != member)
			end_member(of);
		return;
	case 4:
		snapshot_both(of);
		return;
	case 5:
		close_views(of);
		return;
	case 6: case 7:
		if (!scarcely)
			correct_both(of);
		break;
	case 8:
		explain_both(of);
		return;
	case 9:
		become_both(of, scarcely);
		return;
	case 10: /* a space so small that its children get copies */
		if (of == member)
			return;
		wanted = REQUEST(VMSPACE_MUNMAP, munmap, REST, REST_AREAS * 2 * PAGE);
		call_both(of, &wanted, scarcely);
		break;
	default:
		draw_call(&wanted);
		call_both(of, &wanted, scarcely);
	}
	match_below(of->space[SHARES], of->space[COPIES], WINDOW + WINDOW_PAGES * PAGE);
}

static void family(bool scarcely)
{
	memset(member, 0, sizeof(member));
	for (int i = 0; i < FAMILIES; i++) {
		member[0].space[i] = create(i == COPIES);
		if (scarcely && i == SHARES)
			assert_int_equal(mt_set_allocator(&member[0].space[i]->tree, &scarce_nodes), 0);
		fill(member[0].space[i], FILL_AREAS);
		fill_from(member[0].space[i], REST, REST_AREAS);
	}
	shared_forks = becomes = 0;
	for (unsigned long i = 0; i < ops; i++) {
		step(scarcely);
		if (i % 32 == 0)
			match_all();
	}
	for (int i = 0; i < MEMBERS; i++)
		end_member(&member[i]);
	print_message("%lu forks shared, %lu in place\n", shared_forks, becomes);
	assert_true(shared_forks > ops / 100 && becomes > ops / 200);
	mt_barrier();
}

static void random_family(void **state)
{
	(void)state;
	family(false);
}

static void random_family_without_memory(void **state)
{
	(void)state;
	refusals = 0;
	family(true);
	assert_true(refusals > ops / 50);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_family),
		cmocka_unit_test(random_family_without_memory),
	};

	if (!take_options(argc, argv, &seed, &ops))
		return 2;
	print_message("seed %llu\n", seed);
	random_state = seed;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
