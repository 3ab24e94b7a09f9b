/* SPDX-License-Identifier: MIT */
/*
 * edges.c [OPERATIONS [SEED]] - random calls at the edge of what Linux allows, made in a child and
 * in libvmspace: mappings over others that a limit or a file refuses half-way, special areas and
 * huge pages cut and moved, addresses and lengths from one end to the other.
 *
 * It shares nothing with vmscope check: another child, other arguments, another comparison. A child
 * makes a few hundred calls, until the next one begins; by turns libvmspace is told what the
 * kernel answered, or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mapletree/vmspace_proc.h>

#include "cases.h"
#include "mirror/backing.h"
#include "mirror/refusal.h"

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PICK(array) ((array)[below(COUNT(array))])

enum { ROUND = 300, ARENA_PAGES = 96, FILES = 5, SEGMENT_PAGES = 7 };
#define HUGE (2UL << 20)
#define HUGE_ARENA (2UL << 40)

struct call {
	long number;
	unsigned long args[6];
};

/* A child, and a space that gets the same calls. */
static struct {
	pid_t pid;
	int commands, answers;  /* pipes */
	struct vmspace *space;
	struct kernel_view view;
	bool told;              /* libvmspace gets the kernel's answers */
	unsigned int seals;
	bool verbose;
} child;

static struct backing_file files[FILES];
static int file_fd[FILES], segment;
static uint64_t state;

static unsigned long below(unsigned long n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned long)(state >> 8) % n;
}

static bool one_in(unsigned long n)
{
	return below(n) == 0;
}

