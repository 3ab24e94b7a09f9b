/* SPDX-License-Identifier: MIT */
/*
 * share.pml - trees that share nodes (share.h, own.c, retire.c) and count references to their
 * entries (refs.h): writers of several trees, each under its tree's lock, a reader of any of them,
 * and the threads that run callbacks. What must hold:
 *   - a lookup finds what its tree held at some moment since it began, whatever happens in other
 *     trees, and what it found is alive until its section ends;
 *   - nobody touches a node that is free, and none is freed twice;
 *   - in the end each node that is left has as many references as there are words that refer to
 *     it, each entry as many as there are leaves that hold it, and each tree holds what it should.
 *
 * Nodes have two slots, a leaf holds one entry. Below the root there are leaves for indexes 0 and
 * 1; in DEEP and PLAIN a node with these, and a leaf for index 2; in ORDER the root is a leaf.
 *
 * Steps take effect one after the other. A node is copied and its children are counted in one step,
 * since all that matters happens while the writer refers to the original; a publishing store and
 * the queueing of what it replaces are another. What weaker orders may do is what ORDER is about:
 * there `know` says which accesses to the node that the trees share happened before the next step
 * of a process. That is passed on by the count (released by who drops a reference, acquired by who
 * asks), by grace periods and with callbacks. The node may be changed when all that other trees'
 * readers and writers did with it happened before, and freed when everything did.
 *
 * Built for one scenario: -DSCENARIO=..., and, to show that the model notices, with one fault:
 * -DFAULT_... (see run.sh).
 */

#define FLAT  1 /* two writers, one thread that runs callbacks */
#define DEEP  2 /* the same, three levels */
#define CHAIN 3 /* a snapshot of the snapshot, which its own writer changes */
#define APART 4 /* each tree's callbacks are run by a thread of their own */
#define PLAIN 5 /* without RCU mode: who gives up a reference drops it at once */
#define ORDER 6 /* as APART, with one node: what happens before what */

#if SCENARIO == DEEP || SCENARIO == PLAIN
#define INDEXES 3
#define COMMON  5 /* nodes that all trees have at the beginning */
#elif SCENARIO == ORDER
#define INDEXES 1
#define COMMON  1
#else
#define INDEXES 2
#define COMMON  3
#endif
#if SCENARIO == CHAIN
#define TREES 3
#else
#define TREES 2
#endif
#ifndef WRITES
#define WRITES 1 /* of each tree */
#endif
#if SCENARIO == APART || SCENARIO == ORDER
#define RUNNERS 2
#define RUNNER(tree) (tree)
#else
#define RUNNERS 1
#define RUNNER(tree) 0
#endif

#define ROOM    (2 + 2 * WRITES) /* for the nodes that a writer makes: FIRST_NODE(tree) .. */
#define FIRST_NODE(tree) (COMMON + (tree) * ROOM)
#define NODES   (COMMON + TREES * ROOM)
#define NONE    99
#define ENTRIES (INDEXES + TREES * WRITES) /* those to begin with, then those of each tree */
#define FIRST_OF(tree) (INDEXES + (tree) * WRITES)

/* ---- nodes and trees ------------------------------------------------------------------------- */

#define LEAF  0
#define BELOW 1 /* indexes 0 and 1 */
#define TOP   2 /* all indexes below 2, and index 2 */
#define SLOT(n, s)   slot[(n) * 2 + (s)]
#define OFFSET(n, i) (kind[n] == BELOW -> (i) : (i) / 2)
#define AT(t, i)     ((t) * INDEXES + (i))

byte kind[NODES];
byte slot[NODES * 2];    /* children; of a leaf, the entry */
byte shares[NODES];      /* references to a node, besides one */
bool made[NODES];
bool freed[NODES];
byte root[TREES] = NONE;
byte content[TREES * INDEXES]; /* what the trees should hold: content[AT(tree, index)] */

byte held[ENTRIES];      /* references to an entry */
bool gone[ENTRIES];      /* the last one was dropped */

byte reads = NONE;       /* the tree that the reader reads */
bool inside;             /* it is in its section */
bool awaited[RUNNERS];   /* for which the grace period in progress waits */

/* ---- what happened before -------------------------------------------------------------------- */

#if SCENARIO == ORDER
#define READER    2      /* processes; writers have the numbers of their trees */
#define CALLBACK(runner) (3 + (runner))
#define ACCESS(process) (1 << (process))

