/* SPDX-License-Identifier: MIT */
/* pair.c - makes each request for real and in libvmspace, and compares. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include "kernel_side.h"
#include "pair.h"

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static struct vma_backing files[PUPPET_FILE_COUNT];

const struct vma_backing *pair_backing(enum puppet_file file)
{
	if (!files[file].name) {
		kernel_backing_of(puppet_fd(file), &files[file]);
		files[file].file_id = (uint64_t)file + 1;
	}
	return &files[file];
}

static bool ask_anon(void *ctx, unsigned long start, unsigned long end)
{
	const struct pair *pair = ctx;

	return kernel_has_anon(pair->puppet.pid, start, end);
}

static unsigned long ask_stack(void *ctx, unsigned long start, unsigned long end)
{
	const struct pair *pair = ctx;
	unsigned long now = kernel_area_start(pair->puppet.pid, end);

	return now < start ? now : start;
}

static void callbacks(struct pair *pair, struct vmspace_host *host)
{
	memset(host, 0, sizeof(*host));
	if (!pair->mirror)
		return;
	host->ctx = pair;
	host->has_anon = ask_anon;
	host->stack_start = ask_stack;
}

void pair_start(struct pair *pair, bool mirror)
{
	struct vmspace_config config;

	memset(pair, 0, sizeof(*pair));
	pair->mirror = mirror;
	pair->shm_id = -1;
	puppet_start(&pair->puppet);
	/* exec clears this one. */
	if (puppet_personality & READ_IMPLIES_EXEC)
		puppet_call(&pair->puppet, SYS_personality,
			    (unsigned long[6]){ puppet_personality });
	vmspace_config_init(&config);
	callbacks(pair, &config.host);
	config.read_implies_exec = puppet_personality & READ_IMPLIES_EXEC;
	config.mmap_bottom_up = puppet_personality & ADDR_COMPAT_LAYOUT;
	config.rlimit_stack = 8UL << 20;
	if (vmspace_create(&pair->space, &config)) {
		fprintf(stderr, "vmspace_create failed\n");
		exit(2);
	}
	kernel_import(pair->puppet.pid, pair->space);
}

static long system_call(const struct pair *p, const struct vmspace_request *r,
			unsigned long a[6])
{
	int fd = r->mmap.flags & MAP_ANONYMOUS ? -1 : puppet_fd(p->file);

	memset(a, 0, 6 * sizeof(*a));
#define ARGS(...) memcpy(a, (unsigned long[6]){ __VA_ARGS__ }, 6 * sizeof(*a))
	switch (r->op) {
	case VMSPACE_MMAP:
		ARGS(r->mmap.addr, r->mmap.length, (unsigned long)r->mmap.prot,
		     (unsigned long)r->mmap.flags, (unsigned long)fd, r->mmap.offset);
		return SYS_mmap;
	case VMSPACE_MUNMAP:
		ARGS(r->munmap.addr, r->munmap.length);
		return SYS_munmap;
	case VMSPACE_MPROTECT:
		ARGS(r->mprotect.addr, r->mprotect.length, (unsigned long)r->mprotect.prot,
		     (unsigned long)r->mprotect.pkey);
		return r->mprotect.pkey < 0 ? SYS_mprotect : SYS_pkey_mprotect;
	case VMSPACE_MREMAP:
		ARGS(r->mremap.addr, r->mremap.old_length, r->mremap.new_length,
		     (unsigned long)r->mremap.flags, r->mremap.new_addr);
		return SYS_mremap;
	case VMSPACE_BRK:
		ARGS(r->brk.brk);
		return SYS_brk;
	case VMSPACE_MADVISE:
		ARGS(r->madvise.addr, r->madvise.length, (unsigned long)r->madvise.advice);
		return SYS_madvise;
	case VMSPACE_MLOCK:
		ARGS(r->mlock.addr, r->mlock.length, (unsigned long)r->mlock.flags);
		return r->mlock.mlock2 ? SYS_mlock2 : SYS_mlock;
	case VMSPACE_MUNLOCK:
		ARGS(r->mlock.addr, r->mlock.length);
		return SYS_munlock;
	case VMSPACE_MLOCKALL:
		ARGS((unsigned long)r->mlockall.flags);
		return SYS_mlockall;
	case VMSPACE_MUNLOCKALL:
		return SYS_munlockall;
	case VMSPACE_SHMAT:
		ARGS((unsigned long)p->shm_id, r->shmat.addr, (unsigned long)r->shmat.flags);
		return SYS_shmat;
	case VMSPACE_SHMDT:
		ARGS(r->shmdt.addr);
		return SYS_shmdt;
	case VMSPACE_REMAP_FILE_PAGES:
		ARGS(r->remap_file_pages.addr, r->remap_file_pages.size,
		     (unsigned long)r->remap_file_pages.prot, r->remap_file_pages.page_offset,
		     (unsigned long)r->remap_file_pages.flags);
		return SYS_remap_file_pages;
	case VMSPACE_MSEAL:
		ARGS(r->mseal.addr, r->mseal.length, r->mseal.flags);
		return SYS_mseal;
	default:
		fprintf(stderr, "pair: %s has no system call\n", vmspace_op_name(r->op));
		exit(2);
	}
#undef ARGS
}

