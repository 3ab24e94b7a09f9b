/* SPDX-License-Identifier: MIT */
/*
 * stock.h - frames and page tables got before a call changes anything, so that what it does then
 * cannot fail.
 *
 * Covered by the space's lock; the tables belong to the thread that has it (see table_keep()).
 */
#ifndef VMSPACE_STOCK_H
#define VMSPACE_STOCK_H

#include <stddef.h>

#include "frame.h"

/* All zero: empty.   owns <= own_room;  taken <= files <= file_room.   Each holds a reference. */
struct stock {
	struct frame **own;          /* of the space's own; which one serves what does not matter */
	size_t owns, own_room;
	struct stock_file {
		unsigned long addr;  /* where the page will be; ascending */
		struct frame *frame;
	} *file;
	size_t files, taken, file_room; /* taken: so many are used, or passed over */
};

/* The frame passes to the stock. False: no memory, and it has been put. */
bool stock_add_own(struct stock *stock, const struct vmspace_memory *memory, struct frame *frame);
bool stock_add_file(struct stock *stock, const struct vmspace_memory *memory, unsigned long addr,
		    struct frame *frame);
/* Take one. NULL: there is none (for this address). */
struct frame *stock_take_own(struct stock *stock);
struct frame *stock_take_file(struct stock *stock, unsigned long addr);
/* Put all that is left; the stock is empty. */
void stock_clear(struct stock *stock, const struct vmspace_memory *memory);

#endif
