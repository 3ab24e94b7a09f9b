/* SPDX-License-Identifier: MIT */
/*
 * vmspace_small_pages_random.c - random calls in guests whose pages are smaller than the host's, against
 * a model that knows of each page its rights and its bytes; accesses by vmspace_access() and, where the
 * window says that it can be, through the host.
 *
 * Environment: SEED; STEPS (how many of each of the runs).
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_memfd.h>

#define START 0x10000000UL
#define PAGES 128UL
#define OBJECTS 2 /* a file with a descriptor, and one without */
#define MOST_PAGE 4096
#define READ VMSPACE_ACCESS_READ
#define WRITE VMSPACE_ACCESS_WRITE

enum kind { NOTHING, ANON, SHARED, PRIVATE };

/* A guest's page as it should be. */
struct expected {
	enum kind kind;
	bool own;                    /* PRIVATE: it was written, and is no longer the object's */
	int prot;
	unsigned int object, index;
	unsigned char bytes[MOST_PAGE]; /* ANON, and PRIVATE if it is its own */
};

struct guest {
	struct vmspace *space;
	struct vmspace_window *window;
	struct expected pages[PAGES];
};

static struct vmspace_memfd *memfd;
static struct guest guests[2];       /* the second is a child of the first, or not there */
static unsigned char objects[OBJECTS][PAGES][MOST_PAGE];
static size_t page, host_page;
static int file_fd, pipes[2];
static unsigned long direct, indirect; /* accesses */
static unsigned long in_order;         /* units found that have to be direct */
static uint64_t draws;

static unsigned long draw(unsigned long below)
{
	draws = draws * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(draws >> 33) % below;
}

static int descriptor(void *ctx, const struct vma_backing *file)
{
	(void)ctx;
	return file->inode == 1 ? file_fd : -1;
}

/* The file without a descriptor begins with its index in each byte. */
static int read_page(void *ctx, const struct vma_backing *file, uint64_t index, void *to)
{
	(void)ctx;
	assert_int_equal(file->inode, 2);
	memset(to, (int)index + 1, page);
	return 0;
}

static unsigned long at(unsigned long number)
{
	return START + number * page;
}

static unsigned char *bytes_of(struct expected *e)
{
	return e->kind == ANON || e->own ? e->bytes : objects[e->object][e->index];
}

/* ---- calls ---- */

static void map(struct guest *g, unsigned long first, unsigned long pages, int prot)
{
	enum kind kind = ANON + (enum kind)draw(3);
	unsigned int object = (unsigned int)draw(2), index = (unsigned int)draw(PAGES - pages + 1);
	struct vmspace_request req = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = at(first), .length = pages * page, .prot = prot,
			  .flags = MAP_FIXED | (kind == SHARED ? MAP_SHARED : MAP_PRIVATE) },
	};

	if (kind == ANON) {
		req.mmap.flags |= MAP_ANONYMOUS;
	} else {
		/* Often where units of the object meet those of the window. */
		if (draw(2))
			index = (unsigned int)((index & ~(host_page / page - 1)) +
					       first % (host_page / page));
		if (index + pages > PAGES)
			index = 0;
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE,
							 .inode = object + 1 };
		req.mmap.offset = (uint64_t)index * page;
	}
	assert_int_equal(vmspace_call(g->space, &req), at(first));
	for (unsigned long i = 0; i < pages; i++) {
		struct expected *e = &g->pages[first + i];

		*e = (struct expected){ .kind = kind, .prot = prot, .object = object,
					.index = index + (unsigned int)i };
	}
}

static void unmap(struct guest *g, unsigned long first, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP,
				       .munmap = { at(first), pages * page } };

	assert_int_equal(vmspace_call(g->space, &req), 0);
	for (unsigned long i = first; i < first + pages; i++)
		g->pages[i].kind = NOTHING;
}

/* How many pages from `first` on are mapped, of `pages`. */
static unsigned long mapped(const struct guest *g, unsigned long first, unsigned long pages)
{
	unsigned long n = 0;

	while (n < pages && g->pages[first + n].kind != NOTHING)
		n++;
	return n;
}

static void protect(struct guest *g, unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };

	pages = mapped(g, first, pages);
	if (!pages)
		return;
	req.mprotect.addr = at(first);
	req.mprotect.length = pages * page;
	req.mprotect.prot = prot;
	req.mprotect.pkey = -1;
	assert_int_equal(vmspace_call(g->space, &req), 0);
	for (unsigned long i = first; i < first + pages; i++)
		g->pages[i].prot = prot;
}

