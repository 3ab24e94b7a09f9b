/* SPDX-License-Identifier: MIT */
/*
 * vmspace_words_random.c - words of areas beside a model: an array with the word of each page.
 *
 * Random calls (mmap, munmap, mprotect, mremap, vmspace_set_word(), fork) are made in two spaces, one
 * with words and one without. After each, every page has the word that the model says; the areas
 * without words are those of the other space, or parts of them that words keep apart. With hooks, the
 * model is driven by what they are told, answer and set, and the areas that they count are those
 * that are there; sometimes memory is refused: then nothing has changed, and no hook was called.
 *
 *	vmspace_words_random [--seed N] [--ops N]
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <mapletree/vmspace_words.h>

#include "options.h"
#include "scarce.h"
#include "units.h"

#define PAGES 48UL
#define BASE 0x100000000UL
#define AT(page) (BASE + (page) * PAGE)

static unsigned long long seed;
static unsigned long ops = 20000;
static uint64_t draws;

static unsigned long draw(unsigned long below)
{
	draws = draws * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(draws >> 33) % below;
}

/* ---- the model ---- */

struct model_page {
	bool mapped;
	uint64_t word;
};

static struct model_page model[PAGES];
static long counted;          /* areas, by what the hooks were told */
static unsigned long told;    /* changes */
static unsigned long kinds[VMSPACE_WORD_FORK + 1], kept_apart, refused;
static bool sets;             /* hooks set words */
static struct vmspace *plain; /* the space without words */

static unsigned long page_of(unsigned long addr)
{
	assert_in_range(addr, BASE, BASE + PAGES * PAGE);
	return (addr - BASE) / PAGE;
}

/* The pages of [start, end) that are mapped have the word `was`, and get `now`. */
static void become(unsigned long start, unsigned long end, uint64_t was, uint64_t now)
{
	for (unsigned long i = page_of(start); i < page_of(end); i++) {
		if (model[i].mapped)
			assert_int_equal(model[i].word, was);
		model[i] = (struct model_page){ true, now };
	}
}

static uint64_t maybe_another(uint64_t word)
{
	return sets && !draw(8) ? draw(6) : word;
}

/* The space can be read, and is in order, whatever is about to happen to it. */
static void read_space(const struct vmspace *of)
{
	struct vma_iterator it;
	struct vma_info info, again;
	unsigned long end = 0;

	vma_iter_init(&it, of, 0);
	while (vma_iter_next(&it, &info)) {
		assert_true(info.start >= end);
		end = info.end;
		assert_true(vmspace_lookup(of, info.end - 1, &again));
		assert_int_equal(again.start, info.start);
		assert_int_equal(again.word, info.word);
	}
}

static void change(void *ctx, const struct vmspace *of, struct vmspace_word_change *c)
{
	struct vma_info info;

	assert_ptr_equal(ctx, model);
	assert_ptr_equal(of, space);
	told++;
	kinds[c->kind]++;
	read_space(of);
	switch (c->kind) {
	case VMSPACE_WORD_SPLIT:
		counted++;
		assert_true(c->low == c->word && c->high == c->word);
		c->low = maybe_another(c->low);
		c->high = maybe_another(c->high);
		become(c->start, c->at, c->word, c->low);
		become(c->at, c->end, c->word, c->high);
		break;
	case VMSPACE_WORD_MERGE:
		counted--;
		c->word = maybe_another(c->word);
		become(c->start, c->at, c->low, c->word);
		become(c->at, c->end, c->high, c->word);
		break;
	case VMSPACE_WORD_MOVE:
		counted++;
		assert_int_equal(model[page_of(c->at)].word, c->low);
		c->word = maybe_another(c->word);
		become(c->start, c->end, c->low, c->word);
		break;
	case VMSPACE_WORD_DROP:
		counted--;
		become(c->start, c->end, c->word, 0);
		for (unsigned long i = page_of(c->start); i < page_of(c->end); i++)
			model[i].mapped = false;
		break;
	case VMSPACE_WORD_SET:
		c->word = maybe_another(c->word);
		become(c->start, c->end, c->low, c->word);
		break;
	case VMSPACE_WORD_FORK:
		assert_true(vmspace_lookup(c->child, c->start, &info));
		assert_true(info.end == c->end && info.word == c->low && c->word == c->low);
		c->word += 100;
		break;
	}
}

