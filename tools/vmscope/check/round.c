/* SPDX-License-Identifier: MIT */
/*
 * A round of "vmscope check": random calls on a new family, until there are enough or something
 * differs.
 */
#include "check/round.h"

#include <string.h>

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators". */
uint64_t round_seed(uint64_t seed, unsigned long n)
{
	uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void count(struct tally *tally, const struct script_step *step)
{
	unsigned long *of = &tally->exits;

	if (step->verb == SCRIPT_SET)
		of = &tally->settings;
	else if (step->verb == SCRIPT_FORK)
		of = &tally->by_op[VMSPACE_FORK];
	else if (step->verb == SCRIPT_CALL)
		of = &tally->by_op[step->req.op];
	__atomic_add_fetch(of, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&tally->ops, 1, __ATOMIC_RELAXED);
}

/* A random member that is alive. */
static unsigned int some_member(struct family *family)
{
	unsigned long n = random_below(&family->generator, family->alive);
	unsigned int who = 0;

	while (!family->members[who] || n-- > 0)
		who++;
	return who;
}

static void make_step(struct family *family, unsigned int who, struct script_step *step)
{
	struct generator *generator = &family->generator;
	enum gen_kind kind = generator_pick(generator, family->members[who]);

	memset(step, 0, sizeof(*step));
	step->who = who;
	if (kind == GEN_FORK) {
		step->verb = SCRIPT_FORK;
		step->child = family->created;
	} else if (kind == GEN_EXIT) {
		step->verb = SCRIPT_EXIT;
	} else if (kind == GEN_SET) {
		step->verb = SCRIPT_SET;
		step->settings = settings_draw(generator, family->members[who], &family->initial);
	} else {
		step->verb = SCRIPT_CALL;
		generator_fill(generator, family->members[who], kind, &step->req);
	}
}

static enum family_result play(struct round *round, struct family *family)
{
	unsigned int who = 0;

	for (unsigned long done = 0; done < round->ops; done++) {
		struct script_step step;
		enum family_result result;

		if (__atomic_load_n(&round->tally->stop, __ATOMIC_RELAXED))
			break;
		if (!family->members[who] || random_below(&family->generator, 20) == 0)
			who = some_member(family);
		make_step(family, who, &step);
		if (!script_add(&round->script, &step))
			return FAMILY_GONE;
		result = family_perform(family, &round->script.steps[round->script.count - 1]);
		if (result == FAMILY_SKIPPED) {
			round->script.count--;
			continue;
		}
		if (result == FAMILY_GONE)
			return result;
		count(round->tally, &step);
		if (step.verb != SCRIPT_EXIT && step.verb != SCRIPT_SET)
			cover_request(&round->tally->cover, family->members[who]);
		if (result == FAMILY_KNOWN)
			__atomic_add_fetch(&round->tally->known[family->known], 1,
					   __ATOMIC_RELAXED);
		if (result != FAMILY_EQUAL)
			return result;
	}
	return FAMILY_EQUAL;
}

enum family_result round_run(struct round *round)
{
	static const enum pair_way ways[] = { PAIR_PURE, PAIR_PURE, PAIR_TOLD, PAIR_ASKED };
	struct generator draws = { .state = round_seed(round->seed, 0) | 1 };
	const struct mix *mix = round->mix;
	enum family_result result = FAMILY_GONE;
	enum pair_way way;
	struct family family;
	size_t mixes = 0;

	way = ways[random_below(&draws, 4)];
	if (round->draw_way)
		round->mode.way = way;
	round->mode.bottom_up = random_below(&draws, 8) == 0;
	round->mode.read_implies_exec = random_below(&draws, 16) == 0;
	/* With a way that was asked for, the same seed makes the same calls. */
	round->mode.aslr = random_below(&draws, 8) == 0 && round->draw_way;
	while (mix_nth(mixes))
		mixes++;
	/* Half of the rounds use the first mix, which is the broadest. */
	if (!mix)
		mix = random_below(&draws, 2) ? mix_nth(0) : mix_nth(random_below(&draws, mixes));
	round->script.mode = round->mode;
	if (family_start(&family, &round->mode, NULL) == 0) {
		generator_init(&family.generator, round->seed, mix, family.members[0]);
		family.known_shown = round->tally->known;
		result = play(round, &family);
	}
	family_end(&family);
	return result;
}
