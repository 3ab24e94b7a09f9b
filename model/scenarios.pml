/* SPDX-License-Identifier: MIT */
/*
 * scenarios.pml - the writer: one scenario per kind of write. What begins a write notes the state
 * that the tree will be in; entries are 1 .. 7.
 */


inline begin()
{
	byte c;

	for (c : 0 .. CELLS - 1) {
		start[c] = POISON
	}
	c = 0;
	start[0] = 0;
#if SCENARIO == VALUE
	/* nothing -> an entry at 0 -> another -> nothing */
#elif SCENARIO == GROW
	begin_leaf(0, 0, 1, 1, 2, 3, 2);
	start[0] = LEAF(0);
	content[0] = 1; content[1] = 2; content[2] = 3; content[3] = 3; content[4] = 3;
#elif SCENARIO == ROOT
	begin_leaf(0, 1, MAX, 1, 2, 0, 1);
	start[0] = LEAF(0);
	content[0] = 1; content[1] = 1; content[2] = 2; content[3] = 2; content[4] = 2;
#elif SCENARIO == PIVOT
	begin_leaf(0, 0, 1, 1, 2, 3, 2);
	start[0] = LEAF(0);
	content[0] = 1; content[1] = 2; content[2] = 3; content[3] = 3; content[4] = 3;
#elif SCENARIO == TAIL
	begin_leaf(0, 0, MAX, 1, 0, 0, 1);
	start[0] = LEAF(0);
	content[0] = 1;
#elif SCENARIO == SHIFT
	begin_leaf(0, 0, 3, 1, 0, 2, 2);
	start[0] = LEAF(0);
	content[0] = 1; content[4] = 2;
#elif SCENARIO == CUT || SCENARIO == MODE
	begin_leaf(0, 2, MAX, 1, 2, 0, 1);
	start[0] = LEAF(0);
	content[0] = 1; content[1] = 1; content[2] = 1; content[3] = 2; content[4] = 2;
#elif SCENARIO == SUBTREE
	begin_leaf(0, 0, MAX, 1, 0, 0, 0);
	begin_leaf(1, MAX, MAX, 2, 0, 0, 0);
	begin_leaf(2, 2, MAX, 3, 4, 0, 1);
	begin_inner(3, 0, LEAF(0), LEAF(1));
	begin_inner(4, 1, INNER(3), LEAF(2));
	start[0] = INNER(4);
	content[0] = 1; content[1] = 2; content[2] = 3; content[3] = 4; content[4] = 4;
#elif SCENARIO == GAPS
	begin_leaf(0, 0, MAX, 1, 2, 0, 1);
	begin_leaf(1, 2, MAX, 3, 0, 0, 1);
	begin_inner(2, 1, LEAF(0), LEAF(1));
	start[GAP(2, 0)] = 0;
	start[GAP(2, 1)] = 2;
	start[0] = INNER(2);
	content[0] = 1; content[1] = 2; content[2] = 3;
#else
	begin_leaf(0, 0, MAX, 1, 2, 0, 1);
	begin_leaf(1, 2, MAX, 3, 4, 0, 1);
	begin_inner(2, 1, LEAF(0), LEAF(1));
	start[0] = INNER(2);
	content[0] = 1; content[1] = 2; content[2] = 3; content[3] = 4; content[4] = 4;
#endif
}

/* PUBLISH_VALUE: the root word alone. */
inline write_values()
{
	state(5, 0, 0, 0, 0);
	put(0, 5, PUBLISH);
	state(6, 0, 0, 0, 0);
	put(0, 6, PUBLISH);
	state(0, 0, 0, 0, 0);
	put(0, 0, PUBLISH)
}

/* PUBLISH_ROOT: a node takes the place of the root node; then of nothing, by PUBLISH_VALUE. */
inline write_root()
{
	state(1, 5, 2, 2, 2);
#ifdef FAULT_PUBLISH_FIRST
	put(0, LEAF(1), PUBLISH);
	fill_leaf(1, 0, 1, 1, 5, 2, 2);
#elif defined(FAULT_RETIRE_FIRST)
	retire(0);
	fill_leaf(1, 0, 1, 1, 5, 2, 2);
	put(0, LEAF(1), PUBLISH);
#else
	fill_leaf(1, 0, 1, 1, 5, 2, 2);
	put(0, LEAF(1), PUBLISH);
#endif
	retire(0);
	state(0, 0, 0, 0, 0);
	put(0, 0, PUBLISH);
	retire(1)
}

