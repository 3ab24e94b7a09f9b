/* SPDX-License-Identifier: MIT */
/*
 * vmspace_become.c - a space becomes that of a child in a child of the host's fork().
 *
 * A process makes random calls and makes them in a space as well, forks, and is compared with what the
 * space becomes in the child, which goes on and forks in turn. A guest in a window is compared with what
 * VMSPACE_FORK makes of it. Then every allocation is refused in turn; and what is told, charged and
 * watched.
 *
 *	vmspace_become [--seed N] [--ops N]
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_pins.h>
#include <mapletree/vmspace_rules.h>
#include <mapletree/vmspace_words.h>

#include "mman_names.h"
#include "options.h"
#include "scarce.h"

#define PAGES 96UL
#define PLACE 0x200000000000UL /* nothing is there, also under sanitizers */
#define RW (PROT_READ | PROT_WRITE)
#define REQUEST(op_name, field, ...) \
	(struct vmspace_request){ .op = op_name, .field = (struct vmspace_##field){ __VA_ARGS__ } }
/* Also in children, of which only the exit status is seen. */
#define CHECK(what) check(what, #what, __LINE__)

static unsigned long long seed;
static uint64_t random_state;
static unsigned long ops = 200;
static size_t page;

static void check(bool holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
	_exit(1);
}

static unsigned long draw(unsigned long below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(random_state >> 33) % below;
}

static bool succeeds(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && status == 0;
}

/* ---- beside the kernel ---------------------------------------------------------------------- */

/* An area as both sides tell of it: its place, its rights, and what a fork has to do with. */
static size_t add_line(char *text, size_t size, unsigned long start, unsigned long end, const char *rights,
		       bool locked, bool stays, bool wiped)
{
	int length = snprintf(text, size, "%lx-%lx %s%s%s%s\n", start, end, rights, locked ? " lo" : "",
			      stays ? " dc" : "", wiped ? " wf" : "");

	CHECK(length > 0 && (size_t)length < size);
	return (size_t)length;
}

static void show_kernels(char *text, size_t size)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512], rights[5] = "";
	unsigned long start = 0, end = 0, from, to;

	CHECK(file);
	*text = '\0';
	while (fgets(line, sizeof(line), file)) {
		char may[5];
		size_t length;

		if (sscanf(line, "%lx-%lx %4s ", &from, &to, may) == 3) {
			start = from;
			end = to;
			memcpy(rights, may, sizeof(rights));
			continue;
		}
		if (strncmp(line, "VmFlags:", 8) || start < PLACE || end > PLACE + PAGES * page)
			continue;
		length = add_line(text, size, start, end, rights, strstr(line, " lo"), strstr(line, " dc"),
				  strstr(line, " wf"));
		text += length;
		size -= length;
	}
	fclose(file);
}

static void show_ours(const struct vmspace *space, char *text, size_t size)
{
	struct vma_iterator it;
	struct vma_info info;

	*text = '\0';
	vma_iter_init(&it, space, 0);
	while (vma_iter_next(&it, &info)) {
		char rights[5];
		size_t length;

		snprintf(rights, sizeof(rights), "%c%c%cp", info.flags & VMA_READ ? 'r' : '-',
			 info.flags & VMA_WRITE ? 'w' : '-', info.flags & VMA_EXEC ? 'x' : '-');
		length = add_line(text, size, info.start, info.end, rights, info.flags & VMA_LOCKED,
				  info.flags & VMA_DONTCOPY, info.flags & VMA_WIPEONFORK);
		text += length;
		size -= length;
	}
}

static unsigned long kernels_locked(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long kbytes = 0;
	char line[256];

	CHECK(file);
	while (fgets(line, sizeof(line), file) && sscanf(line, "VmLck: %lu", &kbytes) != 1)
		;
	fclose(file);
	return kbytes * 1024 / page;
}

static void compare(const struct vmspace *space)
{
	static char kernels[1 << 15], ours[1 << 15];
	struct vmspace_stats stats;
	const char *why = "";

	show_kernels(kernels, sizeof(kernels));
	show_ours(space, ours, sizeof(ours));
	if (strcmp(kernels, ours))
		fprintf(stderr, "--seed %llu\nthe kernel has\n%sthe space has\n%s", seed, kernels, ours);
	CHECK(!strcmp(kernels, ours));
	vmspace_stats(space, &stats);
	CHECK(stats.locked_vm == kernels_locked());
	CHECK(vmspace_check(space, &why));
}

