/* SPDX-License-Identifier: MIT */
/* The symbols of the files of this machine: which names of strace(1) are of other functions. */
#include "strace/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 4096, SECTION_MOST = 1 << 28 };

struct symbol_file {
	struct symbol_file *next;
	Elf64_Sym *list;	/* ascending */
	size_t count;
	char *names;		/* with a NUL at the end */
	size_t names_size;
	char path[];
};

struct symbols {
	struct symbol_file *files;
	unsigned int count;
};

struct symbols *symbols_new(void)
{
	return calloc(1, sizeof(struct symbols));
}

void symbols_free(struct symbols *symbols)
{
	while (symbols && symbols->files) {
		struct symbol_file *file = symbols->files;

		symbols->files = file->next;
		free(file->list);
		free(file->names);
		free(file);
	}
	free(symbols);
}

/*
 * Returns @size bytes at @offset of the file, and a NUL; the caller frees them. NULL: there are not
 * as many.
 */
static void *read_part(int fd, uint64_t offset, uint64_t size)
{
	char *bytes = size <= SECTION_MOST ? malloc(size + 1) : NULL;
	size_t done = 0;
	ssize_t got = 1;

	while (bytes && done < size && got > 0) {
		got = pread(fd, bytes + done, size - done, (off_t)(offset + done));
		done += got > 0 ? (size_t)got : 0;
	}
	if (!bytes || done < size) {
		free(bytes);
		return NULL;
	}
	bytes[size] = '\0';
	return bytes;
}

static int by_value(const void *a, const void *b)
{
	const Elf64_Sym *one = a, *other = b;

	return (one->st_value > other->st_value) - (one->st_value < other->st_value);
}

static void read_symbols(struct symbol_file *file, int fd, const Elf64_Shdr *table,
			 const Elf64_Shdr *names)
{
	file->list = read_part(fd, table->sh_offset, table->sh_size);
	file->names = read_part(fd, names->sh_offset, names->sh_size);
	if (!file->list || !file->names)
		return;
	file->count = table->sh_size / sizeof(*file->list);
	file->names_size = names->sh_size;
	qsort(file->list, file->count, sizeof(*file->list), by_value);
}

/* The table of all symbols, if it was not stripped, or else that of the exported ones. */
static void read_sections(struct symbol_file *file, int fd, const Elf64_Ehdr *head)
{
	Elf64_Shdr *sections = read_part(fd, head->e_shoff, head->e_shnum * sizeof(*sections));
	const Elf64_Shdr *table = NULL;

	for (unsigned int i = 0; sections && i < head->e_shnum; i++)
		if (sections[i].sh_link < head->e_shnum &&
		    (sections[i].sh_type == SHT_SYMTAB ||
		     (!table && sections[i].sh_type == SHT_DYNSYM)))
			table = &sections[i];
	if (table)
		read_symbols(file, fd, table, &sections[table->sh_link]);
	free(sections);
}

static void read_file(struct symbol_file *file)
{
	const unsigned short probe = 1;
	const unsigned char order = *(const unsigned char *)&probe ? ELFDATA2LSB : ELFDATA2MSB;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	Elf64_Ehdr head;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    head.e_ident[EI_DATA] == order && head.e_shentsize == sizeof(Elf64_Shdr))
		read_sections(file, fd, &head);
	close(fd);
}

static const struct symbol_file *file_at(struct symbols *symbols, struct strace_text path)
{
	struct symbol_file *file = symbols->files;

	while (file && (strncmp(file->path, path.at, path.length) != 0 || file->path[path.length]))
		file = file->next;
	if (file || symbols->count == FILES_MOST)
		return file;
	file = calloc(1, sizeof(*file) + path.length + 1);
	if (!file)
		return NULL;
	memcpy(file->path, path.at, path.length);
	read_file(file);
	file->next = symbols->files;
	symbols->files = file;
	symbols->count++;
	return file;
}

/* The first symbol at @value or above. */
static size_t first_at(const struct symbol_file *file, uint64_t value)
{
	size_t low = 0, high = file->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->list[middle].st_value < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool symbols_ends_before(struct symbols *symbols, struct strace_text path, struct strace_text name,
			 uint64_t offset, uint64_t address)
{
	const struct symbol_file *file = file_at(symbols, path);

	for (size_t i = file ? first_at(file, address - offset) : 0;
	     file && i < file->count && file->list[i].st_value == address - offset; i++) {
		const Elf64_Sym *symbol = &file->list[i];
		const char *text = symbol->st_name < file->names_size ?
				   file->names + symbol->st_name : "";

		if (strncmp(text, name.at, name.length) == 0 && text[name.length] == '\0')
			return symbol->st_size > 0 && offset >= symbol->st_size;
	}
	return false;
}
