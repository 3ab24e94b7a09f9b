/* SPDX-License-Identifier: MIT */
/* Random calls that must not be made. */
#ifndef VMSCOPE_CHECK_LEAVE_OUT_H
#define VMSCOPE_CHECK_LEAVE_OUT_H

#include "check/generator.h"

/* Does [start, start + length) overlap an area that the puppet needs? */
bool leave_out_range(const struct generator *c, unsigned long start, unsigned long length);

/*
 * Must the request not be made? It would change areas that the puppet needs, or its outcome depends
 * on what libvmspace cannot know.
 */
bool leave_out(const struct generator *c, const struct pair *p, const struct vmspace_request *r);

#endif
