/* SPDX-License-Identifier: MIT */
/* The arguments of random calls that map, unmap, move and protect. */
#include <sys/mman.h>
#include <sys/shm.h>

#include "check/calls.h"
#include "check/draw.h"

#define MAP_DROPPABLE_TYPE 8
#ifndef MAP_TYPE
#define MAP_TYPE 0x0f
#endif

static int some_map_flags(struct generator *c)
{
	int flags = 0;

	if (chance(c, 12))
		flags |= MAP_NORESERVE;
	if (chance(c, 14))
		flags |= MAP_POPULATE;
	if (chance(c, 14))
		flags |= MAP_STACK;
	if (chance(c, 40))
		flags |= MAP_LOCKED;
	if (chance(c, 40))
		flags |= MAP_NONBLOCK;
	if (chance(c, 30))
		flags |= 0x40; /* MAP_32BIT */
	if (chance(c, 60))
		flags |= MAP_DENYWRITE | MAP_EXECUTABLE;
	return flags;
}

/* Some are within the first page, which is none, or about the lowest one that Linux follows. */
static unsigned long some_hint(struct generator *c)
{
	unsigned long page;

	if (chance(c, 8))
		return below(c, PAGE);
	page = chance(c, 16) ? below(c, 20) * PAGE
			     : DRAW_ARENA + below(c, c->arena_pages) * PAGE;
	return page + (chance(c, 6) ? below(c, PAGE) : 0);
}

static void some_place(struct generator *c, struct vmspace_mmap *m)
{
	switch (below(c, 5)) {
	case 0:
		break; /* no hint */
	case 1:
		m->addr = some_hint(c);
		break;
	default:
		m->addr = chance(c, 100) ? 0 : DRAW_ARENA + below(c, c->arena_pages) * PAGE;
		m->flags |= chance(c, 4) ? MAP_FIXED_NOREPLACE : MAP_FIXED;
	}
}

/* The part common to all kinds of mmap(), without the type of the mapping. */
static struct vmspace_mmap *begin_mmap(struct generator *c, struct vmspace_request *r)
{
	struct vmspace_mmap *m = &r->mmap;

	r->op = VMSPACE_MMAP;
	m->length = draw_length(c);
	if (chance(c, 30))
		m->length -= below(c, PAGE);
	m->prot = draw_prot(c);
	m->flags = some_map_flags(c);
	some_place(c, m);
	if (chance(c, 200))
		m->length = 0;
	return m;
}

/* Makes some arguments invalid. */
static void spoil_mmap(struct generator *c, struct vmspace_mmap *m)
{
	if (chance(c, 100))
		m->flags &= ~MAP_TYPE;
	if (chance(c, 200))
		m->offset |= 1;
}

void call_mmap(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_mmap *m = begin_mmap(c, r);

	(void)p;
	m->flags |= MAP_ANONYMOUS | MAP_PRIVATE;
	if (chance(c, 25))
		m->flags |= MAP_GROWSDOWN;
	if (chance(c, 60))
		m->flags = (m->flags & ~MAP_TYPE) | MAP_DROPPABLE_TYPE;
	spoil_mmap(c, m);
}

/* MAP_SHARED_VALIDATE, and now and then a flag that it does not know. */
static void validate_flags(struct generator *c, struct vmspace_mmap *m)
{
	m->flags = (m->flags & ~MAP_TYPE) | MAP_SHARED_VALIDATE;
	if (chance(c, 3))
		m->flags |= (int)(1U << (25 + below(c, 7)));
}

void call_mmap_shared(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_mmap *m = begin_mmap(c, r);

	(void)p;
	m->flags |= MAP_ANONYMOUS | MAP_SHARED;
	if (chance(c, 30))
		validate_flags(c, m);
	spoil_mmap(c, m);
}

/* Mostly one of the common ones. */
static enum puppet_file some_file(struct generator *c)
{
	unsigned long file = below(c, PUPPET_PIPE);

	if (chance(c, c->odd_file_one_in))
		file = below(c, PUPPET_FILE_COUNT);
	return puppet_file_info((enum puppet_file)file)->there ? (enum puppet_file)file :
								 PUPPET_FILE_RW;
}

/* What is particular to the file; where a driver is choosy, as it likes. */
static void suit_file(struct generator *c, struct vmspace_mmap *m, enum puppet_file file)
{
	const struct puppet_file_info *info = puppet_file_info(file);

	m->backing = *pair_backing(file);
	/* What has no handler for mmap() is known to be refused; sockets have one. */
	if (info->driver_refuses && file != PUPPET_SOCKET)
		m->backing.flags |= VMA_BACKING_NO_MMAP;
	m->bad_fd = file == PUPPET_PATH;
	m->driver_flags = info->driver_flags;
	if (file == PUPPET_ZERO) {
		/* A shared mapping of /dev/zero is anonymous memory. */
		m->flags = (m->flags & ~MAP_TYPE) | MAP_SHARED;
		m->backing = (struct vma_backing){ .kind = VMA_BACKING_SHMEM,
						   .name = "/dev/zero (deleted)" };
		m->offset = 0;
	}
	if (!info->driver_bytes)
		return;
	m->addr = 0;
	m->length = info->driver_bytes;
	m->offset = info->driver_offsets[below(c, 3)];
	m->prot = PROT_READ | PROT_WRITE;
	m->flags = MAP_SHARED | (m->flags & (MAP_POPULATE | MAP_NORESERVE | MAP_STACK));
}

