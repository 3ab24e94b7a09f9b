/* SPDX-License-Identifier: MIT */
/* snapshot_world.c - spaces of which snapshots are taken, what they show, and calls on them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <mapletree/vmspace_rules.h>

#include "mman_names.h"
#include "numbered_frames.h"
#include "snapshot_world.h"

#define BASE 0x10000000UL
#define TASK_SIZE ((1UL << (sizeof(long) == 8 ? 47 : 31)) - PAGE)

const char *const kind_name[KINDS] = { "one thread", "several threads", "memory" };
uint64_t random_state;
struct vmspace *space;
static uint64_t seed;

void seed_from(int argc, char **argv)
{
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	random_state = seed;
	printf("# seed %llu\n", (unsigned long long)seed);
}

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	(void)backing;
	*frame = ((uint64_t)1 << 40) + index;
	return 0;
}

static void file_release(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
}

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy, .file_page = file_page,
	.file_release = file_release,
};

unsigned int draw(unsigned int below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(random_state >> 33) % below;
}

unsigned long at(unsigned long page)
{
	return BASE + page * PAGE;
}

static void begin(enum kind kind)
{
	struct vmspace_config config;

	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	config.task_size = config.map_window = TASK_SIZE;
	config.mmap_base = 0x60000000;
	config.mmap_base_legacy = 0x2aaaa000;
	config.mmap_min_addr = PAGE;
	config.anon_names = true;
	config.lock_privileged = true;
	config.overcommit = 1;
	config.memory_nodes = 3;
	config.max_map_count = 100000;
	config.threads = kind == OF_SEVERAL;
	config.memory = kind == WITH_MEMORY ? &memory : NULL;
	assert_int_equal(vmspace_create(&space, &config), 0);
}

void end(void)
{
	vmspace_destroy(space);
	space = NULL;
	assert_int_equal(frames, 0);
}

/* All that a space shows, as one text, which the caller frees. */
char *text_of(const struct vmspace *of)
{
	size_t length = vmspace_show(of, NULL, 0), more, room;
	struct vmspace_stats stats;
	struct vma_iterator it;
	struct vma_info info;
	char *text;

	vmspace_stats(of, &stats);
	room = length + 1 + 400 * stats.areas + 600;
	text = test_malloc(room);
	assert_int_equal(vmspace_show(of, text, room), length);
	more = length;
	vma_iter_init(&it, of, 0);
	while (vma_iter_next(&it, &info))
		more += (size_t)snprintf(text + more, room - more,
					 "%lx %llx %llu %s%s %llu %u %d %llx %u %u %llu\n", info.start,
					 (unsigned long long)info.flags,
					 (unsigned long long)info.page_offset,
					 info.anon_name ? info.anon_name : "-",
					 info.backing.name ? info.backing.name : "-",
					 (unsigned long long)info.anon_id, info.anon_shared,
					 info.policy, (unsigned long long)info.policy_nodes,
					 (unsigned int)info.pkey, (unsigned int)info.uffd,
					 (unsigned long long)info.backing.inode);
	snprintf(text + more, room - more,
		 "%lu %lu %lu %lu %lu %lu %lu %lu %lu of %lu %lu brk %lx %lx base %lx %lu %lu "
		 "pages %lu %lu faults %lu calls %lu %lu\n", stats.areas, stats.areas_peak,
		 stats.total_vm, stats.locked_vm, stats.data_vm, stats.stack_vm, stats.exec_vm,
		 stats.pinned_vm, stats.committed_vm, stats.commit_total, stats.commit_limit, stats.brk,
		 stats.start_brk, stats.mmap_base, stats.merges, stats.splits, stats.anon_pages,
		 stats.table_bytes, stats.faults, stats.requests[VMSPACE_MMAP],
		 stats.requests[VMSPACE_FAULT]);
	return text;
}

void same_text(const struct vmspace *of, const char *text, const char *when)
{
	char *now = text_of(of);

	if (strcmp(now, text))
		fail_msg("seed %llu, %s: it shows\n%snot\n%s", (unsigned long long)seed, when, now, text);
	test_free(now);
}