static void discard(struct guest *g, unsigned long first, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE };

	pages = mapped(g, first, pages);
	if (!pages)
		return;
	req.madvise.addr = at(first);
	req.madvise.length = pages * page;
	req.madvise.advice = MADV_DONTNEED;
	assert_int_equal(vmspace_call(g->space, &req), 0);
	for (unsigned long i = first; i < first + pages; i++) {
		g->pages[i].own = false;
		if (g->pages[i].kind == ANON)
			memset(g->pages[i].bytes, 0, page);
	}
}

/* Move a part of one area, perhaps to where units are cut otherwise. */
static void move(struct guest *g, unsigned long first, unsigned long pages)
{
	unsigned long to = draw(PAGES - pages + 1);
	struct vmspace_request req = { .op = VMSPACE_MREMAP };
	struct vma_info area;

	if (!vmspace_lookup(g->space, at(first), &area))
		return;
	if ((area.end - at(first)) / page < pages)
		pages = (area.end - at(first)) / page;
	if (to < first + pages && first < to + pages)
		return;
	req.mremap.addr = at(first);
	req.mremap.old_length = req.mremap.new_length = pages * page;
	req.mremap.flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	req.mremap.new_addr = at(to);
	assert_int_equal(vmspace_call(g->space, &req), at(to));
	for (unsigned long i = 0; i < pages; i++) {
		g->pages[to + i] = g->pages[first + i];
		g->pages[first + i].kind = NOTHING;
	}
}

static void end_child(void)
{
	vmspace_destroy(guests[1].space);
	vmspace_window_destroy(guests[1].window);
	guests[1].space = NULL;
	guests[1].window = NULL;
}

static struct vmspace_window *new_window(void)
{
	struct vmspace_window *window;

	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
	return window;
}

static void fork_guest(void)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	if (guests[1].space)
		end_child();
	guests[1].window = new_window();
	req.fork.child_memory = vmspace_window_memory(guests[1].window);
	assert_int_equal(vmspace_call(guests[0].space, &req), 0);
	guests[1].space = req.fork.child;
	memcpy(guests[1].pages, guests[0].pages, sizeof(guests[0].pages));
}

/* ---- accesses ---- */

static bool may(const struct expected *e, unsigned int access)
{
	return e->kind != NOTHING && (access == WRITE ? e->prot & PROT_WRITE : e->prot != PROT_NONE);
}

/*
 * A fault may copy pages about the one that is written, so that they no longer follow what is written to
 * the object: which of them, the page's kind tells.
 */
static void notice_copies(unsigned int object, unsigned int index)
{
	for (struct guest *g = guests; g < guests + 2 && g->space; g++)
		for (unsigned long i = 0; i < PAGES; i++) {
			struct expected *e = &g->pages[i];
			struct vmspace_page found;

			if (e->kind != PRIVATE || e->own || e->object != object || e->index != index)
				continue;
			/* A page that cannot be looked at: leave the object as it is for it. */
			if (vmspace_touch(g->space, at(i), READ, &found) != VMSPACE_FAULT_OK ||
			    found.kind == VMSPACE_PAGE_ANON) {
				memcpy(e->bytes, objects[object][index], page);
				e->own = true;
			}
		}
}

static bool unreadable_private(unsigned int object, unsigned int index)
{
	for (struct guest *g = guests; g < guests + 2 && g->space; g++)
		for (unsigned long i = 0; i < PAGES; i++)
			if (g->pages[i].kind == PRIVATE && !g->pages[i].own &&
			    g->pages[i].object == object && g->pages[i].index == index &&
			    g->pages[i].prot == PROT_NONE)
				return true;
	return false;
}

/*
 * After a touch that succeeded: if its unit is of one area, and all pages of it may be accessed so and lie in
 * the order of a unit, then the host reaches it.
 */
static void check_open(struct guest *g, unsigned long number, unsigned int access)
{
	unsigned long n = host_page / page, first = number & ~(n - 1);
	struct vmspace_page found, begins;
	struct vma_info area;
	uint64_t place;

	if (!vmspace_lookup(g->space, at(number), &area) || area.start > at(first) ||
	    area.end < at(first + n) || !vmspace_peek(g->space, at(first), &begins))
		return;
	/* Frames are counted from 1, pages of a file from 0. */
	place = begins.kind == VMSPACE_PAGE_FILE && begins.frame >> 62 ? begins.frame : begins.frame - 1;
	if (place & (n - 1))
		return;
	for (unsigned long i = 0; i < n; i++)
		if (!vmspace_peek(g->space, at(first + i), &found) || !(found.access & access) ||
		    found.frame != begins.frame + i)
			return;
	assert_true(vmspace_window_is_direct(g->window, at(number), access));
	in_order++;
}