byte accesses = 0;       /* to node 0, the last one of each process; of these there happened: */
byte know[5];            /* before the next step of a process */
byte passed;             /* before who acquires the count of node 0 */
byte left;               /* before the reader's section ended */
byte queued[RUNNERS];    /* before what waits for the next grace period was queued */
byte ended[RUNNERS];     /* before the grace period in progress will end */

#define ACQUIRE(process) know[process] = know[process] | passed
#define RELEASE(process) passed = passed | know[process]
#define QUEUE(process)   queued[RUNNER(process)] = queued[RUNNER(process)] | know[process]

/* Process @p reads or changes node @n, which no other one can know yet. */
inline touch(p, n)
{
	assert(!freed[n]);
	if
	:: n == 0 ->
		know[0] = know[0] & ~ACCESS(p);
		know[1] = know[1] & ~ACCESS(p);
		know[READER] = know[READER] & ~ACCESS(p);
		know[3] = know[3] & ~ACCESS(p);
		know[4] = know[4] & ~ACCESS(p);
		passed = passed & ~ACCESS(p);
		left = left & ~ACCESS(p);
		queued[0] = queued[0] & ~ACCESS(p);
		queued[1] = queued[1] & ~ACCESS(p);
		ended[0] = ended[0] & ~ACCESS(p);
		ended[1] = ended[1] & ~ACCESS(p);
		accesses = accesses | ACCESS(p);
		know[p] = know[p] | ACCESS(p)
	:: else
	fi
}

/* Tree @t's writer changes @n in place. The readers of its own tree are publish.pml's business. */
inline change(t, n)
{
	assert(n != 0 || (accesses & ~know[t] & ~(reads == t -> ACCESS(READER) : 0)) == 0);
	touch(t, n)
}

/* Process @p frees @n. */
inline release(p, n)
{
	assert(!freed[n]);
	assert(n != 0 || (accesses & ~know[p]) == 0);
	freed[n] = true
}
#else
#define READER NONE /* who does it does not matter */
#define CALLBACK(runner) NONE
#define ACQUIRE(process) skip
#define RELEASE(process) skip
#define QUEUE(process)   skip

inline touch(p, n)
{
	assert(!freed[n])
}

inline change(t, n)
{
	assert(!freed[n])
}

inline release(p, n)
{
	assert(!freed[n]);
	freed[n] = true
}
#endif

/* ---- counts ---------------------------------------------------------------------------------- */

/* node_shares, by a writer: whether others refer to @n. */
inline ask(t, n)
{
	d_step {
		assert(!freed[n]);
		others = (shares[n] > 0);
#ifndef FAULT_ASK_RELAXED
		ACQUIRE(t)
#endif
	}
}

inline get_entry(e)
{
	assert(!gone[e]);
	held[e]++
}

inline put_entry(e)
{
	assert(held[e]);
	held[e]--;
	gone[e] = (held[e] == 0)
}

/* The last reference to @n was dropped: those to its children, or its entry, are next. */
inline free_node(p, n)
{
	if
	:: kind[n] == LEAF -> put_entry(SLOT(n, 0))
	:: else ->
		touch(p, n);
#ifndef FAULT_FREE_ALONE
		todo = todo | (1 << SLOT(n, 0)) | (1 << SLOT(n, 1))
#endif
	fi;
	release(p, n)
}

/* drop_subtree, node_unshare: process @p drops a reference to @whole. */
inline drop_subtree(p, whole)
{
	todo = 1 << (whole);
	do
	:: todo == 0 -> break
	:: else ->
		d_step {
			node = 0;
			do
			:: todo & (1 << node) -> break
			:: else -> node++
			od;
			todo = todo & ~(1 << node);
			assert(!freed[node]);
			others = (shares[node] > 0);
			ACQUIRE(p);
			if
#ifdef FAULT_DROP_ALL
			:: others && kind[node] != LEAF ->
				todo = todo | (1 << SLOT(node, 0)) | (1 << SLOT(node, 1))
#endif
			:: others
			:: else -> free_node(p, node)
			fi
		}
		if
		:: others ->
			d_step {
				assert(!freed[node]);
#ifndef FAULT_DROP_UNACQUIRED
				ACQUIRE(p);
#endif
#ifndef FAULT_DROP_RELAXED
				RELEASE(p);
#endif
				if
#ifdef FAULT_BELIEVE_LOAD
				:: true -> shares[node] = (shares[node] -> shares[node] - 1 : 0)
#else
				:: shares[node] > 0 -> shares[node]--
				:: else -> free_node(p, node)
#endif
				fi;
				others = false
			}
		:: else
		fi
	od;
	node = 0
}

