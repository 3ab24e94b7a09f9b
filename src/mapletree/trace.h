/* SPDX-License-Identifier: MIT */
/*
 * trace.h - static probes, to which gdb, perf, bpftrace and SystemTap attach: mapletree:read, write
 * and op, after the kernel's tracepoints of its tree. mapletree_probes(7) says when they are hit.
 *
 * A probe is one instruction that does nothing, and a note in the file which says where it is and
 * where its arguments lie at that moment, in registers or in memory. So a probe costs that
 * instruction as long as the compiler need not move anything for it: pass what is at hand there
 * anyway. `make counts` shows whether it is so.
 */
#ifndef MT_TRACE_H
#define MT_TRACE_H

#include <limits.h>

/*
 * enum trace_op - what changes more than a few words of a leaf. The numbers are the last argument
 * of mapletree:op, which scripts know: new ones go to the end.
 */
enum trace_op {
	TRACE_COPY = 1,    /* a leaf is replaced by a changed copy */
	TRACE_BORDER = 2,  /* the boundary of two leaves moves, because a gap goes over it */
	TRACE_PAIR = 3,    /* two leaves share their slots in another way, or one is divided */
	TRACE_LAYOUT = 4,  /* nodes are laid out anew, on one level or more */
	TRACE_REWRITE = 5, /* several ranges of a leaf are stored at once */
	TRACE_OWN = 6,     /* nodes that belong to other trees, too, are copied */
	TRACE_DUP = 7,     /* a copy of the whole tree is made */
	TRACE_SNAPSHOT = 8, /* a snapshot of it */
	TRACE_DESTROY = 9, /* all its nodes go */
};

#ifdef MT_TRACE
#include <sys/sdt.h>
#ifdef __clang__
/* Its macros leave variadic arguments out. The second is what later versions call it. */
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#pragma clang diagnostic ignored "-Wvariadic-macro-arguments-omitted"
#endif
#define TRACE_4(name, ...) STAP_PROBE4(mapletree, name, __VA_ARGS__)
#define TRACE_6(name, ...) STAP_PROBE6(mapletree, name, __VA_ARGS__)
#else
#define TRACE_4(name, ...) ((void)0)
#define TRACE_6(name, ...) ((void)0)
#endif

/* A walk down from the root to @index, and the bounds of the leaf in which the cursor stood. */
#define TRACE_READ(mt, min, max, index) TRACE_4(read, mt, min, max, index)

/* A store that a cursor is asked for: those bounds, the range, and what it will hold. */
#define TRACE_WRITE(mas, entry) \
	TRACE_6(write, (mas)->tree, (mas)->min, (mas)->max, (mas)->index, (mas)->last, entry)

/* One without a cursor. */
#define TRACE_WRITE_RANGE(mt, index, last, entry) \
	TRACE_6(write, mt, 0ul, ULONG_MAX, index, last, entry)

/* What is going to happen in, or beginning in, the finger's leaf; and of what range. */
#define TRACE_OP(mt, index, last, what) \
	TRACE_6(op, mt, (mt)->ma_finger.min, (mt)->ma_finger.max, index, last, what)

/* What concerns the whole tree. */
#define TRACE_WHOLE(mt, what) TRACE_6(op, mt, 0ul, ULONG_MAX, 0ul, ULONG_MAX, what)

#endif
