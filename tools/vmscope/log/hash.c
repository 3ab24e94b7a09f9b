/* SPDX-License-Identifier: MIT */
/* Hashes of the text of maps: FNV-1a, 64 bits. */
#include "log/hash.h"

#define FNV_PRIME 1099511628211u

uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * FNV_PRIME;
	return hash;
}

static int add_line(void *ctx, const char *line, size_t length)
{
	uint64_t *hash = ctx;

	*hash = hash_bytes(*hash, line, length);
	return 0;
}

int hash_maps(const struct vmspace *vm, uint64_t *hash)
{
	*hash = HASH_INIT;
	return vmspace_show_lines(vm, add_line, hash);
}