/* ---- grace periods --------------------------------------------------------------------------- */

bool waiting[RUNNERS];   /* something waits for the next one: */
byte drops[RUNNERS * NODES]; /* references to a node, with all below it: [runner * NODES + node] */
bool alone[RUNNERS * NODES]; /* a node that is freed alone */
byte puts[RUNNERS * ENTRIES]; /* references to an entry: [runner * ENTRIES + entry] */

inline queue(t)
{
	QUEUE(t);
	waiting[RUNNER(t)] = true
}

/* What is dropped at once is dropped step by step, by drop_at_once(), which follows. */
inline retire_subtree(t, n)
{
#if SCENARIO == PLAIN || defined(FAULT_NO_GRACE)
	at_once = n
#else
	drops[RUNNER(t) * NODES + n]++;
	queue(t)
#endif
}

inline retire_node(t, n)
{
#if SCENARIO == PLAIN
	release(t, n)
#else
	assert(!alone[RUNNER(t) * NODES + n]);
	alone[RUNNER(t) * NODES + n] = true;
	queue(t)
#endif
}

inline retire_entry(t, e)
{
#if SCENARIO == PLAIN || defined(FAULT_PUT_AT_ONCE)
	put_entry(e)
#else
	puts[RUNNER(t) * ENTRIES + e]++;
	queue(t)
#endif
}

/* What was not queued. */
inline drop_at_once(t)
{
#if SCENARIO == PLAIN || defined(FAULT_NO_GRACE)
	drop_subtree(t, at_once);
	at_once = 0
#else
	skip
#endif
}

/* A thread that runs callbacks: what waits now is dropped when the sections open now have ended. */
proctype runner(byte g)
{
	byte drop[NODES], put[ENTRIES];
	bool free[NODES];
	byte n, node, k;
	int todo;
	bool others;
end:
	do
	:: waiting[g] ->
		d_step {
			for (n : 0 .. NODES - 1) {
				drop[n] = drops[g * NODES + n];
				drops[g * NODES + n] = 0;
				free[n] = alone[g * NODES + n];
				alone[g * NODES + n] = false
			}
			for (n : 0 .. ENTRIES - 1) {
				put[n] = puts[g * ENTRIES + n];
				puts[g * ENTRIES + n] = 0
			}
			waiting[g] = false;
			awaited[g] = inside;
#if SCENARIO == ORDER
			ended[g] = queued[g] | left;
			queued[g] = 0;
#endif
			n = 0
		}
		atomic {
			!awaited[g] ->
#if SCENARIO == ORDER
			know[CALLBACK(g)] = know[CALLBACK(g)] | ended[g];
			ended[g] = 0
#endif
		}
		do
		:: d_step {
			do
			:: n < NODES && !drop[n] ->
				if
				:: free[n] -> release(CALLBACK(g), n)
				:: else
				fi;
				free[n] = false;
				n++
			:: else -> break
			od;
			k = 0
		   }
		   if
		   :: n == NODES -> break
		   :: else -> drop[n]--; drop_subtree(CALLBACK(g), n)
		   fi
		od;
		k = 0;
		d_step {
			for (n : 0 .. ENTRIES - 1) {
				do
				:: put[n] -> put[n]--; put_entry(n)
				:: else -> break
				od
			}
			n = 0
		}
	od
}

/* ---- readers --------------------------------------------------------------------------------- */

/* @entry was in tree @t at @index when it had @before there, or since. */
#define WAS_THERE(t, index, entry, before) \
	((entry) == (before) || ((entry) >= FIRST_OF(t) && (entry) <= content[AT(t, index)] && \
				 (entry) > (before)))