/* Words of one parity get along; the higher one stays. */
static bool can_merge(void *ctx, const struct vmspace *of, const struct vma_info *low,
		      const struct vma_info *high, uint64_t *word)
{
	(void)ctx;
	(void)of;
	assert_int_equal(low->end, high->start);
	assert_int_equal(*word, low->word);
	if ((low->word ^ high->word) & 1)
		return false;
	if (high->word > low->word)
		*word = high->word;
	return true;
}

/* ---- what must hold ---- */

static void check_pages(void)
{
	struct vma_info info;

	for (unsigned long i = 0; i < PAGES; i++) {
		assert_int_equal(vmspace_lookup(space, AT(i), &info), model[i].mapped);
		if (model[i].mapped)
			assert_int_equal(info.word, model[i].word);
	}
}

/* An area ends at the same places as without words, and besides where the words or the user say so. */
static void check_ends(bool hooks)
{
	struct vma_info with, without;
	struct vma_explanation why;

	for (unsigned long i = 0; i < PAGES; i++) {
		bool is = vmspace_lookup(plain, AT(i), &without);

		assert_int_equal(is, model[i].mapped);
		if (!is)
			continue;
		assert_true(vmspace_lookup(space, AT(i), &with));
		assert_true(with.flags == without.flags);
		assert_true(with.start >= without.start && with.end <= without.end);
		if (with.end == without.end || with.end != AT(i + 1))
			continue;
		assert_int_equal(vmspace_explain(space, AT(i), AT(i + 1), &why), 0);
		kept_apart += why.verdict == VMA_KEPT_APART;
		/* What the hooks have set may have become equal since. */
		if (why.verdict != VMA_KEPT_APART && !(hooks && why.verdict == VMA_NOT_TRIED))
			fail_msg("%s", why.text);
	}
}

/* The children have the parents' areas, and the words that the hook gave them. */
static void check_child(struct vmspace *child, bool hooks)
{
	struct vma_info info;

	for (unsigned long i = 0; i < PAGES; i++) {
		assert_int_equal(vmspace_lookup(child, AT(i), &info), model[i].mapped);
		if (model[i].mapped)
			assert_int_equal(info.word, model[i].word + (hooks ? 100 : 0));
	}
	assert_int_equal(vmspace_count_areas(child), vmspace_count_areas(space));
}

/* ---- the calls ---- */

/* The request in both spaces; memory may be short in the first. */
static long both(struct vmspace_request *r, bool scarcity)
{
	struct vmspace_request twin = *r;
	unsigned long before = told;
	const char *why;
	long result;

	if (scarcity && !draw(3))
		scarce.countdown = 1 + (long)draw(12);
	result = vmspace_call(space, r);
	scarce.countdown = 0;
	if (!vmspace_check(space, &why))
		fail_msg("%s", why);
	if (r->out.out_of_memory) {
		refused++;
		assert_int_equal(result, -ENOMEM);
		assert_int_equal(told, before);
		return -ENOMEM;
	}
	twin.word = 0;
	assert_int_equal(vmspace_call(plain, &twin), result);
	if (r->op == VMSPACE_FORK && !result)
		vmspace_destroy(twin.fork.child);
	return result;
}

/* What is mapped in the plain space now, and not in the model, has appeared with the word. */
static void appears(uint64_t word)
{
	struct vma_info info;

	for (unsigned long i = 0; i < PAGES; i++)
		if (!model[i].mapped && vmspace_lookup(plain, AT(i), &info))
			model[i] = (struct model_page){ true, word };
}

