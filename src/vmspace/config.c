/* SPDX-License-Identifier: MIT */
/* config.c - the values of the running kernel and process, for a new space's configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mapletree/vmspace_rules.h>

#include "config.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
/* Capabilities: see capabilities(7). */
#define CAN_LOCK (UINT64_C(1) << 14)     /* CAP_IPC_LOCK */
#define CAN_MAP_LOW (UINT64_C(1) << 17)  /* CAP_SYS_RAWIO */
#define CAN_ADMIN (UINT64_C(1) << 21)    /* CAP_SYS_ADMIN */
#define CAN_MOVE_ALL (UINT64_C(1) << 23) /* CAP_SYS_NICE */
#define INITIAL_USER_NAMESPACE "user:[4026531837]" /* its inode is the same on all machines */

static bool read_text(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t length;

	if (!file)
		return false;
	length = fread(buf, 1, size - 1, file);
	fclose(file);
	buf[length] = '\0';
	return length > 0;
}

static unsigned long read_number(const char *path, unsigned long otherwise)
{
	char buf[64];

	return read_text(path, buf, sizeof(buf)) ? strtoul(buf, NULL, 10) : otherwise;
}

static unsigned long limit(int which)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)which, &r) || r.rlim_cur == RLIM_INFINITY)
		return VMSPACE_NO_LIMIT;
	return r.rlim_cur;
}

static unsigned long hard_limit(int which)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)which, &r) || r.rlim_max == RLIM_INFINITY)
		return VMSPACE_NO_LIMIT;
	return r.rlim_max;
}

static bool cpu_has(const char *flag)
{
	char line[8192];
	bool found = false;
	FILE *file = fopen("/proc/cpuinfo", "re");

	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "flags", 5) && strstr(line, flag);
	if (file)
		fclose(file);
	return found;
}

bool config_has_own_users(const char *process)
{
	char path[64], name[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%s/ns/user", process);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0)
		return false;
	name[length] = '\0';
	return strcmp(name, INITIAL_USER_NAMESPACE) != 0;
}

void config_set_privileges(struct vmspace_config *config, uint64_t caps)
{
	config->admin = caps & CAN_ADMIN;
	config->low_privileged = caps & CAN_MAP_LOW;
	config->lock_privileged = caps & CAN_LOCK;
	config->move_all_privileged = caps & CAN_MOVE_ALL;
}

bool config_is_bottom_up(unsigned long persona, unsigned long rlimit_stack)
{
#ifdef __x86_64__
	(void)rlimit_stack;
#else
	if (rlimit_stack == VMSPACE_NO_LIMIT)
		return true;
#endif
	return (persona & ADDR_COMPAT_LAYOUT) || read_number("/proc/sys/vm/legacy_va_layout", 0);
}

static unsigned long long own_capabilities(void)
{
	char line[256];
	unsigned long long caps = 0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (file)
		fclose(file);
	return config_has_own_users("self") ? 0 : caps;
}

/* The number of kB in the line of /proc/meminfo that begins with `key`; 0: no such line. */
static unsigned long meminfo(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

/* The size of memory and swap, and the settings of commit accounting. */
static void read_commit(struct vmspace_config *config)
{
	unsigned long page_kb = config->page_size / 1024;
	char text[8192];

	config->overcommit = (int)read_number("/proc/sys/vm/overcommit_memory", 0);
	config->overcommit_ratio = (unsigned int)read_number("/proc/sys/vm/overcommit_ratio", 50);
	config->overcommit_kbytes = read_number("/proc/sys/vm/overcommit_kbytes", 0);
	config->admin_reserve_kbytes = read_number("/proc/sys/vm/admin_reserve_kbytes", 8192);
	config->user_reserve_kbytes = read_number("/proc/sys/vm/user_reserve_kbytes", 131072);
	if (!read_text("/proc/meminfo", text, sizeof(text)))
		return;
	config->ram_pages = meminfo(text, "MemTotal:") / page_kb;
	config->swap_pages = meminfo(text, "SwapTotal:") / page_kb;
	config->huge_pages = meminfo(text, "Hugetlb:") / page_kb;
	config->committed_elsewhere = meminfo(text, "Committed_AS:") / page_kb;
}

/* VmFlags of the area at addr of this process. */
static vma_flags_t own_flags(const void *addr)
{
	char line[8192], start[32];
	vma_flags_t flags = 0;
	bool here = false;
	FILE *file = fopen("/proc/self/smaps", "re");

	snprintf(start, sizeof(start), "%08lx-", (unsigned long)addr);
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, start, strlen(start)))
			here = true;
		if (here && !strncmp(line, "VmFlags:", 8)) {
			flags = vma_flags_parse(line + 8, NULL);
			break;
		}
	}
	if (file)
		fclose(file);
	return flags;
}