__attribute__((noreturn)) static void give_up(const char *what)
{
	fprintf(stderr, "edges: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- the child ---- */

__attribute__((noreturn)) static void serve(int commands, int answers, bool privileged)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	struct call call;
	long result;

	if (!privileged && syscall(SYS_capset, &header, none))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (syscall(SYS_read, commands, &call, sizeof(call)) == sizeof(call)) {
		result = call.number ? syscall(call.number, call.args[0], call.args[1],
					       call.args[2], call.args[3], call.args[4],
					       call.args[5]) : 0;
		if (result == -1)
			result = -errno;
		if (syscall(SYS_write, answers, &result, sizeof(result)) != sizeof(result))
			break;
	}
	_exit(0);
}

static long make(const struct call *call)
{
	long result;

	if (write(child.commands, call, sizeof(*call)) != sizeof(*call) ||
	    read(child.answers, &result, sizeof(result)) != sizeof(result))
		give_up("the child has died");
	return result;
}

static void end_child(void)
{
	if (child.pid <= 0)
		return;
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	close(child.commands);
	close(child.answers);
	vmspace_destroy(child.space);
	kernel_close(&child.view);
	child.pid = 0;
}

static void start_child(void)
{
	const struct call nothing = { 0, { 0 } };
	int commands[2], answers[2];
	bool privileged = !one_in(3);

	end_child();
	if (pipe(commands) || pipe(answers))
		give_up("pipe");
	fflush(NULL);
	child.pid = fork();
	if (!child.pid)
		serve(commands[0], answers[1], privileged);
	close(commands[0]);
	close(answers[1]);
	child.commands = commands[1];
	child.answers = answers[0];
	child.told = one_in(2);
	child.seals = 0;
	child.view = (struct kernel_view)KERNEL_VIEW_INIT;
	/* By then it has touched what it touches. */
	for (int i = 0; i < 3; i++)
		make(&nothing);
	if (vmspace_load(&child.space, child.pid) || kernel_open(&child.view, child.pid))
		give_up("the child cannot be read");
}

/* ---- ranges ---- */

static const char *const special_names[] = { "[vdso]", "[vvar]", "[vvar_vclock]" };

/* A special area, wherever it has been moved to. */
static bool find_special(struct vma_info *found)
{
	const char *name = PICK(special_names);

	for (unsigned long at = 0; vmspace_next(child.space, at, found); at = found->end)
		if (found->backing.name && !strcmp(found->backing.name, name))
			return true;
	return false;
}

static unsigned long arena_page(void)
{
	return AT(below(ARENA_PAGES));
}

/* Where a call begins: most often in the arena. */
static unsigned long draw_addr(void)
{
	static const unsigned long odd[] = {
		0, PAGE, 0x2000, 0xf000, 0x10000, -1UL, -4095UL, -PAGE, -2 * PAGE, 1UL << 63,
		(1UL << 47) - PAGE, (1UL << 47) - 2 * PAGE, 1UL << 47, 1,
	};

	switch (below(16)) {
	case 0:
		return PICK(odd);
	case 1:
		return arena_page() + below(PAGE);
	case 2: case 3:
		return HUGE_ARENA + below(4) * HUGE + (one_in(3) ? below(512) * PAGE : 0);
	default:
		return arena_page();
	}
}

static unsigned long draw_length(unsigned long addr)
{
	static const unsigned long odd[] = {
		0, 1, PAGE - 1, PAGE + 1, 1UL << 45, 1UL << 47, -1UL, -PAGE, 1UL << 63,
	};

	if (one_in(24))
		return PICK(odd);
	if (addr >= HUGE_ARENA && addr < HUGE_ARENA + 8 * HUGE && !one_in(3))
		return (1 + below(2)) * HUGE;
	return (1 + below(one_in(3) ? 40 : 8)) * PAGE;
}

/* Draws a range; of a special area its head, its tail or all of it. */
static unsigned long draw_range(unsigned long *length)
{
	struct vma_info special;
	unsigned long addr, pages, from;

	if (one_in(5) && find_special(&special)) {
		pages = (special.end - special.start) / PAGE;
		from = one_in(2) ? 0 : below(pages);
		*length = (one_in(2) ? pages - from : 1 + below(pages - from)) * PAGE;
		return special.start + from * PAGE;
	}
	addr = draw_addr();
	*length = draw_length(addr);
	return addr;
}

/*
 * Must the child keep what is there, or part of it? It needs all that it began with, but for the
 * special areas.
 */
static bool is_needed(unsigned long addr, unsigned long length)
{
	unsigned long end = length > -addr ? -1UL : addr + length;
	struct vma_info info;

	for (unsigned long at = addr; vmspace_next(child.space, at, &info) && info.start < end;
	     at = info.end)
		if (info.start >= (3UL << 40) && info.backing.kind != VMA_BACKING_SPECIAL)
			return true;
	return false;
}

/* The same for calls that refuse ranges beyond the address space. */
static bool would_lose(unsigned long addr, unsigned long length)
{
	const unsigned long task = vmspace_config(child.space)->task_size;

	return addr < task && length <= task - addr && is_needed(addr, length);
}

/* ---- calls: each draws its arguments, for both sides; false: it is not to be made ---- */

static void set(struct call *call, long number, unsigned long a, unsigned long b, unsigned long c,
		unsigned long d, unsigned long e, unsigned long f)
{
	*call = (struct call){ number, { a, b, c, d, e, f } };
}

static int draw_map_flags(void)
{
	static const int kinds[] = { MAP_PRIVATE, MAP_PRIVATE, MAP_PRIVATE, MAP_SHARED, MAP_SHARED,
				     MAP_SHARED_VALIDATE, DROPPABLE, 0, 4 };
	static const int bits[] = { MAP_GROWSDOWN, MAP_NORESERVE, MAP_STACK, MAP_LOCKED, MAP_SYNC,
				    MAP_HUGETLB, 1 << 21, (int)(1U << 31), 1 << 26, MAP_POPULATE,
				    MAP_NONBLOCK, MAP_DENYWRITE, MAP_FIXED_NOREPLACE };
	int flags = PICK(kinds);

	if (!one_in(4))
		flags |= MAP_FIXED;
	while (one_in(3))
		flags |= PICK(bits);
	/* Which sizes of huge pages there are is the machine's business, too. */
	return flags & MAP_HUGETLB ? flags & 0x3ffffff : flags;
}

static bool draw_bind(struct call *call, struct vmspace_request *r)
{
	static const int modes[] = { MPOL_DEFAULT, MPOL_BIND, MPOL_PREFERRED, MPOL_LOCAL, 99 };
	static const uint64_t node_zero = 1;

	r->mbind.addr = draw_range(&r->mbind.length);
	r->mbind.mode = PICK(modes);
	r->mbind.nodes = one_in(4) ? 0 : node_zero;
	/* The child was forked: it has the variable at the same address. */
	set(call, SYS_mbind, r->mbind.addr, r->mbind.length, (unsigned long)r->mbind.mode,
	    r->mbind.nodes ? (unsigned long)&node_zero : 0, 65, 0);
	return vmspace_config(child.space)->memory_nodes &&
	       !is_needed(r->mbind.addr, r->mbind.length);
}

/*
 * Would it go on until memory is full? What is longer than user space is refused at once. A droppable
 * mapping is populated after mlockall(MCL_FUTURE | MCL_ONFAULT), too.
 */
static bool would_fill_memory(const struct vmspace_mmap *m)
{
	return (m->flags & (MAP_POPULATE | MAP_LOCKED) || (m->flags & MAP_TYPE) == DROPPABLE) &&
	       m->length >= 1UL << 40 &&
	       m->length <= vmspace_config(child.space)->task_size;
}

static bool draw_map(struct call *call, struct vmspace_request *r)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, RW, PROT_READ | PROT_EXEC,
				     RW | PROT_EXEC };
	struct vmspace_mmap *m = &r->mmap;
	int file = -1;
	bool huge;

	m->addr = draw_range(&m->length);
	m->flags = draw_map_flags();
	m->prot = PICK(prots);
	if (one_in(3)) {
		file = (int)below(FILES);
		m->backing = files[file].backing;
		m->offset = one_in(12) ? -PAGE * below(4) : below(3) ? below(40) * PAGE
								     : below(4) * HUGE;
	} else {
		m->flags |= MAP_ANONYMOUS;
	}
	/* Whether there are huge pages is the machine's business. */
	huge = file < 0 ? m->flags & MAP_HUGETLB : m->backing.kind == VMA_BACKING_HUGETLB;
	if (huge)
		m->flags |= MAP_NORESERVE;
	set(call, SYS_mmap, m->addr, m->length, (unsigned long)m->prot, (unsigned long)m->flags,
	    file < 0 ? -1UL : (unsigned long)file_fd[file], m->offset);
	return !((m->flags & MAP_FIXED) && would_lose(m->addr, m->length)) &&
	       !(huge && (m->flags & (MAP_POPULATE | MAP_LOCKED))) && !would_fill_memory(m);
}

