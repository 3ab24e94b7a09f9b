/* SPDX-License-Identifier: MIT */
/*
 * emulator.c - guest memory: an emulator of a tiny machine, whose guest threads load and store
 * directly in the host's memory; pages come by faults, from a file, copied on write after a fork.
 *
 * emulator [PAGE [HOST_PAGE]]: the guest's pages may be smaller than the host's, as 4096 on a host with
 * 16384, which can also be pretended. What the host cannot map the emulator reaches by copies then.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_reading.h>
#include <mapletree/vmspace_window.h>

#define GUEST_TOP  0x8000000UL /* the guest has addresses below it */
#define TEXT       0x100000UL
#define DATA       0x180000UL
#define RESULTS    0x200000UL
#define SCRATCH    0x2000000UL
#define STACKS     0x400000UL
#define STACK_GAP  0x100000UL
#define THREADS    4
#define FRAME_SIZE 2048

/* ---- the machine: eight registers, of which register 7 is the stack pointer ---- */

enum op { SET, ADD, ADDI, LOAD, STORE, BLT, CALL, RET, EXIT };

struct insn {
	uint8_t op, a, b, c;
	int32_t imm;
};

_Static_assert(sizeof(struct insn) == sizeof(uint64_t), "fetched by a load");

static const struct insn program[] = {
	/* 0: fib(r0), to be stored where r6 points */
	{ SET, 2, 0, 0, 2 },
	{ CALL, 0, 0, 0, 4 },
	{ STORE, 1, 6, 0, 0 },
	{ EXIT, 0, 0, 0, 0 },
	/* 4: r1 = fib(r0), recursively, with large frames */
	{ BLT, 0, 2, 0, 17 },
	{ ADDI, 7, 7, 0, -FRAME_SIZE },
	{ STORE, 0, 7, 0, 0 },
	{ ADDI, 0, 0, 0, -1 },
	{ CALL, 0, 0, 0, 4 },
	{ STORE, 1, 7, 0, 8 },
	{ LOAD, 0, 7, 0, 0 },
	{ ADDI, 0, 0, 0, -2 },
	{ CALL, 0, 0, 0, 4 },
	{ LOAD, 3, 7, 0, 8 },
	{ ADD, 1, 1, 3, 0 },
	{ ADDI, 7, 7, 0, FRAME_SIZE },
	{ RET, 0, 0, 0, 0 },
	/* 17: */
	{ ADDI, 1, 0, 0, 0 },
	{ RET, 0, 0, 0, 0 },
	/* 19: one more where r6 points */
	{ LOAD, 0, 6, 0, 0 },
	{ ADDI, 0, 0, 0, 1 },
	{ STORE, 0, 6, 0, 0 },
	{ EXIT, 0, 0, 0, 0 },
};
#define FIB 0
#define INCREMENT 19

struct process {
	struct vmspace *space;
	struct vmspace_window *window;
};

struct cpu {
	struct process *process;
	uint64_t r[8];
	unsigned long pc;
	unsigned long code_page;     /* may be executed: asked when it was last entered */
	volatile unsigned int access; /* what the load or store under way wants */
	sigjmp_buf not_direct;       /* that has to be made by a copy instead */
	sigjmp_buf killed;
};

static _Thread_local struct cpu *running;
static unsigned long page_size;

/* Make a page present, or end the guest thread with the signal that Linux would send. */
static void fault(struct cpu *cpu, unsigned long addr)
{
	enum vmspace_fault_result result =
		vmspace_touch(cpu->process->space, addr, cpu->access, NULL);

	if (result)
		siglongjmp(cpu->killed, (int)result);
}

/*
 * The host's own fault: the guest's page is not there, or not yet writable, or shares its page of the
 * host with others that differ. The signal is raised by the guest's load or store and nothing else, so
 * the handler may do what any function may, and leave it by a jump.
 */
static void on_segv(int signo, siginfo_t *info, void *context)
{
	unsigned long addr;

	(void)context;
	if (!running || !vmspace_window_guest(running->process->window, info->si_addr, &addr)) {
		signal(signo, SIG_DFL);
		return;
	}
	fault(running, addr);
	if (!vmspace_window_is_direct(running->process->window, addr, running->access))
		siglongjmp(running->not_direct, 1);
}

static void *reach(struct cpu *cpu, unsigned long addr, unsigned int access)
{
	void *host = vmspace_window_host(cpu->process->window, addr);

	cpu->access = access;
	if (!host)
		siglongjmp(cpu->killed, VMSPACE_FAULT_MAPERR);
	return host;
}

/* A copy that ends early would have got a signal. */
static void copied(struct cpu *cpu, unsigned long addr, size_t size, size_t done)
{
	if (done == size)
		return;
	fault(cpu, addr + done);
	siglongjmp(cpu->killed, VMSPACE_FAULT_MAPERR); /* another thread changed it meanwhile */
}

