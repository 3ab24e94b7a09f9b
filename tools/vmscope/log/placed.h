/* SPDX-License-Identifier: MIT */
/* Where the kernel has put what a call maps, when it was free to choose. */
#ifndef VMSCOPE_LOG_PLACED_H
#define VMSCOPE_LOG_PLACED_H

#include <mapletree/vmspace.h>
#include <stdbool.h>

/* The range, in [*@first, *@last]: it was free when the call was made. False: none was chosen. */
bool placed_range(const struct vmspace_request *req, unsigned long *first, unsigned long *last);

#endif