static bool draw_unmap(struct call *call, struct vmspace_request *r)
{
	r->munmap.addr = draw_range(&r->munmap.length);
	set(call, SYS_munmap, r->munmap.addr, r->munmap.length, 0, 0, 0, 0);
	return !would_lose(r->munmap.addr, r->munmap.length);
}

static bool draw_protect(struct call *call, struct vmspace_request *r)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, PROT_READ | PROT_EXEC, 0x10,
				     PROT_READ | PROT_GROWSDOWN, PROT_READ | PROT_GROWSUP };

	r->mprotect.addr = draw_range(&r->mprotect.length);
	r->mprotect.prot = PICK(prots);
	r->mprotect.pkey = -1;
	set(call, SYS_mprotect, r->mprotect.addr, r->mprotect.length,
	    (unsigned long)r->mprotect.prot, 0, 0, 0);
	return !is_needed(r->mprotect.addr, r->mprotect.length);
}

static bool draw_remap(struct call *call, struct vmspace_request *r)
{
	static const int flags[] = { 0, MREMAP_MAYMOVE, MREMAP_MAYMOVE, MREMAP_FIXED, 8,
				     MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | MREMAP_FIXED,
				     MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | MREMAP_STAYS,
				     MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS };
	struct vmspace_mremap *m = &r->mremap;
	unsigned long ignored;

	m->addr = draw_range(&m->old_length);
	m->new_length = one_in(2) ? m->old_length : draw_length(m->addr);
	m->new_addr = draw_range(&ignored);
	m->flags = PICK(flags);
	set(call, SYS_mremap, m->addr, m->old_length, m->new_length, (unsigned long)m->flags,
	    m->new_addr, 0);
	return !would_lose(m->addr, m->old_length) && !would_lose(m->addr, m->new_length) &&
	       !would_lose(m->new_addr, m->new_length);
}

