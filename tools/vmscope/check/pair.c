/* SPDX-License-Identifier: MIT */
/* A real process and a vmspace: every request is made in both, and both are compared. */
#include "check/pair.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mapletree/vmspace_rules.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check/page.h"
#include "log/difference.h"
#include "mirror/backing.h"
#include "mirror/refusal.h"
#include "mirror/snapshot.h"

#define MADV_COLLAPSE_ADVICE 25
#define MADV_GUARD_INSTALL_ADVICE 102
#define MAP_32BIT_FLAG 0x40

const char *pair_way_name(enum pair_way way)
{
	static const char *const names[PAIR_WAYS] = {
		[PAIR_PURE] = "pure", [PAIR_TOLD] = "told", [PAIR_ASKED] = "asked",
	};

	return names[way];
}

bool pair_possible(char *why, size_t size)
{
	int persona = personality(0xffffffff);

	if (persona < 0 || personality((unsigned long)persona | ADDR_NO_RANDOMIZE) < 0) {
		snprintf(why, size, "personality(2) for processes whose places are not random: %s "
			 "(containers: --security-opt seccomp=unconfined)", strerror(errno));
		return false;
	}
	personality((unsigned long)persona);
	return true;
}

bool rule_holds(const struct vmspace_config *config, const char *rule)
{
	int number = vmspace_rule_find(rule);

	return number >= 0 && vmspace_config_has_rule(config, (unsigned int)number);
}

const struct vma_backing *pair_backing(enum puppet_file file)
{
	static struct backing_file files[PUPPET_FILE_COUNT];
	struct backing_file *it = &files[file];

	if (!it->backing.file_id && puppet_open_files() == 0) {
		backing_of_fd(it, getpid(), puppet_fd(file));
		it->backing.file_id = (uint64_t)file + 1;
	}
	return &it->backing;
}

static bool ask_anon(void *ctx, unsigned long start, unsigned long end)
{
	struct pair *pair = ctx;
	bool has = kernel_has_anon(&pair->view, start, end);

	answers_add_anon(pair->answers, start, end, has);
	return has;
}

static unsigned long ask_stack(void *ctx, unsigned long start, unsigned long end)
{
	struct pair *pair = ctx;
	unsigned long now = kernel_stack_start(&pair->view, start, end);

	if (now >= start)
		return start;
	answers_add_stack(pair->answers, end, now);
	return now;
}

static void set_callbacks(struct pair *pair, struct vmspace_host *host)
{
	memset(host, 0, sizeof(*host));
	if (pair->mode.way != PAIR_ASKED)
		return;
	host->ctx = pair;
	host->has_anon = ask_anon;
	host->stack_start = ask_stack;
}

static int open_view(struct pair *pair)
{
	char path[64];
	int rc;

	pair->view = (struct kernel_view)KERNEL_VIEW_INIT;
	pair->comparison = (struct comparison){ .text = NULL };
	rc = kernel_open(&pair->view, pair->puppet.pid);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pair->puppet.pid);
	pair->status_fd = open(path, O_RDONLY | O_CLOEXEC);
	return rc ? rc : pair->status_fd < 0 ? -errno : 0;
}

/*
 * Nothing of the puppet lies below mmap_base where the kernel puts [vdso] elsewhere (Linux 6.1, if
 * places are random): the first mapping shows it.
 */
static int find_out_base(struct pair *pair, struct vmspace_config *config)
{
	unsigned long map[6] = { 0, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1UL, 0 };
	struct vmspace_stats stats;
	long at;

	vmspace_stats(pair->space, &stats);
	if (stats.mmap_base)
		return 0;
	at = puppet_call(&pair->puppet, SYS_mmap, map);
	if (at < 0)
		return (int)at;
	puppet_call(&pair->puppet, SYS_munmap, (unsigned long[6]){ (unsigned long)at, PAGE });
	config->mmap_base = (unsigned long)at + (config->mmap_bottom_up ? 0 : PAGE);
	return vmspace_configure(pair->space, config);
}

static int make_space(struct pair *pair, struct json_object *record)
{
	struct vmspace_config config;
	int rc;

	vmspace_config_init(&config);
	set_callbacks(pair, &config.host);
	vmspace_config_read(&config, pair->puppet.pid);
	rc = vmspace_create(&pair->space, &config);
	if (rc == 0)
		rc = snapshot_load(pair->space, pair->puppet.pid, false, record);
	return rc ? rc : find_out_base(pair, &config);
}

