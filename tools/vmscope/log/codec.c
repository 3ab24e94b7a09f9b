/* SPDX-License-Identifier: MIT */
/* Requests, areas and configurations as JSON. One table of fields serves for both directions. */
#include "log/codec.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/vmspace_rules.h>

enum field_type {
	FIELD_END,
	FIELD_WORD,	/* unsigned long or uint64_t: a hexadecimal string */
	FIELD_INT,	/* int, unsigned int or an enum: a number */
	FIELD_BOOL,
	FIELD_TEXT,	/* const char *; NULL is left out */
	FIELD_FLAGS,	/* vma_flags_t: a string like VmFlags in smaps */
	FIELD_BACKING,	/* struct vma_backing: an object */
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
};

#define AT(type, member) offsetof(struct type, member)

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "a word is one of both");
_Static_assert(sizeof(enum vma_backing_kind) == sizeof(int) &&
	       sizeof(enum vmspace_thp) == sizeof(int), "FIELD_INT reads and writes int");

static const struct field backing_fields[] = {
	{ "kind", FIELD_INT, AT(vma_backing, kind) },
	{ "flags", FIELD_INT, AT(vma_backing, flags) },
	{ "dev_major", FIELD_INT, AT(vma_backing, dev_major) },
	{ "dev_minor", FIELD_INT, AT(vma_backing, dev_minor) },
	{ "inode", FIELD_WORD, AT(vma_backing, inode) },
	{ "file", FIELD_WORD, AT(vma_backing, file_id) },
	{ "name", FIELD_TEXT, AT(vma_backing, name) },
	{ "huge_size", FIELD_WORD, AT(vma_backing, huge_size) },
	{ "size", FIELD_WORD, AT(vma_backing, size) },
	{ NULL, FIELD_END, 0 },
};

static const struct field area_fields[] = {
	{ "start", FIELD_WORD, AT(vmspace_area, start) },
	{ "end", FIELD_WORD, AT(vmspace_area, end) },
	{ "flags", FIELD_FLAGS, AT(vmspace_area, flags) },
	{ "offset", FIELD_WORD, AT(vmspace_area, offset) },
	{ "backing", FIELD_BACKING, AT(vmspace_area, backing) },
	{ "anon_name", FIELD_TEXT, AT(vmspace_area, anon_name) },
	{ "pkey", FIELD_INT, AT(vmspace_area, pkey) },
	{ "has_anon", FIELD_BOOL, AT(vmspace_area, has_anon) },
	{ "fork_child", FIELD_BOOL, AT(vmspace_area, fork_child) },
	{ NULL, FIELD_END, 0 },
};

static const struct field image_fields[] = {
	{ "start_code", FIELD_WORD, AT(vmspace_image, start_code) },
	{ "end_code", FIELD_WORD, AT(vmspace_image, end_code) },
	{ "start_data", FIELD_WORD, AT(vmspace_image, start_data) },
	{ "end_data", FIELD_WORD, AT(vmspace_image, end_data) },
	{ "start_brk", FIELD_WORD, AT(vmspace_image, start_brk) },
	{ "brk", FIELD_WORD, AT(vmspace_image, brk) },
	{ "start_stack", FIELD_WORD, AT(vmspace_image, start_stack) },
	{ "pkeys_unknown", FIELD_BOOL, AT(vmspace_image, pkeys_unknown) },
	{ "mlock_future", FIELD_BOOL, AT(vmspace_image, mlock_future) },
	{ "mlock_onfault", FIELD_BOOL, AT(vmspace_image, mlock_onfault) },
	{ "vsyscall", FIELD_BOOL, AT(vmspace_image, vsyscall) },
	{ "vsyscall_read", FIELD_BOOL, AT(vmspace_image, vsyscall_read) },
	{ NULL, FIELD_END, 0 },
};

