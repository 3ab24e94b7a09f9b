/* SPDX-License-Identifier: MIT */
/*
 * viewers.c - a thread that takes snapshots of the space, shows and closes them in any order, beside
 * all that changes it; and threads of their own that look at them meanwhile, and close them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors.h"

#define VIEWS 6
#define LOOKERS_MAX 2

/* A snapshot, and what it showed when it was taken. */
struct view {
	const struct vmspace *space;
	char *text;
	unsigned int *lookers;
};

static char *shown(const struct vmspace *space)
{
	size_t size = vmspace_show(space, NULL, 0) + 1;
	char *text = malloc(size);

	if (!text)
		abort();
	expect(vmspace_show(space, text, size) == size - 1, "a snapshot changes");
	return text;
}

static void check(const struct view *view)
{
	struct vmspace_stats stats;
	struct vma_iterator it;
	struct vma_info info;
	unsigned long areas = 0;
	const char *why = "";
	char *text = shown(view->space);

	expect(!strcmp(text, view->text), "a snapshot showed\n%sand shows\n%s", view->text, text);
	free(text);
	vma_iter_init(&it, view->space, 0);
	while (vma_iter_next(&it, &info))
		areas += !info.anon_name || strlen(info.anon_name);
	vmspace_stats(view->space, &stats);
	expect(areas == stats.areas, "a snapshot of %lu areas has %lu", stats.areas, areas);
	expect(vmspace_check(view->space, &why), "a snapshot: %s", why);
}

static void close_view(struct view *view)
{
	check(view);
	vmspace_snapshot_close(view->space);
	free(view->text);
	view->space = NULL;
}

static void *looker_run(void *arg)
{
	struct view *view = arg;
	unsigned int *lookers = view->lookers;

	check(view);
	close_view(view);
	free(view);
	__atomic_fetch_sub(lookers, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Another thread gets the view, and closes it. */
static void give_away(struct view *view, unsigned int *lookers)
{
	struct view *theirs = malloc(sizeof(*theirs));
	pthread_t thread;

	if (!theirs)
		abort();
	*theirs = *view;
	theirs->lookers = lookers;
	view->space = NULL;
	__atomic_fetch_add(lookers, 1, __ATOMIC_RELAXED);
	if (pthread_create(&thread, NULL, looker_run, theirs))
		abort();
	pthread_detach(thread);
}

void *viewer_run(void *actor)
{
	struct actor *me = actor;
	struct view view[VIEWS] = { { 0 } };
	unsigned int lookers = 0, i;

	while (!stopped(me)) {
		i = random_below(&me->random, VIEWS);
		if (!view[i].space) {
			expect(!vmspace_snapshot(&view[i].space, me->crowd->guest->space),
			       "no snapshot");
			view[i].text = shown(view[i].space);
			me->count[KIND_SNAPSHOT]++;
		} else if (__atomic_load_n(&lookers, __ATOMIC_ACQUIRE) < LOOKERS_MAX) {
			give_away(&view[i], &lookers);
		} else {
			close_view(&view[i]);
		}
		/* From time to time none is open. */
		for (i = 0; i < VIEWS && random_chance(&me->random, 40); i++)
			if (view[i].space)
				close_view(&view[i]);
	}
	for (i = 0; i < VIEWS; i++)
		if (view[i].space)
			close_view(&view[i]);
	while (__atomic_load_n(&lookers, __ATOMIC_ACQUIRE))
		usleep(500);
	return NULL;
}