int pair_start(struct pair *pair, const struct pair_mode *mode, struct json_object *record)
{
	unsigned long persona = (mode->aslr ? 0 : ADDR_NO_RANDOMIZE) |
				(mode->bottom_up ? ADDR_COMPAT_LAYOUT : 0);
	int rc;

	*pair = (struct pair){ .mode = *mode, .shm_id = -1, .status_fd = -1,
			       .view = KERNEL_VIEW_INIT };
	rc = puppet_start(&pair->puppet, persona);
	if (rc != 0)
		return rc;
	/* exec clears this one, so it is set afterwards. */
	if (mode->read_implies_exec)
		puppet_call(&pair->puppet, SYS_personality,
			    (unsigned long[6]){ persona | READ_IMPLIES_EXEC });
	rc = open_view(pair);
	if (rc == 0)
		rc = make_space(pair, record);
	if (rc != 0)
		pair_end(pair);
	return rc;
}

void pair_end(struct pair *p)
{
	puppet_end(&p->puppet);
	vmspace_destroy(p->space);
	kernel_close(&p->view);
	comparison_free(&p->comparison);
	if (p->status_fd >= 0)
		close(p->status_fd);
	p->status_fd = -1;
	p->space = NULL;
}

/* New shared memory: stores the device and inode that the kernel chose in the request. */
static void identify(struct pair *p, struct vmspace_request *r)
{
	bool is_map = r->op == VMSPACE_MMAP &&
		      (r->mmap.backing.kind == VMA_BACKING_SHMEM ||
		       ((r->mmap.flags & MAP_ANONYMOUS) &&
			(r->mmap.flags & (MAP_SHARED | MAP_HUGETLB))));
	struct vma_backing *backing = is_map ? &r->mmap.backing : &r->shmat.backing;
	struct vmspace_line line;
	struct backing_file file;

	if ((!is_map && r->op != VMSPACE_SHMAT) || p->kernel_result < 0)
		return;
	p->view.text_current = false;
	if (!kernel_line_at(&p->view, (unsigned long)p->kernel_result, &line))
		return;
	backing_of_line(&file, &line);
	vmspace_identify(p->space, (unsigned long)p->kernel_result, &file.backing);
	if (is_map)
		backing->kind = VMA_BACKING_SHMEM;
	backing->name = is_map ? "/dev/zero (deleted)" : backing->name;
	backing->inode = file.backing.inode;
	backing->dev_major = file.backing.dev_major;
	backing->dev_minor = file.backing.dev_minor;
}

static void explain(const struct pair *p, const char *kind)
{
	const struct vmspace_request *r = &p->last;
	char text[512], theirs[32], ours[32];

	if (!p->mode.report)
		return;
	vmspace_request_text(r, text, sizeof(text));
	difference_format_result(p->kernel_result, theirs, sizeof(theirs));
	difference_format_result(r->out.result, ours, sizeof(ours));
	fprintf(p->mode.report, "%s after request %lu of process %d: %s\n"
		"  the kernel answered %s, libvmspace %s\n",
		kind, p->requests, (int)p->puppet.pid, text, theirs, ours);
	difference_outcome(p->mode.report, &r->out);
}

static bool has_guard(const struct pair *p, unsigned long addr, unsigned long length)
{
	unsigned long end = (addr + length + PAGE - 1) & ~(PAGE - 1), at;
	unsigned long start = addr & ~(PAGE - 1);

	/* The kernel does not search beyond the end of user space. */
	if (end > vmspace_config(p->space)->task_size)
		end = vmspace_config(p->space)->task_size;
	return start < end && kernel_first_guard(&p->view, start, end, &at);
}

/* Are there guard pages among those that the request populates? */
static bool meets_guard(const struct pair *p, const struct vmspace_request *r)
{
	switch (r->op) {
	case VMSPACE_FAULT:
		return has_guard(p, r->fault.addr, 1);
	case VMSPACE_MADVISE:
		return has_guard(p, r->madvise.addr, r->madvise.length);
	case VMSPACE_MLOCK:
		return has_guard(p, r->mlock.addr, r->mlock.length);
	case VMSPACE_PROCESS_MADVISE:
		for (size_t i = 0; i < r->process_madvise.count; i++)
			if (has_guard(p, r->process_madvise.ranges[i].addr,
				      r->process_madvise.ranges[i].length))
				return true;
		return false;
	default:
		return false;
	}
}

/* Do the results differ because of a guard page? libvmspace does not know where those are. */
static bool guard_hit(const struct pair *p)
{
	if (p->last.op == VMSPACE_FAULT && p->kernel_result == -EIO)
		return true; /* beyond the end of a file */
	/* process_madvise() tells how far it came. */
	if (p->kernel_result != -EFAULT && (p->last.out.result || p->kernel_result != -ENOMEM) &&
	    (p->kernel_result < 0 || p->kernel_result >= p->last.out.result ||
	     p->last.op != VMSPACE_PROCESS_MADVISE))
		return false;
	return p->guards && meets_guard(p, &p->last);
}