/* PUBLISH_GROW: a root above two leaves takes the place of a full leaf. */
inline write_grow()
{
	state(1, 2, 3, 5, 5);
	fill_leaf(1, 0, MAX, 1, 2, 0, 1);
	fill_leaf(2, 2, MAX, 3, 5, 0, 1);
	fill_inner(3, 1, LEAF(1), LEAF(2));
	put(0, INNER(3), PUBLISH);
	retire(0)
}

/* PUBLISH_SLOT: an entry in a live leaf, twice. */
inline write_slot()
{
	state(1, 5, 3, 4, 4);
	raise_version(0, 1, 1);
	put(SLT(0, 1), 5, PUBLISH);
	state(1, 6, 3, 4, 4);
	raise_version(0, 2, 1);
	put(SLT(0, 1), 6, PUBLISH)
}

/* PUBLISH_SLOT of an inner node: the subtree below is replaced and retired as a whole. */
inline write_subtree()
{
	state(5, 6, 3, 4, 4);
	fill_leaf(5, MAX, MAX, 5, 0, 0, 0);
	fill_leaf(6, MAX, MAX, 6, 0, 0, 0);
	fill_inner(7, 0, LEAF(5), LEAF(6));
#ifdef FAULT_RETIRE_FIRST
	retire(3);
	retire(0);
	retire(1);
#endif
	put(SLT(4, 0), INNER(7), PUBLISH);
	atomic {
		retire(3);
		retire(0);
		retire(1)
	}
}

/* PUBLISH_PIVOT: the boundaries of a range move one after the other. */
inline move_boundary(version, offset, pivot)
{
	raise_version(0, version, 2);
	put(PIV(0, offset), pivot, PUBLISH)
}

inline write_pivot()
{
	state(1, 2, 2, 3, 3);
	move_boundary(1, 1, 2);
	state(1, 1, 2, 3, 3);
	move_boundary(2, 0, 1);
	state(1, 1, 2, 2, 3);
	move_boundary(3, 1, 3)
}

/*
 * PUBLISH_FILL and PUBLISH_CLEAR at the end of a leaf: an entry comes into the gap that ends a
 * leaf, goes, another comes.
 */
inline write_tail()
{
	state(1, 0, 5, 0, 0);
#ifdef FAULT_FILL_BEFORE_DIVIDE
	raise_version(0, 1, 3);
	put(SLT(0, 2), 5, PUBLISH);
	raise_version(0, 2, 3);
	put(PIV(0, 2), 2, PUBLISH);
	raise_version(0, 3, 3);
	put(PIV(0, 1), 1, PUBLISH);
#else
	raise_version(0, 1, 3);
	put(PIV(0, 1), 1, PUBLISH);
	raise_version(0, 2, 3);
	put(PIV(0, 2), 2, PUBLISH);
	raise_version(0, 3, 3);
	put(SLT(0, 2), 5, PUBLISH);
#endif
	state(1, 0, 0, 0, 0);
#ifdef FAULT_JOIN_BEFORE_CLEAR
	raise_version(0, 4, 3);
	put(PIV(0, 2), MAX, PUBLISH);
	raise_version(0, 5, 1);
	put(PIV(0, 1), MAX, PUBLISH);
	raise_version(0, 6, 1);
	put(SLT(0, 2), 0, PUBLISH);
#else
	raise_version(0, 4, 3);
	put(SLT(0, 2), 0, PUBLISH);
	raise_version(0, 5, 1);
	put(PIV(0, 2), MAX, PUBLISH);
	raise_version(0, 6, 1);
	put(PIV(0, 1), MAX, PUBLISH);
#endif
	state(1, 6, 6, 0, 0);
	raise_version(0, 7, 2);
	put(PIV(0, 1), 2, PUBLISH);
	raise_version(0, 8, 2);
	put(SLT(0, 1), 6, PUBLISH)
}