void call_mmap_file(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_mmap *m = begin_mmap(c, r);
	enum puppet_file file;

	(void)p;
	file = some_file(c);
	m->offset = below(c, 64) * PAGE;
	/* Often continue the mapping below, as program loaders do. */
	if (m->addr >= DRAW_ARENA && chance(c, 2))
		m->offset = (m->addr - DRAW_ARENA) / PAGE * PAGE;
	m->flags |= chance(c, 3) ? MAP_SHARED : MAP_PRIVATE;
	if (chance(c, 30))
		validate_flags(c, m);
	if (file > PUPPET_ZERO && chance(c, 12))
		m->flags |= MAP_GROWSDOWN;
	suit_file(c, m, file);
	spoil_mmap(c, m);
}

void call_munmap(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	r->op = VMSPACE_MUNMAP;
	r->munmap = (struct vmspace_munmap){ s.start, s.end - s.start };
	if (chance(c, 50))
		r->munmap.addr += 1 + below(c, PAGE - 1);
	else if (chance(c, 50))
		r->munmap.length -= below(c, PAGE);
	if (chance(c, 100))
		r->munmap.length = 0;
}

/* One of the first, which are the ones in use, or any, or none. */
static int draw_pkey(struct generator *c)
{
	return (int)below(c, chance(c, 10) ? 18 : 4) - chance(c, 40);
}

void call_mprotect(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	r->op = VMSPACE_MPROTECT;
	r->mprotect = (struct vmspace_mprotect){ s.start, s.end - s.start, draw_prot(c), -1 };
	if (chance(c, 30))
		r->mprotect.prot |= chance(c, 4) ? PROT_GROWSUP : PROT_GROWSDOWN;
	if (chance(c, 60))
		r->mprotect.prot |= 1 << below(c, 10);
	if (chance(c, 60))
		r->mprotect.addr += below(c, PAGE);
	if (chance(c, vmspace_config(p->space)->pkeys ? 8 : 30))
		r->mprotect.pkey = draw_pkey(c);
}

/*
 * The rights are those that a key has when nothing is denied: what a thread denies itself is not
 * modelled. Few are freed, so that sometimes there are none left for execute-only areas.
 */
void call_pkey(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	if (!vmspace_config(p->space)->pkeys) {
		call_mprotect(c, p, r);
	} else if (chance(c, 3)) {
		r->op = VMSPACE_PKEY_FREE;
		r->pkey_free.pkey = draw_pkey(c);
	} else {
		r->op = VMSPACE_PKEY_ALLOC;
		r->pkey_alloc.flags = chance(c, 20);
		r->pkey_alloc.rights = chance(c, 20) ? 4 << below(c, 8) : 0;
	}
}

void call_mremap(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);
	struct vmspace_mremap *m = &r->mremap;

	r->op = VMSPACE_MREMAP;
	m->addr = s.start;
	m->old_length = s.end - s.start;
	m->new_length = chance(c, 2) ? m->old_length : draw_length(c);
	m->flags = chance(c, 6) ? 0 : MREMAP_MAYMOVE;
	if (chance(c, 2))
		m->flags |= MREMAP_FIXED;
	if (chance(c, 6)) {
		m->flags |= 4; /* MREMAP_DONTUNMAP */
		if (!chance(c, 10))
			m->new_length = m->old_length;
	}
	m->new_addr = DRAW_ARENA + below(c, c->arena_pages) * PAGE;
	if (chance(c, 12))
		m->old_length = 0;
	if (chance(c, 60))
		m->flags = (int)below(c, 16);
	if (chance(c, 100))
		m->addr += below(c, PAGE);
	if (chance(c, 100))
		m->new_length = 0;
	if (chance(c, 60))
		m->old_length -= below(c, PAGE);
	if (chance(c, 60))
		m->new_length += below(c, PAGE);
}

void call_brk(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct vmspace_stats stats;
	unsigned long to;

	vmspace_stats(p->space, &stats);
	r->op = VMSPACE_BRK;
	to = stats.brk + below(c, 20) * PAGE - 10 * PAGE + below(c, 3);
	if (to < stats.start_brk || to > stats.start_brk + 200 * PAGE)
		to = stats.start_brk + below(c, 20) * PAGE;
	r->brk.brk = chance(c, 20) ? 0 : to;
}

void call_shm(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	if (chance(c, 3)) {
		r->op = VMSPACE_SHMDT;
		r->shmdt.addr = s.start;
		return;
	}
	r->op = VMSPACE_SHMAT;
	r->shmat.size = 5 * PAGE;
	r->shmat.backing.name = "/SYSV00000000 (deleted)";
	if (chance(c, 3))
		r->shmat.flags |= SHM_RDONLY;
	if (chance(c, 3))
		r->shmat.addr = DRAW_ARENA + below(c, c->arena_pages) * PAGE;
	if (r->shmat.addr && chance(c, 4))
		r->shmat.flags |= SHM_REMAP;
	if (r->shmat.addr && chance(c, 4)) {
		r->shmat.addr += below(c, PAGE);
		r->shmat.flags |= SHM_RND;
	}
	if (chance(c, 8))
		r->shmat.flags |= SHM_EXEC;
}

void call_remap_pages(struct generator *c, const struct pair *p, struct vmspace_request *r)
{
	struct span s = draw_range(c, p);

	r->op = VMSPACE_REMAP_FILE_PAGES;
	r->remap_file_pages = (struct vmspace_remap_file_pages){
		.addr = s.start, .size = s.end - s.start, .page_offset = below(c, 16),
		.flags = chance(c, 2) ? MAP_NONBLOCK : 0 };
}