static bool compare(struct pair *p)
{
	bool same_result = p->last.op == VMSPACE_FORK || p->last.out.result == p->kernel_result;

	p->excused = !same_result && guard_hit(p);
	same_result |= p->excused;
	if (same_result && (p->results_only || pair_equal(p)))
		return true;
	if (p->gone)
		return false;
	if (!same_result)
		pair_equal(p);
	explain(p, same_result ? "The address spaces differ" : "The results differ");
	return false;
}

bool pair_kernel_decides(const struct vmspace_request *req)
{
	return (req->op == VMSPACE_MMAP && (req->mmap.flags & MAP_32BIT_FLAG) &&
		!(req->mmap.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))) ||
	       (req->op == VMSPACE_MADVISE && req->madvise.advice == MADV_COLLAPSE_ADVICE);
}

/* Is the request made in libvmspace before the kernel is asked to make it? */
static bool is_predicted(const struct pair *p, const struct vmspace_request *req)
{
	return p->mode.way == PAIR_PURE && !pair_kernel_decides(req) && req->op != p->mode.hide;
}

/* The request has been made in the kernel: it is followed. */
static void follow(struct pair *p, struct vmspace_request *req)
{
	bool hidden = req->op == p->mode.hide;

	if (hidden || (req->op == VMSPACE_FAULT && p->mode.way == PAIR_ASKED)) {
		vmspace_abort(p->space, req);
		req->out = (struct vmspace_outcome){ .result = p->kernel_result };
		if (!hidden)
			vmspace_refresh(p->space);
		return;
	}
	req->host = (struct vmspace_host_result){
		.valid = true,
		.result = p->kernel_result,
		.unmapped = p->kernel_result < 0 && refusal_has_unmapped(&p->view, req),
	};
	vmspace_complete(p->space, req);
}

/* What the generator needs to know of the past. */
static void remember(struct pair *p, const struct vmspace_request *req)
{
	p->guards |= (req->op == VMSPACE_MADVISE &&
		      req->madvise.advice == MADV_GUARD_INSTALL_ADVICE) ||
		     (req->op == VMSPACE_PROCESS_MADVISE &&
		      req->process_madvise.advice == MADV_GUARD_INSTALL_ADVICE);
	p->pinned |= req->op == VMSPACE_MMAP && req->mmap.backing.file_id == PUPPET_PERF + 1;
	if (req->op == VMSPACE_MLOCKALL && p->kernel_result == 0)
		p->lock_future = req->mlockall.flags & MCL_FUTURE;
	if (req->op == VMSPACE_MUNLOCKALL)
		p->lock_future = false;
	if (req->op == VMSPACE_PKEY_FREE && !req->pkey_free.pkey && p->kernel_result == 0)
		p->key_0_free = true;
	if (req->op == VMSPACE_PKEY_ALLOC && p->kernel_result == 0)
		p->key_0_free = false;
}

bool pair_do(struct pair *p, struct vmspace_request *req)
{
	bool predicted = is_predicted(p, req);

	assert(!p->gone);
	req->host = (struct vmspace_host_result){ .valid = false };
	p->view.text_current = false;
	vmspace_gather(p->space, req);
	if (predicted)
		vmspace_complete(p->space, req);
	p->kernel_result = pair_call(p, req);
	p->view.text_current = false;
	if (p->kernel_result == PUPPET_GONE) {
		p->gone = true;
		return false;
	}
	if (!predicted)
		follow(p, req);
	else /* without `valid` it is for the log alone */
		req->host.unmapped = p->kernel_result < 0 && refusal_has_unmapped(&p->view, req);
	p->requests++;
	identify(p, req);
	p->last = *req;
	remember(p, req);
	return compare(p);
}

bool pair_fork(struct pair *p, struct pair *child)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace_host host;

	assert(!p->gone);
	*child = *p;
	child->space = NULL;
	child->lock_future = false;
	set_callbacks(child, &host);
	req.fork.child_host = &host;
	p->view.text_current = false;
	vmspace_gather(p->space, &req);
	p->kernel_result = puppet_fork(&p->puppet, &child->puppet);
	if (p->kernel_result != 0 || open_view(child) != 0) {
		p->gone = true;
		return false;
	}
	p->kernel_result = child->puppet.pid;
	vmspace_complete(p->space, &req);
	p->requests++;
	p->last = req;
	child->last = req;
	child->space = req.fork.child;
	return child->space && compare(p) && compare(child);
}
