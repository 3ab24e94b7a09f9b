/* SPDX-License-Identifier: MIT */
/* text.c - requests and events as one line for people. */
#include <stdio.h>

#include <mapletree/vmspace.h>

static int mapping_text(const struct vmspace_request *r, char *buf, size_t size)
{
	switch (r->op) {
	case VMSPACE_MMAP:
		return snprintf(buf, size,
				"mmap(%#lx, %#lx, prot %#x, flags %#x, %s, offset %#llx)",
				r->mmap.addr, r->mmap.length, (unsigned int)r->mmap.prot,
				(unsigned int)r->mmap.flags,
				r->mmap.backing.name ? r->mmap.backing.name : "anonymous",
				(unsigned long long)r->mmap.offset);
	case VMSPACE_MUNMAP:
		return snprintf(buf, size, "munmap(%#lx, %#lx)", r->munmap.addr, r->munmap.length);
	case VMSPACE_MPROTECT:
		return snprintf(buf, size, "mprotect(%#lx, %#lx, prot %#x, pkey %d)",
				r->mprotect.addr, r->mprotect.length,
				(unsigned int)r->mprotect.prot, r->mprotect.pkey);
	case VMSPACE_MREMAP:
		return snprintf(buf, size, "mremap(%#lx, %#lx, %#lx, flags %#x, %#lx)",
				r->mremap.addr, r->mremap.old_length, r->mremap.new_length,
				(unsigned int)r->mremap.flags, r->mremap.new_addr);
	case VMSPACE_BRK:
		return snprintf(buf, size, "brk(%#lx)", r->brk.brk);
	case VMSPACE_SHMAT:
		return snprintf(buf, size, "shmat(%s, %#lx, flags %#x)",
				r->shmat.backing.name ? r->shmat.backing.name : "?",
				r->shmat.addr, (unsigned int)r->shmat.flags);
	case VMSPACE_SHMDT:
		return snprintf(buf, size, "shmdt(%#lx)", r->shmdt.addr);
	case VMSPACE_PKEY_ALLOC:
		return snprintf(buf, size, "pkey_alloc(%#lx, %#lx)", r->pkey_alloc.flags,
				r->pkey_alloc.rights);
	case VMSPACE_PKEY_FREE:
		return snprintf(buf, size, "pkey_free(%d)", r->pkey_free.pkey);
	default:
		return snprintf(buf, size, "%s()", vmspace_op_name(r->op));
	}
}

static int ranges_text(const struct vmspace_process_madvise *m, char *buf, size_t size)
{
	const struct vmspace_range none = { 0, 0 }, *first = m->count ? &m->ranges[0] : &none;
	const struct vmspace_range *second = m->count > 1 ? &m->ranges[1] : &none;

	return snprintf(buf, size,
			"process_madvise([%#lx, %#lx, %#lx, %#lx%s], %zu, %d, flags %#x)",
			first->addr, first->length, second->addr, second->length,
			m->count > 2 ? ", ..." : "", m->count, m->advice, m->flags);
}

