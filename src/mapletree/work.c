/* SPDX-License-Identifier: MIT */
/*
 * work.c - the counters of work.
 */
#include "work.h"

#ifndef NDEBUG
_Thread_local unsigned long work_done[WORK_KINDS];
#endif
