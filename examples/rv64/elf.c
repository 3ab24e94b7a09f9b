/* SPDX-License-Identifier: MIT */
/* elf.c - execve(): a program and its interpreter are mapped as Linux maps them, and its stack filled. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

#define PIE_BASE     (GUEST_TOP / 3 * 2 / GUEST_PAGE * GUEST_PAGE)
#define STACK_PAGES  33 /* as many as Linux begins with */
#define HEADERS_MOST 64

struct image {
	int fd;
	Elf64_Ehdr header;
	Elf64_Phdr parts[HEADERS_MOST];
	char interpreter[PATH_MAX];  /* "": none */
	uint64_t low, high;          /* of all segments, in pages */
	uint64_t bias;               /* added to its addresses */
};

static uint64_t page_down(uint64_t addr)
{
	return addr / GUEST_PAGE * GUEST_PAGE;
}

static uint64_t page_up(uint64_t addr)
{
	return page_down(addr + GUEST_PAGE - 1);
}

static int read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size ? 0 : -ENOEXEC;
}

static bool is_ours(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_machine == EM_RISCV &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

int program_check(const char *path)
{
	Elf64_Ehdr header;
	struct stat is;
	int fd, err;

	if (access(path, X_OK))
		return -errno;
	if (stat(path, &is) || !S_ISREG(is.st_mode))
		return -EACCES;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 1 : -errno; /* may be executed, but not read */
	err = read_at(fd, &header, sizeof(header), 0);
	close(fd);
	return !err && is_ours(&header) ? 0 : 1;
}

static int read_parts(struct image *image)
{
	const Elf64_Ehdr *header = &image->header;

	if (!header->e_phnum || header->e_phnum > HEADERS_MOST || header->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	if (read_at(image->fd, image->parts, header->e_phnum * sizeof(Elf64_Phdr), header->e_phoff))
		return -ENOEXEC;
	image->low = ~(uint64_t)0;
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *part = &image->parts[i];

		if (part->p_type == PT_INTERP) {
			if (part->p_filesz < 2 || part->p_filesz > PATH_MAX ||
			    read_at(image->fd, image->interpreter, part->p_filesz, part->p_offset) ||
			    image->interpreter[part->p_filesz - 1])
				return -ENOEXEC;
		}
		if (part->p_type != PT_LOAD)
			continue;
		if (part->p_filesz > part->p_memsz || part->p_vaddr + part->p_memsz > GUEST_TOP ||
		    part->p_vaddr % GUEST_PAGE != part->p_offset % GUEST_PAGE)
			return -ENOEXEC;
		if (image->low > page_down(part->p_vaddr))
			image->low = page_down(part->p_vaddr);
		if (image->high < page_up(part->p_vaddr + part->p_memsz))
			image->high = page_up(part->p_vaddr + part->p_memsz);
	}
	return image->high ? 0 : -ENOEXEC;
}

static int image_open(struct image *image, const char *path)
{
	int err;

	memset(image, 0, sizeof(*image));
	image->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (image->fd < 0)
		return -errno;
	err = own_descriptor(image->fd); /* so that the guest's first one is the lowest */
	if (err < 0)
		return err;
	image->fd = err;
	err = read_at(image->fd, &image->header, sizeof(image->header), 0);
	if (!err && !is_ours(&image->header))
		err = -ENOEXEC;
	if (!err)
		err = read_parts(image);
	if (err)
		close(image->fd);
	return err;
}

static int protection(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
	       (flags & PF_X ? PROT_EXEC : 0);
}

/* What is behind the file's part of a segment is zero. */
static int clear_rest(uint64_t from, uint64_t to, int prot)
{
	static const char zeros[GUEST_PAGE];
	uint64_t edge = page_up(from);
	long result = 0;

	if (to > edge)
		result = memory_mmap(edge, page_up(to) - edge, prot,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (result < 0)
		return (int)result;
	if (edge > from && (prot & PROT_WRITE))
		return guest_write(from, zeros, edge - from);
	return 0;
}

static int map_part(const struct image *image, const Elf64_Phdr *part)
{
	uint64_t start = image->bias + page_down(part->p_vaddr), file_end;
	int prot = protection(part->p_flags);
	long result = 0;

	file_end = image->bias + part->p_vaddr + part->p_filesz;
	if (part->p_filesz)
		result = memory_mmap(start, file_end - start, prot, MAP_PRIVATE | MAP_FIXED, image->fd,
				     page_down(part->p_offset));
	if (result < 0)
		return (int)result;
	if (part->p_memsz > part->p_filesz)
		return clear_rest(file_end, image->bias + part->p_vaddr + part->p_memsz, prot);
	return 0;
}

static int map_parts(const struct image *image)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < image->header.e_phnum; i++)
		if (image->parts[i].p_type == PT_LOAD)
			err = map_part(image, &image->parts[i]);
	return err;
}

/* Of the interpreter: it goes where mmap() has a place for all of it. */
static int map_anywhere(struct image *image)
{
	long place = memory_mmap(0, image->high - image->low, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place < 0)
		return (int)place;
	image->bias = (uint64_t)place - image->low;
	vmspace_munmap(memory.space, (unsigned long)place, image->high - image->low);
	return map_parts(image);
}

/* ---- the stack ---- */

struct stack {
	uint64_t sp;
	uint64_t *words;
	size_t count;
};