static bool draw_advise(struct call *call, struct vmspace_request *r)
{
	/* Not those whose result depends on pages. */
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE,
		MADV_DONTFORK, MADV_DOFORK, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK,
		MADV_COLD, 24, 103, 5, 7, 26, 99, 104, -1,
	};

	r->madvise.addr = draw_range(&r->madvise.length);
	r->madvise.advice = PICK(advice);
	set(call, SYS_madvise, r->madvise.addr, r->madvise.length,
	    (unsigned long)r->madvise.advice, 0, 0, 0);
	return !is_needed(r->madvise.addr, r->madvise.length);
}

/* Are huge pages mapped there, of which the machine may have none that are free? */
static bool is_huge(unsigned long addr, unsigned long length)
{
	struct vma_info area;

	for (unsigned long at = addr & -PAGE;
	     vmspace_next(child.space, at, &area) && area.start < addr + length; at = area.end)
		if (area.flags & VMA_HUGETLB)
			return true;
	return false;
}

static bool draw_lock(struct call *call, struct vmspace_request *r)
{
	bool lock = one_in(2);

	r->op = lock ? VMSPACE_MLOCK : VMSPACE_MUNLOCK;
	r->mlock.addr = draw_range(&r->mlock.length);
	r->mlock.flags = lock ? MLOCK_ONFAULT : 0;
	r->mlock.mlock2 = lock;
	set(call, lock ? SYS_mlock2 : SYS_munlock, r->mlock.addr, r->mlock.length,
	    (unsigned long)r->mlock.flags, 0, 0, 0);
	/* It populates huge pages all the same. */
	return !is_needed(r->mlock.addr, r->mlock.length) &&
	       !is_huge(r->mlock.addr, r->mlock.length);
}

static bool draw_lock_all(struct call *call, struct vmspace_request *r)
{
	static const int flags[] = { MCL_FUTURE | MCL_ONFAULT, MCL_ONFAULT, 0, 8,
				     MCL_CURRENT | MCL_ONFAULT };
	bool lock = one_in(2);

	r->op = lock ? VMSPACE_MLOCKALL : VMSPACE_MUNLOCKALL;
	r->mlockall.flags = PICK(flags);
	set(call, lock ? SYS_mlockall : SYS_munlockall, (unsigned long)r->mlockall.flags, 0, 0, 0,
	    0, 0);
	return one_in(4);
}

static bool draw_seal(struct call *call, struct vmspace_request *r)
{
	r->mseal.addr = draw_range(&r->mseal.length);
	r->mseal.flags = one_in(20);
	set(call, SYS_mseal, r->mseal.addr, r->mseal.length, r->mseal.flags, 0, 0, 0);
	return !is_needed(r->mseal.addr, r->mseal.length) && child.seals++ < 6;
}

static bool draw_attach(struct call *call, struct vmspace_request *r)
{
	static const int flags[] = { 0, SHM_REMAP, SHM_REMAP, SHM_REMAP | SHM_RND,
				     SHM_REMAP | SHM_RDONLY, SHM_RND, SHM_REMAP | SHM_EXEC };

	r->shmat = (struct vmspace_shmat){
		.addr = draw_addr(), .size = SEGMENT_PAGES * PAGE, .flags = PICK(flags),
		.backing = { .name = "/SYSV00000000 (deleted)", .inode = (uint64_t)segment } };
	set(call, SYS_shmat, (unsigned long)segment, r->shmat.addr, (unsigned long)r->shmat.flags,
	    0, 0, 0);
	return !is_needed(r->shmat.addr & -PAGE, r->shmat.size);
}

