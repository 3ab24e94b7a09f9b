/* SPDX-License-Identifier: MIT */
/*
 * import_core.c - the areas that a core file tells of.
 *
 * Linux writes a program header for each area, and into NT_FILE where each file is mapped. Nothing
 * in the file is trusted: each part is looked for within what is left of it.
 */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/vmspace_proc.h>

#include "import.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

struct core {
	const char *bytes;
	size_t size;
	size_t headers;              /* the program headers: where, and how many */
	size_t count;
	struct vmspace_area *areas;
	size_t areas_count;
	unsigned long page_size;     /* by NT_FILE, or 0 */
	struct vmspace_mistake *mistake;
};

/* Copies what is at `offset`, if the file has as much there. */
static bool take(const struct core *core, uint64_t offset, void *to, size_t size)
{
	if (offset > core->size || size > core->size - offset)
		return false;
	memcpy(to, core->bytes + offset, size);
	return true;
}

static int read_header(struct core *core)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	if (!take(core, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return import_wrong(core->mistake, 0, "not an ELF file");
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != OUR_ORDER)
		return import_wrong(core->mistake, EI_CLASS,
				    "not a file of 64 bits in this machine's byte order");
	if (header.e_type != ET_CORE)
		return import_wrong(core->mistake, EI_NIDENT, "an ELF file of type %u, not a core",
				    (unsigned int)header.e_type);
	core->headers = header.e_phoff;
	core->count = header.e_phnum;
	if (header.e_phnum == PN_XNUM) { /* more than fit: see elf(5) */
		if (!take(core, header.e_shoff, &section, sizeof(section)))
			return import_wrong(core->mistake, header.e_shoff,
					    "no section header, which counts the segments");
		core->count = section.sh_info;
	}
	if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > core->size ||
	    core->count > (core->size - header.e_phoff) / sizeof(Elf64_Phdr))
		return import_wrong(core->mistake, header.e_phoff,
				    "%zu program headers of %u bytes are not there", core->count,
				    (unsigned int)header.e_phentsize);
	return 0;
}

/* Calls `visit` for each segment of a type. */
static int for_segments(struct core *core, uint32_t type,
			int (*visit)(struct core *, const Elf64_Phdr *, size_t offset))
{
	int err = 0;

	for (size_t i = 0; i < core->count && !err; i++) {
		size_t at = core->headers + i * sizeof(Elf64_Phdr);
		Elf64_Phdr segment;

		if (take(core, at, &segment, sizeof(segment)) && segment.p_type == type)
			err = visit(core, &segment, at);
	}
	return err;
}

static int add_segment(struct core *core, const Elf64_Phdr *segment, size_t offset)
{
	struct vmspace_area *area = &core->areas[core->areas_count];
	vma_flags_t flags = VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC;

	if (!segment->p_memsz)
		return 0;
	if (segment->p_vaddr + segment->p_memsz < segment->p_vaddr ||
	    segment->p_vaddr + segment->p_memsz > ULONG_MAX)
		return import_wrong(core->mistake, offset, "a segment of %#llx bytes at %#llx",
				    (unsigned long long)segment->p_memsz,
				    (unsigned long long)segment->p_vaddr);
	if (core->areas_count && segment->p_vaddr < area[-1].end)
		return import_wrong(core->mistake, offset,
				    "the segment at %#llx begins before the one above it ends",
				    (unsigned long long)segment->p_vaddr);
	flags |= segment->p_flags & PF_R ? VMA_READ : 0;
	flags |= segment->p_flags & PF_W ? VMA_WRITE | VMA_ACCOUNT : 0;
	flags |= segment->p_flags & PF_X ? VMA_EXEC : 0;
	*area = (struct vmspace_area){
		.start = segment->p_vaddr, .end = segment->p_vaddr + segment->p_memsz,
		.flags = flags,
	};
	core->areas_count++;
	return 0;
}

