/* SPDX-License-Identifier: MIT */
/*
 * engines.c - the list of competitors; which ones this build has is the build system's finding.
 */
#include "engine.h"

#define DECLARE(symbol) extern const struct engine symbol;
#define POINT(symbol)   &symbol,

/* Ours first, what is compared against next, the limits last: the order of tables. */
#ifdef HAVE_KERNEL
#define KERNEL(X) X(engine_kernel) X(engine_kernel_gaps) X(engine_kernel_rcu) X(engine_kernel_mm)
#else
#define KERNEL(X)
#endif
#ifdef HAVE_KERNEL73
#define KERNEL73(X) \
	X(engine_kernel73) X(engine_kernel73_gaps) X(engine_kernel73_rcu) X(engine_kernel73_mm)
#else
#define KERNEL73(X)
#endif
#ifdef HAVE_TRIO
#define TRIO(X) X(engine_trio) X(engine_joined)
#else
#define TRIO(X)
#endif
#ifdef HAVE_ABSL
#define ABSL(X) X(engine_absl)
#else
#define ABSL(X)
#endif
#ifdef HAVE_LLVM
#define LLVM(X) X(engine_llvm)
#else
#define LLVM(X)
#endif
#ifdef HAVE_CXX
#define CXX(X) X(engine_stdmap)
#else
#define CXX(X)
#endif
#ifdef HAVE_ICL
#define ICL(X) X(engine_icl)
#else
#define ICL(X)
#endif
#ifdef HAVE_JUDY
#define JUDY(X) X(engine_judy)
#else
#define JUDY(X)
#endif
#ifdef HAVE_RUST
#define RUST(X) X(engine_btreemap)
#else
#define RUST(X)
#endif
#ifdef HAVE_IMBL
#define IMBL(X) X(engine_ordmap)
#else
#define IMBL(X)
#endif
#ifdef HAVE_SHARING
#define SHARERS(X) X(engine_redblack) X(engine_transactions)
#else
#define SHARERS(X)
#endif
#ifdef HAVE_CRATES
#define CRATES(X) X(engine_rangemap) X(engine_skiplist) X(engine_treeindex)
#else
#define CRATES(X)
#endif

#define ALL(X) \
	X(engine_mapletree) X(engine_mapletree_gaps) X(engine_mapletree_rcu) \
	X(engine_mapletree_mm) X(engine_mapletree_own) X(engine_mapletree_mm_own) \
	KERNEL(X) KERNEL73(X) TRIO(X) ABSL(X) LLVM(X) CXX(X) RUST(X) IMBL(X) SHARERS(X) CRATES(X) \
	ICL(X) JUDY(X) X(engine_sorted) X(engine_limit)

ALL(DECLARE)

const struct engine *const engines[] = { ALL(POINT) NULL };
