/* SPDX-License-Identifier: MIT */
/*
 * snapshot_world.h - spaces of which snapshots are taken: of one thread, of several, and with
 * memory; all that one shows, as a text; and calls at random. After <cmocka.h>.
 */
#ifndef SNAPSHOT_WORLD_H
#define SNAPSHOT_WORLD_H

#include "space.h"

#define PAGE 4096UL
#define REQUEST(op_name, field, ...) \
	(struct vmspace_request){ .op = op_name, .field = (struct vmspace_##field){ __VA_ARGS__ } }

enum kind { OF_ONE, OF_SEVERAL, WITH_MEMORY, KINDS };
extern const char *const kind_name[KINDS];

/* Of all that is drawn: the first argument, or drawn itself, and printed. */
extern uint64_t random_state;
void seed_from(int argc, char **argv);
unsigned int draw(unsigned int below);

/* The space, with areas of many kinds on pages 0 .. 199; destroyed, and all its memory freed. */
extern struct vmspace *space;
void build(enum kind kind);
void end(void);

/* All that a space shows, to be freed by test_free(); it still shows that; it is valid. */
char *text_of(const struct vmspace *of);
void same_text(const struct vmspace *of, const char *text, const char *when);
void sound(const struct vmspace *of);

/* Calls on the space. */
unsigned long at(unsigned long page);
long call(struct vmspace_request r);
long map(unsigned long page, unsigned long pages, int prot);
void write_to(unsigned long page);
void random_call(void);
/* What the file on page 100 is said to be later. */
extern const struct vma_backing other_file;

/*
 * Two threads do something with a snapshot of a space of each kind, while there are calls on the
 * space. They return NULL, or find fault.
 */
void beside_calls(void *(*with_view)(void *view));

#endif
