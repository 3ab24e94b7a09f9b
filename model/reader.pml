/* SPDX-License-Identifier: MIT */
/*
 * reader.pml - lookups, a cursor's way through all ranges, and a search for free indexes.
 */

#ifdef FAULT_RELAXED_LOAD
#define ACQUIRE false
#else
#define ACQUIRE true
#endif

#ifdef FAULT_RELAXED_VERSION
#define BEGIN false
#else
#define BEGIN true
#endif

/*
 * One load: some store to the cell that may be read, in `word`. The choice is made store by
 * store upwards, so that each is a state of its own for the search.
 */
inline get(cell, acquire)
{
	atomic {
		d_step {
			at = cell;
			assert(at == 0 || !freed[(at - 1) / WORDS]); /* never a freed node */
			pick = seen[at];
			top = pick;
			for (k : pick + 1 .. stores) {
				if
				:: log_cell[k] == at ->
					top = k;
					if
					:: k <= floor -> pick = k
					:: else
					fi
				:: else
				fi
			}
			k = 0
		}
		do
		:: break
		:: pick < top ->
			d_step {
				pick++;
				do
				:: log_cell[pick] != at -> pick++
				:: else -> break
				od
			}
		od;
		d_step {
			seen[at] = pick;
			word = (pick -> log_value[pick] : start[at]);
			if
			:: pick && log_release[pick] && (acquire) && pick > floor -> floor = pick
			:: pick && log_release[pick] && !(acquire) && pick > pending -> pending = pick
			:: else
			fi;
			assert(word != POISON); /* never a node before it is filled */
			pick = 0;
			top = 0;
			at = 0
		}
	}
}

inline fence()
{
#ifndef FAULT_NO_FENCE
	d_step {
		if
		:: pending > floor -> floor = pending
		:: else
		fi
	}
#else
	skip
#endif
}

/* The offset of `index` in `node`. */
inline search()
{
	offset = 0;
	get(PIV(node, 0), false);
	if
	:: word < index -> offset++
	:: else
	fi;
	get(PIV(node, 1), false);
	if
	:: word < index -> offset++
	:: else
	fi;
	get(PIV(node, 2), false);
	if
	:: word < index -> offset++
	:: else
	fi
}

/* Down to the leaf of `index`: in `node`, covering min .. max. child: 0, or no node was met. */
inline descend()
{
	min = 0;
	max = MAX;
#ifdef CURSOR
	above = NONE;
#endif
	get(0, ACQUIRE);
	do
	:: IS_NODE(word) && !IS_LEAF(word) ->
		node = NODE_OF(word);
#ifdef CURSOR
		above = node;
#endif
		search();
		if
		:: offset > 0 ->
			get(PIV(node, offset - 1), false);
			min = word + 1
		:: else
		fi;
		if
		:: offset < 3 ->
			get(PIV(node, offset), false);
			max = (word < max -> word : max)
		:: else
		fi;
		get(SLT(node, offset), ACQUIRE)
	:: else -> break
	od;
	leaf = IS_NODE(word);
	if
	:: leaf -> node = NODE_OF(word)
	:: else
	fi
}

/* The range at `offset` of `node`: below + 1 .. last, `entry`; good: all of one state. */
inline read_range()
{
	if
	:: offset > 0 ->
		get(PIV(node, offset - 1), false);
		first = word + 1
	:: else -> first = min
	fi;
	last = max;
	if
	:: offset < 3 ->
		get(PIV(node, offset), false);
		last = (word < max -> word : max)
	:: else
	fi;
	get(SLT(node, offset), ACQUIRE);
	entry = word;
	fence();
	get(CELL(node, META), false);
#ifdef FAULT_NO_VERSION_CHECK
	good = true;
#else
	good = (word == version);
#endif
	word = 0
}

/* To the range that holds `index`. */
inline walk_to()
{
	descend();
	if
	:: !leaf -> /* an entry at 0, or nothing */
		entry = (index == 0 -> word : 0);
		first = (word && index > 0 -> 1 : 0);
		last = (word && index == 0 -> 0 : MAX)
	:: else ->
		do
		:: get(CELL(node, META), BEGIN);
		   version = word;
		   search();
		   read_range();
		   if
		   :: good && first <= index && index <= last -> break
		   :: else
		   fi
		od
	fi
}

/* first .. last with `entry` stood so in some state (a gap may be shown in parts). */
inline check_range()
{
	d_step {
		assert(first <= last);
		good = false;
		for (s : 0 .. states - 1) {
			k = first;
			do
			:: k <= last && content[s * INDEXES + k] == entry -> k++
			:: else -> break
			od;
			if
			:: k <= last -> skip
			:: entry && first > 0 && content[s * INDEXES + first - 1] == entry -> skip
			:: entry && last < MAX && content[s * INDEXES + last + 1] == entry -> skip
			:: else -> good = true
			fi
		}
		assert(good);
		k = 0;
		s = 0;
		good = false
	}
}

