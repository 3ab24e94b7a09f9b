/* SPDX-License-Identifier: MIT */
/*
 * iptable.c - lookup and store: which network does an address belong to? The most specific
 * prefix wins, so prefixes are stored from the widest to the narrowest, each cutting the last.
 */
#include <stdio.h>
#include <arpa/inet.h>

#include <mapletree/maple_tree.h>

/* A prefix of an IPv4 routing table; sorted by @bits. */
static struct prefix {
	const char *address;
	unsigned int bits;
	const char *owner;
} prefixes[] = {
	{ "10.0.0.0", 8, "company" },
	{ "192.168.0.0", 16, "office" },
	{ "10.20.0.0", 16, "laboratory" },
	{ "10.20.30.0", 24, "test bench" },
	{ "10.20.30.7", 32, "the oven" },
};

static unsigned long number(const char *address)
{
	struct in_addr binary;

	return inet_pton(AF_INET, address, &binary) == 1 ? ntohl(binary.s_addr) : 0;
}

static int add(struct maple_tree *table, struct prefix *prefix)
{
	unsigned long first = number(prefix->address);
	unsigned long last = first + (0xffffffffUL >> prefix->bits);

	return mtree_store_range(table, first, last, prefix, GFP_KERNEL);
}

static void look_up(struct maple_tree *table, const char *address)
{
	const struct prefix *prefix = mtree_load(table, number(address));

	printf("%-14s %s\n", address, prefix ? prefix->owner : "unknown");
}

int main(void)
{
	DEFINE_MTREE(table);
	struct prefix *gone;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (add(&table, &prefixes[i]))
			return 1;

	look_up(&table, "10.20.30.7");
	look_up(&table, "10.20.30.8");
	look_up(&table, "10.20.31.1");
	look_up(&table, "10.99.0.1");
	look_up(&table, "192.168.1.1");
	look_up(&table, "172.16.0.1");

	/* An insert refuses what a store would overwrite. */
	if (mtree_insert(&table, number("10.20.30.9"), &prefixes[4], GFP_KERNEL))
		puts("10.20.30.9 is taken");
	gone = mtree_erase(&table, number("10.20.30.7"));
	printf("%s is gone\n", gone ? gone->owner : "nothing");
	look_up(&table, "10.20.30.7");
	mtree_destroy(&table);
	return 0;
}