/* The kernel's answer as a request's. */
static long answer(long result)
{
	return result == -1 ? -errno : result;
}

/* Make a page's number, or find it: in real memory, the space being told. */
static void touch_both(struct vmspace *space, unsigned long addr)
{
	struct vmspace_request req = REQUEST(VMSPACE_FAULT, fault, addr, VMSPACE_ACCESS_WRITE);

	if (vmspace_call(space, &req) == 0)
		*(volatile unsigned long *)addr = addr;
}

static void call_both(struct vmspace *space)
{
	static const int advice[] = { MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK, MADV_KEEPONFORK,
				      MADV_DONTNEED };
	static const int rights[] = { RW, RW, PROT_READ, PROT_NONE };
	unsigned long first = draw(PAGES), size = (1 + draw(PAGES - first < 24 ? PAGES - first : 24)) * page;
	unsigned long addr = PLACE + first * page;
	struct vmspace_request req;
	long result;

	switch (draw(12)) {
	case 0: case 1: case 2:
		req = REQUEST(VMSPACE_MMAP, mmap, .addr = addr, .length = size, .prot = rights[draw(4)],
			      .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
		result = answer((long)mmap((void *)addr, size, req.mmap.prot, req.mmap.flags, -1, 0));
		break;
	case 3:
		req = REQUEST(VMSPACE_MUNMAP, munmap, addr, size);
		result = answer(munmap((void *)addr, size));
		break;
	case 4: case 5:
		req = REQUEST(VMSPACE_MPROTECT, mprotect, addr, size, rights[draw(4)], -1);
		result = answer(mprotect((void *)addr, size, req.mprotect.prot));
		break;
	case 6: case 7:
		req = REQUEST(VMSPACE_MADVISE, madvise, addr, size, advice[draw(5)]);
		result = answer(madvise((void *)addr, size, req.madvise.advice));
		break;
	case 8:
		req = REQUEST(VMSPACE_MLOCK, mlock, .addr = addr, .length = size);
		result = answer(syscall(SYS_mlock, addr, size)); /* a sanitizer's mlock() does nothing */
		break;
	case 9:
		req = REQUEST(VMSPACE_MUNLOCK, mlock, .addr = addr, .length = size);
		result = answer(syscall(SYS_munlock, addr, size));
		break;
	default:
		touch_both(space, addr);
		return;
	}
	CHECK(vmspace_call(space, &req) == result);
}

/* Down to the third generation; each goes on when its child has ended. */
static void live(struct vmspace *space, unsigned int generation)
{
	for (unsigned long i = 0; i < ops; i++) {
		pid_t child;

		call_both(space);
		compare(space);
		if (draw(ops) * generation >= 8 || generation > 2)
			continue;
		mt_before_fork();
		child = fork();
		if (child) {
			mt_after_fork_parent();
			CHECK(succeeds(child));
			compare(space);
			continue;
		}
		mt_after_fork_child();
		CHECK(vmspace_become_child(space) == 0);
		compare(space);
		live(space, generation + 1);
		vmspace_destroy(space);
		_exit(0);
	}
}

static void children_are_the_kernels(void **state)
{
	struct vmspace_config config;
	struct vmspace *space;
	void *place;

	(void)state;
	place = mmap((void *)PLACE, PAGES * page, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (place != (void *)PLACE) {
		print_message("SKIP: something is at %lx\n", PLACE);
		skip();
	}
	munmap(place, PAGES * page);
	random_state = seed;
	vmspace_config_init(&config);
	assert_int_equal(vmspace_create(&space, &config), 0);
	live(space, 1);
	munmap(place, PAGES * page);
	vmspace_destroy(space);
}

/* ---- beside VMSPACE_FORK, with pages -------------------------------------------------------- */

#define START 0x10000000UL
#define SIZE 3100UL /* pages */

static struct guest {
	struct vmspace_memfd *memfd;
	struct vmspace_window *window;
	struct vmspace *space;
	struct vmspace_pinned *pinned;
	struct iovec pin;
	unsigned long changed;       /* pages of code, as the hook told */
} guest;

static unsigned long at(unsigned long number)
{
	return START + number * page;
}

static void request(struct vmspace_request req)
{
	assert_true(vmspace_call(guest.space, &req) >= 0);
}

static void advise(unsigned long first, unsigned long pages, int advice)
{
	request(REQUEST(VMSPACE_MADVISE, madvise, at(first), pages * page, advice));
}

static void map_guest(unsigned long first, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = REQUEST(VMSPACE_MMAP, mmap, .addr = at(first), .length = pages * page,
					     .prot = prot);

	req.mmap.flags = MAP_FIXED | flags;
	if (!(flags & MAP_ANONYMOUS))
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = 5, .name = "f" };
	request(req);
}

static int read_page(void *ctx, const struct vma_backing *file, uint64_t index, void *to)
{
	(void)ctx;
	(void)file;
	memset(to, 'f', page);
	*(uint64_t *)to = index;
	return 0;
}

static void note_change(void *ctx, unsigned long start, unsigned long end)
{
	struct guest *of = ctx;

	of->changed += (end - start) / page;
}

/*
 * Areas of all sorts, of which 8 pages are written each; then some that need page tables of their own: a
 * small one before a large one that stays with the parent, and one with an empty table.
 */
static void fill_guest(void)
{
	char text[] = "text";

	map_guest(0, 20, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	map_guest(20, 20, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	map_guest(40, 20, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	map_guest(60, 20, RW, MAP_SHARED | MAP_ANONYMOUS);
	map_guest(80, 20, RW, MAP_PRIVATE);
	map_guest(100, 20, RW, MAP_SHARED);
	map_guest(120, 20, PROT_READ, MAP_PRIVATE);
	map_guest(1012, 712, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	map_guest(600, 412, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
	map_guest(600, 20, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	map_guest(2048, 20, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	for (unsigned long area = 0; area < 6; area++)
		for (unsigned long i = 4; i < 12; i++)
			assert_int_equal(vmspace_copy_to(guest.space, at(area * 20 + i) + area, text, 5), 5);
	for (unsigned long i = 0; i < 150; i += 3) {
		vmspace_touch(guest.space, at(i), VMSPACE_ACCESS_READ, NULL);
		vmspace_touch(guest.space, at(1024 + 4 * i), VMSPACE_ACCESS_WRITE, NULL);
	}
	assert_int_equal(vmspace_copy_to(guest.space, at(610), text, 5), 5);
	assert_int_equal(vmspace_copy_to(guest.space, at(2050), text, 5), 5);
	/* A table that the parent has, and nothing is in it. */
	map_guest(2560, 500, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(vmspace_copy_to(guest.space, at(2700), text, 5), 5);
	advise(2700, 1, MADV_DONTNEED);
	advise(20, 20, MADV_DONTFORK);
	advise(40, 20, MADV_WIPEONFORK);
	advise(1012, 712, MADV_DONTFORK);
	advise(6, 2, MADV_GUARD_INSTALL);
	request(REQUEST(VMSPACE_MLOCK, mlock, .addr = at(10), .length = 5 * page));
}

static int begin_guest(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20, .read_page = read_page };
	struct vmspace_config config;

	(void)state;
	memset(&guest, 0, sizeof(guest));
	assert_int_equal(vmspace_memfd_create(&guest.memfd, &memory), 0);
	assert_int_equal(vmspace_window_create(&guest.window, guest.memfd, START, SIZE * page), 0);
	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.memory = vmspace_window_memory(guest.window);
	config.rlimit_memlock = VMSPACE_NO_LIMIT;
	assert_int_equal(vmspace_create(&guest.space, &config), 0);
	assert_int_equal(vmspace_set_code_hook(guest.space, note_change, &guest), 0);
	fill_guest();
	return 0;
}

static int end_guest(void **state)
{
	(void)state;
	vmspace_unpin_pages(guest.pinned);
	vmspace_destroy(guest.space);
	vmspace_window_destroy(guest.window);
	vmspace_memfd_destroy(guest.memfd);
	return 0;
}

/* What a space shows: its areas, its counters, which pages are present, and after that what is in them. */
struct look {
	char text[1 << 13];
	struct vmspace_stats stats;
	enum vmspace_page_kind kind[SIZE];
	unsigned char first[SIZE][8];
};

static void look_at(struct vmspace *space, struct look *look)
{
	memset(look, 0, sizeof(*look));
	CHECK(vmspace_show(space, look->text, sizeof(look->text)) < sizeof(look->text));
	vmspace_stats(space, &look->stats);
	for (unsigned long i = 0; i < SIZE; i++) {
		struct vmspace_page found;

		vmspace_peek(space, at(i), &found);
		look->kind[i] = found.kind;
	}
	for (unsigned long i = 0; i < SIZE; i++)
		if (vmspace_copy_from(space, look->first[i], at(i), 8) == 8)
			look->first[i][7] = 1;
}

static void compare_looks(const struct look *a, const struct look *b)
{
	CHECK(!strcmp(a->text, b->text));
	CHECK(!memcmp(a->kind, b->kind, sizeof(a->kind)));
	CHECK(!memcmp(a->first, b->first, sizeof(a->first)));
	CHECK(a->stats.areas == b->stats.areas && a->stats.total_vm == b->stats.total_vm);
	CHECK(a->stats.locked_vm == b->stats.locked_vm && a->stats.data_vm == b->stats.data_vm);
	CHECK(a->stats.committed_vm == b->stats.committed_vm);
	CHECK(a->stats.pinned_vm == b->stats.pinned_vm);
	CHECK(a->stats.anon_pages == b->stats.anon_pages && a->stats.file_pages == b->stats.file_pages);
	CHECK(a->stats.shmem_pages == b->stats.shmem_pages);
	CHECK(a->stats.zero_pages == b->stats.zero_pages);
	CHECK(a->stats.table_bytes == b->stats.table_bytes);
}

/* In a child: what the guest's child has to be, as a second space shows it. */
static void look_at_fork(struct look *look)
{
	struct vmspace_request fork = { .op = VMSPACE_FORK };
	struct vmspace_window *window;

	CHECK(!vmspace_window_create(&window, guest.memfd, START, SIZE * page));
	fork.fork.child_memory = vmspace_window_memory(window);
	CHECK(!vmspace_call(guest.space, &fork));
	look_at(fork.fork.child, look);
	vmspace_destroy(fork.fork.child);
	vmspace_window_destroy(window);
}

/* The child of the host; `run` is what the guest's child does, and whatever is wrong there ends it. */
static void fork_guest(void (*run)(void))
{
	pid_t child;

	mt_before_fork();
	CHECK(!vmspace_memfd_before_fork(guest.memfd));
	child = fork();
	if (!child) {
		mt_after_fork_child();
		CHECK(!vmspace_memfd_after_fork_child(guest.memfd));
		run();
		end_guest(NULL);
		_exit(0);
	}
	vmspace_memfd_after_fork_parent(guest.memfd);
	mt_after_fork_parent();
	CHECK(succeeds(child));
}

static void become_once_more(void)
{
	CHECK(!vmspace_become_child(guest.space));
	CHECK(!vmspace_touch(guest.space, at(5), VMSPACE_ACCESS_WRITE, NULL));
	CHECK(!strcmp(vmspace_window_host(guest.window, at(5)), "child"));
	strcpy(vmspace_window_host(guest.window, at(5)), "grandchild");
}

static void become_as_forked(void)
{
	static struct look wanted, got;
	const char *why = "";

	look_at_fork(&wanted);
	CHECK(!vmspace_become_child(guest.space));
	look_at(guest.space, &got);
	compare_looks(&wanted, &got);
	CHECK(vmspace_check(guest.space, &why));
	/* The same addresses, of the program and of the guest. */
	CHECK(!vmspace_touch(guest.space, at(5), VMSPACE_ACCESS_WRITE, NULL));
	CHECK(!strcmp(vmspace_window_host(guest.window, at(5)), "text"));
	CHECK(vmspace_touch(guest.space, at(25), VMSPACE_ACCESS_READ, NULL) == VMSPACE_FAULT_MAPERR);
	CHECK(!vmspace_touch(guest.space, at(45), VMSPACE_ACCESS_READ, NULL));
	CHECK(!*(const char *)vmspace_window_host(guest.window, at(45) + 2)); /* there was text */
	strcpy(vmspace_window_host(guest.window, at(5)), "child");
}

/* Twice, so that the child's own memory has a child, too. */
static void become_and_fork(void)
{
	become_as_forked();
	fork_guest(become_once_more);
	CHECK(!strcmp(vmspace_window_host(guest.window, at(5)), "child"));
}

static void a_guests_child_is_as_forked(void **state)
{
	char text[8];

	(void)state;
	fork_guest(become_and_fork);
	/* Of all that, nothing shows in the parent. */
	assert_int_equal(vmspace_copy_from(guest.space, text, at(5), sizeof(text)), sizeof(text));
	assert_string_equal(text, "text");
	assert_int_equal(vmspace_copy_from(guest.space, text, at(45) + 2, sizeof(text)), sizeof(text));
	assert_string_equal(text, "text");
}

/* The program has a copy of the code that it has translated, and of its pins. */
static void become_with_code_and_pins(void)
{
	unsigned long changed = guest.changed;

	CHECK(!vmspace_become_child(guest.space));
	/* That of the area which stays with the parent. */
	CHECK(guest.changed == changed + 1);
	CHECK(!vmspace_touch(guest.space, at(4), VMSPACE_ACCESS_WRITE, NULL));
	CHECK(guest.changed == changed + 2);
	strcpy(guest.pin.iov_base, "pinned");
	CHECK(!vmspace_touch(guest.space, at(8), VMSPACE_ACCESS_READ, NULL));
	CHECK(!strcmp(vmspace_window_host(guest.window, at(8)), "pinned"));
}

static void code_stays_watched(void **state)
{
	unsigned long watched[] = { 4, 24 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		request(REQUEST(VMSPACE_MPROTECT, mprotect, at(watched[i]), page, RW | PROT_EXEC, -1));
		assert_int_equal(vmspace_watch_code(guest.space, at(watched[i]), NULL), VMSPACE_FAULT_OK);
	}
	assert_int_equal(vmspace_pin_pages(guest.space, at(8), page, VMSPACE_ACCESS_WRITE, &guest.pin, 1,
					   &guest.pinned), 1);
	fork_guest(become_with_code_and_pins);
	vmspace_touch(guest.space, at(8), VMSPACE_ACCESS_READ, NULL);
	assert_string_equal(vmspace_window_host(guest.window, at(8)), "text");
}

/* ---- one by one, in a process alone --------------------------------------------------------- */

static struct vmspace *create_small(const struct vmspace_memory *memory, unsigned long *pool)
{
	struct vmspace_request stays = REQUEST(VMSPACE_MADVISE, madvise, START + 4 * page, 2 * page,
					       MADV_DONTFORK);
	struct vmspace_request lock = REQUEST(VMSPACE_MLOCK, mlock, .addr = START, .length = 2 * page);
	struct vmspace_config config;
	struct vmspace *space;

	vmspace_config_init(&config);
	config.memory = memory;
	config.commit_pool = pool;
	config.rlimit_memlock = VMSPACE_NO_LIMIT;
	config.overcommit = pool ? 2 : 0;
	assert_int_equal(vmspace_create(&space, &config), 0);
	for (unsigned long i = 0; i < 6; i++) {
		struct vmspace_request map = REQUEST(VMSPACE_MMAP, mmap, .addr = START + 2 * i * page,
						     .length = 2 * page,
						     .prot = i % 2 ? RW : RW | PROT_EXEC);

		map.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
		map.word = i;
		assert_true(vmspace_call(space, &map) > 0);
		if (memory)
			assert_int_equal(vmspace_touch(space, START + 2 * i * page, VMSPACE_ACCESS_WRITE,
						       NULL), VMSPACE_FAULT_OK);
	}
	assert_int_equal(vmspace_call(space, &stays), 0);
	assert_int_equal(vmspace_call(space, &lock), 0);
	return space;
}

/*
 * One allocation is refused: what fails has changed nothing, and what does without it is done. True: there
 * was none to refuse.
 */
static bool refuse_one(long n, long *failed)
{
	static char before[1 << 12], now[1 << 12];
	struct vmspace *space = create_small(&scarce_memory, NULL);
	struct vmspace_stats was, is;
	const char *why = "";
	bool none;
	int err;

	vmspace_show(space, before, sizeof(before));
	vmspace_stats(space, &was);
	scarce.countdown = n;
	err = vmspace_become_child(space);
	none = scarce.countdown;
	scarce.countdown = 0;
	vmspace_show(space, now, sizeof(now));
	vmspace_stats(space, &is);
	assert_true(vmspace_check(space, &why));
	if (err) {
		assert_false(none);
		assert_int_equal(err, -ENOMEM);
		assert_string_equal(before, now);
		assert_true(is.locked_vm == was.locked_vm && is.anon_pages == was.anon_pages &&
			    is.table_bytes == was.table_bytes && is.committed_vm == was.committed_vm);
	} else {
		assert_true(is.areas == was.areas - 1 && is.locked_vm == 0 &&
			    is.anon_pages == was.anon_pages - 1);
	}
	*failed += err != 0;
	vmspace_destroy(space);
	return none;
}

static void every_allocation_is_refused(void **state)
{
	long blocks, frames, failed = 0, n = 1;

	(void)state;
	while (!refuse_one(n, &failed))
		n++;
	assert_true(failed > 5);
	mt_barrier();
	blocks = scarce.blocks;
	frames = scarce.frames;
	for (long again = 1; again <= n; again++)
		refuse_one(again, &failed);
	mt_barrier();
	assert_int_equal(scarce.blocks, blocks);
	assert_int_equal(scarce.frames, frames);
}

static void what_both_have_is_committed_twice(void **state)
{
	unsigned long pool = 1000;
	struct vmspace *space = create_small(NULL, &pool);
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	assert_int_equal(pool, 1012);
	assert_int_equal(vmspace_become_child(space), 0);
	assert_int_equal(pool, 1022);
	/* Mode 2: where there is no more, a child is refused. */
	config.ram_pages = 1020;
	config.overcommit_ratio = 100;
	config.swap_pages = config.huge_pages = 0;
	config.overcommit_kbytes = 0;
	assert_int_equal(vmspace_configure(space, &config), 0);
	assert_int_equal(vmspace_become_child(space), -ENOMEM);
	assert_int_equal(vmspace_count_areas(space), 5);
	vmspace_destroy(space);
	assert_int_equal(pool, 1012); /* the parent's */
}

static unsigned long dropped, told;

static void count_drops(void *ctx, const struct vmspace *space, struct vmspace_word_change *change)
{
	(void)ctx;
	(void)space;
	told++;
	if (change->kind == VMSPACE_WORD_DROP && change->start == START + 4 * page && change->word == 2)
		dropped++;
}

static void words_of_what_stays_are_dropped(void **state)
{
	const struct vmspace_word_hooks none = { .size = sizeof(none) };
	const struct vmspace_word_hooks hooks = { .size = sizeof(hooks), .change = count_drops };
	struct vmspace *space = create_small(NULL, NULL);
	const struct vmspace *view;
	struct vma_info info;

	(void)state;
	assert_int_equal(vmspace_set_word_hooks(space, &none), 0);
	for (unsigned long i = 0; i < 6; i++)
		assert_int_equal(vmspace_set_word(space, START + 2 * i * page, 2 * page, i), 0);
	assert_int_equal(vmspace_set_word_hooks(space, &hooks), 0);
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	assert_int_equal(vmspace_become_child(space), 0);
	assert_true(told == 1 && dropped == 1);
	assert_true(vmspace_lookup(space, START + 6 * page, &info) && info.word == 3);
	/* Who looks at the parent goes on to see it. */
	assert_true(vmspace_lookup(view, START + 4 * page, &info) && info.word == 2);
	assert_int_equal(vmspace_become_child((struct vmspace *)(uintptr_t)view), -EROFS);
	vmspace_snapshot_close(view);
	vmspace_destroy(space);
	assert_int_equal(told, 6);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_the_kernels),
		cmocka_unit_test_setup_teardown(a_guests_child_is_as_forked, begin_guest, end_guest),
		cmocka_unit_test_setup_teardown(code_stays_watched, begin_guest, end_guest),
		cmocka_unit_test(every_allocation_is_refused),
		cmocka_unit_test(what_both_have_is_committed_twice),
		cmocka_unit_test(words_of_what_stays_are_dropped),
	};

	if (!take_options(argc, argv, &seed, &ops))
		return 2;
	page = (size_t)sysconf(_SC_PAGESIZE);
	printf("# --seed=%llu --ops=%lu\n", seed, ops);
	fflush(stdout);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
