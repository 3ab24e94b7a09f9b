/* SPDX-License-Identifier: MIT */
/*
 * windows.h - guests in windows: what their threads reach by loads and stores, beside forks of the guest
 * and of the host, a process that writes the file that they map, and pins.
 */
#ifndef TORTURE_WINDOWS_H
#define TORTURE_WINDOWS_H

#include <mapletree/vmspace_pins.h>

#include "expect.h"
#include "random.h"

#define PAGE 4096UL
/* Pages of a guest, by number, from WINDOW_START on. */
#define WINDOW_START 0x40000000UL
#define WINDOW_PAGES 1024UL
#define WORKERS 3
#define SLICE 64UL               /* of a worker, which alone changes it; they touch */
#define FILE_AT 512UL            /* where the file is mapped: shared, and private */
#define FILE_PAGES 16UL

/* A guest: a space and its window. */
struct view {
	struct vmspace *space;
	struct vmspace_window *window;
};

/*
 * Guest memory, which may be copied while a guest stores to it: that is no race of the library's, and no
 * function of a sanitizer's makes the access, inside which a signal must not be handled.
 */
uint64_t load_number(const volatile uint64_t *at);
void store_number(volatile uint64_t *at, uint64_t value);

/* Load or store the first number of page n, or number `word`, through the window. It must be allowed. */
uint64_t view_load(const struct view *view, unsigned long n);
void view_store(const struct view *view, unsigned long n, uint64_t value);
uint64_t view_load_word(const struct view *view, unsigned long n, unsigned int word);
void view_store_word(const struct view *view, unsigned long n, unsigned int word, uint64_t value);
/* Why page n may not be accessed so, by a fault there; VMSPACE_FAULT_OK: it may. */
enum vmspace_fault_result view_refuses(const struct view *view, unsigned long n, unsigned int access);
void view_end(struct view *view);
/* For handlers of signals, once. */
void views_begin(void);

enum count {
	COUNT_CALLS, COUNT_LOADS, COUNT_STORES, COUNT_PINS, COUNT_PIN_WRITES, COUNT_FORKS, COUNT_HOST_FORKS,
	COUNT_BLIND_FORKS, COUNT_FILE_LOADS, COUNT_FILE_STORES, COUNTS,
};

#define PINS 8

/* A page that a worker has pinned. */
struct pin {
	struct vmspace_pinned *pinned; /* NULL: none */
	struct iovec part;
	bool write;
	bool gone;                   /* the guest has the page no longer */
	unsigned long at;            /* in the slice */
	uint64_t since;              /* what was in it when it was pinned; only numbers since show */
};

/* A worker and what it knows of its slice. */
struct worker {
	struct crowd *crowd;
	unsigned int number;
	struct random random;
	unsigned long first;
	uint64_t stores;
	int prot[SLICE];             /* -1: nothing is mapped */
	uint64_t value[SLICE];
	struct pin pins[PINS];
	unsigned long long count[COUNTS];
};

#define KIDS 3
#define SAMPLES 24

/* A child of the guest, beside it, and what it is known to have. */
struct kid {
	struct view view;            /* space NULL: none */
	unsigned long page[SAMPLES];
	uint64_t value[SAMPLES];
};

/* What is done at the same time in a round. */
#define WITH_HOST_FORKS 1u
#define WITH_FILES      2u
#define WITH_PINS       4u

struct crowd {
	unsigned int with;
	bool stop, forks_stop;       /* atomic */
	/*
	 * A thread that begins or ends takes locks of a sanitizer's allocator, which would stay locked in a child
	 * of the host: all begin here, and who forks ends first.
	 */
	pthread_barrier_t begin;
	struct vmspace_memfd *memfd;
	struct view view;
	/* Held for reading over each step of a thread, for writing when the host forks with its memory. */
	pthread_rwlock_t gate;
	struct worker worker[WORKERS];
	struct kid kid[KIDS];
	struct random kids, host, files;
	uint64_t file_stores;
	unsigned long long count[3][COUNTS]; /* of the other threads, in this order */
};

static inline bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

/* Threads; the argument is a worker, or the crowd. */
void *worker_run(void *worker);
void *kids_run(void *crowd);
void *host_run(void *crowd);
void *files_run(void *crowd);

void worker_begin(struct worker *worker);
/* One step; is all as it knows; and the end of its pins. */
void worker_step(struct worker *worker);
void worker_check(struct worker *worker);
void worker_end(struct worker *worker);
/* Is it nothing, or a number that a worker has stored, or a child? */
bool worker_wrote(uint64_t value);
void kids_check(struct crowd *crowd);
void kids_end(struct crowd *crowd);

/* The file, and the process that writes it beside; ended at the end of the program. */
void files_begin(void);
void files_end(void);
int files_descriptor(void *ctx, const struct vma_backing *file);
void files_map(struct crowd *crowd);
/* Is what is mapped at least as new as what was written before? */
void files_check(struct crowd *crowd, const struct view *view);

#endif
