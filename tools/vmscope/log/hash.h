/* SPDX-License-Identifier: MIT */
/* Hashes of the text of maps: FNV-1a, 64 bits. */
#ifndef VMSCOPE_LOG_HASH_H
#define VMSCOPE_LOG_HASH_H

#include <mapletree/vmspace.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INIT 14695981039346656037u

/* Continues from @hash; start with HASH_INIT. */
uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length);

/* Hashes what /proc/PID/maps would show for @vm. Returns 0 or -ENOMEM. */
int hash_maps(const struct vmspace *vm, uint64_t *hash);

#endif
