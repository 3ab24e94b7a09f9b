/* SPDX-License-Identifier: MIT */
/*
 * routes.c - readers and retired objects by this library's names alone, in a process without any
 * thread but its own: a forwarder looks up routes while another thread replaces them, and frees
 * what it has replaced.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <mapletree/maple_tree.h>

#define NETWORKS 256
#define UPDATES	 20000

struct route {
	unsigned long network;
	int port;
};

static struct maple_tree routes = MTREE_INIT(routes, MT_FLAGS_USE_RCU);
static atomic_bool stop;
static unsigned long lost, misled;
static long live; /* routes that exist */

static void route_free(void *route)
{
	live--;
	free(route);
}

/* Looks at what it finds inside the section only: it may be freed after. */
static void *forward(void *unused)
{
	if (mt_thread_register())
		return NULL;
	for (unsigned long i = 0; !atomic_load(&stop); i++) {
		unsigned long address = i * 40503 % (NETWORKS << 8);
		struct route *route;

		mt_read_lock();
		route = mtree_load(&routes, address);
		lost += !route;
		misled += route && route->network != address >> 8;
		mt_read_unlock();
	}
	mt_thread_unregister();
	return unused;
}

/* Replaces the route to a network; readers have the old one or the new one. */
static int announce(unsigned long network, int port)
{
	unsigned long first = network << 8;
	struct route *route = malloc(sizeof(*route)), *old = mtree_load(&routes, first);

	if (!route)
		return -1;
	*route = (struct route){ network, port };
	live++;
	if (mtree_store_range(&routes, first, first + 255, route, GFP_KERNEL)) {
		route_free(route);
		return -1;
	}
	if (old && mt_retire(old, route_free)) {
		mt_synchronize();
		route_free(old);
	}
	if (network % 64 == 0)
		mt_poll();
	return 0;
}

int main(void)
{
	pthread_t forwarder;
	int error = mt_set_rcu_flavour(&routes, mt_rcu_polled());

	for (unsigned long i = 0; !error && i < NETWORKS; i++)
		error = announce(i, 0);
	if (error || pthread_create(&forwarder, NULL, forward, NULL))
		return 1;
	for (unsigned long i = 0; !error && i < UPDATES; i++)
		error = announce(i * 31 % NETWORKS, (int)i);
	atomic_store(&stop, true);
	pthread_join(forwarder, NULL);
	printf("addresses without a route: %lu, with another network's: %lu\n", lost, misled);
	if (error || mt_barrier())
		return 1;
	printf("routes after %d updates, when all that were replaced are freed: %ld\n", UPDATES, live);
	for (unsigned long i = 0; i < NETWORKS; i++)
		route_free(mtree_load(&routes, i << 8));
	mtree_destroy(&routes);
	mt_barrier();
	printf("in the end: %ld, and %lu bytes of nodes\n", live, mt_retired_bytes());
	return 0;
}
