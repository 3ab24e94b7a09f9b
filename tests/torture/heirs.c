/* SPDX-License-Identifier: MIT */
/*
 * heirs.c - snapshots of the tree under torture, and snapshots of these, beside all that happens to
 * it. Each thread owns a few: it reads them again and again, which must give the same as long as it
 * does not write to them, writes to them, snapshots and destroys them. A reader of its own reads
 * them meanwhile.
 */
#include <pthread.h>
#include <stdlib.h>
#include <urcu/urcu-bp.h>

#include "world.h"

#define HEIRS 3

/* @digest: of the content, if @alive. The tree itself is always initialised, for the reader. */
struct heir {
	struct maple_tree mt;
	bool alive;
	unsigned long digest;
};

struct estate {
	struct worker reader;
	struct heir heir[HEIRS];
	bool stop;           /* atomic */
};

static unsigned long mix(unsigned long digest, unsigned long value)
{
	return (digest ^ value) * 0x9e3779b97f4a7c15ul + (digest >> 7);
}

/*
 * Of what is in the tree; an entry is one that may stand there. Unless the tree is @still, a range
 * may have grown over what has been passed.
 */
static unsigned long read_all(struct worker *me, struct maple_tree *mt, bool still)
{
	unsigned long digest = 1, next = 0;
	void *entry;
	MA_STATE(mas, mt, 0, 0);

	mas_for_each(&mas, entry, ULONG_MAX) {
		unsigned int zone = zone_of(me->world, mas.index);
		struct tag tag = entry_tag(entry);

		expect(me, xa_is_value(entry) && tag.zone == zone, "%p at %#lx", entry, mas.index);
		expect(me, !me->world->counted || entry_lives(entry), "%p is gone", entry);
		expect(me, next <= (still ? mas.index : mas.last) && mas.index <= mas.last,
		       "%#lx..%#lx after %#lx", mas.index, mas.last, next);
		digest = mix(mix(mix(digest, mas.index), mas.last), (unsigned long)entry);
		next = mas.last + 1;
	}
	return digest;
}

/* With the lock, or as readers do; nobody else writes to a heir. */
static unsigned long digest_of(struct worker *me, struct maple_tree *mt)
{
	bool locked = below(me, 2);
	unsigned long digest;

	if (locked)
		mtree_lock(mt);
	else
		urcu_bp_read_lock();
	digest = read_all(me, mt, true);
	if (locked)
		mtree_unlock(mt);
	else
		urcu_bp_read_unlock();
	return digest;
}

static void check(struct worker *me, struct heir *heir)
{
	const char *reason;
	unsigned long digest = digest_of(me, &heir->mt);

	expect(me, digest == heir->digest, "a snapshot has changed: %#lx, not %#lx", digest,
	       heir->digest);
	if (below(me, 8))
		return;
	mtree_lock(&heir->mt);
	expect(me, mt_check(&heir->mt, &reason), "%s", reason);
	mtree_unlock(&heir->mt);
}

/* Some stores and erasures, of a few indexes or of many. */
static void change(struct worker *me, struct heir *heir)
{
	struct world *w = me->world;
	unsigned int i, stores = 1 + below(me, 12);

	for (i = 0; i < stores; i++) {
		unsigned int zone = below(me, w->zones + 1), first = below(me, ZONE_WIDTH);
		unsigned int width = below(me, 8) ? 6 : ZONE_WIDTH, last = first + below(me, width);
		struct tag tag = { zone, 0, ZONE_WIDTH - 1, 1 + below(me, 1000) };
		int error;

		if (last >= ZONE_WIDTH)
			last = ZONE_WIDTH - 1;
		if (!below(me, 3)) {
			mtree_erase(&heir->mt, offset_first(zone, first));
			continue;
		}
		error = mtree_store_range(&heir->mt, offset_first(zone, first),
					  offset_first(zone, last),
					  below(me, 3) ? tag_entry(tag) : NULL, GFP_KERNEL);
		expect(me, !error, "store: %d", error);
	}
	heir->digest = digest_of(me, &heir->mt);
}

/* A snapshot of the tree under torture, or of another heir, in the place of @heir. */
static void succeed(struct worker *me, struct estate *estate, struct heir *heir)
{
	struct heir *from = &estate->heir[below(me, HEIRS)];
	bool of_heir = from->alive && below(me, 2);
	int error;

	error = mtree_snapshot(of_heir ? &from->mt : &me->world->mt, &heir->mt, GFP_KERNEL);
	expect(me, !error, "snapshot: %d", error);
	heir->alive = true;
	heir->digest = digest_of(me, &heir->mt);
	expect(me, !of_heir || heir->digest == from->digest, "a snapshot differs: %#lx, not %#lx",
	       heir->digest, from->digest);
}

static void act(struct worker *me, struct estate *estate)
{
	struct heir *heir = &estate->heir[below(me, HEIRS)];

	if (!heir->alive) {
		succeed(me, estate, heir);
		return;
	}
	switch (below(me, 6)) {
	case 0:
		check(me, heir);
		mtree_destroy(&heir->mt);
		heir->alive = false;
		break;
	case 1: case 2: case 3:
		check(me, heir);
		change(me, heir);
		break;
	default:
		check(me, heir);
	}
	__atomic_fetch_add(&me->world->snapshots, 1, __ATOMIC_RELAXED);
}

/* Reads the heirs of another thread, which writes to them and destroys them. */
static void *read_heirs(void *arg)
{
	struct estate *estate = arg;
	struct worker *me = &estate->reader;

	while (!__atomic_load_n(&estate->stop, __ATOMIC_RELAXED)) {
		struct maple_tree *mt = &estate->heir[below(me, HEIRS)].mt;
		unsigned int zone = below(me, me->world->zones + 1);
		unsigned long index = offset_first(zone, below(me, ZONE_WIDTH));
		void *entry = mtree_load(mt, index);

		expect(me, !entry || (xa_is_value(entry) && entry_tag(entry).zone == zone),
		       "%p at %#lx", entry, index);
		urcu_bp_read_lock();
		read_all(me, mt, false);
		urcu_bp_read_unlock();
	}
	return NULL;
}

void *heir_run(void *arg)
{
	struct worker *me = arg;
	struct estate estate = { .reader = *me };
	pthread_t reader;
	unsigned int i;

	estate.reader.number += 100;
	random_seed(&estate.reader.random, me->world->seed + estate.reader.number);
	for (i = 0; i < HEIRS; i++)
		world_init_tree(me->world, &estate.heir[i].mt);
	if (pthread_create(&reader, NULL, read_heirs, &estate))
		abort();
	while (!stopped(me->world))
		act(me, &estate);
	for (i = 0; i < HEIRS; i++)
		if (estate.heir[i].alive) {
			check(me, &estate.heir[i]);
			mtree_destroy(&estate.heir[i].mt);
		}
	__atomic_store_n(&estate.stop, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	return NULL;
}