/* Write a part of a page, in one way or the other. */
static void write_part(struct guest *g, unsigned long number)
{
	struct expected *e = &g->pages[number];
	size_t from = draw(page), size = draw(page - from) + 1;
	unsigned char bytes[MOST_PAGE];
	enum vmspace_fault_result result;

	if (e->kind == SHARED && unreadable_private(e->object, e->index))
		return;
	if (e->kind == SHARED)
		notice_copies(e->object, e->index);
	memset(bytes, (int)draw(256), size);
	result = vmspace_touch(g->space, at(number), WRITE, NULL);
	assert_int_equal(result, may(e, WRITE) ? VMSPACE_FAULT_OK
					       : e->kind == NOTHING ? VMSPACE_FAULT_MAPERR
								    : VMSPACE_FAULT_ACCERR);
	if (result == VMSPACE_FAULT_OK)
		check_open(g, number, WRITE);
	if (result == VMSPACE_FAULT_OK && vmspace_window_is_direct(g->window, at(number), WRITE)) {
		memcpy((char *)vmspace_window_host(g->window, at(number)) + from, bytes, size);
		direct++;
	} else {
		assert_int_equal(vmspace_copy_to(g->space, at(number) + from, bytes, size),
				 result == VMSPACE_FAULT_OK ? size : 0);
		indirect += result == VMSPACE_FAULT_OK;
	}
	if (result != VMSPACE_FAULT_OK)
		return;
	if (e->kind == PRIVATE && !e->own) {
		memcpy(e->bytes, objects[e->object][e->index], page);
		e->own = true;
	}
	memcpy(bytes_of(e) + from, bytes, size);
}

/* Write across pages, up to where the guest may not. */
static void write_across(struct guest *g, unsigned long first, unsigned long pages)
{
	static unsigned char bytes[PAGES * MOST_PAGE];
	unsigned long n = 0;

	while (n < pages && may(&g->pages[first + n], WRITE) && g->pages[first + n].kind == ANON)
		n++;
	/* What is behind is no anonymous memory: only up to there, or to where the copy has to end. */
	if (n < pages && may(&g->pages[first + n], WRITE))
		pages = n;
	memset(bytes, (int)draw(256), pages * page);
	assert_int_equal(vmspace_copy_to(g->space, at(first), bytes, pages * page), n * page);
	for (unsigned long i = first; i < first + n; i++)
		memcpy(g->pages[i].bytes, bytes, page);
}

/* ---- checks ---- */

static bool reaches(const struct guest *g, unsigned long number, unsigned char *byte)
{
	if (write(pipes[1], vmspace_window_host(g->window, at(number)), 1) != 1) {
		assert_int_equal(errno, EFAULT);
		return false;
	}
	assert_int_equal(read(pipes[0], byte, 1), 1);
	return true;
}

/* What the host reaches, before anything is touched: no more than the guest may. */
static void check_host(struct guest *g, unsigned long number)
{
	struct expected *e = &g->pages[number];
	unsigned char byte = 0;
	bool reached = reaches(g, number, &byte);

	assert_int_equal(reached, vmspace_window_is_direct(g->window, at(number), READ));
	if (vmspace_window_is_direct(g->window, at(number), WRITE))
		assert_true(may(e, WRITE));
	if (!reached)
		return;
	assert_true(may(e, READ));
	assert_int_equal(byte, bytes_of(e)[0]);
	assert_memory_equal(vmspace_window_host(g->window, at(number)), bytes_of(e), page);
}

static void check_page(struct guest *g, unsigned long number)
{
	struct expected *e = &g->pages[number];
	unsigned char bytes[MOST_PAGE];

	check_host(g, number);
	assert_int_equal(vmspace_copy_from(g->space, bytes, at(number), page), may(e, READ) ? page : 0);
	if (may(e, READ))
		check_open(g, number, READ);
	if (may(e, READ))
		assert_memory_equal(bytes, bytes_of(e), page);
	check_host(g, number);
}

static void check_guest(struct guest *g)
{
	const char *reason = "";

	for (unsigned long i = 0; i < PAGES; i++)
		check_host(g, i);
	for (unsigned long i = 0; i < PAGES; i++)
		check_page(g, i);
	if (!vmspace_check(g->space, &reason))
		fail_msg("%s", reason);
}

