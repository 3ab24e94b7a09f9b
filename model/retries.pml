/* SPDX-License-Identifier: MIT */
/*
 * retries.pml - how often a reader tries to read a leaf beside a writer that never stops: see
 * retry.h.
 *
 * Memory is that of x86, total store order: the writer's stores wait in a queue of BUFFER entries
 * and come to memory one after the other, at any time; its loads do not wait for them. The readers'
 * additions go to memory at once. Any memory with a finite number of stores under way behaves so in
 * what matters here.
 *
 * A try fails if the version was raised in memory between its two loads, which is what `raised`
 * says; so the versions themselves are not kept, and the writer writes for ever in few states. It
 * changes WORDS words at a time: the version and the word, each a store. A leaf no reader is in may
 * become a new one: that is what grace periods are for, which publish.pml is about.
 *
 * With one fault: -DFAULT_... (see run.sh).
 */

#ifndef WORDS
#define WORDS 2
#endif
#define BUFFER  2
#define QUICK   2
#define READERS 2
#define LEAVES  4

/*
 * Every failed try after the addition has met a raise: of the change in progress, or one under way.
 */
#ifdef FAULT_TIGHTER
#define BOUND (QUICK + WORDS + BUFFER / 2)
#else
#define BOUND (QUICK + WORDS + BUFFER / 2 + 1)
#endif

#define NOWHERE 9

byte retrying = 0;              /* ma_retrying */
byte root = 0;                  /* the leaf that readers come to */
byte inside[READERS] = NOWHERE; /* the leaf that a reader is in */
bool raised[READERS];           /* its version was raised during the reader's try */

mtype = { RAISE, WORD, ROOT };
chan buffer = [BUFFER] of { mtype, byte };

inline raise(leaf)
{
	buffer!RAISE(leaf);
	buffer!WORD(leaf)
}

/* The oldest store comes to memory. */
active proctype memory()
{
	mtype what;
	byte leaf;
end:
	do
	:: atomic {
		buffer?what(leaf);
		if
		:: what == ROOT -> root = leaf
		:: what == RAISE ->
			raised[0] = raised[0] || inside[0] == leaf;
			raised[1] = raised[1] || inside[1] == leaf
		:: else
		fi;
		what = WORD;
		leaf = 0
	   }
	od
}

#define FREE(leaf) (leaf != own && inside[0] != leaf && inside[1] != leaf && root != leaf && \
		    !buffer??[ROOT, eval(leaf)])

active proctype writer()
{
	byte own = 0, fresh = 0;
	bool copies = false;
	byte word;

	do
	:: /* one change */
#ifdef FAULT_NEVER_ASK
	   copies = false;
#else
	   copies = (retrying > 0);
#endif
	   if
	   :: copies ->
		atomic {
			if
			:: FREE(0) -> fresh = 0
			:: FREE(1) -> fresh = 1
			:: FREE(2) -> fresh = 2
			:: FREE(3) -> fresh = 3
			fi
		}
		buffer!ROOT(fresh);
#ifdef FAULT_WRITE_OLD
		raise(own);
#endif
		own = fresh
	   :: else ->
		word = 0;
		do
		:: word < WORDS -> raise(own); word++
		:: else -> break
		od;
		word = 0
	   fi
	od
}

proctype reader(byte me)
{
	byte tries;

	do
	:: atomic {
		inside[me] = root;
		tries = 0
	   }
	   do
	   :: raised[me] = false; /* the first load of the version */
	      tries++;
	      assert(tries <= BOUND);
	      if
	      :: !raised[me] -> break /* the second one */
	      :: else
	      fi;
#ifndef FAULT_NO_COUNTER
	      if
	      :: tries == QUICK -> retrying++
#ifdef FAULT_LEAVE_EARLY
	      :: tries == QUICK + 1 -> retrying--
#endif
	      :: else
	      fi
#endif
	   od;
	   atomic {
		inside[me] = NOWHERE;
		raised[me] = false
	   }
#ifdef FAULT_FLAG
	   retrying = 0
#elif !defined(FAULT_NO_COUNTER) && !defined(FAULT_LEAVE_EARLY)
	   if
	   :: tries > QUICK -> retrying--
	   :: else
	   fi
#endif
	od
}

init {
	atomic {
		run reader(0);
		run reader(1)
	}
}