int vmspace_request_text(const struct vmspace_request *r, char *buf, size_t size)
{
	switch (r->op) {
	case VMSPACE_MADVISE:
		return snprintf(buf, size, "madvise(%#lx, %#lx, %d)", r->madvise.addr,
				r->madvise.length, r->madvise.advice);
	case VMSPACE_MLOCK:
	case VMSPACE_MUNLOCK:
		return snprintf(buf, size, "%s(%#lx, %#lx, flags %#x)", vmspace_op_name(r->op),
				r->mlock.addr, r->mlock.length, (unsigned int)r->mlock.flags);
	case VMSPACE_MLOCKALL:
		return snprintf(buf, size, "mlockall(%#x)", (unsigned int)r->mlockall.flags);
	case VMSPACE_SET_ANON_NAME:
		return snprintf(buf, size, "prctl(PR_SET_VMA_ANON_NAME, %#lx, %#lx, %s)",
				r->set_anon_name.addr, r->set_anon_name.length,
				r->set_anon_name.name ? r->set_anon_name.name : "NULL");
	case VMSPACE_REMAP_FILE_PAGES:
		return snprintf(buf, size, "remap_file_pages(%#lx, %#lx, page %#lx)",
				r->remap_file_pages.addr, r->remap_file_pages.size,
				r->remap_file_pages.page_offset);
	case VMSPACE_MSEAL:
		return snprintf(buf, size, "mseal(%#lx, %#lx)", r->mseal.addr, r->mseal.length);
	case VMSPACE_MSYNC:
		return snprintf(buf, size, "msync(%#lx, %#lx, %#x)", r->msync.addr,
				r->msync.length, (unsigned int)r->msync.flags);
	case VMSPACE_MINCORE:
		return snprintf(buf, size, "mincore(%#lx, %#lx)", r->mincore.addr,
				r->mincore.length);
	case VMSPACE_MBIND:
		return snprintf(buf, size, "mbind(%#lx, %#lx, mode %#x, nodes %#llx, flags %#x)",
				r->mbind.addr, r->mbind.length, (unsigned int)r->mbind.mode,
				(unsigned long long)r->mbind.nodes, r->mbind.flags);
	case VMSPACE_SET_HOME_NODE:
		return snprintf(buf, size, "set_mempolicy_home_node(%#lx, %#lx, %lu, %#lx)",
				r->home_node.addr, r->home_node.length, r->home_node.node,
				r->home_node.flags);
	case VMSPACE_UFFD_REGISTER:
		return snprintf(buf, size,
				"ioctl(userfaultfd %u, UFFDIO_REGISTER, %#lx, %#lx, mode %#llx)",
				r->uffd.context, r->uffd.addr, r->uffd.length,
				(unsigned long long)r->uffd.mode);
	case VMSPACE_UFFD_UNREGISTER:
		return snprintf(buf, size, "ioctl(userfaultfd %u, UFFDIO_UNREGISTER, %#lx, %#lx)",
				r->uffd.context, r->uffd.addr, r->uffd.length);
	case VMSPACE_UFFD_RELEASE:
		return snprintf(buf, size, "close(userfaultfd %u)", r->uffd.context);
	case VMSPACE_PROCESS_MADVISE:
		return ranges_text(&r->process_madvise, buf, size);
	case VMSPACE_FAULT:
		return snprintf(buf, size, "fault(%#lx, access %#x)", r->fault.addr,
				r->fault.access);
	default:
		return mapping_text(r, buf, size);
	}
}

static int no_merge_text(const struct vmspace_event *e, char *buf, size_t size)
{
	char letters[128];

	if (e->verdict != VMA_DIFFERENT_FLAGS)
		return snprintf(buf, size, "not merged at %lx: %s", e->at,
				vma_verdict_text(e->verdict));
	vma_flags_text(e->flags_differ, letters, sizeof(letters));
	return snprintf(buf, size, "not merged at %lx: different flags: %s", e->at, letters);
}

int vmspace_event_text(const struct vmspace_event *e, char *buf, size_t size)
{
	switch (e->kind) {
	case VMSPACE_EVENT_MAP:
		return snprintf(buf, size, "mapped %lx-%lx", e->start, e->end);
	case VMSPACE_EVENT_UNMAP:
		return snprintf(buf, size, "unmapped %lx-%lx", e->start, e->end);
	case VMSPACE_EVENT_SPLIT:
		return snprintf(buf, size, "split %lx-%lx at %lx", e->start, e->end, e->at);
	case VMSPACE_EVENT_MERGE:
		return snprintf(buf, size, "merged to %lx-%lx at %lx", e->start, e->end, e->at);
	case VMSPACE_EVENT_NO_MERGE:
		return no_merge_text(e, buf, size);
	case VMSPACE_EVENT_CHANGE:
		return snprintf(buf, size, "changed %lx-%lx", e->start, e->end);
	case VMSPACE_EVENT_MOVE:
		return snprintf(buf, size, "moved %lx to %lx-%lx", e->at, e->start, e->end);
	case VMSPACE_EVENT_GROW:
		return snprintf(buf, size, "grew to %lx-%lx", e->start, e->end);
	default:
		return snprintf(buf, size, "unknown event");
	}
}
