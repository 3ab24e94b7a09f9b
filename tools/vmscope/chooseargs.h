/* SPDX-License-Identifier: MIT */
/* The arguments of random calls. */
#ifndef VMSCOPE_CHOOSEARGS_H
#define VMSCOPE_CHOOSEARGS_H

#include "choose.h"

#define CHOOSE_PAGE 4096UL

/* Does [start, start + length) touch an area that the puppet lives on? */
bool choose_is_kept(const struct chooser *c, unsigned long start, unsigned long length);

#endif
