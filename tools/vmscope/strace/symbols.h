/* SPDX-License-Identifier: MIT */
/* The symbols of the files of this machine: which names of strace(1) are of other functions. */
#ifndef VMSCOPE_STRACE_SYMBOLS_H
#define VMSCOPE_STRACE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "strace/line.h"

struct symbols;

/* NULL: out of memory. symbols_free() ignores NULL. */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/*
 * Whether the place @offset behind symbol @name of the file at @path, which is address @address of
 * it, is not in that function: strace names the last symbol before a place, and files without a
 * symbol table have few. False if it is, or if there is no such file here, or another one: with
 * that symbol elsewhere.
 */
bool symbols_ends_before(struct symbols *symbols, struct strace_text path, struct strace_text name,
			 uint64_t offset, uint64_t address);

#endif
