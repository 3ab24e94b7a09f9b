/* SPDX-License-Identifier: MIT */
/*
 * ledger.c - snapshots: accounts lie at the indexes of a tree, and a writer moves money between
 * them without a pause. An auditor adds up all of them, again and again, as slowly as he likes: a
 * snapshot stands still, and the writer does not wait for him.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <mapletree/maple_tree.h>

#define ACCOUNTS 1000ul
#define OPENING  100ul
#define AUDITS   200

static struct maple_tree accounts = MTREE_INIT(accounts, MT_FLAGS_USE_RCU);
static bool closed; /* atomic */

static void book(struct maple_tree *mt, unsigned long account, unsigned long balance)
{
	MA_STATE(mas, mt, account, account);

	if (mas_store_gfp(&mas, xa_mk_value(balance), GFP_KERNEL))
		abort();
}

static unsigned long balance_of(struct maple_tree *mt, unsigned long account)
{
	return xa_to_value(mtree_load(mt, account));
}

/* Both bookings are one step for whoever takes the lock, as a snapshot does. */
static void *move_money(void *unused)
{
	unsigned long from = 0, to = 1;

	(void)unused;
	while (!__atomic_load_n(&closed, __ATOMIC_RELAXED)) {
		mtree_lock(&accounts);
		if (from != to && balance_of(&accounts, from)) {
			book(&accounts, from, balance_of(&accounts, from) - 1);
			book(&accounts, to, balance_of(&accounts, to) + 1);
		}
		mtree_unlock(&accounts);
		from = (from * 37 + 11) % ACCOUNTS;
		to = (to * 41 + 17) % ACCOUNTS;
	}
	return NULL;
}

static unsigned long audit(void)
{
	struct maple_tree view = MTREE_INIT(view, MT_FLAGS_USE_RCU);
	unsigned long sum = 0;
	void *entry;
	MA_STATE(mas, &view, 0, 0);

	if (mtree_snapshot(&accounts, &view, GFP_KERNEL))
		abort();
	mtree_lock(&view);
	mas_for_each(&mas, entry, ULONG_MAX)
		sum += xa_to_value(entry);
	mtree_unlock(&view);
	mtree_destroy(&view);
	return sum;
}

int main(void)
{
	unsigned long i, balanced = 0;
	pthread_t writer;

	for (i = 0; i < ACCOUNTS; i++)
		if (mtree_store(&accounts, i, xa_mk_value(OPENING), GFP_KERNEL))
			return 1;
	if (pthread_create(&writer, NULL, move_money, NULL))
		return 1;
	for (i = 0; i < AUDITS; i++)
		balanced += audit() == ACCOUNTS * OPENING;
	__atomic_store_n(&closed, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	printf("%lu of %d audits found %lu\n", balanced, AUDITS, ACCOUNTS * OPENING);
	mtree_destroy(&accounts);
	return 0;
}
