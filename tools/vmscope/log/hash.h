/* SPDX-License-Identifier: MIT */
/* A number that stands for the text of all areas: FNV-1a, 64 bits. */
#ifndef VMSCOPE_LOG_HASH_H
#define VMSCOPE_LOG_HASH_H

#include <mapletree/vmspace.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INIT 14695981039346656037u

/* Goes on from @hash, HASH_INIT at first. */
uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length);

/* *@hash is that of what /proc/PID/maps would show of @vm. Returns 0 or -ENOMEM. */
int hash_maps(const struct vmspace *vm, uint64_t *hash);

#endif
