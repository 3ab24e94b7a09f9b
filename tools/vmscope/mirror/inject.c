/* SPDX-License-Identifier: MIT */
/* Fault injection, for tests: the mirror gets a call other than the kernel's. */
#include "mirror/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const names[] = {
	[INJECT_DROP] = "drop",
	[INJECT_DOUBLE] = "double",
	[INJECT_ALTER] = "alter",
};

bool inject_parse(const char *text, struct options *options)
{
	const char *colon = strchr(text, ':');
	char *end;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return false;
	for (int kind = INJECT_DROP; kind <= INJECT_ALTER; kind++) {
		if (strlen(names[kind]) != (size_t)(colon - text) ||
		    strncmp(text, names[kind], (size_t)(colon - text)) != 0)
			continue;
		errno = 0;
		options->inject = (enum inject_kind)kind;
		options->inject_at = strtoul(colon + 1, &end, 10);
		return *end == '\0' && errno == 0 && options->inject_at > 0;
	}
	return false;
}

enum inject_kind inject_for(const struct options *options, unsigned long number)
{
	return options->inject_at == number ? options->inject : INJECT_NOTHING;
}

const char *inject_name(enum inject_kind kind)
{
	return kind == INJECT_NOTHING ? NULL : names[kind];
}

/* Drops the last page of a range; moves a range of one page down by one. */
static void alter_range(unsigned long *addr, unsigned long *length, unsigned long page)
{
	if (*length > page)
		*length = (*length - 1) / page * page;
	else
		*addr -= page;
}

void inject_alter(struct vmspace_request *req, unsigned long page)
{
	switch (req->op) {
	case VMSPACE_MMAP:
		/* A page more would change nothing where memory of the same kind comes behind. */
		if (req->mmap.length > page)
			req->mmap.length = (req->mmap.length - 1) / page * page;
		else
			req->mmap.length += page;
		break;
	case VMSPACE_MUNMAP:
		alter_range(&req->munmap.addr, &req->munmap.length, page);
		break;
	case VMSPACE_MPROTECT:
		req->mprotect.prot ^= PROT_READ;
		break;
	case VMSPACE_MREMAP:
		req->mremap.new_length += page;
		break;
	case VMSPACE_BRK:
		req->brk.brk += page;
		break;
	case VMSPACE_MADVISE:
		alter_range(&req->madvise.addr, &req->madvise.length, page);
		break;
	case VMSPACE_MLOCK:
	case VMSPACE_MUNLOCK:
		alter_range(&req->mlock.addr, &req->mlock.length, page);
		break;
	case VMSPACE_MLOCKALL:
		req->mlockall.flags ^= MCL_ONFAULT;
		break;
	case VMSPACE_SET_ANON_NAME:
		alter_range(&req->set_anon_name.addr, &req->set_anon_name.length, page);
		break;
	case VMSPACE_SHMAT:
		req->shmat.size += page;
		break;
	case VMSPACE_SHMDT:
		req->shmdt.addr += page;
		break;
	case VMSPACE_MBIND:
		alter_range(&req->mbind.addr, &req->mbind.length, page);
		break;
	case VMSPACE_UFFD_REGISTER:
	case VMSPACE_UFFD_UNREGISTER:
		alter_range(&req->uffd.addr, &req->uffd.length, page);
		break;
	case VMSPACE_PKEY_ALLOC:
		req->pkey_alloc.flags ^= 1;
		break;
	case VMSPACE_PKEY_FREE:
		req->pkey_free.pkey++;
		break;
	case VMSPACE_MSEAL:
		alter_range(&req->mseal.addr, &req->mseal.length, page);
		break;
	default:
		break;
	}
}
