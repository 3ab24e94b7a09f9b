/* SPDX-License-Identifier: MIT */
/*
 * publish.pml - a writer that publishes and retires, against readers: every kind of write that
 * happens beside readers (enum write_kind), step by step, under a weak memory.
 *
 * Memory is that of C11 for one writer, relaxed, acquire and release, without out-of-thin-air
 * values: the log of all stores is kept, and a load may return any store to its word that the reader
 * is not bound to have seen the successor of. A reader is bound by what it loaded from the word before
 * (coherence) and by `floor`: every store up to there happened before. An acquire load of a
 * release store, an acquire fence behind a relaxed load of one, and the beginning of a read-side
 * section after a grace period has begun raise the floor. A relaxed store is bound to nothing.
 *
 * The tree: indexes 0 .. 4, nodes of four slots, the words and their order of access as in
 * src/mapletree: walk.h, walk.c (readers), publish.c, retire.c (the writer).
 *
 * What a cursor keeps between its steps is in cursor.pml.
 *
 * Built for one scenario at a time: -DSCENARIO=..., and, to show that the model notices, with
 * one fault: -DFAULT_... (see run.sh).
 */

#define VALUE   1
#define GROW    2
#define ROOT    3
#define SLOT    4
#define SUBTREE 5
#define PIVOT   6
#define TAIL    7
#define GAPS    8
#define REUSE   9
#define SHIFT   10
#define CUT     11
#define DEATH   12
#define BESIDE  13
#define MODE    14

#if defined(BATCH) || SCENARIO == DEATH || SCENARIO == BESIDE
#define CURSOR
#endif

#define INDEXES 5
#define MAX     4
#define NODES   10
#define WORDS   11   /* of a node: 3 pivots, meta, 4 slots, 3 gaps */
#define CELLS   111  /* the root word, then the nodes */
#define STORES  72
#define STATES  6

#define META   3
#define END    3    /* of a meta word: the last slot in use; version * 4 above it; DEAD */
#define DEAD   128
#define NONE   99
#define POISON 255
#define LEAF(node)     (32 + 2 * (node))
#define INNER(node)    (33 + 2 * (node))
#define IS_NODE(word)  ((word) >= 32)
#define NODE_OF(word)  (((word) - 32) / 2)
#define IS_LEAF(word)  (((word) & 1) == 0)
#define CELL(node, w)  (1 + (node) * WORDS + (w))
#define PIV(node, i)   CELL(node, i)
#define SLT(node, i)   CELL(node, 4 + (i))
#define GAP(node, i)   CELL(node, 8 + (i))

/* ---- memory ---------------------------------------------------------------------------- */

byte start[CELLS];              /* content when the readers began to exist */
byte log_cell[STORES];
byte log_value[STORES];
bool log_release[STORES];
byte stores = 0;                /* log_...[1 .. stores] */

#ifdef FAULT_RELAXED_PUBLISH
#define PUBLISH false
#else
#define PUBLISH true
#endif

inline put(cell, value, release)
{
	d_step {
		stores++;
		assert(stores < STORES);
		log_cell[stores] = cell;
		log_value[stores] = value;
		log_release[stores] = release
	}
}

/* ---- grace periods ------------------------------------------------------------------------- */

bool inside;                    /* the reader is in a read-side section */
bool awaited;                   /* which the grace period in progress waits for */
byte waiting = 0;               /* nodes for the next one */
byte grace_floor = 0;           /* stores before the last grace period began */
bool retired[NODES];
bool freed[NODES];

bool rcu = true;                /* the tree's mode */
bool readers_left;              /* no reader is there any more */
byte settled = 0;               /* the state when the reader was told that it may read */

/* ---- what should be seen ------------------------------------------------------------------- */

byte content[30];               /* content[state * INDEXES + index] */
byte states = 1;                /* of the tree, so far */

/* A write begins, after which the indexes hold these. */
inline state(a, b, c, d, e)
{
	d_step {
		content[states * INDEXES] = a;
		content[states * INDEXES + 1] = b;
		content[states * INDEXES + 2] = c;
		content[states * INDEXES + 3] = d;
		content[states * INDEXES + 4] = e;
		states++
	}
}

/* ---- the writer's verbs --------------------------------------------------------------------- */

#ifdef FAULT_RELAXED_RAISE
#define RAISE false
#else
#define RAISE true
#endif

inline raise_version(node, version, end)
{
#ifndef FAULT_NO_VERSION
	put(CELL(node, META), (version) * 4 + (end), RAISE)
#else
	skip
#endif
}

/* A leaf of up to three ranges that ends at the pivots; nobody can see it yet. */
inline fill_leaf(node, p0, p1, s0, s1, s2, end)
{
	put(PIV(node, 0), p0, false);
	put(PIV(node, 1), p1, false);
	put(PIV(node, 2), MAX, false);
	put(CELL(node, META), end, false);
	put(SLT(node, 0), s0, false);
	put(SLT(node, 1), s1, false);
	put(SLT(node, 2), s2, false);
	put(SLT(node, 3), 0, false)
}

inline fill_inner(node, p0, s0, s1)
{
	put(PIV(node, 0), p0, false);
	put(PIV(node, 1), MAX, false);
	put(PIV(node, 2), MAX, false);
	put(CELL(node, META), 1, false);
	put(SLT(node, 0), s0, false);
	put(SLT(node, 1), s1, false)
}

inline retire(node)
{
	d_step {
#ifdef FAULT_NO_GRACE
		freed[node] = true
#else
		if
		:: rcu ->
			retired[node] = true;
			waiting++
		:: else -> freed[node] = true
		fi
#endif
	}
}

/* Marks a leaf that is going to be replaced; its version does not matter any more. */
inline kill(node, version, end)
{
#ifndef FAULT_NO_DEAD
	put(CELL(node, META), (version) * 4 + (end) + DEAD, false)
#else
	skip
#endif
}

/* Before the readers exist: content without a log. */
inline begin_leaf(node, p0, p1, s0, s1, s2, end)
{
	start[PIV(node, 0)] = p0;
	start[PIV(node, 1)] = p1;
	start[PIV(node, 2)] = MAX;
	start[CELL(node, META)] = end;
	start[SLT(node, 0)] = s0;
	start[SLT(node, 1)] = s1;
	start[SLT(node, 2)] = s2;
	start[SLT(node, 3)] = 0
}

inline begin_inner(node, p0, s0, s1)
{
	start[PIV(node, 0)] = p0;
	start[PIV(node, 1)] = MAX;
	start[PIV(node, 2)] = MAX;
	start[CELL(node, META)] = 1;
	start[SLT(node, 0)] = s0;
	start[SLT(node, 1)] = s1
}

#include "scenarios.pml"

/* call_rcu: what is retired now is freed when the sections open now have ended. */
active proctype grace()
{
	bool batch[NODES];
	byte i;
end:
	do
	:: waiting > 0 ->
		d_step {
			waiting = 0;
			for (i : 0 .. NODES - 1) {
				batch[i] = retired[i];
				retired[i] = false
			}
			awaited = inside;
			grace_floor = stores;
			i = 0
		}
		!awaited;
		d_step {
			for (i : 0 .. NODES - 1) {
				freed[i] = freed[i] || batch[i];
				batch[i] = false
			}
			i = 0
		}
	od
}

#include "reader.pml"