void sound(const struct vmspace *of)
{
	const char *why = "";

	if (!vmspace_check(of, &why))
		fail_msg("seed %llu: %s", (unsigned long long)seed, why);
}

long call(struct vmspace_request r)
{
	return vmspace_call(space, &r);
}

long map(unsigned long page, unsigned long pages, int prot)
{
	return call(REQUEST(VMSPACE_MMAP, mmap, .addr = at(page), .length = pages * PAGE,
			    .prot = prot, .flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS));
}

static long map_file(unsigned long page, unsigned long pages, int flags)
{
	return call(REQUEST(VMSPACE_MMAP, mmap, .addr = at(page), .length = pages * PAGE,
			    .prot = PROT_READ | PROT_WRITE, .flags = MAP_FIXED | flags,
			    .backing = { .kind = VMA_BACKING_FILE, .name = "/lib/file", .inode = 7,
					 .size = 4096 * PAGE }));
}

void write_to(unsigned long page)
{
	vmspace_touch(space, at(page), VMSPACE_ACCESS_WRITE, NULL);
}

/* Areas of many kinds, on pages 0 .. 199. */
void build(enum kind kind)
{
	struct vmspace_image image = { .start_brk = at(1000), .brk = at(1000),
				       .start_stack = at(300) };

	begin(kind);
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	for (unsigned long page = 0; page < 60; page += 6)
		assert_int_equal(map(page, 4, page % 4 ? PROT_READ : PROT_READ | PROT_WRITE),
				 at(page));
	assert_int_equal(map(60, 30, PROT_READ | PROT_WRITE), at(60));
	assert_int_equal(map_file(100, 10, MAP_PRIVATE), at(100));
	assert_int_equal(map_file(120, 10, MAP_SHARED), at(120));
	assert_int_equal(map(140, 20, PROT_READ | PROT_WRITE), at(140));
	assert_int_equal(call(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, at(145), 5 * PAGE,
				      "old")), 0);
	assert_int_equal(call(REQUEST(VMSPACE_MMAP, mmap, .addr = at(290), .length = 10 * PAGE,
				      .prot = PROT_READ | PROT_WRITE,
				      .flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS |
					       MAP_GROWSDOWN)), at(290));
	write_to(64);
	sound(space);
}

const struct vma_backing other_file = { .kind = VMA_BACKING_FILE, .name = "/lib/renamed",
					.inode = 8 };

void random_call(void)
{
	unsigned long page = draw(200), pages = 1 + draw(12);

	switch (draw(9)) {
	case 0: case 1: map(page, pages, draw(2) ? PROT_READ : PROT_READ | PROT_WRITE); break;
	case 2: call(REQUEST(VMSPACE_MUNMAP, munmap, at(page), pages * PAGE)); break;
	case 3: call(REQUEST(VMSPACE_MPROTECT, mprotect, at(page), pages * PAGE,
			     draw(2) ? PROT_READ : PROT_READ | PROT_WRITE, -1)); break;
	case 4: call(REQUEST(VMSPACE_MREMAP, mremap, at(page), pages * PAGE, (1 + draw(9)) * PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, at(draw(200)))); break;
	case 5: call(REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, at(page), pages * PAGE,
			     draw(2) ? "a" : "b")); break;
	case 6: map_file(page, pages, draw(2) ? MAP_PRIVATE : MAP_SHARED); break;
	case 7: call(REQUEST(VMSPACE_MADVISE, madvise, at(page), pages * PAGE,
			     draw(2) ? MADV_DONTFORK : MADV_DOFORK)); break;
	default: write_to(page); break;
	}
}

void beside_calls(void *(*with_view)(void *view))
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		const struct vmspace *view;
		pthread_t thread[2];
		void *result;

		build(kind);
		assert_int_equal(vmspace_snapshot(&view, space), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, with_view,
							(void *)(uintptr_t)view), 0);
		for (int i = 0; i < 2000; i++)
			random_call();
		for (int i = 0; i < 2; i++) {
			pthread_join(thread[i], &result);
			assert_null(result);
		}
		vmspace_snapshot_close(view);
		end();
	}
}