static bool draw_remap_pages(struct call *call, struct vmspace_request *r)
{
	struct vmspace_remap_file_pages *m = &r->remap_file_pages;

	m->addr = draw_range(&m->size);
	m->page_offset = below(8);
	m->flags = MAP_NONBLOCK;
	set(call, SYS_remap_file_pages, m->addr, m->size, 0, m->page_offset,
	    (unsigned long)m->flags, 0);
	return !is_needed(m->addr, m->size) && !is_huge(m->addr, m->size);
}

static bool draw_brk(struct call *call, struct vmspace_request *r)
{
	struct vmspace_stats stats;

	vmspace_stats(child.space, &stats);
	r->brk.brk = one_in(8) ? draw_addr() : stats.brk + below(20) * PAGE - 10 * PAGE;
	set(call, SYS_brk, r->brk.brk, 0, 0, 0, 0, 0);
	/* The child was forked, and reads what its heap held then. */
	return r->brk.brk >= stats.brk;
}

static const struct {
	bool (*draw)(struct call *call, struct vmspace_request *req);
	enum vmspace_op op;
	unsigned int weight;
} ops[] = {
	{ draw_map, VMSPACE_MMAP, 30 }, { draw_unmap, VMSPACE_MUNMAP, 8 },
	{ draw_protect, VMSPACE_MPROTECT, 8 }, { draw_remap, VMSPACE_MREMAP, 22 },
	{ draw_advise, VMSPACE_MADVISE, 10 }, { draw_lock, VMSPACE_MLOCK, 6 },
	{ draw_lock_all, VMSPACE_MLOCKALL, 2 }, { draw_seal, VMSPACE_MSEAL, 1 },
	{ draw_attach, VMSPACE_SHMAT, 4 }, { draw_remap_pages, VMSPACE_REMAP_FILE_PAGES, 4 },
	{ draw_brk, VMSPACE_BRK, 3 }, { draw_bind, VMSPACE_MBIND, 4 },
};

/* ---- limits ---- */

/* A soft limit near what there is, or none. The same for both. */
static void change_limit(void)
{
	static const int which[] = { RLIMIT_AS, RLIMIT_AS, RLIMIT_DATA, RLIMIT_DATA,
				     RLIMIT_MEMLOCK };
	int it = PICK(which);
	struct vmspace_config config = *vmspace_config(child.space);
	struct vmspace_stats stats;
	struct rlimit limit;
	unsigned long used;

	if (prlimit(child.pid, (__rlimit_resource_t)it, NULL, &limit))
		give_up("prlimit");
	vmspace_stats(child.space, &stats);
	used = it == RLIMIT_AS ? stats.total_vm : it == RLIMIT_DATA ? stats.data_vm
								    : stats.locked_vm;
	limit.rlim_cur = one_in(2) ? limit.rlim_max : (used + below(40)) * PAGE;
	if (limit.rlim_cur > limit.rlim_max || prlimit(child.pid, (__rlimit_resource_t)it, &limit,
						       NULL))
		return;
	vmspace_config_read(&config, child.pid);
	if (vmspace_configure(child.space, &config))
		give_up("vmspace_configure");
}

/* ---- a round ---- */

/* The kernel chose the device and the inode of new shared memory. */
static void identify(const struct vmspace_request *r, long result)
{
	struct vmspace_line line;
	struct backing_file file;

	child.view.text_current = false;
	if (result < 0 || (r->op != VMSPACE_MMAP && r->op != VMSPACE_SHMAT) ||
	    kernel_read_maps(&child.view) ||
	    !kernel_find_line(&child.view, (unsigned long)result, &line))
		return;
	backing_of_line(&file, &line);
	if (file.backing.kind != VMA_BACKING_FILE)
		vmspace_identify(child.space, (unsigned long)result, &file.backing);
}