/* The area that holds `addr`, or NULL. */
static struct vmspace_area *area_at(const struct core *core, uint64_t addr)
{
	size_t low = 0, high = core->areas_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (core->areas[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < core->areas_count && core->areas[low].start <= addr ? &core->areas[low] : NULL;
}

/* By its name the area is what a line of maps with it would be. */
static int name_area(struct vmspace_area *area, const char *name)
{
	struct vmspace_line line = { .perms = "---p", .name = name, .name_length = strlen(name) };
	const char *shared[] = { "/dev/zero (deleted)", "/SYSV" };
	char unused[64];

	for (int i = 0; i < 2; i++) {
		if (strncmp(name, shared[i], strlen(shared[i])) != 0)
			continue;
		line.perms[3] = 's';
		area->flags &= ~VMA_ACCOUNT;
		area->flags |= VMA_SHARED | VMA_MAYSHARE;
	}
	vmspace_line_backing(&line, &area->backing, unused, sizeof(unused));
	area->backing.name = strdup(name);
	return area->backing.name ? 0 : -ENOMEM;
}

/* NT_FILE: count, page size; start, end and page of each; then the names. */
static int read_files(struct core *core, size_t offset, size_t size)
{
	const char *end = core->bytes + offset + size, *name;
	uint64_t head[2], entry[3];

	if (size < sizeof(head) || !take(core, offset, head, sizeof(head)) ||
	    head[0] > (size - sizeof(head)) / sizeof(entry) || !head[1] ||
	    (head[1] & (head[1] - 1)))
		return import_wrong(core->mistake, offset, "the note of files is cut");
	core->page_size = head[1];
	name = core->bytes + offset + sizeof(head) + head[0] * sizeof(entry);
	for (uint64_t i = 0; i < head[0]; i++) {
		size_t at = offset + sizeof(head) + i * sizeof(entry);
		const char *nul = memchr(name, '\0', (size_t)(end - name));
		struct vmspace_area *area;

		if (!nul || !take(core, at, entry, sizeof(entry)))
			return import_wrong(core->mistake, at, "the name of file %llu is cut",
					    (unsigned long long)i + 1);
		area = area_at(core, entry[0]);
		if (area && area->start == entry[0] && area->end == entry[1] &&
		    !area->backing.name) {
			area->offset = entry[2] * head[1];
			if (name_area(area, name))
				return -ENOMEM;
		} else if (area) {
			return import_wrong(core->mistake, at,
					    "file %llu is mapped at %#llx, where no segment begins",
					    (unsigned long long)i + 1,
					    (unsigned long long)entry[0]);
		}
		name = nul + 1;
	}
	return 0;
}

/* NT_AUXV: the vdso begins at one of its values, and another points into the stack. */
static int read_values(struct core *core, size_t offset, size_t size)
{
	Elf64_auxv_t value;
	struct vmspace_area *area;

	for (size_t at = 0; at + sizeof(value) <= size; at += sizeof(value)) {
		if (!take(core, offset + at, &value, sizeof(value)) || value.a_type == AT_NULL)
			break;
		area = area_at(core, value.a_un.a_val);
		if (!area || area->backing.name)
			continue;
		if (value.a_type == AT_SYSINFO_EHDR && name_area(area, "[vdso]"))
			return -ENOMEM;
		if (value.a_type != AT_RANDOM)
			continue;
		area->flags |= VMA_GROWSDOWN;
		if (name_area(area, "[stack]"))
			return -ENOMEM;
	}
	return 0;
}

static int read_notes(struct core *core, const Elf64_Phdr *segment, size_t offset)
{
	uint64_t at = segment->p_offset, end = at + segment->p_filesz;
	Elf64_Nhdr note;
	int err = 0;

	if (end < at || end > core->size)
		return import_wrong(core->mistake, offset, "the notes are not in the file");
	while (!err && end - at >= sizeof(note)) {
		uint64_t name = at + sizeof(note), body, next;

		(void)take(core, at, &note, sizeof(note));
		body = name + (((uint64_t)note.n_namesz + 3) & ~UINT64_C(3));
		next = body + (((uint64_t)note.n_descsz + 3) & ~UINT64_C(3));
		if (body > end || note.n_descsz > end - body)
			return import_wrong(core->mistake, at, "a note of %u bytes is cut",
					    (unsigned int)note.n_descsz);
		if (note.n_namesz == 5 && !memcmp(core->bytes + name, "CORE", 5)) {
			if (note.n_type == NT_FILE)
				err = read_files(core, body, note.n_descsz);
			else if (note.n_type == NT_AUXV)
				err = read_values(core, body, note.n_descsz);
		}
		at = next < end ? next : end;
	}
	return err;
}

int vmspace_parse_core(const void *bytes, size_t size, struct vmspace_area **areas, size_t *count,
		       unsigned long *page_size, struct vmspace_mistake *mistake)
{
	struct core core = { .bytes = bytes, .size = size, .mistake = mistake };
	int err = read_header(&core);

	*areas = NULL;
	*count = 0;
	if (err)
		return err;
	core.areas = calloc(core.count + 1, sizeof(*core.areas));
	if (!core.areas)
		return -ENOMEM;
	err = for_segments(&core, PT_LOAD, add_segment);
	if (!err && !core.areas_count)
		err = import_wrong(mistake, core.headers, "the core has no segments");
	if (!err)
		err = for_segments(&core, PT_NOTE, read_notes);
	if (err) {
		vmspace_free_areas(core.areas, core.areas_count);
		return err;
	}
	*areas = core.areas;
	*count = core.areas_count;
	if (page_size)
		*page_size = core.page_size;
	return 0;
}