static uint64_t load(struct cpu *cpu, uint64_t addr)
{
	unsigned long from = (unsigned long)addr;
	const volatile uint64_t *host = reach(cpu, from, VMSPACE_ACCESS_READ);
	uint64_t value;

	if (!sigsetjmp(cpu->not_direct, 0))
		return *host;
	copied(cpu, from, sizeof(value),
	       vmspace_copy_from(cpu->process->space, &value, from, sizeof(value)));
	return value;
}

static void store(struct cpu *cpu, uint64_t addr, uint64_t value)
{
	unsigned long to = (unsigned long)addr;
	volatile uint64_t *host = reach(cpu, to, VMSPACE_ACCESS_WRITE);

	if (!sigsetjmp(cpu->not_direct, 0))
		*host = value;
	else
		copied(cpu, to, sizeof(value),
		       vmspace_copy_to(cpu->process->space, to, &value, sizeof(value)));
}

static struct insn fetch(struct cpu *cpu)
{
	struct insn insn;
	uint64_t word;

	if ((cpu->pc & ~(page_size - 1)) != cpu->code_page) {
		cpu->code_page = cpu->pc & ~(page_size - 1);
		cpu->access = VMSPACE_ACCESS_EXEC;
		fault(cpu, cpu->pc);
	}
	word = load(cpu, cpu->pc);
	memcpy(&insn, &word, sizeof(insn));
	cpu->pc += sizeof(insn);
	return insn;
}

static unsigned long insn_at(int32_t number)
{
	return TEXT + (unsigned long)number * sizeof(struct insn);
}

static bool step(struct cpu *cpu)
{
	const struct insn i = fetch(cpu);
	uint64_t *r = cpu->r;

	switch ((enum op)i.op) {
	case SET:
		r[i.a] = (uint64_t)i.imm;
		return true;
	case ADD:
		r[i.a] = r[i.b] + r[i.c];
		return true;
	case ADDI:
		r[i.a] = r[i.b] + (uint64_t)(int64_t)i.imm;
		return true;
	case LOAD:
		r[i.a] = load(cpu, r[i.b] + (uint64_t)(int64_t)i.imm);
		return true;
	case STORE:
		store(cpu, r[i.b] + (uint64_t)(int64_t)i.imm, r[i.a]);
		return true;
	case BLT:
		cpu->pc = r[i.a] < r[i.b] ? insn_at(i.imm) : cpu->pc;
		return true;
	case CALL:
		r[7] -= 8;
		store(cpu, r[7], cpu->pc);
		cpu->pc = insn_at(i.imm);
		return true;
	case RET:
		cpu->pc = (unsigned long)load(cpu, r[7]);
		r[7] += 8;
		return true;
	case EXIT:
		break;
	}
	return false;
}

/* Returns VMSPACE_FAULT_OK: the guest thread ended by itself; or what killed it. */
static enum vmspace_fault_result run(struct cpu *cpu)
{
	int killed = sigsetjmp(cpu->killed, 1);

	running = cpu;
	while (!killed && step(cpu))
		;
	running = NULL;
	return (enum vmspace_fault_result)killed;
}

/* ---- the guest's processes ---- */

static void die(const char *what)
{
	fprintf(stderr, "emulator: %s\n", what);
	exit(1);
}

/* The one file there is: the program. */
static int read_page(void *ctx, const struct vma_backing *file, uint64_t index, void *to)
{
	(void)ctx;
	(void)file;
	if (index)
		return -ENXIO; /* it is shorter than a page */
	memcpy(to, program, sizeof(program));
	return 0;
}

static void map(struct process *process, unsigned long addr, unsigned long length, int prot,
		int flags)
{
	static const struct vma_backing file = {
		.kind = VMA_BACKING_FILE, .inode = 1, .name = "/guest/program",
	};

	if (vmspace_mmap(process->space, addr, length, prot, flags | MAP_FIXED,
			 flags & MAP_ANONYMOUS ? NULL : &file, 0) != (long)addr)
		die("a mapping failed");
}

/* Is the stack larger than it was mapped? */
static bool stack_grew(struct process *process)
{
	struct vma_info stack;

	return vmspace_lookup(process->space, STACKS + STACK_GAP - 1, &stack) &&
	       stack.end - stack.start > page_size;
}

static void begin(struct process *process, struct vmspace_memfd *memfd)
{
	struct vmspace_config config;

	if (vmspace_window_create(&process->window, memfd, 0, GUEST_TOP))
		die("no room for the guest's memory");
	vmspace_config_init(&config);
	config.page_size = page_size;
	config.task_size = config.map_window = config.mmap_base = GUEST_TOP;
	config.mmap_base_legacy = GUEST_TOP / 4 * 3;
	config.mmap_min_addr = config.hint_min_addr = page_size;
	config.rlimit_as = config.rlimit_data = config.rlimit_stack = VMSPACE_NO_LIMIT;
	config.stack_guard_gap = 1;
	config.memory = vmspace_window_memory(process->window);
	if (vmspace_create(&process->space, &config))
		die("no address space");
}