static const struct field config_fields[] = {
	{ "page_size", FIELD_WORD, AT(vmspace_config, page_size) },
	{ "task_size", FIELD_WORD, AT(vmspace_config, task_size) },
	{ "map_window", FIELD_WORD, AT(vmspace_config, map_window) },
	{ "mmap_base", FIELD_WORD, AT(vmspace_config, mmap_base) },
	{ "mmap_base_legacy", FIELD_WORD, AT(vmspace_config, mmap_base_legacy) },
	{ "mmap_bottom_up", FIELD_BOOL, AT(vmspace_config, mmap_bottom_up) },
	{ "mmap_min_addr", FIELD_WORD, AT(vmspace_config, mmap_min_addr) },
	{ "hint_min_addr", FIELD_WORD, AT(vmspace_config, hint_min_addr) },
	{ "stack_guard_gap", FIELD_WORD, AT(vmspace_config, stack_guard_gap) },
	{ "max_map_count", FIELD_WORD, AT(vmspace_config, max_map_count) },
	{ "pmd_size", FIELD_WORD, AT(vmspace_config, pmd_size) },
	{ "thp", FIELD_INT, AT(vmspace_config, thp) },
	{ "shmem_align_huge", FIELD_BOOL, AT(vmspace_config, shmem_align_huge) },
	{ "overcommit", FIELD_INT, AT(vmspace_config, overcommit) },
	{ "ram_pages", FIELD_WORD, AT(vmspace_config, ram_pages) },
	{ "swap_pages", FIELD_WORD, AT(vmspace_config, swap_pages) },
	{ "memory_nodes", FIELD_WORD, AT(vmspace_config, memory_nodes) },
	{ "anon_names", FIELD_BOOL, AT(vmspace_config, anon_names) },
	{ "softdirty", FIELD_BOOL, AT(vmspace_config, softdirty) },
	{ "pt_reclaim", FIELD_BOOL, AT(vmspace_config, pt_reclaim) },
	{ "pkeys", FIELD_BOOL, AT(vmspace_config, pkeys) },
	{ "key_0", FIELD_BOOL, AT(vmspace_config, key_0) },
	{ "bti", FIELD_BOOL, AT(vmspace_config, bti) },
	{ "mmap_apart", FIELD_BOOL, AT(vmspace_config, mmap_apart) },
	{ "address_tags", FIELD_BOOL, AT(vmspace_config, address_tags) },
	{ "ksm", FIELD_BOOL, AT(vmspace_config, ksm) },
	{ "read_implies_exec", FIELD_BOOL, AT(vmspace_config, read_implies_exec) },
	{ "low_privileged", FIELD_BOOL, AT(vmspace_config, low_privileged) },
	{ "lock_privileged", FIELD_BOOL, AT(vmspace_config, lock_privileged) },
	{ "move_all_privileged", FIELD_BOOL, AT(vmspace_config, move_all_privileged) },
	{ "rlimit_as", FIELD_WORD, AT(vmspace_config, rlimit_as) },
	{ "rlimit_data", FIELD_WORD, AT(vmspace_config, rlimit_data) },
	{ "rlimit_data_max", FIELD_WORD, AT(vmspace_config, rlimit_data_max) },
	{ "rlimit_stack", FIELD_WORD, AT(vmspace_config, rlimit_stack) },
	{ "rlimit_memlock", FIELD_WORD, AT(vmspace_config, rlimit_memlock) },
	{ NULL, FIELD_END, 0 },
};

enum { OP_FIELDS = 9 };

#define OP_RANGE(op) { "addr", FIELD_WORD, AT(vmspace_request, op.addr) }, \
		     { "length", FIELD_WORD, AT(vmspace_request, op.length) }

#define UFFD_FIELDS OP_RANGE(uffd), \
		    { "features", FIELD_WORD, AT(vmspace_request, uffd.features) }, \
		    { "context", FIELD_INT, AT(vmspace_request, uffd.context) }