static long make_real(const struct pair *p, const struct vmspace_request *r)
{
	unsigned long args[6];
	long number;

	if (r->op == VMSPACE_FAULT)
		return puppet_touch(&p->puppet, r->fault.addr,
				    r->fault.access & VMSPACE_ACCESS_WRITE);
	number = system_call(p, r, args);
	return puppet_call(&p->puppet, number, args);
}

/* New shared memory: its device and inode are the kernel's choice. */
static void identify(struct pair *p, const struct vmspace_request *r)
{
	bool is_new = r->op == VMSPACE_SHMAT ||
		      (r->op == VMSPACE_MMAP && (r->mmap.flags & MAP_ANONYMOUS) &&
		       (r->mmap.flags & (MAP_SHARED | MAP_HUGETLB)));
	struct vma_backing backing = { 0 };

	if (is_new && p->kernel_result > 0 &&
	    kernel_identity(p->puppet.pid, (unsigned long)p->kernel_result, &backing))
		vmspace_identify(p->space, (unsigned long)p->kernel_result, &backing);
}

static void explain(const struct pair *p, const char *kind)
{
	const struct vmspace_request *r = &p->last;
	char text[256];

	vmspace_request_text(r, text, sizeof(text));
	fprintf(stderr, "request %lu, pid %d: %s\n  kernel %ld (%#lx), mirror %ld (%#lx)%s%s\n  %s\n",
		p->made, (int)p->puppet.pid, text, p->kernel_result,
		(unsigned long)p->kernel_result, r->out.result, (unsigned long)r->out.result,
		r->out.why ? ": " : "", r->out.why ? r->out.why : "", kind);
	for (unsigned int i = 0; i < r->out.event_count; i++) {
		vmspace_event_text(&r->out.events[i], text, sizeof(text));
		fprintf(stderr, "    %s\n", text);
	}
}

/* Where pages are guarded is not the areas' business: faults and populating may fail. */
static bool guard_hit(const struct pair *p)
{
	bool touches = p->last.op == VMSPACE_FAULT || p->last.op == VMSPACE_MADVISE ||
		       p->last.op == VMSPACE_MLOCK;

	if (p->last.op == VMSPACE_FAULT && p->kernel_result == -EIO)
		return true; /* behind the end of a file */
	return p->guards && touches &&
	       (p->kernel_result == -EFAULT || (!p->last.out.result && p->kernel_result == -ENOMEM));
}

static bool compare(struct pair *p)
{
	if (p->last.out.result != p->kernel_result && p->last.op != VMSPACE_FORK &&
	    !guard_hit(p)) {
		explain(p, "the results differ");
		kernel_equal(p->puppet.pid, p->space, stderr);
		return false;
	}
	if (!p->hasty && !kernel_equal(p->puppet.pid, p->space, stderr)) {
		explain(p, "the address spaces differ");
		return false;
	}
	return true;
}

static void make_ours(struct pair *p, struct vmspace_request *req)
{
	if (req->op == VMSPACE_FAULT && p->mirror) {
		req->out = (struct vmspace_outcome){ .result = p->kernel_result };
		vmspace_refresh(p->space);
		return;
	}
	if (p->mirror || (req->op == VMSPACE_MMAP && (req->mmap.flags & 0x40)))
		req->host = (struct vmspace_host_result){ true, p->kernel_result };
	vmspace_complete(p->space, req);
}

bool pair_do(struct pair *p, struct vmspace_request *req)
{
	char text[256];

	if (p->verbose) {
		vmspace_request_text(req, text, sizeof(text));
		fprintf(stderr, "%lu [%d] %s\n", p->made, (int)p->puppet.pid, text);
	}
	req->host.valid = false;
	vmspace_gather(p->space, req);
	p->kernel_result = make_real(p, req);
	make_ours(p, req);
	p->made++;
	p->last = *req;
	identify(p, req);
	p->guards |= req->op == VMSPACE_MADVISE && req->madvise.advice == 102;
	return compare(p);
}

bool pair_fork(struct pair *p, struct pair *child)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace_host host;

	*child = *p;
	callbacks(child, &host);
	req.fork.child_host = &host;
	vmspace_gather(p->space, &req);
	puppet_fork(&p->puppet, &child->puppet);
	vmspace_complete(p->space, &req);
	p->kernel_result = child->puppet.pid;
	p->made++;
	p->last = req;
	child->last = req;
	child->space = req.fork.child;
	return child->space && compare(p) && compare(child);
}

void pair_end(struct pair *p)
{
	puppet_end(&p->puppet);
	vmspace_destroy(p->space);
	p->space = NULL;
}