static void end(struct process *process)
{
	const char *reason;

	if (!vmspace_check(process->space, &reason))
		die(reason);
	vmspace_destroy(process->space);
	vmspace_window_destroy(process->window);
}

static struct cpu thread_of(struct process *process, int32_t entry, unsigned long stack,
			    unsigned long pointer)
{
	struct cpu cpu = { .process = process, .pc = insn_at(entry) };

	cpu.r[6] = pointer;
	cpu.r[7] = stack;
	return cpu;
}

static void *run_thread(void *cpu)
{
	return run(cpu) ? cpu : NULL;
}

/* Guest threads that recurse, each on a stack that grows, while the process goes on mapping. */
static void compute(struct process *process, struct cpu cpus[THREADS])
{
	pthread_t threads[THREADS];
	void *killed;

	for (unsigned int i = 0; i < THREADS; i++) {
		unsigned long top = STACKS + (i + 1) * STACK_GAP;

		map(process, top - page_size, page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN);
		cpus[i] = thread_of(process, FIB, top, RESULTS + i * sizeof(uint64_t));
		cpus[i].r[0] = 12 + i;
		if (pthread_create(&threads[i], NULL, run_thread, &cpus[i]))
			die("no thread");
	}
	for (int i = 0; i < 100; i++) {
		map(process, SCRATCH, 16 * page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS);
		if (vmspace_munmap(process->space, SCRATCH, 16 * page_size))
			die("an unmapping failed");
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_join(threads[i], &killed) || killed)
			die("a guest thread was killed");
}

static uint64_t result_of(struct process *process, unsigned int i)
{
	struct cpu cpu = thread_of(process, EXIT, 0, 0);
	uint64_t value;

	if (sigsetjmp(cpu.killed, 1))
		die("no result");
	running = &cpu;
	value = load(&cpu, RESULTS + i * sizeof(uint64_t));
	running = NULL;
	return value;
}

/* A child shares every page until one of the two writes it. */
static void fork_and_write(struct process *parent, struct vmspace_memfd *memfd)
{
	struct process child;
	struct cpu cpu;

	if (vmspace_window_create(&child.window, memfd, 0, GUEST_TOP))
		die("no room for the child's memory");
	if (vmspace_fork(parent->space, vmspace_window_memory(child.window), &child.space))
		die("fork failed");
	cpu = thread_of(&child, INCREMENT, 0, RESULTS);
	if (run(&cpu))
		die("the child was killed");
	printf("after a fork: %u in the parent, %u in the child\n",
	       (unsigned int)result_of(parent, 0), (unsigned int)result_of(&child, 0));
	end(&child);
}

static void misbehave(struct process *process, unsigned long pointer, const char *what)
{
	static const char *const signals[] = {
		[VMSPACE_FAULT_OK] = "nothing",
		[VMSPACE_FAULT_MAPERR] = "SIGSEGV, SEGV_MAPERR",
		[VMSPACE_FAULT_ACCERR] = "SIGSEGV, SEGV_ACCERR",
		[VMSPACE_FAULT_BUS] = "SIGBUS",
		[VMSPACE_FAULT_NOMEM] = "no memory",
	};
	struct cpu cpu = thread_of(process, INCREMENT, 0, pointer);

	printf("a write to %s: %s\n", what, signals[run(&cpu)]);
}

/* A size from the command line; 0: it was not given. */
static unsigned long size_of(char **argv, int number, int argc)
{
	return number < argc ? strtoul(argv[number], NULL, 0) : 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_NODEFER };
	struct vmspace_memfd_config config = { .limit = 64 << 20, .read_page = read_page };
	struct vmspace_memfd *memfd;
	struct process process;
	struct cpu cpus[THREADS];

	page_size = size_of(argv, 1, argc);
	if (!page_size)
		page_size = (unsigned long)sysconf(_SC_PAGESIZE);
	sigaction(SIGSEGV, &action, NULL);
	if (vmspace_memfd_create_pages(&memfd, &config, page_size, size_of(argv, 2, argc)))
		die("no memfd with pages of this size");
	begin(&process, memfd);
	map(&process, TEXT, page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	map(&process, DATA, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	map(&process, RESULTS, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	compute(&process, cpus);
	for (unsigned int i = 0; i < THREADS; i++)
		printf("fib(%u) = %u\n", 12 + i, (unsigned int)result_of(&process, i));
	printf("stacks %s\n", stack_grew(&process) ? "grew" : "did not grow");
	fork_and_write(&process, memfd);
	misbehave(&process, 0, "a null pointer");
	misbehave(&process, TEXT, "the program");
	misbehave(&process, DATA + page_size, "what is behind the end of a file");
	misbehave(&process, GUEST_TOP, "no address of the guest's");
	misbehave(&process, SCRATCH, "what was unmapped");
	end(&process);
	printf("%s\n", vmspace_memfd_used(memfd) == page_size
			       ? "left at the end: the file's page"
			       : "left at the end: more than the file's page");
	vmspace_memfd_destroy(memfd);
	return 0;
}
