/* SPDX-License-Identifier: MIT */
/* What the kernel has unmapped for a call that it then refused. */
#ifndef VMSCOPE_MIRROR_REFUSAL_H
#define VMSCOPE_MIRROR_REFUSAL_H

#include <mapletree/vmspace.h>
#include <stdbool.h>

#include "mirror/kernel.h"

/*
 * The call of @req failed: is what was mapped at the address that it gave gone? For
 * vmspace_host_result.unmapped. Reads the maps if the call could have unmapped something.
 */
bool refusal_has_unmapped(struct kernel_view *view, const struct vmspace_request *req);

#endif