/* The arguments of a request, by its op. The last field, left zero, ends the list. */
static const struct field op_fields[VMSPACE_OP_COUNT][OP_FIELDS] = {
	[VMSPACE_MMAP] = {
		OP_RANGE(mmap),
		{ "prot", FIELD_INT, AT(vmspace_request, mmap.prot) },
		{ "flags", FIELD_INT, AT(vmspace_request, mmap.flags) },
		{ "offset", FIELD_WORD, AT(vmspace_request, mmap.offset) },
		{ "backing", FIELD_BACKING, AT(vmspace_request, mmap.backing) },
		{ "bad_fd", FIELD_BOOL, AT(vmspace_request, mmap.bad_fd) },
		{ "driver_flags", FIELD_FLAGS, AT(vmspace_request, mmap.driver_flags) },
	},
	[VMSPACE_MUNMAP] = { OP_RANGE(munmap) },
	[VMSPACE_MPROTECT] = {
		OP_RANGE(mprotect),
		{ "prot", FIELD_INT, AT(vmspace_request, mprotect.prot) },
		{ "pkey", FIELD_INT, AT(vmspace_request, mprotect.pkey) },
	},
	[VMSPACE_MREMAP] = {
		{ "addr", FIELD_WORD, AT(vmspace_request, mremap.addr) },
		{ "old_length", FIELD_WORD, AT(vmspace_request, mremap.old_length) },
		{ "new_length", FIELD_WORD, AT(vmspace_request, mremap.new_length) },
		{ "flags", FIELD_INT, AT(vmspace_request, mremap.flags) },
		{ "new_addr", FIELD_WORD, AT(vmspace_request, mremap.new_addr) },
	},
	[VMSPACE_BRK] = { { "brk", FIELD_WORD, AT(vmspace_request, brk.brk) } },
	[VMSPACE_MADVISE] = {
		OP_RANGE(madvise),
		{ "advice", FIELD_INT, AT(vmspace_request, madvise.advice) },
	},
	[VMSPACE_MLOCK] = {
		OP_RANGE(mlock),
		{ "flags", FIELD_INT, AT(vmspace_request, mlock.flags) },
		{ "mlock2", FIELD_BOOL, AT(vmspace_request, mlock.mlock2) },
	},
	[VMSPACE_MUNLOCK] = { OP_RANGE(mlock) },
	[VMSPACE_MLOCKALL] = { { "flags", FIELD_INT, AT(vmspace_request, mlockall.flags) } },
	[VMSPACE_SET_ANON_NAME] = {
		OP_RANGE(set_anon_name),
		{ "name", FIELD_TEXT, AT(vmspace_request, set_anon_name.name) },
	},
	[VMSPACE_SHMAT] = {
		{ "addr", FIELD_WORD, AT(vmspace_request, shmat.addr) },
		{ "flags", FIELD_INT, AT(vmspace_request, shmat.flags) },
		{ "size", FIELD_WORD, AT(vmspace_request, shmat.size) },
		{ "backing", FIELD_BACKING, AT(vmspace_request, shmat.backing) },
	},
	[VMSPACE_SHMDT] = { { "addr", FIELD_WORD, AT(vmspace_request, shmdt.addr) } },
	[VMSPACE_REMAP_FILE_PAGES] = {
		{ "addr", FIELD_WORD, AT(vmspace_request, remap_file_pages.addr) },
		{ "size", FIELD_WORD, AT(vmspace_request, remap_file_pages.size) },
		{ "prot", FIELD_INT, AT(vmspace_request, remap_file_pages.prot) },
		{ "page_offset", FIELD_WORD, AT(vmspace_request, remap_file_pages.page_offset) },
		{ "flags", FIELD_INT, AT(vmspace_request, remap_file_pages.flags) },
		{ "file_flags", FIELD_INT, AT(vmspace_request, remap_file_pages.file_flags) },
	},
	[VMSPACE_MSEAL] = {
		OP_RANGE(mseal),
		{ "flags", FIELD_WORD, AT(vmspace_request, mseal.flags) },
	},
	[VMSPACE_MSYNC] = {
		OP_RANGE(msync),
		{ "flags", FIELD_INT, AT(vmspace_request, msync.flags) },
	},
	[VMSPACE_MINCORE] = {
		OP_RANGE(mincore),
		{ "bad_vec", FIELD_BOOL, AT(vmspace_request, mincore.bad_vec) },
	},
	[VMSPACE_MBIND] = {
		OP_RANGE(mbind),
		{ "mode", FIELD_INT, AT(vmspace_request, mbind.mode) },
		{ "nodes", FIELD_WORD, AT(vmspace_request, mbind.nodes) },
		{ "flags", FIELD_INT, AT(vmspace_request, mbind.flags) },
	},
	[VMSPACE_SET_HOME_NODE] = {
		OP_RANGE(home_node),
		{ "node", FIELD_WORD, AT(vmspace_request, home_node.node) },
		{ "flags", FIELD_WORD, AT(vmspace_request, home_node.flags) },
	},
	[VMSPACE_PROCESS_MADVISE] = { /* and "ranges" */
		{ "advice", FIELD_INT, AT(vmspace_request, process_madvise.advice) },
		{ "flags", FIELD_INT, AT(vmspace_request, process_madvise.flags) },
	},
	[VMSPACE_UFFD_REGISTER] = { UFFD_FIELDS,
				    { "mode", FIELD_WORD, AT(vmspace_request, uffd.mode) } },
	[VMSPACE_UFFD_UNREGISTER] = { UFFD_FIELDS },
	[VMSPACE_UFFD_RELEASE] = { { "context", FIELD_INT, AT(vmspace_request, uffd.context) } },
	[VMSPACE_PKEY_ALLOC] = {
		{ "flags", FIELD_WORD, AT(vmspace_request, pkey_alloc.flags) },
		{ "rights", FIELD_WORD, AT(vmspace_request, pkey_alloc.rights) },
	},
	[VMSPACE_PKEY_FREE] = { { "pkey", FIELD_INT, AT(vmspace_request, pkey_free.pkey) } },
	[VMSPACE_FAULT] = {
		{ "addr", FIELD_WORD, AT(vmspace_request, fault.addr) },
		{ "access", FIELD_INT, AT(vmspace_request, fault.access) },
	},
};

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add_ex(object, key, value, JSON_C_OBJECT_ADD_CONSTANT_KEY);
}

