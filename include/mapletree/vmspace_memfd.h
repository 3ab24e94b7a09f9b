/* SPDX-License-Identifier: MIT */
/*
 * vmspace_memfd.h - guest memory in a memfd, and requests: vmspace_window.h and vmspace.h. Emulators whose
 * calls are functions (vmspace_guest.h) need the first alone.
 */
#ifndef MAPLETREE_VMSPACE_MEMFD_H
#define MAPLETREE_VMSPACE_MEMFD_H

#include <mapletree/vmspace.h>
#include <mapletree/vmspace_window.h>

#endif /* MAPLETREE_VMSPACE_MEMFD_H */
