/* SPDX-License-Identifier: MIT */
/*
 * binding.c - a tree as another language sees it: pointers to structs of which nothing is known, and
 * functions, also where the headers have macros and inline functions. It includes no header of the
 * library, so it runs with any version in which a tree or a cursor has become larger.
 */
#include <limits.h>
#include <stdio.h>

struct maple_tree;
struct ma_state;

struct maple_tree *mt_new(unsigned int flags);
void mt_free(struct maple_tree *mt);
struct ma_state *mas_new(struct maple_tree *mt, unsigned long first, unsigned long last);
void mas_free(struct ma_state *mas);
void mas_get_range(const struct ma_state *mas, unsigned long *first, unsigned long *last);

void *xa_mk_value(unsigned long value);
unsigned long xa_to_value(const void *entry);
void mtree_lock(struct maple_tree *mt);
void mtree_unlock(struct maple_tree *mt);
int mtree_store_range(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		      unsigned int gfp);
void *mtree_load(struct maple_tree *mt, unsigned long index);
void *mas_find(struct ma_state *mas, unsigned long max);

/* A binding has the header's constants, too. */
#define GFP_KERNEL 0xcc0u

int main(void)
{
	struct maple_tree *tree = mt_new(0);
	struct ma_state *cursor = tree ? mas_new(tree, 0, 0) : NULL;
	unsigned long first, last;
	void *entry;
	int err;

	if (!cursor)
		return 1;
	err = mtree_store_range(tree, 0, 99, xa_mk_value(1), GFP_KERNEL);
	if (!err)
		err = mtree_store_range(tree, 40, 49, xa_mk_value(2), GFP_KERNEL);
	if (err)
		return 1;
	mtree_lock(tree);
	while ((entry = mas_find(cursor, ULONG_MAX))) {
		mas_get_range(cursor, &first, &last);
		printf("%lu-%lu: %lu\n", first, last, xa_to_value(entry));
	}
	mas_free(cursor);
	mtree_unlock(tree);
	printf("at 45: %lu\n", xa_to_value(mtree_load(tree, 45)));
	mt_free(tree);
	return 0;
}