struct json_object *encode_word(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%#" PRIx64, value);
	return json_object_new_string(text);
}

struct json_object *encode_result(int64_t value)
{
	if (value < 0 && value >= -4095)
		return json_object_new_int64(value);
	return encode_word((uint64_t)value);
}

bool decode_word(struct json_object *from, uint64_t *value)
{
	const char *text = json_object_get_string(from);
	char *end;

	if (!json_object_is_type(from, json_type_string) || text[0] != '0')
		return false;
	if (strcmp(text, "0") == 0) {
		*value = 0;
		return true;
	}
	errno = 0;
	*value = strtoull(text, &end, 16);
	return text[1] == 'x' && end > text + 2 && *end == '\0' && errno == 0;
}

bool decode_result(struct json_object *from, int64_t *value)
{
	uint64_t word;

	if (json_object_is_type(from, json_type_int)) {
		*value = json_object_get_int64(from);
		return *value < 0 && *value >= -4095;
	}
	if (!decode_word(from, &word))
		return false;
	*value = (int64_t)word;
	return true;
}

static struct json_object *write_fields(const void *from, const struct field *fields)
{
	struct json_object *object = json_object_new_object();
	const char *base = from;
	char flags[256];

	for (; fields->type != FIELD_END; fields++) {
		const void *at = base + fields->offset;
		struct json_object *value = NULL;

		if (fields->type == FIELD_WORD && *(const uint64_t *)at) {
			value = encode_word(*(const uint64_t *)at);
		} else if (fields->type == FIELD_INT && *(const int *)at) {
			value = json_object_new_int(*(const int *)at);
		} else if (fields->type == FIELD_BOOL && *(const bool *)at) {
			value = json_object_new_boolean(true);
		} else if (fields->type == FIELD_TEXT && *(const char *const *)at) {
			value = json_object_new_string(*(const char *const *)at);
		} else if (fields->type == FIELD_FLAGS && *(const vma_flags_t *)at) {
			vma_flags_text(*(const vma_flags_t *)at, flags, sizeof(flags));
			value = json_object_new_string(flags);
		} else if (fields->type == FIELD_BACKING) {
			value = write_fields(at, backing_fields);
			if (json_object_object_length(value) == 0) {
				json_object_put(value);
				value = NULL;
			}
		}
		if (value)
			add(object, fields->key, value);
	}
	return object;
}

static bool read_fields(struct json_object *from, void *to, const struct field *fields,
			const char **key);

static bool read_field(struct json_object *value, void *at, const struct field *field,
		       const char **key)
{
	int64_t number;

	*key = field->key;
	switch (field->type) {
	case FIELD_WORD:
		return decode_word(value, at);
	case FIELD_INT:
		number = json_object_get_int64(value);
		/* An int or an unsigned int: the representation is the same. */
		*(int *)at = (int)number;
		return json_object_is_type(value, json_type_int) && number >= INT_MIN &&
		       number <= UINT_MAX;
	case FIELD_BOOL:
		*(bool *)at = json_object_get_boolean(value);
		return json_object_is_type(value, json_type_boolean);
	case FIELD_TEXT:
		*(const char **)at = json_object_get_string(value);
		return json_object_is_type(value, json_type_string);
	case FIELD_FLAGS:
		if (!json_object_is_type(value, json_type_string))
			return false;
		*(vma_flags_t *)at = vma_flags_parse(json_object_get_string(value), NULL);
		return true;
	case FIELD_BACKING:
		return read_fields(value, at, backing_fields, key);
	case FIELD_END:
		break;
	}
	return false;
}