static uint64_t push(struct stack *stack, const void *data, size_t size)
{
	stack->sp -= size;
	if (guest_write(stack->sp, data, size))
		die("the arguments do not fit the guest's stack");
	return stack->sp;
}

static void push_strings(struct stack *stack, char **strings)
{
	size_t count = 0;

	for (; strings[count]; count++)
		stack->words[stack->count++] = push(stack, strings[count], strlen(strings[count]) + 1);
	stack->words[stack->count++] = 0;
}

static void aux(struct stack *stack, uint64_t type, uint64_t value)
{
	stack->words[stack->count++] = type;
	stack->words[stack->count++] = value;
}

static void push_aux(struct stack *stack, const struct image *image, uint64_t base, uint64_t name,
		     uint64_t random)
{
	uint64_t headers = image->bias + image->low + image->header.e_phoff;

	for (unsigned int i = 0; i < image->header.e_phnum; i++)
		if (image->parts[i].p_type == PT_PHDR)
			headers = image->bias + image->parts[i].p_vaddr;
	aux(stack, AT_PHDR, headers);
	aux(stack, AT_PHENT, sizeof(Elf64_Phdr));
	aux(stack, AT_PHNUM, image->header.e_phnum);
	aux(stack, AT_PAGESZ, GUEST_PAGE);
	aux(stack, AT_BASE, base);
	aux(stack, AT_FLAGS, 0);
	aux(stack, AT_ENTRY, image->bias + image->header.e_entry);
	aux(stack, AT_UID, getuid());
	aux(stack, AT_EUID, geteuid());
	aux(stack, AT_GID, getgid());
	aux(stack, AT_EGID, getegid());
	aux(stack, AT_SECURE, 0);
	aux(stack, AT_RANDOM, random);
	aux(stack, AT_CLKTCK, (uint64_t)sysconf(_SC_CLK_TCK));
	aux(stack, AT_HWCAP, 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12); /* a c d f i m */
	aux(stack, AT_EXECFN, name);
	aux(stack, AT_NULL, 0);
}

size_t count_strings(char **strings)
{
	size_t count = 0;

	while (strings[count])
		count++;
	return count;
}

static uint64_t fill_stack(const struct image *image, uint64_t base, const char *path, char **argv,
			   char **envp)
{
	size_t arguments = count_strings(argv);
	struct stack stack = { .sp = GUEST_TOP - 8 };
	uint64_t name, random_at, sp;
	char random[16];

	stack.words = calloc(arguments + count_strings(envp) + 64, sizeof(uint64_t));
	if (!stack.words || getrandom(random, sizeof(random), 0) != sizeof(random))
		die("no memory for the guest's arguments");
	name = push(&stack, path, strlen(path) + 1);
	random_at = push(&stack, random, sizeof(random));
	stack.words[stack.count++] = arguments;
	push_strings(&stack, argv);
	push_strings(&stack, envp);
	push_aux(&stack, image, base, name, random_at);
	sp = (stack.sp - stack.count * sizeof(uint64_t)) & ~(uint64_t)15;
	stack.sp = sp + stack.count * sizeof(uint64_t);
	push(&stack, stack.words, stack.count * sizeof(uint64_t));
	free(stack.words);
	return sp;
}

/* ---- execve ---- */

/* An empty space in which the break and the stack are where the program has them. */
static int begin_space(const struct image *image)
{
	struct vmspace_image about = {
		.start_code = image->bias + image->low, .end_code = image->bias + image->high,
		.start_brk = image->bias + image->high, .brk = image->bias + image->high,
		.start_stack = GUEST_TOP - 16,
	};
	int err = vmspace_exec(memory.space, NULL, 0, &about);
	long result;

	if (err)
		return err;
	result = memory_mmap(GUEST_TOP - STACK_PAGES * GUEST_PAGE, STACK_PAGES * GUEST_PAGE,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	return result < 0 ? (int)result : 0;
}

static int load_interpreter(struct image *interpreter, const struct image *image)
{
	char path[PATH_MAX];
	int err = path_to_host(path, image->interpreter);

	if (!err)
		err = image_open(interpreter, path);
	if (err) {
		fprintf(stderr, "rv64: %s: %s (is -L the directory that has it?)\n", image->interpreter,
			strerror(-err));
		return err;
	}
	err = map_anywhere(interpreter);
	close(interpreter->fd);
	return err;
}

int program_load(struct cpu *cpu, const char *path, char **argv, char **envp)
{
	struct image image, interpreter;
	uint64_t entry, base = 0;
	long vdso;
	int err = image_open(&image, path);

	if (err)
		return err;
	image.bias = image.header.e_type == ET_DYN ? PIE_BASE - image.low : 0;
	err = begin_space(&image);
	if (!err)
		err = map_parts(&image);
	close(image.fd);
	if (err)
		return err;
	entry = image.bias + image.header.e_entry;
	if (image.interpreter[0]) {
		err = load_interpreter(&interpreter, &image);
		if (err)
			return err;
		base = interpreter.bias + interpreter.low;
		entry = interpreter.bias + interpreter.header.e_entry;
	}
	vdso = memory_map_vdso();
	if (vdso < 0)
		return (int)vdso;
	process.sigreturn = (uint64_t)vdso;
	cpu->x[REG_STACK] = fill_stack(&image, base, path, argv, envp);
	cpu->pc = entry;
	return 0;
}
