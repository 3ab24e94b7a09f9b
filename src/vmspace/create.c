/* SPDX-License-Identifier: MIT */
/* create.c - creates, configures, empties and destroys address spaces. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "accounting.h"
#include "commit.h"
#include "create.h"
#include "inherited.h"
#include "past.h"
#include "pkey.h"
#include "rules.h"
#include "sync.h"
#include "window.h"
#include "words.h"

/* All areas leave the tree, which is about to be emptied. A child may have few of its own. */
static void bury_all(struct vmspace *space)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma *vma;

	if (space->origin && !space->past && vma_free_all(&space->vmas))
		return;
	mas_for_each(&mas, vma, ULONG_MAX)
		if (!is_inherited(space, vma))
			past_bury(space, vma);
}

void create_clear_areas(struct vmspace *space)
{
	bury_all(space);
	reserve_clear(&space->reserve);
	__mt_destroy(&space->tree);
	space->recent = NULL;
	space->reserve.shared = false;
	past_end_areas(space);
	/* Its tree shared nodes with the parent's until now. */
	origin_put(space->origin);
	space->origin = NULL;
	commit_charge(space, space->committed_vm, -1);
	space->areas = 0;
	space->grow_areas = 0;
	space->fork_areas = space->fork_from = space->fork_to = 0;
	space->pinned_vm = 0;
	space->total_vm = space->locked_vm = space->locked_leak = 0;
	space->data_vm = space->stack_vm = space->exec_vm = 0;
	space->default_flags = 0;
	space->image = (struct vmspace_image){ 0 };
	pkey_reset(&space->pkeys);
	assert(account_valid(space) && !space->committed_vm);
}

void create_clear(struct vmspace *space)
{
	words_drop_all(space);
	if (space->pages)
		pages_clear(space->pages);
	create_clear_areas(space);
}

void create_adopt(struct vmspace *space, struct vmspace *fresh)
{
	unsigned long peak = space->areas_peak;

	past_leave(space);
	sync_adopt(space, fresh);
	space->tree = fresh->tree;
	space->recent = NULL;
	space->vmas = fresh->vmas;
	space->past = fresh->past;
	space->image = fresh->image;
	space->pkeys = fresh->pkeys;
	space->mmap_base = fresh->mmap_base;
	space->base_guessed = fresh->base_guessed;
	space->default_flags = fresh->default_flags;
	space->areas = fresh->areas;
	space->areas_peak = peak > fresh->areas_peak ? peak : fresh->areas_peak;
	space->grow_areas = fresh->grow_areas;
	space->fork_areas = fresh->fork_areas;
	space->fork_from = fresh->fork_from;
	space->fork_to = fresh->fork_to;
	space->total_vm = fresh->total_vm;
	space->locked_vm = fresh->locked_vm;
	space->data_vm = fresh->data_vm;
	space->stack_vm = fresh->stack_vm;
	space->exec_vm = fresh->exec_vm;
	/* The pool was already charged when the areas were added. */
	space->committed_vm = fresh->committed_vm;
	space->largest_area = fresh->largest_area;
	space->changes += fresh->changes + 1;
	fresh->committed_vm = 0;
	assert(account_valid(space));
	space->next_anon_id = fresh->next_anon_id;
	space->next_file_id = fresh->next_file_id;
	mt_init_flags(&fresh->tree, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN);
	fresh->recent = NULL;
	fresh->vmas = (struct vma_store){ 0 };
	fresh->past = NULL;
}

/* Only bits of rules that exist. */
static bool rules_exist(const uint64_t rules[VMSPACE_RULE_WORDS])
{
	for (unsigned int i = RULE_COUNT; i < 64 * VMSPACE_RULE_WORDS; i++)
		if (rules[i / 64] >> (i % 64) & 1)
			return false;
	return true;
}