/* One word of a live leaf whose last slot is `end`. */
inline store_word(version, end, cell, value)
{
	raise_version(0, version, end);
	put(cell, value, PUBLISH)
}

/*
 * PUBLISH_FILL, PUBLISH_CLEAR: an entry comes into a gap in the middle of a leaf, the slots behind
 * it moving up; goes, and they move down again. On the way slots cover nothing: their pivot is the
 * one before.
 */
inline write_shift()
{
	state(1, 5, 0, 0, 2);
#ifdef FAULT_PIVOT_BEFORE_SLOT
	store_word(1, 3, PIV(0, 2), 3);
	store_word(2, 3, SLT(0, 3), 2);
#else
	store_word(1, 3, SLT(0, 3), 2);
	store_word(2, 3, PIV(0, 2), 3);
#endif
	store_word(3, 3, SLT(0, 2), 0);
#ifdef FAULT_FILL_BEFORE_DIVIDE
	store_word(4, 3, SLT(0, 1), 5);
	store_word(5, 3, PIV(0, 1), 1);
#else
	store_word(4, 3, PIV(0, 1), 1);
	store_word(5, 3, SLT(0, 1), 5);
#endif
	state(1, 0, 0, 0, 2);
#ifdef FAULT_JOIN_BEFORE_CLEAR
	store_word(6, 3, PIV(0, 1), 3);
	store_word(7, 3, SLT(0, 1), 0);
#else
	store_word(6, 3, SLT(0, 1), 0);
	store_word(7, 3, PIV(0, 1), 3);
#endif
	store_word(8, 3, SLT(0, 2), 2);
	store_word(9, 2, PIV(0, 2), MAX);
	store_word(10, 2, SLT(0, 3), 0)
}

/*
 * PUBLISH_CUT: an entry loses its end to a new one, for which a slot is opened; PUBLISH_ABSORB: it
 * takes that back, and the slot is closed.
 */
inline write_cut()
{
	state(1, 1, 5, 2, 2);
	store_word(1, 2, SLT(0, 2), 2);
	store_word(2, 2, PIV(0, 1), 2);
#ifdef FAULT_MOVE_BEFORE_FILL
	store_word(3, 2, PIV(0, 0), 1);
	store_word(4, 2, SLT(0, 1), 5);
#else
	store_word(3, 2, SLT(0, 1), 5);
	store_word(4, 2, PIV(0, 0), 1);
#endif
	state(1, 1, 1, 2, 2);
#ifdef FAULT_CLOSE_BEFORE_MOVE
	store_word(5, 2, SLT(0, 1), 2);
	store_word(6, 2, PIV(0, 0), 2);
#else
	store_word(5, 2, PIV(0, 0), 2);
	store_word(6, 2, SLT(0, 1), 2);
#endif
	store_word(7, 2, PIV(0, 1), MAX);
	store_word(8, 1, SLT(0, 2), 0)
}

/* Gap words follow a write with relaxed stores; they guide a search and decide nothing. */
inline write_gaps()
{
	state(1, 2, 3, 5, 5);
	raise_version(1, 1, 1);
	put(SLT(1, 1), 5, PUBLISH);
	put(GAP(2, 1), 0, false);
	state(1, 0, 3, 5, 5);
	raise_version(0, 1, 1);
	put(SLT(0, 1), 0, PUBLISH);
	put(GAP(2, 0), 1, false);
	state(0, 0, 3, 5, 5);
	fill_leaf(3, MAX, MAX, 0, 0, 0, 0);
	put(GAP(2, 0), 2, false);
	put(SLT(2, 0), LEAF(3), PUBLISH);
	retire(0)
}

/* A leaf is replaced, freed, and its memory becomes the next leaf. */
inline write_reuse()
{
	state(1, 5, 3, 4, 4);
	fill_leaf(3, 0, MAX, 1, 5, 0, 1);
	put(SLT(2, 0), LEAF(3), PUBLISH);
	retire(0);
	freed[0];
	freed[0] = false;
	state(6, 5, 3, 4, 4);
	fill_leaf(0, 0, MAX, 6, 5, 0, 1);
	put(SLT(2, 0), LEAF(0), PUBLISH);
	retire(3)
}