static bool read_fields(struct json_object *from, void *to, const struct field *fields,
			const char **key)
{
	if (!json_object_is_type(from, json_type_object))
		return false;
	for (; fields->type != FIELD_END; fields++) {
		struct json_object *value;

		if (json_object_object_get_ex(from, fields->key, &value) &&
		    !read_field(value, (char *)to + fields->offset, fields, key))
			return false;
	}
	return true;
}

static struct json_object *write_ranges(const struct vmspace_process_madvise *advise)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < advise->count; i++) {
		struct json_object *item = json_object_new_array();

		json_object_array_add(item, encode_word(advise->ranges[i].addr));
		json_object_array_add(item, encode_word(advise->ranges[i].length));
		json_object_array_add(array, item);
	}
	return array;
}

static bool read_ranges(struct json_object *from, struct vmspace_process_madvise *advise)
{
	struct vmspace_range *ranges;
	struct json_object *array;
	size_t count;

	if (!json_object_object_get_ex(from, "ranges", &array) ||
	    !json_object_is_type(array, json_type_array))
		return false;
	count = json_object_array_length(array);
	ranges = calloc(count + 1, sizeof(*ranges));
	for (size_t i = 0; ranges && i < count; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (!json_object_is_type(item, json_type_array) ||
		    !decode_word(json_object_array_get_idx(item, 0), &ranges[i].addr) ||
		    !decode_word(json_object_array_get_idx(item, 1), &ranges[i].length)) {
			free(ranges);
			return false;
		}
	}
	advise->ranges = ranges;
	advise->count = count;
	return ranges != NULL;
}

struct json_object *encode_request(const struct vmspace_request *req)
{
	struct json_object *object;

	assert(req->op > 0 && req->op < VMSPACE_OP_COUNT);
	object = write_fields(req, op_fields[req->op]);
	if (req->op == VMSPACE_PROCESS_MADVISE)
		add(object, "ranges", write_ranges(&req->process_madvise));
	add(object, "op", json_object_new_string(vmspace_op_name(req->op)));
	return object;
}

/* The op called @name. 0: there is none, or it never occurs in logs. */
static enum vmspace_op find_op(const char *name)
{
	for (int op = VMSPACE_MMAP; op < VMSPACE_OP_COUNT; op++)
		if (op != VMSPACE_FORK &&
		    strcmp(vmspace_op_name((enum vmspace_op)op), name) == 0)
			return (enum vmspace_op)op;
	return 0;
}

static bool valid_backing(const struct vma_backing *backing)
{
	return backing->kind >= VMA_BACKING_ANON && backing->kind <= VMA_BACKING_SPECIAL;
}

bool decode_request(struct json_object *from, struct vmspace_request *req, const char **key)
{
	struct json_object *op;

	memset(req, 0, sizeof(*req));
	*key = "op";
	if (!json_object_object_get_ex(from, "op", &op) ||
	    !json_object_is_type(op, json_type_string))
		return false;
	req->op = find_op(json_object_get_string(op));
	if (req->op == 0 || !read_fields(from, req, op_fields[req->op], key))
		return false;
	*key = "ranges";
	if (req->op == VMSPACE_PROCESS_MADVISE)
		return read_ranges(from, &req->process_madvise);
	*key = "kind";
	return (req->op != VMSPACE_MMAP || valid_backing(&req->mmap.backing)) &&
	       (req->op != VMSPACE_SHMAT || valid_backing(&req->shmat.backing));
}

struct json_object *encode_area(const struct vmspace_area *area)
{
	return write_fields(area, area_fields);
}

bool decode_area(struct json_object *from, struct vmspace_area *area, const char **key)
{
	memset(area, 0, sizeof(*area));
	*key = "area";
	if (!read_fields(from, area, area_fields, key))
		return false;
	*key = "kind";
	return valid_backing(&area->backing);
}

struct json_object *encode_image(const struct vmspace_image *image)
{
	return write_fields(image, image_fields);
}

bool decode_image(struct json_object *from, struct vmspace_image *image, const char **key)
{
	memset(image, 0, sizeof(*image));
	*key = "image";
	return read_fields(from, image, image_fields, key);
}

