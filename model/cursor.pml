/* SPDX-License-Identifier: MIT */
/*
 * cursor.pml - what a cursor keeps between its steps: its leaf with a version, the node above it,
 * and, of a for-each loop, the content of a leaf.
 *
 * A leaf that a copy takes the place of is marked dead before the copy is published. A step from a
 * dead leaf, or to one, walks from the root instead; so a step never shows what is older than
 * anything the thread has seen before it.
 */

#ifdef FAULT_TAKE_DEAD
#define DIES(meta) false
#else
#define DIES(meta) (((meta) & DEAD) != 0)
#endif

/* The cursor's place, kept while the thread looks elsewhere. */
inline keep()
{
	d_step {
		at_node = node;
		at_offset = offset;
		at_version = version;
		at_min = min;
		at_max = max;
		at_first = first;
		at_last = last;
		at_leaf = leaf;
		at_above = above
	}
}

inline take_up()
{
	d_step {
		node = at_node;
		offset = at_offset;
		version = at_version;
		min = at_min;
		max = at_max;
		first = at_first;
		last = at_last;
		leaf = at_leaf;
		above = at_above
	}
}

/*
 * The leaf in slot `slot` of the node above, if that says that it ends (begins) where `bound` says.
 */
inline leaf_beside(slot, bound_slot, bound)
{
	stay = false;
	get(PIV(above, bound_slot), false);
	if
	:: word == bound ->
		get(SLT(above, slot), ACQUIRE);
		node = NODE_OF(word);
		get(CELL(node, META), BEGIN);
		version = word;
		stay = !DIES(version)
	:: else
	fi
}

/* From the last range of a leaf to the first one of the next. The nodes above have two children. */
inline step_beyond()
{
	leaf_beside(1, 0, max);
	if
	:: stay ->
		d_step {
			min = max + 1;
			max = MAX;
			offset = 0
		}
		read_range();
		stay = good && first <= last
	:: else
	fi
}

/* From the first range of a leaf to the last one of the leaf before. */
inline step_before()
{
	leaf_beside(0, 0, min - 1);
	if
	:: stay ->
		d_step {
			max = min - 1;
			min = 0;
			offset = version & END
		}
		read_range();
		stay = good && first <= last && last == max
	:: else
	fi
}

/*
 * To the range behind (before) the one the cursor stands on, at `index`: as walk_up(), walk_down().
 */
inline step(up)
{
	if
	:: !leaf || DIES(version) -> stay = false
	:: else ->
		if
		:: up && last < max ->
			offset++;
			read_range();
			stay = good && first == index && first <= last
		:: !(up) && first > min ->
			offset--;
			read_range();
			stay = good && last == index && first <= last
		:: up && last == max && above != NONE && max < MAX -> step_beyond()
		:: !(up) && first == min && above != NONE && min > 0 -> step_before()
		:: else -> stay = false
		fi
	fi;
	if
	:: stay -> stay = false
	:: else -> walk_to()
	fi
}

/* A walk, a lookup of what comes next by the same thread, and the step there. */
inline look_and_step(from, to)
{
	index = from;
	walk();
	keep();
	if
	:: to > from && last == to - 1 || to < from && first == to + 1 ->
		index = to;
		load();
		take_up();
		step((to > from));
		check_entry();
		check_range()
	:: else
	fi
}

/* ---- a loop that reads leaves at once ------------------------------------------------------- */

/* All words of the leaf, under its version. */
inline read_leaf()
{
	get(PIV(node, 0), false);
	ends[0] = (word < max -> word : max);
	get(PIV(node, 1), false);
	ends[1] = (word < max -> word : max);
	get(PIV(node, 2), false);
	ends[2] = (word < max -> word : max);
	ends[3] = max;
	get(SLT(node, 0), false);
	slots[0] = word;
	get(SLT(node, 1), false);
	slots[1] = word;
	get(SLT(node, 2), false);
	slots[2] = word;
	get(SLT(node, 3), false);
	slots[3] = word;
	fence();
	get(CELL(node, META), false);
#ifdef FAULT_NO_BATCH_VERSION
	good = true;
#else
	good = (word == version && !DIES(version));
#endif
	word = 0
}

/* Whether the leaf holds at `offset` what the cursor has seen. */
inline follows_on()
{
#ifdef FAULT_NO_FOLLOW
	skip
#else
	good = good && ends[offset] == last && slots[offset] == entry &&
	       (offset -> ends[offset - 1] + 1 : min) == first
#endif
}

#ifdef FAULT_VISIT_EMPTY
#define COVERS true
#else
#define COVERS (first <= last)
#endif

/* The ranges from `offset` on: each stood so, and all in one state; they are visited. */
inline visit_leaf()
{
	d_step {
		first = (offset -> ends[offset - 1] + 1 : min);
		for (k : 0 .. INDEXES - 1) {
			held[k] = 0
		}
		for (pick : offset .. 3) {
			last = ends[pick];
			for (k : first .. last) {
				held[k] = slots[pick]
			}
			if
			:: slots[pick] && COVERS ->
				assert(first <= last);
				assert(last + 1 > beyond);
				beyond = last + 1;
				met = met | (1 << slots[pick])
			:: else
			fi;
			first = last + 1
		}
		first = (offset -> ends[offset - 1] + 1 : min);
		good = false;
		for (s : 0 .. states - 1) {
			k = first;
			do
			:: k <= max && content[s * INDEXES + k] == held[k] -> k++
			:: else -> break
			od;
			good = good || k > max
		}
		assert(good);
		last = max;
		k = 0;
		s = 0;
		pick = 0
	}
}

/* The next leaf is read at once, too. If not `stay`, the next step walks. */
inline next_leaf()
{
	stay = false;
	if
	:: above != NONE && max < MAX ->
		leaf_beside(1, 0, max);
		if
		:: stay ->
			d_step {
				min = max + 1;
				max = MAX;
				offset = 0
			}
			read_leaf();
			stay = good;
			leaf = good
		:: else
		fi
	:: else
	fi
}

inline meet()
{
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
}

inline loop()
{
	index = 0;
	walk_to();
	do
	:: good = false;
	   if
	   :: leaf && entry && !DIES(version) ->
		read_leaf();
		follows_on()
	   :: else
	   fi;
	   if
	   :: good -> visit_leaf()
	   :: else -> meet()
	   fi;
	   if
	   :: last == max && leaf ->
		next_leaf();
		if
		:: stay ->
			stay = false;
			visit_leaf()
		:: else
		fi
	   :: else
	   fi;
	   if
	   :: last == MAX -> break
	   :: else -> index = last + 1; step(true)
	   fi
	od;
	check_met()
}