/* The oldest state that explains `entry` at `index`, not older than one seen before. */
inline check_entry()
{
	d_step {
		do
		:: oldest[index] < states && content[oldest[index] * INDEXES + index] != entry ->
			oldest[index]++
		:: else -> break
		od;
		assert(oldest[index] < states)
	}
}

/* mas_walk: the range at `index`. */
inline walk()
{
	walk_to();
	check_entry();
	check_range()
}

/* mtree_load: the entry at `index`, its range unread. */
inline load()
{
	descend();
	if
	:: !leaf -> entry = (index == 0 -> word : 0)
	:: else ->
		do
		:: get(CELL(node, META), BEGIN);
		   version = word;
		   search();
		   get(SLT(node, offset), ACQUIRE);
		   entry = word;
		   fence();
		   get(CELL(node, META), false);
#ifdef FAULT_NO_VERSION_CHECK
		   break
#else
		   if
		   :: word == version -> break
		   :: else
		   fi
#endif
		od
	fi;
	word = 0;
	check_entry()
}

/* Through all ranges, one way; what stands in every state is met. */
inline iterate()
{
	index = 0;
	do
	:: if
	   :: stay -> stay = false
	   :: else -> walk_to()
	   fi;
	   check_range();
	   d_step {
		if
		:: entry ->
			assert(last + 1 > beyond);
			beyond = last + 1
		:: else
		fi;
		met = met | (1 << entry)
	   }
	   if
	   :: last == MAX -> break
	   :: else
	   fi;
	   index = last + 1;
	   if
	   :: leaf && last < max ->
		offset++;
		read_range();
#ifdef FAULT_NO_CONTINUITY
		stay = good
#else
		stay = good && first == index && last >= first
#endif
	   :: else
	   fi
	od;
	check_met()
}

/* What stands in every state was met. */
inline check_met()
{
	skip;
	d_step {
		for (k : 0 .. INDEXES - 1) {
			good = true;
			for (s : 0 .. states - 1) {
				if
				:: content[s * INDEXES + k] != content[k] -> good = false
				:: else
				fi
			}
			assert(!good || !content[k] || (met & (1 << content[k])))
		}
		good = false;
		s = 0;
		k = 0;
		met = 0;
		beyond = 0
	}
}

/* Two free indexes in a row: found by the gap words, decided by the leaf. */
inline find_gap()
{
	child = 0;
	get(0, ACQUIRE);
	root = NODE_OF(word);
	do
	:: child > 1 -> break
	:: else ->
		get(GAP(root, child), false);
		if
		:: word >= 2 ->
			get(PIV(root, 0), false);
			min = (child -> word + 1 : 0);
			max = (child -> MAX : word);
			get(SLT(root, child), ACQUIRE);
			node = NODE_OF(word);
#ifdef FAULT_TRUST_GAP
			first = min;
			last = min + 1;
			entry = 0;
			check_range();
#else
			offset = 0;
			do
			:: offset > 2 -> break
			:: else ->
				if
				:: offset ->
					get(PIV(node, offset - 1), false);
					first = word + 1
				:: else -> first = min
				fi;
				get(PIV(node, offset), false);
				last = (word < max -> word : max);
				get(SLT(node, offset), ACQUIRE);
				if
				:: !word && first < last && last <= max ->
					entry = 0;
					check_range()
				:: else
				fi;
				if
				:: last >= max -> break
				:: else -> offset++
				fi
			od;
#endif
		:: else
		fi;
		child++
	od;
	child = 0;
	root = 0
}

inline enter()
{
	d_step {
		inside = true;
		floor = (grace_floor > floor -> grace_floor : floor)
	}
}

inline leave()
{
	d_step {
		inside = false;
		awaited = false
	}
}

#ifdef CURSOR
#include "cursor.pml"
#endif

proctype reader()
{
	byte seen[CELLS];       /* the last store read, per cell */
	byte floor, pending;
	byte oldest[INDEXES];
	byte at, pick, top, k, s, word;
	byte index, node, offset, min, max, first, last, entry, version, child, root;
	byte met, beyond;
	bool leaf, good, stay;
#ifdef CURSOR
	byte above;             /* the node above the cursor's leaf, or NONE */
	byte at_above, at_node, at_offset, at_version, at_min, at_max, at_first, at_last;
	bool at_leaf;
	byte ends[4], slots[4], held[INDEXES];
#endif
#if SCENARIO == MODE
	d_step {
		for (k : 0 .. INDEXES - 1) {
			oldest[k] = settled
		}
		k = 0
	}
#endif

	enter();
#if SCENARIO == GAPS
	find_gap();
#elif defined(BATCH)
	loop();
#elif SCENARIO == DEATH
	look_and_step(0, 1);
#elif SCENARIO == BESIDE && defined(UPWARD)
	look_and_step(1, 2);
#elif SCENARIO == BESIDE
	look_and_step(2, 1);
#elif defined(ITERATE)
	iterate();
#else
	select(index : 0 .. MAX);
	load();
	walk();
	leave();
	enter();
	load();
#endif
	leave()
#if SCENARIO == MODE
	;
	readers_left = true
#endif
}
