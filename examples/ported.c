/* SPDX-License-Identifier: MIT */
/*
 * ported.c - code in the kernel's idioms, of the guide docs/guides/kernel-code.md: numbers of
 * interrupt lines, given out in blocks and looked up while others come and go.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <urcu/urcu-bp.h>

#include <mapletree/maple_tree.h>

/* ---- What the port adds: the kernel's names for what user space calls otherwise. ----------- */

#define kzalloc(size, gfp)     calloc(1, size)
#define kfree(pointer)         free(pointer)
#define rcu_read_lock()        urcu_bp_read_lock()
#define rcu_read_unlock()      urcu_bp_read_unlock()
#define rcu_barrier()          urcu_bp_barrier()
#define kfree_rcu(line, member) urcu_bp_call_rcu(&(line)->member, free_line)
#define pr_info(...)           printf(__VA_ARGS__)

static void free_line(struct rcu_head *head);

/* ---- The code as it was. ------------------------------------------------------------------- */

#define FIRST_LINE 32UL
#define LAST_LINE  1023UL

struct line {
	const char *name;
	long (*handle)(struct line *line, unsigned long offset);
	struct rcu_head rcu;
};

static struct maple_tree lines = MTREE_INIT(lines, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU);

static int lines_alloc(const char *name, unsigned long count,
		       long (*handle)(struct line *line, unsigned long offset))
{
	struct line *line = kzalloc(sizeof(*line), GFP_KERNEL);
	unsigned long first;
	int ret;

	if (!line)
		return -ENOMEM;
	line->name = name;
	line->handle = handle;
	ret = mtree_alloc_range(&lines, &first, line, count, FIRST_LINE, LAST_LINE, GFP_KERNEL);
	if (ret) {
		kfree(line);
		return ret;
	}
	return (int)first;
}

static int lines_free(unsigned long number)
{
	struct line *line = mtree_erase(&lines, number);

	if (!line)
		return -ENOENT;
	kfree_rcu(line, rcu);
	return 0;
}

static long line_handle(unsigned long number)
{
	struct line *line;
	long ret = -ENOENT;
	MA_STATE(mas, &lines, number, number);

	rcu_read_lock();
	line = mas_walk(&mas);
	if (line)
		ret = line->handle(line, number - mas.index);
	rcu_read_unlock();
	return ret;
}

static void lines_show(void)
{
	struct line *line;
	MA_STATE(mas, &lines, 0, 0);

	rcu_read_lock();
	mas_for_each(&mas, line, ULONG_MAX)
		pr_info("%4lu-%lu %s\n", mas.index, mas.last, line->name);
	rcu_read_unlock();
}

static void lines_exit(void)
{
	struct line *line;
	unsigned long index = 0;

	mt_for_each(&lines, line, index, ULONG_MAX)
		kfree_rcu(line, rcu);
	mtree_destroy(&lines);
	rcu_barrier();
}

/* ---- And what calls it here. --------------------------------------------------------------- */

static void free_line(struct rcu_head *head)
{
	kfree(caa_container_of(head, struct line, rcu));
}

static long own_number(struct line *line, unsigned long offset)
{
	(void)line;
	return (long)offset;
}

int main(void)
{
	int disk = lines_alloc("disk", 4, own_number);
	int network = lines_alloc("network", 16, own_number);
	int timer = lines_alloc("timer", 1, own_number);

	if (disk < 0 || network < 0 || timer < 0)
		return 1;
	lines_show();
	printf("line %d is the network's number %ld\n", network + 5, line_handle((unsigned long)network + 5));
	if (lines_free((unsigned long)disk))
		return 1;
	printf("line %d: %s\n", disk, line_handle((unsigned long)disk) == -ENOENT ? "none" : "still there");
	if (lines_alloc("sound", 3, own_number) < 0)
		return 1;
	lines_show();
	printf("too many: %s\n", lines_alloc("crowd", 980, own_number) == -EBUSY ? "EBUSY" : "?");
	lines_exit();
	return 0;
}
