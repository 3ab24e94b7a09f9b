/* SPDX-License-Identifier: MIT */
/*
 * window_files.c - a file that a guest maps, shared and private, and that a process beside reads and writes.
 *
 * Of each page the process beside writes the first number, the guest the second; who has written tells how
 * far it is in memory that both have, so the other knows what it must find at least.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "windows.h"

static int file = -1;
static pid_t beside;
static struct {
	uint64_t beside[FILE_PAGES], guest[FILE_PAGES];
	unsigned int stop;
} *told;

static uint64_t now_told(const uint64_t *number)
{
	return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

/* What was told of before has been written: it is read from the file, or from a mapping of the host's. */
static void read_beside(const uint64_t *mapped, unsigned long page)
{
	uint64_t least = now_told(&told->guest[page]), number = 0;

	if (page % 2)
		number = __atomic_load_n(mapped + page * PAGE / sizeof(*mapped) + 1, __ATOMIC_RELAXED);
	else
		expect(pread(file, &number, sizeof(number), (off_t)(page * PAGE + 8)) == sizeof(number),
		       "the file cannot be read");
	expect(number >= least, "page %lu of the file: %llu, and the guest has stored %llu", page,
	       (unsigned long long)number, (unsigned long long)least);
}

static void write_beside(uint64_t *mapped, unsigned long page, uint64_t number)
{
	if (page % 2)
		__atomic_store_n(mapped + page * PAGE / sizeof(*mapped), number, __ATOMIC_RELAXED);
	else
		expect(pwrite(file, &number, sizeof(number), (off_t)(page * PAGE)) == sizeof(number),
		       "the file cannot be written");
	__atomic_store_n(&told->beside[page], number, __ATOMIC_RELEASE);
}

static void run_beside(uint64_t seed)
{
	uint64_t *mapped = mmap(NULL, FILE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	struct random random;

	expect(mapped != MAP_FAILED, "the file cannot be mapped");
	random_seed(&random, seed);
	for (uint64_t number = 1; !__atomic_load_n(&told->stop, __ATOMIC_RELAXED); number++) {
		read_beside(mapped, random_below(&random, FILE_PAGES));
		write_beside(mapped, random_below(&random, FILE_PAGES), number);
		if (number % 64 == 0)
			usleep(200);
	}
}

void files_begin(void)
{
	file = memfd_create("torture", MFD_CLOEXEC);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(file >= 0 && !ftruncate(file, FILE_PAGES * PAGE) && told != MAP_FAILED, "no file");
	beside = fork();
	expect(beside >= 0, "no process beside");
	if (!beside) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_beside(1);
		_exit(0);
	}
}

void files_end(void)
{
	int status;

	__atomic_store_n(&told->stop, 1, __ATOMIC_RELAXED);
	expect(waitpid(beside, &status, 0) == beside && status == 0, "the process beside ends with %x", status);
}

int files_descriptor(void *ctx, const struct vma_backing *is)
{
	(void)ctx;
	return is->kind == VMA_BACKING_FILE ? file : -1;
}

static void map_at(struct crowd *crowd, unsigned long page, int flags)
{
	static const struct vma_backing is = { .kind = VMA_BACKING_FILE, .inode = 7, .name = "torture" };

	expect(vmspace_mmap(crowd->view.space, WINDOW_START + page * PAGE, FILE_PAGES * PAGE,
			    PROT_READ | PROT_WRITE, flags | MAP_FIXED, &is, 0) > 0, "mmap of a file");
}

void files_map(struct crowd *crowd)
{
	map_at(crowd, FILE_AT, MAP_SHARED);
	map_at(crowd, FILE_AT + FILE_PAGES, MAP_PRIVATE);
}

/* The shared page, and the private one as long as nobody stores there, are the file. */
static void load_page(struct crowd *crowd, const struct view *view, unsigned long page, bool private)
{
	uint64_t least = now_told(&told->beside[page]);
	uint64_t number = view_load(view, FILE_AT + page + (private ? FILE_PAGES : 0));

	expect(number >= least, "page %lu, %s: %llu, and %llu was written", page,
	       private ? "private" : "shared", (unsigned long long)number, (unsigned long long)least);
	crowd->count[2][COUNT_FILE_LOADS]++;
}

static void store_page(struct crowd *crowd, unsigned long page)
{
	uint64_t number = ++crowd->file_stores;

	view_store_word(&crowd->view, FILE_AT + page, 1, number);
	__atomic_store_n(&told->guest[page], number, __ATOMIC_RELEASE);
	crowd->count[2][COUNT_FILE_STORES]++;
}

/* A private page that was stored to stays as it is, until it is discarded. */
static void store_private(struct crowd *crowd, unsigned long page)
{
	const unsigned long at = FILE_AT + FILE_PAGES + page;

	view_store(&crowd->view, at, 1);
	sched_yield();
	expect(view_load(&crowd->view, at) == 1, "page %lu, stored to, is not private", page);
	expect(!vmspace_madvise(crowd->view.space, WINDOW_START + at * PAGE, PAGE, MADV_DONTNEED), "madvise");
	load_page(crowd, &crowd->view, page, true);
}

void files_check(struct crowd *crowd, const struct view *view)
{
	for (unsigned long page = 0; page < FILE_PAGES; page++) {
		load_page(crowd, view, page, false);
		load_page(crowd, view, page, true);
	}
}

static void step(struct crowd *crowd)
{
	unsigned long page = random_below(&crowd->files, FILE_PAGES);

	switch (random_below(&crowd->files, 16)) {
	case 0:
		files_map(crowd);
		break;
	case 1:
		vmspace_munmap(crowd->view.space, WINDOW_START + FILE_AT * PAGE, 2 * FILE_PAGES * PAGE);
		files_map(crowd);
		break;
	case 2:
		expect(!vmspace_mprotect(crowd->view.space, WINDOW_START + (FILE_AT + page) * PAGE, PAGE,
					 PROT_READ), "mprotect");
		load_page(crowd, &crowd->view, page, false);
		expect(!vmspace_mprotect(crowd->view.space, WINDOW_START + (FILE_AT + page) * PAGE, PAGE,
					 PROT_READ | PROT_WRITE), "mprotect");
		break;
	case 3: case 4:
		store_private(crowd, page);
		break;
	case 5: case 6: case 7: case 8: case 9:
		store_page(crowd, page);
		break;
	default:
		load_page(crowd, &crowd->view, page, page % 3 == 0);
	}
}

void *files_run(void *arg)
{
	struct crowd *crowd = arg;

	crowd->file_stores = 0;
	for (unsigned long page = 0; page < FILE_PAGES; page++)
		if (now_told(&told->guest[page]) > crowd->file_stores)
			crowd->file_stores = now_told(&told->guest[page]);
	pthread_barrier_wait(&crowd->begin);
	while (!is_set(&crowd->stop)) {
		pthread_rwlock_rdlock(&crowd->gate);
		step(crowd);
		pthread_rwlock_unlock(&crowd->gate);
	}
	return NULL;
}