static void say(const struct vmspace_request *r)
{
	char text[512];

	vmspace_request_text(r, text, sizeof(text));
	printf("%s\n", text);
	fflush(stdout);
}

static bool equal(const struct vmspace_request *r, long result)
{
	struct vmspace_difference difference = { .text = "" };
	int differs = 0;

	if (r->out.result == result)
		differs = vmspace_verify(child.space, child.pid, VMSPACE_VERIFY_ALL, &difference);
	if (r->out.result == result && differs == 0)
		return true;
	say(r);
	printf("  the kernel answered %#lx, libvmspace %#lx (%s)\n  %s\n", (unsigned long)result,
	       (unsigned long)r->out.result, r->out.why ? r->out.why : "", difference.text);
	return false;
}

static bool draw(struct call *call, struct vmspace_request *r)
{
	unsigned long total = 0, pick;
	size_t i = 0;

	for (size_t k = 0; k < COUNT(ops); k++)
		total += ops[k].weight;
	pick = below(total);
	while (pick >= ops[i].weight)
		pick -= ops[i++].weight;
	memset(r, 0, sizeof(*r));
	r->op = ops[i].op;
	return ops[i].draw(call, r);
}

static bool step(void)
{
	struct vmspace_request r;
	struct call call;
	long result;

	if (one_in(12))
		change_limit();
	while (!draw(&call, &r))
		;
	if (child.verbose)
		say(&r);
	vmspace_gather(child.space, &r);
	result = make(&call);
	if (child.told) {
		r.host.valid = true;
		r.host.result = result;
		r.host.unmapped = result < 0 && refusal_has_unmapped(&child.view, &r);
	}
	vmspace_complete(child.space, &r);
	identify(&r, result);
	return equal(&r, result);
}

static int open_files(void)
{
	char path[] = "/tmp/edges-XXXXXX";
	int sealed = memfd_create("sealed", MFD_ALLOW_SEALING);

	file_fd[0] = mkstemp(path);
	file_fd[1] = open(path, O_RDONLY);
	file_fd[2] = memfd_create("edges", 0);
	file_fd[3] = sealed;
	file_fd[4] = memfd_create("huge", MFD_HUGETLB);
	unlink(path);
	if (file_fd[0] < 0 || file_fd[2] < 0 || sealed < 0 || ftruncate(file_fd[0], 64 * PAGE) ||
	    ftruncate(file_fd[2], 64 * PAGE) || ftruncate(sealed, 64 * PAGE) ||
	    fcntl(sealed, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		return -1;
	for (int i = 0; i < FILES; i++) {
		if (!backing_of_fd(&files[i], getpid(), file_fd[i]))
			return -1;
		files[i].backing.file_id = (uint64_t)i + 1;
	}
	segment = shmget(IPC_PRIVATE, SEGMENT_PAGES * PAGE, 0777);
	return segment < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	unsigned long operations = argc > 1 ? strtoul(argv[1], NULL, 0) : 3000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 2654435761u;
	unsigned long differences = 0;

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	state = seed | 1;
	child.verbose = getenv("EDGES_VERBOSE") != NULL;
	if (open_files())
		return 1;
	printf("seed %#lx\n", (unsigned long)seed);
	for (unsigned long i = 0, in_round = 0; i < operations; i++, in_round++) {
		if (in_round % ROUND == 0)
			start_child();
		if (step())
			continue;
		printf("  ... operation %lu of this child, %s\n", in_round % ROUND,
		       child.told ? "told" : "not told");
		in_round = ROUND - 1;
		if (++differences == 20)
			break;
	}
	end_child();
	shmctl(segment, IPC_RMID, NULL);
	printf("%lu operations, %lu differences\n", operations, differences);
	return differences ? 1 : 0;
}