/* ... and what is mapped no longer, has gone. Hooks tell that. */
static void disappears(bool hooks)
{
	struct vma_info info;

	for (unsigned long i = 0; i < PAGES && !hooks; i++)
		if (!vmspace_lookup(plain, AT(i), &info))
			model[i].mapped = false;
}

static void random_map(bool hooks)
{
	unsigned long page = draw(PAGES), length = 1 + draw(PAGES - page < 8 ? PAGES - page : 8);
	struct vmspace_request r = { .op = VMSPACE_MMAP, .word = draw(4) };
	static const int protections[] = { PROT_READ, PROT_READ | PROT_WRITE };

	r.mmap = (struct vmspace_mmap){ .addr = AT(page), .length = length * PAGE,
					.prot = protections[draw(2)],
					.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
	if (both(&r, hooks) < 0)
		return;
	counted++;
	for (unsigned long i = page; i < page + length && !hooks; i++)
		model[i].mapped = false;
	appears(r.word);
}

static void random_range(struct vmspace_request *r, unsigned long *length)
{
	unsigned long page = draw(PAGES);

	*length = (1 + draw(PAGES - page < 12 ? PAGES - page : 12)) * PAGE;
	r->munmap = (struct vmspace_munmap){ AT(page), *length };
}

static void random_unmap(bool hooks)
{
	struct vmspace_request r = { .op = VMSPACE_MUNMAP };
	unsigned long length;

	random_range(&r, &length);
	if (!both(&r, hooks))
		disappears(hooks);
}

static void random_protect(bool hooks)
{
	struct vmspace_request r = { .op = VMSPACE_MPROTECT };
	unsigned long length;

	random_range(&r, &length);
	r.mprotect = (struct vmspace_mprotect){ r.munmap.addr, length, PROT_READ, -1 };
	if (draw(2))
		r.mprotect.prot |= PROT_WRITE;
	both(&r, hooks);
}

/*
 * Moves, with or without what was there, growth and shrinkage. Within one area of the space with words,
 * as without them it may be part of a larger one; elsewhere the calls end differently.
 */
static void random_move(bool hooks)
{
	unsigned long from = draw(PAGES), to = draw(PAGES - 6), length, wanted = 1 + draw(6);
	struct model_page moved[PAGES], old[PAGES];
	struct vmspace_request r = { .op = VMSPACE_MREMAP };
	bool fixed = draw(2);
	struct vma_info info;

	if (!vmspace_lookup(space, AT(from), &info))
		return;
	length = 1 + draw((info.end - AT(from)) / PAGE);
	if (!fixed && from + wanted > PAGES)
		return;
	r.mremap = (struct vmspace_mremap){ .addr = AT(from), .old_length = length * PAGE,
					    .new_length = wanted * PAGE };
	if (fixed) {
		r.mremap.flags = MREMAP_MAYMOVE | MREMAP_FIXED;
		r.mremap.new_addr = AT(to);
		if (length == wanted && !draw(3))
			r.mremap.flags |= MREMAP_DONTUNMAP;
	}
	memcpy(old, model, sizeof(old));
	memcpy(moved, model, sizeof(moved));
	/* In place: where it can be in both spaces. */
	if (!fixed && wanted > length && AT(from + length) != info.end)
		return;
	if (both(&r, hooks) < 0)
		return;
	if (!hooks && fixed) {
		for (unsigned long i = 0; i < wanted; i++)
			moved[to + i] = (struct model_page){ true, old[from].word };
		for (unsigned long i = 0; i < length && !(r.mremap.flags & MREMAP_DONTUNMAP); i++)
			moved[from + i].mapped = false;
		memcpy(model, moved, sizeof(model));
	}
	disappears(hooks);
	assert_true(vmspace_lookup(space, (unsigned long)r.out.result, &info));
	appears(info.word);
}

static void random_word(bool hooks)
{
	unsigned long page = draw(PAGES), length = 1 + draw(PAGES - page < 12 ? PAGES - page : 12);
	uint64_t word = draw(4);
	const char *why;
	long result = vmspace_set_word(space, AT(page), length * PAGE, word);

	assert_true(!result || result == -ENOMEM);
	if (!vmspace_check(space, &why))
		fail_msg("%s", why);
	for (unsigned long i = page; i < page + length && !hooks; i++)
		model[i].word = word;
}

static void random_fork(bool hooks)
{
	struct vmspace_request r = { .op = VMSPACE_FORK };

	if (both(&r, hooks))
		return;
	check_child(r.fork.child, hooks);
	/* Its areas are dropped in a space that is not ours. */
	assert_int_equal(vmspace_set_word_hooks(r.fork.child, NULL), 0);
	vmspace_destroy(r.fork.child);
}

static void (*const calls[])(bool) = { random_map, random_map, random_map, random_unmap,
				       random_protect, random_protect, random_move, random_word };

static const struct vmspace_word_hooks no_hooks = { .size = sizeof(no_hooks) };

static void run(bool threads, const struct vmspace_word_hooks *hooks)
{
	struct vmspace_config config;

	assert_int_equal(create(NULL), 0);
	config = *vmspace_config(space);
	plain = space;
	config.threads = threads;
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(mt_set_allocator(&space->tree, &scarce_nodes), 0);
	assert_int_equal(vmspace_set_word_hooks(space, hooks ? hooks : &no_hooks), 0);
	memset(model, 0, sizeof(model));
	counted = 0;
	draws = seed;
	for (unsigned long i = 0; i < ops; i++) {
		if (draw(50))
			calls[draw(sizeof(calls) / sizeof(calls[0]))](hooks);
		else
			random_fork(hooks);
		check_pages();
		check_ends(hooks);
		if (hooks)
			assert_int_equal(counted, vmspace_count_areas(space));
	}
	vmspace_destroy(space);
	if (hooks)
		assert_int_equal(counted, 0); /* all were dropped */
	vmspace_destroy(plain);
}

static const struct vmspace_word_hooks told_hooks = {
	.size = sizeof(told_hooks), .ctx = model, .change = change,
};
static const struct vmspace_word_hooks asked_hooks = {
	.size = sizeof(asked_hooks), .ctx = model, .change = change, .can_merge = can_merge,
};

static void words_alone(void **state)
{
	(void)state;
	run(false, NULL);
	run(true, NULL);
}

static void with_hooks(void **state)
{
	(void)state;
	sets = false;
	run(false, &told_hooks);
	sets = true;
	run(false, &told_hooks);
	run(true, &told_hooks);
}

static void with_a_say(void **state)
{
	(void)state;
	sets = false;
	run(false, &asked_hooks);
	run(true, &asked_hooks);
	sets = true;
	run(true, &asked_hooks);
}

/* A test that met too little would show nothing. */
static void everything_happened(void **state)
{
	(void)state;
	printf("# seed %llu: split %lu merge %lu move %lu drop %lu set %lu fork %lu; kept apart %lu; "
	       "%lu out of memory\n", seed, kinds[0], kinds[1], kinds[2], kinds[3], kinds[4],
	       kinds[5], kept_apart, refused);
	for (int i = 0; i <= VMSPACE_WORD_FORK; i++)
		assert_true(kinds[i] || ops < 1000);
	assert_true((kept_apart && refused) || ops < 1000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_alone),
		cmocka_unit_test(with_hooks),
		cmocka_unit_test(with_a_say),
		cmocka_unit_test(everything_happened),
	};

	if (!take_options(argc, argv, &seed, &ops))
		return 2;
	printf("# vmspace_words_random --seed %llu --ops %lu\n", seed, ops);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
