/* SPDX-License-Identifier: MIT */
/* Where the kernel has put what a call maps, when it was free to choose. */
#include "log/placed.h"

#include <sys/mman.h>

bool placed_range(const struct vmspace_request *req, unsigned long *first, unsigned long *last)
{
	unsigned long length;

	if (!req->host.valid || req->host.result <= 0)
		return false;
	*first = (unsigned long)req->host.result;
	if (req->op == VMSPACE_MMAP && !(req->mmap.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		length = req->mmap.length;
	else if (req->op == VMSPACE_MREMAP && !(req->mremap.flags & MREMAP_FIXED) &&
		 *first != req->mremap.addr)
		length = req->mremap.new_length;
	else if (req->op == VMSPACE_SHMAT && !req->shmat.addr)
		length = req->shmat.size;
	else
		return false;
	*last = *first + (length ? length - 1 : 0);
	return *last >= *first;
}
