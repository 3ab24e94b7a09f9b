/* SPDX-License-Identifier: MIT */
/* config_arch.c - what depends on the processor's architecture, for a new space's configuration. */
#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "config.h"
#include "probe.h"
#include "probe_child.h"

#ifdef __aarch64__
/*
 * Does memory that mmap has made not merge with a page of the heap right before it? The page is
 * kept from merging with the heap that there was, whose own pages may have been touched.
 */
static void look_behind_heap(volatile unsigned char *shared)
{
	struct place p = { .page = (unsigned long)sysconf(_SC_PAGESIZE) };
	unsigned long end = ((unsigned long)syscall(SYS_brk, 0UL) + p.page - 1) & -p.page;
	struct seen seen;

	p.start = (char *)end;
	(void)madvise(p.start - p.page, p.page, MADV_DONTDUMP);
	if ((unsigned long)syscall(SYS_brk, end + p.page) != end + p.page ||
	    mmap(at(&p, 1), p.page, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) != at(&p, 1) ||
	    !place_see(&p, &seen))
		return;
	*shared = (unsigned char)answer(seen.areas == 2);
}

static bool mmap_apart;

static void find_out(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *shared = mmap(NULL, size, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int cancel;

	if (shared == MAP_FAILED)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	probe_child_run(look_behind_heap, shared);
	pthread_setcancelstate(cancel, NULL);
	mmap_apart = *shared == PROBE_YES;
	munmap(shared, size);
}

bool config_mmap_apart(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_out);
	return mmap_apart;
}
#else
bool config_mmap_apart(void)
{
	return false;
}
#endif

void config_probe_architecture(struct vmspace_config *config)
{
	unsigned long size = config->page_size, tag = (ULONG_MAX >> 8) + 1;
	enum { BTI = 0x10 /* PROT_BTI */ };
	char *page = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (sizeof(long) == 8)
		config->address_tags = !syscall(SYS_mprotect, (unsigned long)page | tag, size,
						(unsigned long)PROT_READ);
	config->bti = config->address_tags && !mprotect(page, size, PROT_READ | BTI);
	if (!config->pkeys)
		config->key_0 = !syscall(SYS_pkey_mprotect, page, size, (unsigned long)PROT_READ,
					 0UL);
	munmap(page, size);
	config->mmap_apart = config_mmap_apart();
}
