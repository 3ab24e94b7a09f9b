/*
 * _ffi.h - what Python calls. cffi reads this file, so it has neither directives nor inline
 * functions; the structs that end in "...;" are the library's, of which Python needs no more.
 */
typedef uint64_t vma_flags_t;

/* ---- trees whose entries are Python's objects, see _ffi.c ------------------------------------ */

struct maple_tree;

/* A range, and the number of its object. A gap has 0. */
struct py_range {
	unsigned long first;
	unsigned long last;
	uint64_t slot;
};

/* An object: its number, and its value if it is an int that fits. */
struct py_object {
	uint64_t slot;
	bool is_number;
	int64_t number;
};

/* Where to look for free indexes. */
struct py_area {
	unsigned long first;
	unsigned long last;
	unsigned long size;
	unsigned long align;
	bool highest;
};

struct maple_tree *py_tree_new(void);
struct maple_tree *py_tree_snapshot(struct maple_tree *mt);
void py_tree_free(struct maple_tree *mt);
uint64_t py_next_dropped(void);

int py_store(struct maple_tree *mt, unsigned long first, unsigned long last,
	     struct py_object *object, bool only_if_free);
int py_erase(struct maple_tree *mt, unsigned long first, unsigned long last,
	     unsigned long *count);
int py_allocate(struct maple_tree *mt, const struct py_area *area, struct py_object *object,
		unsigned long *start);
int py_find_gap(struct maple_tree *mt, const struct py_area *area, unsigned long *start);

uint64_t py_load(struct maple_tree *mt, unsigned long index);
void py_load_many(struct maple_tree *mt, const unsigned long *keys, uint64_t *slots, size_t count);
size_t py_load_numbers(struct maple_tree *mt, const unsigned long *keys, int64_t *numbers,
		       int64_t missing, size_t count);
size_t py_read(struct maple_tree *mt, unsigned long first, unsigned long last,
	       struct py_range *ranges, size_t count);
size_t py_read_back(struct maple_tree *mt, unsigned long first, unsigned long last,
		    struct py_range *ranges, size_t count);
size_t py_read_gaps(struct maple_tree *mt, unsigned long first, unsigned long last,
		    struct py_range *ranges, size_t count);
unsigned long py_count(struct maple_tree *mt);
bool py_check(struct maple_tree *mt);

/* ---- address spaces ------------------------------------------------------------------------- */

struct vmspace;

struct vma_backing {
	unsigned int dev_major;
	unsigned int dev_minor;
	uint64_t inode;
	const char *name;
	...;
};

struct vma_info {
	unsigned long start;
	unsigned long end;
	vma_flags_t flags;
	uint64_t offset;
	struct vma_backing backing;
	const char *anon_name;
	unsigned int pkey;
	...;
};

struct vma_iterator {
	...;
};

struct vmspace_difference {
	unsigned int what;
	unsigned long addr;
	char text[640];
};

int vmspace_load(struct vmspace **out, int pid);
void vmspace_destroy(struct vmspace *space);
int vmspace_verify(const struct vmspace *space, int pid, unsigned int what,
		   struct vmspace_difference *difference);
bool vmspace_lookup(const struct vmspace *space, unsigned long addr, struct vma_info *info);
void vma_iter_init(struct vma_iterator *it, const struct vmspace *space, unsigned long addr);
bool vma_iter_next(struct vma_iterator *it, struct vma_info *info);
size_t vmspace_show(const struct vmspace *space, char *buf, size_t size);
unsigned long vmspace_count_areas(const struct vmspace *space);
size_t vma_flags_text(vma_flags_t flags, char *buf, size_t size);