proctype reader()
{
	byte n, index, before, k;

	atomic {
		index = 0; /* it stands for 1, and tree 0 for tree 1: what is different has both names */
		if
#if TREES == 2
		:: reads = 0
#else
		:: root[2] != NONE -> reads = 2
		:: reads = 1
#endif
#if INDEXES == 3
		:: reads = 0; index = 2
#endif
		fi;
		inside = true;
		n = root[reads];
		before = content[AT(reads, index)]
	}
	do
	:: n == NONE || kind[n] == LEAF -> break /* NONE: the tree is destroyed */
	:: else ->
		d_step {
			touch(READER, n);
			n = SLOT(n, OFFSET(n, index))
		}
	od;
	if
	:: n != NONE ->
		d_step {
			touch(READER, n);
			n = SLOT(n, 0);
			assert(WAS_THERE(reads, index, n, before));
			assert(!gone[n])
		}
	:: else
	fi;
	k = 0;
	d_step { /* until here it uses what it found */
		assert(n == NONE || !gone[n]);
		inside = false;
#if SCENARIO == ORDER
		left = know[READER];
#endif
		for (k : 0 .. RUNNERS - 1) {
#if SCENARIO == ORDER
			ended[k] = (awaited[k] -> ended[k] | left : ended[k]);
#endif
			awaited[k] = false
		}
		k = 0;
		n = 0;
		index = 0;
		before = 0
	}
}

/* ---- writers --------------------------------------------------------------------------------- */

/* Fills node @n. */
inline make(n, what, s0, s1)
{
	kind[n] = what;
	SLOT(n, 0) = s0;
	SLOT(n, 1) = s1;
	made[n] = true
}

inline take_fresh()
{
	fresh = next;
	next++;
	assert(fresh < FIRST_NODE(t) + ROOM)
}

/*
 * An index is chosen. The way there, which only this writer changes: from the root, way[0], to the
 * leaf, way[depth].
 */
inline choose()
{
	atomic {
		select(index : 0 .. INDEXES - 1);
		depth = 0;
		way[0] = root[t];
		do
		:: touch(t, way[depth]);
		   if
		   :: kind[way[depth]] == LEAF -> break
		   :: else ->
			way[depth + 1] = SLOT(way[depth], OFFSET(way[depth], index));
			depth++
		   fi
		od
	}
}

/* publish_node: the node at @level of the way is now @n. */
inline publish(level, n)
{
	if
	:: level == 0 -> root[t] = n
	:: else ->
		change(t, way[level - 1]);
		SLOT(way[level - 1], OFFSET(way[level - 1], index)) = n
	fi
}

/* The copy @n refers to the children of the original, too, but for the one that is copied next. */
inline share_children(n)
{
	assert(!freed[SLOT(n, 1 - OFFSET(n, index))]);
	shares[SLOT(n, 1 - OFFSET(n, index))]++;
#ifdef FAULT_COUNT_ALL
	shares[SLOT(n, OFFSET(n, index))]++
#endif
}

/* copy[level] becomes a copy of way[level]. */
inline copy_node()
{
	take_fresh();
	touch(t, way[level]);
	make(fresh, kind[way[level]], SLOT(way[level], 0), SLOT(way[level], 1));
	copy[level] = fresh;
	if
	:: level > top -> SLOT(copy[level - 1], OFFSET(copy[level - 1], index)) = fresh
	:: else
	fi;
#if !defined(FAULT_UNCOUNTED) && !defined(FAULT_COUNT_LATE)
	if
	:: kind[fresh] != LEAF -> share_children(fresh)
	:: else
	fi;
#endif
#if !defined(FAULT_NO_GET) && !defined(FAULT_GET_LATE)
	if
	:: kind[fresh] == LEAF -> get_entry(SLOT(fresh, 0))
	:: else
	fi;
#endif
	fresh = 0;
	level++
}

/*
 * make_path, copy_path: what is shared, or below what is shared, is replaced by copies that share
 * the children and have references to the entries.
 */
inline make_own()
{
	top = 0;
	do
	:: top > depth -> break
	:: else ->
#ifdef FAULT_ASK_LEAF
		top = depth;
#endif
		ask(t, way[top]);
		if
		:: others -> break
		:: else -> top++
		fi
	od;
	if
	:: top <= depth ->
		atomic {
			others = false;
			level = top;
			do
			:: level > depth -> break
			:: else -> copy_node()
			od;
			level = 0
		}
		d_step {
			old = way[top];
			fresh = copy[top];
			publish(top, fresh);
			retire_subtree(t, old);
			for (k : top .. depth) {
				way[k] = copy[k];
				copy[k] = 0
			}
			k = 0;
			old = 0;
			fresh = 0
		}
		drop_at_once(t);
#ifdef FAULT_COUNT_LATE
		d_step {
			for (k : top .. depth - 1) {
				share_children(way[k])
			}
			k = 0
		}
#endif
#ifdef FAULT_GET_LATE
		d_step {
			get_entry(SLOT(way[depth], 0))
		}
#endif
	:: else
	fi
}