/* One leaf after the other is replaced by a copy, under a node that stays. */
inline write_death()
{
	state(1, 5, 3, 4, 4);
	fill_leaf(3, 0, MAX, 1, 5, 0, 1);
#ifdef FAULT_DEAD_LATE
	put(SLT(2, 0), LEAF(3), PUBLISH);
	kill(0, 0, 1);
#else
	kill(0, 0, 1);
	put(SLT(2, 0), LEAF(3), PUBLISH);
#endif
	retire(0);
	state(1, 5, 6, 4, 4);
	fill_leaf(4, 2, MAX, 6, 4, 0, 1);
	kill(1, 0, 1);
	put(SLT(2, 1), LEAF(4), PUBLISH);
	retire(1)
}

/* A leaf is replaced together with the node above it, which may be the one a cursor remembers. */
inline replace_above(old_leaf, old_above, above_leaf, below_leaf, new_above)
{
#ifdef FAULT_DEAD_LATE
	fill_inner(new_above, 1, LEAF(below_leaf), LEAF(above_leaf));
	put(0, INNER(new_above), PUBLISH);
	kill(old_leaf, 0, 1);
#else
	fill_inner(new_above, 1, LEAF(below_leaf), LEAF(above_leaf));
	kill(old_leaf, 0, 1);
	put(0, INNER(new_above), PUBLISH);
#endif
	atomic {
		retire(old_leaf);
		retire(old_above)
	}
}

inline write_beside()
{
	state(1, 2, 6, 4, 4);
	fill_leaf(3, 2, MAX, 6, 4, 0, 1);
	replace_above(1, 2, 3, 0, 4);
	state(1, 5, 6, 4, 4);
	fill_leaf(5, 0, MAX, 1, 5, 0, 1);
	replace_above(0, 4, 3, 5, 6)
}

/* Without readers, word by word in any order, without versions. */
inline splice(s0, p0, s1, end)
{
	put(CELL(0, META), end, false);
	put(SLT(0, 0), s0, false);
	put(PIV(0, 0), p0, false);
	put(SLT(0, 1), s1, false)
}

/*
 * Without RCU mode leaves change in place in any order, and what goes is freed at once. The mode is
 * set before the first reader comes, and left when the last one is gone.
 */
inline write_modes()
{
	rcu = false;
#ifdef FAULT_SET_LATE
	run reader();
#endif
	state(5, 5, 6, 6, 6);
	splice(5, 1, 6, 1);
	atomic {
		rcu = true;
		settled = states - 1;
		grace_floor = stores
	}
#ifndef FAULT_SET_LATE
	run reader();
#endif
	state(5, 5, 2, 2, 2);
	fill_leaf(4, 1, MAX, 5, 2, 0, 1);
	kill(0, 0, 1);
	put(0, LEAF(4), PUBLISH);
	retire(0);
#ifndef FAULT_CLEAR_EARLY
	readers_left;
#endif
	rcu = false;
	state(1, 1, 3, 3, 3);
	fill_leaf(5, 1, MAX, 1, 3, 0, 1);
	put(0, LEAF(5), PUBLISH);
	retire(4)
}

active proctype writer()
{
	atomic {
		begin();
#if SCENARIO != MODE
		run reader()
#endif
	}
#if SCENARIO == VALUE
	write_values()
#elif SCENARIO == GROW
	write_grow()
#elif SCENARIO == ROOT
	write_root()
#elif SCENARIO == SLOT
	write_slot()
#elif SCENARIO == SUBTREE
	write_subtree()
#elif SCENARIO == PIVOT
	write_pivot()
#elif SCENARIO == TAIL
	write_tail()
#elif SCENARIO == SHIFT
	write_shift()
#elif SCENARIO == CUT
	write_cut()
#elif SCENARIO == GAPS
	write_gaps()
#elif SCENARIO == DEATH
	write_death()
#elif SCENARIO == BESIDE
	write_beside()
#elif SCENARIO == MODE
	write_modes()
#else
	write_reuse()
#endif
}