/* Anonymous memory of which each unit was written somewhere is direct. */
static void check_direct(struct guest *g)
{
	unsigned long n = host_page / page, was = direct;

	unmap(g, 0, PAGES);
	while (g->pages[0].kind != ANON)
		map(g, 0, PAGES, PROT_READ | PROT_WRITE);
	for (unsigned long i = 0; i < PAGES; i += n)
		write_part(g, i);
	assert_int_equal(direct - was, PAGES / n);
}

/* ---- runs ---- */

static void a_step(void)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
				     PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };
	struct guest *g = &guests[guests[1].space && draw(2)];
	unsigned long first = draw(PAGES), pages = draw(4 * host_page / page) + 1;
	int prot = prots[draw(sizeof(prots) / sizeof(prots[0]))];

	if (pages > PAGES - first)
		pages = PAGES - first;
	switch (draw(20)) {
	case 0:
	case 1:
		map(g, first, pages, draw(3) ? PROT_READ | PROT_WRITE : prot);
		break;
	case 2:
		unmap(g, first, draw(2) ? pages : 1);
		break;
	case 3:
		protect(g, first, pages, prot);
		break;
	case 4:
		discard(g, first, pages);
		break;
	case 5:
		move(g, first, pages);
		break;
	case 6:
		if (!draw(4))
			fork_guest();
		else
			protect(g, first, 1, prot);
		break;
	case 7:
	case 8:
		write_across(g, first, pages);
		break;
	case 9:
	case 10:
	case 11:
		check_page(g, first);
		break;
	default:
		write_part(g, first);
		break;
	}
}

static void begin_run(size_t guest, size_t host)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)16 << 20, .read_page = read_page };
	struct vmspace_config config;
	FILE *file = tmpfile();

	page = guest;
	host_page = host;
	memset(guests, 0, sizeof(guests));
	memset(objects, 0, sizeof(objects));
	for (unsigned long i = 0; i < PAGES; i++)
		memset(objects[1][i], (int)i + 1, page);
	assert_non_null(file);
	file_fd = dup(fileno(file));
	fclose(file);
	assert_int_equal(ftruncate(file_fd, (off_t)(PAGES * page)), 0);
	assert_int_equal(vmspace_memfd_create_pages(&memfd, &memory, page, host_page), 0);
	vmspace_memfd_use_files(memfd, descriptor);
	guests[0].window = new_window();
	vmspace_config_init(&config);
	config.page_size = page;
	config.pmd_size = 0;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = vmspace_window_memory(guests[0].window);
	assert_int_equal(vmspace_create(&guests[0].space, &config), 0);
}

static void end_run(void)
{
	end_child();
	vmspace_destroy(guests[0].space);
	vmspace_window_destroy(guests[0].window);
	vmspace_memfd_destroy(memfd);
	close(file_fd);
}

static void run(size_t guest, size_t host)
{
	const char *given = getenv("STEPS");
	long steps = given ? atol(given) : 4000;

	begin_run(guest, host);
	direct = indirect = in_order = 0;
	for (long i = 0; i < steps; i++) {
		a_step();
		for (int j = 0; j < 4; j++)
			check_host(&guests[guests[1].space && draw(2)], draw(PAGES));
		if (i % 100)
			continue;
		check_guest(&guests[0]);
		if (guests[1].space)
			check_guest(&guests[1]);
	}
	print_message("# pages of %zu on %zu: %lu writes through the host, %lu by copies\n", guest,
		      host, direct, indirect);
	assert_true(direct > 0 && indirect > 0 && in_order > 0);
	if (guests[1].space)
		end_child();
	check_direct(&guests[0]);
	end_run();
}

static int begin(void **state)
{
	const char *given = getenv("SEED");
	unsigned long seed = given ? strtoul(given, NULL, 0) : (unsigned long)time(NULL);

	(void)state;
	print_message("# SEED=%lu\n", seed);
	draws = seed;
	return pipe2(pipes, O_CLOEXEC | O_NONBLOCK);
}

/* For real: no host has pages of 1 KiB. */
static void smallest_pages(void **state)
{
	(void)state;
	run(1024, (size_t)sysconf(_SC_PAGESIZE));
}

static void four_kib_on_sixteen(void **state)
{
	size_t system = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	run(4096, system > 16384 ? system : 16384);
}

static void four_kib_on_sixty_four(void **state)
{
	(void)state;
	run(4096, 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smallest_pages),
		cmocka_unit_test(four_kib_on_sixteen),
		cmocka_unit_test(four_kib_on_sixty_four),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