/* One store: in the leaf, or by a changed copy of it. */
inline store()
{
	choose();
#ifdef FAULT_IN_PLACE
	if
	:: make_own()
	:: true
	fi;
#else
	make_own();
#endif
	atomic {
		entry = FIRST_OF(t) + writes;
		writes++;
		get_entry(entry);
		old = SLOT(way[depth], 0);
		content[AT(t, index)] = entry;
		if
		:: true ->
			change(t, way[depth]);
			SLOT(way[depth], 0) = entry
#if SCENARIO == FLAT || SCENARIO == PLAIN || SCENARIO == ORDER
		:: true ->
			take_fresh();
			make(fresh, LEAF, entry, 0);
			publish(depth, fresh);
			retire_node(t, way[depth])
#endif
		fi;
		retire_entry(t, old);
		for (k : 0 .. 2) {
			way[k] = 0
		}
		k = 0;
		old = 0;
		fresh = 0;
		entry = 0;
		index = 0;
		depth = 0;
		top = 0
	}
}

/* mas_snapshot: @to is empty, and nobody else uses it yet. */
inline snapshot(to)
{
#ifndef FAULT_SNAPSHOT_UNCOUNTED
	shares[root[t]]++;
#endif
	for (k : 0 .. INDEXES - 1) {
		content[AT(to, k)] = content[AT(t, k)]
	}
	k = 0;
	root[to] = root[t]
}

proctype writer(byte t)
{
	byte way[3], copy[3];
	byte depth, index, top, level, fresh, old, entry, writes, node, k, at_once;
	byte next = FIRST_NODE(t);
	int todo;
	bool others, shot;

	do
	:: writes < WRITES && (TREES == 2 || t > 0) -> store()
#if SCENARIO == CHAIN
	:: t == 1 && !shot ->
		atomic {
			shot = true;
			snapshot(2);
			run writer(2)
		}
#endif
	:: writes == WRITES || TREES == 3 && t == 0 -> break
	:: atomic {
		true -> /* mtree_destroy */
		old = root[t];
		root[t] = NONE;
		retire_subtree(t, old);
		old = 0
	   }
	   drop_at_once(t);
	   break
	od
}

/* ---- the beginning and the end --------------------------------------------------------------- */

inline count_words()
{
	for (n : 0 .. TREES - 1) {
		if
		:: root[n] != NONE -> words[root[n]]++
		:: else
		fi
	}
	for (n : 0 .. NODES - 1) {
		if
		:: made[n] && !freed[n] && kind[n] != LEAF ->
			words[SLOT(n, 0)]++;
			words[SLOT(n, 1)]++
		:: made[n] && !freed[n] && kind[n] == LEAF -> leaves[SLOT(n, 0)]++
		:: else
		fi
	}
}

init {
	byte words[NODES], leaves[ENTRIES], n, t, k;

	d_step {
#if INDEXES == 3
		make(0, TOP, 1, 4);
		make(1, BELOW, 2, 3);
		make(2, LEAF, 0, 0);
		make(3, LEAF, 1, 0);
		make(4, LEAF, 2, 0);
#elif INDEXES == 1
		make(0, LEAF, 0, 0);
#else
		make(0, BELOW, 1, 2);
		make(1, LEAF, 0, 0);
		make(2, LEAF, 1, 0);
#endif
		for (n : 0 .. INDEXES - 1) {
			held[n] = 1;
			content[n] = n
		}
		n = 0;
		root[0] = 0;
		snapshot(1) /* of tree 0: t is 0 */
	}
	atomic {
		for (n : 0 .. RUNNERS - 1) {
			run runner(n)
		}
		run writer(0);
		run writer(1);
#if SCENARIO != PLAIN
		run reader();
#endif
		n = 0
	}
	timeout ->
	d_step {
		count_words();
		for (n : 0 .. NODES - 1) {
			assert((made[n] && !freed[n]) == (words[n] > 0));
			assert(!words[n] || shares[n] + 1 == words[n])
		}
		for (n : 0 .. ENTRIES - 1) {
			assert(held[n] == leaves[n])
		}
		for (t : 0 .. TREES - 1) {
			for (k : 0 .. INDEXES - 1) {
				n = root[t];
				do
				:: n == NONE || kind[n] == LEAF -> break
				:: else -> n = SLOT(n, OFFSET(n, k))
				od;
				assert(n == NONE || SLOT(n, 0) == content[AT(t, k)])
			}
		}
	}
}