/* Find out what the kernel was built with from the VmFlags of a page mapped for that. */
static void probe_flags(struct vmspace_config *config)
{
	size_t page = config->page_size;
	/* Below all other areas if there is room: smaps is read up to here. */
	void *low = (void *)(1UL << 20);
	char *at = mmap(low, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	vma_flags_t flags;

	if (at == MAP_FAILED)
		return;
	/* Inaccessible pages on both sides keep it an area of its own. */
	if (!mprotect(at + page, page, PROT_READ | PROT_WRITE)) {
		flags = own_flags(at + page);
		config->softdirty = flags & VMA_SOFTDIRTY;
	}
	munmap(at, 3 * page);
}

/* Bytes of this process's page tables; 0: not known. */
static unsigned long own_tables(void)
{
	unsigned long kib = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPTE: %lu", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

/*
 * Map two page tables' worth, with a page in each, and see how many tables MADV_DONTNEED frees.
 * Other threads create and free tables meanwhile, so only a clear answer counts: both, or none.
 */
static void probe_pt_reclaim(struct vmspace_config *config)
{
	size_t page = config->page_size, table = page * (page / sizeof(void *)), size = 3 * table;
	char *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *first;
	long gone = -1;

	if (at == MAP_FAILED)
		return;
	first = at + (table - (unsigned long)at % table) % table;
	(void)madvise(at, size, MADV_NOHUGEPAGE);
	(void)munlock(at, size); /* after mlockall(MCL_FUTURE) the pages would stay */
	for (int tries = 0; tries < 4 && gone != 0 && gone != 2; tries++) {
		unsigned long before;

		(void)*(volatile char *)first;
		(void)*(volatile char *)(first + table);
		before = own_tables();
		if (madvise(first, 2 * table, MADV_DONTNEED))
			break;
		gone = ((long)before - (long)own_tables()) / (long)page;
	}
	config->pt_reclaim = gone == 2;
	munmap(at, size);
}

/* The kernel may have been built with a higher limit than the one that sysctl shows. */
static void probe_hint_min(struct vmspace_config *config)
{
	unsigned long lowest = config->mmap_min_addr > config->page_size ? config->mmap_min_addr
									 : config->page_size;
	void *hint = (void *)lowest;
	void *at = mmap(hint, config->page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	config->hint_min_addr = config->mmap_min_addr > 65536 ? config->mmap_min_addr : 65536;
	if (at == MAP_FAILED)
		return;
	if ((unsigned long)at <= 1UL << 20)
		config->hint_min_addr = (unsigned long)at;
	munmap(at, config->page_size);
}

/* Are two mappings of that size, one after the other and a page apart, both aligned to it? */
static bool places_aligned(const struct vmspace_config *config, unsigned long size)
{
	size_t sizes[3] = { size, config->page_size, size };
	unsigned long crooked = 0;
	void *at[3];

	for (int i = 0; i < 3; i++) {
		at[i] = mmap(NULL, sizes[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		crooked |= sizes[i] == size ? (unsigned long)at[i] & (size - 1) : 0;
	}
	for (int i = 0; i < 3; i++)
		if (at[i] != MAP_FAILED)
			munmap(at[i], sizes[i]);
	return !crooked;
}

/* Without /sys (in a bare chroot, say) find out by trying. */
static void probe_without_sys(struct vmspace_config *config)
{
	unsigned long huge = config->page_size * (config->page_size / sizeof(void *));
	void *page = mmap(NULL, config->page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	config->ksm = !madvise(page, config->page_size, MADV_MERGEABLE);
	if (!madvise(page, config->page_size, MADV_HUGEPAGE) && places_aligned(config, huge)) {
		config->pmd_size = huge;
		config->thp = VMSPACE_THP_MADVISE;
	}
	munmap(page, config->page_size);
}

static enum vmspace_thp read_thp(const char *text)
{
	if (strstr(text, "[always]"))
		return VMSPACE_THP_ALWAYS;
	return strstr(text, "[madvise]") ? VMSPACE_THP_MADVISE : VMSPACE_THP_NEVER;
}

/* The nodes whose memory this process may use; none if the kernel has no NUMA calls. */
static uint64_t memory_nodes(void)
{
	enum { NODES = 1024, MEMS_ALLOWED = 4 /* MPOL_F_MEMS_ALLOWED */ };
	unsigned long nodes[NODES / (8 * sizeof(unsigned long))] = { 0 };

	if (syscall(SYS_get_mempolicy, NULL, nodes, (unsigned long)NODES, NULL,
		    (unsigned long)MEMS_ALLOWED))
		return 0;
	return nodes[0];
}

void vmspace_config_init(struct vmspace_config *config)
{
	static const char thp[] = "/sys/kernel/mm/transparent_hugepage/";
	char path[96], text[64];
	int persona = personality(0xffffffff);

	memset(config, 0, sizeof(*config));
	memcpy(config->rules, vmspace_running_kernel()->rules, sizeof(config->rules));
	config->page_size = (unsigned long)sysconf(_SC_PAGESIZE);
	config_probe_layout(config);
	config->mmap_min_addr = read_number("/proc/sys/vm/mmap_min_addr", 65536);
	config->stack_guard_gap = 256;
	config->max_map_count = read_number("/proc/sys/vm/max_map_count", 65530);
	read_commit(config);
	snprintf(path, sizeof(path), "%shpage_pmd_size", thp);
	config->pmd_size = read_number(path, 0);
	snprintf(path, sizeof(path), "%senabled", thp);
	if (read_text(path, text, sizeof(text)))
		config->thp = read_thp(text);
	snprintf(path, sizeof(path), "%sshmem_enabled", thp);
	if (read_text(path, text, sizeof(text)))
		config->shmem_align_huge = !strstr(text, "[never]") && !strstr(text, "[deny]");
	/*
	 * Naming an empty range succeeds if the kernel supports names. Not by prctl(): with newer
	 * compilers, AddressSanitizer reads the name before the call, though it may be NULL.
	 */
	config->anon_names = !syscall(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, 0L, 0L, NULL);
	config->ksm = !access("/sys/kernel/mm/ksm", F_OK);
	if (access("/sys/kernel/mm", F_OK))
		probe_without_sys(config);
	config->memory_nodes = memory_nodes();
	config->pkeys = cpu_has(" ospke");
	config_probe_architecture(config);
	probe_flags(config);
	probe_pt_reclaim(config);
	probe_hint_min(config);
	config->read_implies_exec = persona != -1 && (persona & READ_IMPLIES_EXEC);
	config->mmap_bottom_up = config_is_bottom_up(persona != -1 ? (unsigned long)persona : 0,
						     limit(RLIMIT_STACK));
	config_set_privileges(config, own_capabilities());
	config->rlimit_as = limit(RLIMIT_AS);
	config->rlimit_data = limit(RLIMIT_DATA);
	config->rlimit_data_max = hard_limit(RLIMIT_DATA);
	config->rlimit_stack = limit(RLIMIT_STACK);
	config->rlimit_memlock = limit(RLIMIT_MEMLOCK);
}
