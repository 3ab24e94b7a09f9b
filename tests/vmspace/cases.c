/* SPDX-License-Identifier: MIT */
/* cases.c - make a call for real and in libvmspace; both must agree. */
#include "cases.h"

#include <mapletree/vmspace_rules.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check/puppet_wire.h"

struct pair pair;
struct vmspace_request req;

static struct pair_mode mode = { .flags_every = 1 };
static size_t skipped;

bool case_possible(void)
{
	char why[256];

	mode.report = stderr;
	if (pair_possible(why, sizeof(why)))
		return true;
	printf("SKIP: it needs %s\n", why);
	return false;
}

void case_skip(const char *why)
{
	skipped++;
	printf("SKIP in part: %s\n", why);
	fflush(stdout);
	skip();
}

bool has_rule(const char *name)
{
	int rule = vmspace_rule_find(name);

	assert_true(rule >= 0);
	return vmspace_config_has_rule(vmspace_config(pair.space), (unsigned int)rule);
}

int case_status(int failed, size_t tests)
{
	if (failed)
		return failed;
	return skipped == tests ? TEST_SKIPPED : 0;
}

bool case_add_file(struct backing_file *file, int fd)
{
	static int next = PUPPET_FILE_COUNT;

	/* Its number follows those of the puppets' own files. */
	if (fd < 0 || dup2(fd, FD_FILES + next) < 0)
		return false;
	close(fd);
	if (!backing_of_fd(file, getpid(), FD_FILES + next))
		return false;
	file->backing.file_id = (uint64_t)++next;
	return true;
}

int case_start(void **state)
{
	(void)state;
	mode.way = PAIR_PURE;
	return pair_start(&pair, &mode, NULL);
}

int case_start_mirror(void **state)
{
	(void)state;
	mode.way = PAIR_ASKED;
	return pair_start(&pair, &mode, NULL);
}

int case_end(void **state)
{
	(void)state;
	pair_end(&pair);
	return 0;
}

long both(struct pair *p)
{
	assert_true(pair_do(p, &req));
	return req.out.result;
}

struct vmspace_request *new_req(enum vmspace_op op)
{
	memset(&req, 0, sizeof(req));
	req.op = op;
	return &req;
}

long map(unsigned long addr, unsigned long pages, int prot, int flags)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = addr, .length = pages * PAGE, .prot = prot, .flags = flags };
	return both(&pair);
}

long map_file(enum puppet_file file, unsigned long addr, unsigned long pages, int prot,
		     int flags, unsigned long page_offset)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = addr, .length = pages * PAGE, .prot = prot, .flags = flags,
		.offset = page_offset * PAGE, .backing = *pair_backing(file),
		.driver_flags = puppet_file_info(file)->driver_flags };
	return both(&pair);
}

long unmap(unsigned long addr, unsigned long pages)
{
	new_req(VMSPACE_MUNMAP)->munmap = (struct vmspace_munmap){ addr, pages * PAGE };
	return both(&pair);
}

long protect(unsigned long addr, unsigned long pages, int prot)
{
	new_req(VMSPACE_MPROTECT)->mprotect =
		(struct vmspace_mprotect){ addr, pages * PAGE, prot, -1 };
	return both(&pair);
}

long remap(unsigned long addr, unsigned long pages, unsigned long new_pages, int flags,
		  unsigned long to)
{
	new_req(VMSPACE_MREMAP)->mremap =
		(struct vmspace_mremap){ addr, pages * PAGE, new_pages * PAGE, flags, to };
	return both(&pair);
}

long advise(unsigned long addr, unsigned long pages, int advice)
{
	new_req(VMSPACE_MADVISE)->madvise =
		(struct vmspace_madvise){ addr, pages * PAGE, advice };
	return both(&pair);
}

long touch_in(struct pair *p, unsigned long addr)
{
	new_req(VMSPACE_FAULT)->fault = (struct vmspace_fault){ addr, VMSPACE_ACCESS_WRITE };
	return both(p);
}

long touch(unsigned long addr)
{
	return touch_in(&pair, addr);
}

long set_brk(unsigned long to)
{
	new_req(VMSPACE_BRK)->brk.brk = to;
	return both(&pair);
}

unsigned int count_verdict(enum vma_verdict verdict)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < req.out.event_count; i++)
		n += req.out.events[i].verdict == verdict &&
		     (req.out.events[i].kind == VMSPACE_EVENT_MERGE ||
		      req.out.events[i].kind == VMSPACE_EVENT_NO_MERGE);
	return n;
}

unsigned long areas_from(const struct pair *p, unsigned long from, unsigned long to)
{
	struct vma_info info;
	unsigned long n = 0;

	for (; vmspace_next(p->space, from, &info) && info.start < to; from = info.end)
		n++;
	return n;
}

unsigned long areas(void)
{
	return areas_from(&pair, BASE, AT(10000));
}

struct vmspace_stats now(void)
{
	struct vmspace_stats stats;

	vmspace_stats(pair.space, &stats);
	return stats;
}

/* Soft and hard limit (VMSPACE_NO_LIMIT: as it is), bytes, of the puppet and of the space. */
void set_limits(int which, unsigned long soft, unsigned long hard)
{
	struct vmspace_config config = *vmspace_config(pair.space);
	struct rlimit limit;
	bool raised;

	if (prlimit(pair.puppet.pid, (__rlimit_resource_t)which, NULL, &limit))
		fail();
	limit.rlim_cur = soft;
	if (hard != VMSPACE_NO_LIMIT)
		limit.rlim_max = hard;
	/* Of locked memory, before Linux 5.16, it is 64 KiB where nobody has raised it. */
	raised = limit.rlim_max < soft;
	if (raised)
		limit.rlim_max = soft;
	if (prlimit(pair.puppet.pid, (__rlimit_resource_t)which, &limit, NULL)) {
		if (raised)
			case_skip("a hard limit cannot be raised");
		fail();
	}
	switch (which) {
	case RLIMIT_AS: config.rlimit_as = soft; break;
	case RLIMIT_STACK: config.rlimit_stack = soft; break;
	case RLIMIT_MEMLOCK: config.rlimit_memlock = soft; break;
	case RLIMIT_DATA:
		config.rlimit_data = soft;
		config.rlimit_data_max = limit.rlim_max == RLIM_INFINITY ? VMSPACE_NO_LIMIT
									   : limit.rlim_max;
		break;
	default: fail();
	}
	assert_int_equal(vmspace_configure(pair.space, &config), 0);
}

void set_limit(int which, unsigned long pages)
{
	set_limits(which, pages * PAGE, VMSPACE_NO_LIMIT);
}

void drop_privileges(void)
{
	struct vmspace_config config = *vmspace_config(pair.space);

	puppet_drop_privileges(&pair.puppet);
	config.lock_privileged = config.low_privileged = config.admin = false;
	config.move_all_privileged = false;
	assert_int_equal(vmspace_configure(pair.space, &config), 0);
}