struct json_object *encode_backing(const struct vma_backing *backing)
{
	return write_fields(backing, backing_fields);
}

bool decode_backing(struct json_object *from, struct vma_backing *backing, const char **key)
{
	memset(backing, 0, sizeof(*backing));
	*key = "backing";
	if (!read_fields(from, backing, backing_fields, key))
		return false;
	*key = "kind";
	return valid_backing(backing);
}

/* The rules that apply, by name. */
static struct json_object *write_rules(const struct vmspace_config *config)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; vmspace_rule(i); i++)
		if (vmspace_config_has_rule(config, i))
			json_object_array_add(array, json_object_new_string(vmspace_rule(i)->name));
	return array;
}

static int rules_count(void)
{
	unsigned int count = 0;

	while (vmspace_rule(count))
		count++;
	return (int)count;
}

static void set_rule(struct vmspace_config *config, const char *name, bool applies)
{
	vmspace_config_set_rule(config, (unsigned int)vmspace_rule_find(name), applies);
}

/* Logs from before revision 3: they are from kernels like Linux 6.18, or tell of these two. */
static bool rules_of_old_log(struct json_object *from, struct vmspace_config *config)
{
	bool known = vmspace_config_kernel(config, "6.18") == 0;
	struct json_object *value;

	set_rule(config, "mseal", json_object_object_get_ex(from, "mseal", &value));
	set_rule(config, "guard-flag", json_object_object_get_ex(from, "guard_flag", &value));
	return known;
}

/* Logs of revision 3 without "rules_known" were written when there were so many. */
#define RULES_ONCE_KNOWN 44

static unsigned int rules_in_common(const struct vmspace_config *a, const struct vmspace_config *b,
				    unsigned int count)
{
	unsigned int common = 0;

	for (unsigned int i = 0; i < count; i++)
		common += vmspace_config_has_rule(a, i) == vmspace_config_has_rule(b, i);
	return common;
}

/*
 * Rules from number `known` on were not known to the writer: they are taken from the version that
 * agrees with most of the others, the newest such one.
 */
static void set_later_rules(struct vmspace_config *config, unsigned int known)
{
	struct vmspace_config like = *config, version = *config;
	unsigned int most = 0;
	char name[16];

	/* 5.10, 5.11 ... 7.3: others than these are refused. */
	for (unsigned int i = 500; i < 1000; i++) {
		unsigned int common;

		snprintf(name, sizeof(name), "%u.%u", i / 100, i % 100);
		if (vmspace_config_kernel(&version, name))
			continue;
		common = rules_in_common(config, &version, known);
		if (common >= most) {
			most = common;
			like = version;
		}
	}
	for (unsigned int i = known; vmspace_rule(i); i++)
		vmspace_config_set_rule(config, i, vmspace_config_has_rule(&like, i));
}

/* How many rules the writer knew, of those that there are: a newer one knew more. -1: no number. */
static int read_rules_known(struct json_object *from)
{
	struct json_object *value;
	int known = RULES_ONCE_KNOWN;

	if (json_object_object_get_ex(from, "rules_known", &value))
		known = json_object_is_type(value, json_type_int) ? json_object_get_int(value) : -1;
	return known < rules_count() ? known : rules_count();
}

static bool read_rules(struct json_object *from, struct vmspace_config *config, const char **key)
{
	struct json_object *array;
	int known;

	if (!json_object_object_get_ex(from, "rules", &array))
		return rules_of_old_log(from, config);
	*key = "rules";
	if (!json_object_is_type(array, json_type_array))
		return false;
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(array, i));
		int number = name ? vmspace_rule_find(name) : -ENOENT;

		if (number < 0)
			return false;
		vmspace_config_set_rule(config, (unsigned int)number, true);
	}
	*key = "rules_known";
	known = read_rules_known(from);
	if (known >= 0)
		set_later_rules(config, (unsigned int)known);
	return known >= 0;
}

struct json_object *encode_config(const struct vmspace_config *config)
{
	struct json_object *object = write_fields(config, config_fields);

	add(object, "rules", write_rules(config));
	add(object, "rules_known", json_object_new_int(rules_count()));
	return object;
}

bool decode_config(struct json_object *from, struct vmspace_config *config, const char **key)
{
	const struct vmspace_host host = config->host;

	memset(config, 0, sizeof(*config));
	config->host = host;
	*key = "config";
	return read_fields(from, config, config_fields, key) && read_rules(from, config, key);
}
