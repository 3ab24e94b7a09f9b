/* SPDX-License-Identifier: MIT */
/*
 * config.c - readers beside a writer: worker threads look up settings by user number while the
 * settings are replaced; an old setting is freed a grace period after it left the tree.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <urcu/urcu-bp.h>

#include <mapletree/maple_tree.h>

#define READERS 2
#define USERS   1000
#define ROUNDS  200

/* For users first .. last; never changed once it is in the tree. */
struct setting {
	unsigned long first, last;
	unsigned long limit, twice; /* twice == 2 * limit */
	struct rcu_head rcu;
};

static struct maple_tree settings = MTREE_INIT(settings, MT_FLAGS_USE_RCU);
static atomic_bool stop;

static void free_setting(struct rcu_head *head)
{
	free(caa_container_of(head, struct setting, rcu));
}

/* Replaces what is set for first .. last, which is one setting's range or empty. */
static int set_limit(unsigned long first, unsigned long last, unsigned long limit)
{
	struct setting *fresh = calloc(1, sizeof(*fresh)), *old;
	MA_STATE(mas, &settings, first, last);

	if (!fresh)
		return -1;
	fresh->first = first;
	fresh->last = last;
	fresh->limit = limit;
	fresh->twice = 2 * limit;
	mas_lock(&mas);
	old = mas_store(&mas, fresh);
	mas_unlock(&mas);
	if (mas_is_err(&mas)) {
		free(fresh);
		return -1;
	}
	if (old)
		urcu_bp_call_rcu(&old->rcu, free_setting);
	return 0;
}

/* Counts what it may never see: a user without a setting, or a setting half written. */
static void *read_settings(void *count)
{
	unsigned long user = 0, *errors = count;

	while (!atomic_load(&stop)) {
		struct setting *setting;

		user = (user + 7) % USERS;
		urcu_bp_read_lock(); /* around the lookup and all use of what it found */
		setting = mtree_load(&settings, user);
		if (!setting || user < setting->first || user > setting->last ||
		    setting->twice != 2 * setting->limit)
			++*errors;
		urcu_bp_read_unlock();
	}
	return NULL;
}

static int set_all(unsigned long limit)
{
	for (unsigned long user = 0; user < USERS; user += 10)
		if (set_limit(user, user + 9, limit))
			return -1;
	return 0;
}

int main(void)
{
	pthread_t readers[READERS];
	unsigned long errors[READERS] = { 0 }, total = 0;
	struct setting *setting;
	unsigned long index = 0;

	if (set_all(1))
		return 1;
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&readers[i], NULL, read_settings, &errors[i]))
			return 1;
	for (unsigned long round = 2; round <= ROUNDS; round++)
		if (set_all(round))
			return 1;
	atomic_store(&stop, true);
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i], NULL);
		total += errors[i];
	}
	setting = mtree_load(&settings, 42);
	printf("limit of user 42: %lu\n", setting->limit);
	printf("readers that saw something wrong: %lu\n", total);

	mt_for_each(&settings, setting, index, ULONG_MAX)
		free(setting); /* no reader is left */
	mtree_destroy(&settings);
	urcu_bp_barrier(); /* everything handed to call_rcu has run */
	return 0;
}