static bool power_of_two(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* What is wrong with the sizes and places; NULL: nothing. */
static const char *wrong_layout(const struct vmspace_config *c)
{
	if (!power_of_two(c->page_size) || c->page_size < 1024)
		return "page_size is not a power of two from 1024 on";
	if (c->pmd_size && (!power_of_two(c->pmd_size) || c->pmd_size < c->page_size))
		return "pmd_size is neither 0 nor a power of two from page_size on";
	if (!c->task_size || c->task_size % c->page_size)
		return "task_size is 0, or not whole pages";
	if (!c->map_window || c->map_window > c->task_size)
		return "map_window is 0, or beyond task_size";
	if (c->mmap_base % c->page_size || c->mmap_base > c->task_size)
		return "mmap_base is not at a page, or beyond task_size";
	return NULL;
}

/* What is wrong with the values; NULL: nothing. */
static const char *wrong_values(const struct vmspace_config *c)
{
	const char *wrong = wrong_layout(c);
	size_t host = c->memory ? window_page_size(c->memory) : 0;

	if (wrong)
		return wrong;
	if (host && host != c->page_size)
		return "memory is a window, whose pages are not of page_size: use their size, or a "
		       "window on a memfd of vmspace_memfd_create_pages() with page_size";
	if (c->huge_pages > c->ram_pages)
		return "huge_pages are more than ram_pages";
	if (!c->max_map_count)
		return "max_map_count is 0";
	if (c->overcommit < 0 || c->overcommit > 2)
		return "overcommit is not 0, 1 or 2";
	return rules_exist(c->rules) ? NULL : "rules has bits of rules that do not exist";
}

const char *vmspace_config_check(const struct vmspace_config *c)
{
	const char *wrong = wrong_values(c);

	if (!wrong && c->memory && window_is_taken(c->memory))
		wrong = "memory is a window that a space uses: create a window for each space";
	return wrong;
}

/* Several threads may use the space. */
static int make_shareable(struct vmspace *space)
{
	int err = past_create(&space->past);

	if (!err)
		err = sync_create(space);
	space->vmas.locks = true;
	/* Without a thread that the user has not asked for. */
	if (!err)
		err = mt_set_rcu_flavour(&space->tree, mt_rcu_polled());
	return err ? err : mt_set_in_rcu(&space->tree);
}

static int give_memory(struct vmspace *space)
{
	int err = pages_create(&space->pages, space->config.memory, space->config.page_size,
			       space->config.task_size);

	if (err)
		return err;
	pages_set_execute_only(space->pages, &space->pkeys.execute_only);
	pages_set_slots(space->pages, &space->sync->slots);
	return 0;
}

static int create(struct vmspace **out, const struct vmspace_config *config, bool beside)
{
	struct vmspace *space;
	int err = 0;

	*out = NULL;
	if (wrong_values(config))
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	mt_init_flags(&space->tree, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN);
	reserve_init(&space->reserve, &space->tree);
	space->config = *config;
	pkey_reset(&space->pkeys);
	space->page_shift = (unsigned int)__builtin_ctzl(config->page_size);
	space->mmap_base = config->mmap_base;
	space->base_guessed = !config->mmap_base;
	space->next_anon_id = 1;
	space->next_file_id = (uint64_t)1 << 63;
	space->request_seq = 1;
	if (config->memory && !beside && !window_take(config->memory, space))
		err = -EBUSY;
	if (!err && (config->memory || config->threads))
		err = make_shareable(space);
	if (!err && config->memory)
		err = give_memory(space);
	if (err) {
		vmspace_destroy(space);
		return err;
	}
	*out = space;
	return 0;
}

int vmspace_create(struct vmspace **out, const struct vmspace_config *config)
{
	return create(out, config, false);
}

int create_beside(struct vmspace **out, const struct vmspace_config *config)
{
	return create(out, config, true);
}

void vmspace_destroy(struct vmspace *space)
{
	if (!space)
		return;
	if (space_is_snapshot(space)) {
		vmspace_snapshot_close(space);
		return;
	}
	create_clear(space);
	if (space->sync)
		mt_poll(); /* nobody may call for a long time */
	pages_destroy(space->pages);
	if (space->config.memory)
		window_give_back(space->config.memory, space);
	past_leave(space);
	sync_destroy(space);
	free(space->words);
	free(space);
}

const struct vmspace_config *vmspace_config(const struct vmspace *space)
{
	return &space->config;
}

int vmspace_configure(struct vmspace *space, const struct vmspace_config *config)
{
	unsigned long committed;

	if (space_is_snapshot(space))
		return -EROFS;
	if (wrong_values(config) || config->page_size != space->config.page_size ||
	    config->task_size != space->config.task_size ||
	    config->memory != space->config.memory || config->threads != space->config.threads)
		return -EINVAL;
	sync_enter(space);
	if (config->mmap_base && config->mmap_base != space->config.mmap_base) {
		space->mmap_base = config->mmap_base;
		space->base_guessed = false;
	}
	/* What is committed moves to the new pool. */
	committed = space->committed_vm;
	commit_charge(space, committed, -1);
	space->config = *config;
	commit_charge(space, committed, 1);
	sync_configure(space);
	sync_leave(space);
	return 0;
}

void vmspace_exit(struct vmspace *space)
{
	if (!space_is_snapshot(space))
		create_clear(space);
}
