/* SPDX-License-Identifier: MIT */
/* What the rounds of a run have covered. */
#include "check/cover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/output.h"

/* A key: its kind or call in the upper byte, a small number in the next, and 48 bits. */
enum kind { KIND_WHY = 0x80, KIND_ADVICE, KIND_VERDICT, KIND_FILE, KIND_WAY };

#define REST_MASK ((UINT64_C(1) << 48) - 1)
enum { ADVICE_OTHER = 255 };

static void add(struct cover *cover, unsigned int kind, unsigned int small, uint64_t rest)
{
	uint64_t key = (uint64_t)kind << 56 | (uint64_t)small << 48 | (rest & REST_MASK);
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 52);

	for (int tries = 0; tries < COVER_ROWS; tries++, at++) {
		struct cover_row *row = &cover->rows[at % COVER_ROWS];
		uint64_t found = 0;

		if (__atomic_compare_exchange_n(&row->key, &found, key, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) || found == key) {
			__atomic_add_fetch(&row->count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
	__atomic_add_fetch(&cover->lost, 1, __ATOMIC_RELAXED);
}

static unsigned int error_of(long result)
{
	return result < 0 && result > -4096 ? (unsigned int)-result & 0xff : 0;
}

/* Is there such an advice in Linux? */
static bool is_advice(int advice)
{
	return (advice >= 0 && advice <= 4) || (advice >= 8 && advice <= 25) ||
	       (advice >= 100 && advice <= 103);
}

void cover_request(struct cover *cover, const struct pair *p)
{
	const struct vmspace_request *r = &p->last;
	unsigned int error = error_of(p->kernel_result), op = (unsigned int)r->op;

	add(cover, op, r->op == VMSPACE_FORK ? 0 : error, 0);
	add(cover, KIND_WAY, (unsigned int)p->mode.way, 0);
	/* Given the result, libvmspace explains others, too. Sentences are static. */
	if (r->out.why && p->mode.way == PAIR_PURE)
		add(cover, KIND_WHY, op, (uintptr_t)r->out.why);
	if (r->op == VMSPACE_MADVISE)
		add(cover, KIND_ADVICE, error, is_advice(r->madvise.advice) ?
					       (uint64_t)r->madvise.advice : ADVICE_OTHER);
	if (r->op == VMSPACE_MMAP && !error && r->mmap.backing.file_id)
		add(cover, KIND_FILE, 0, r->mmap.backing.file_id - 1);
	for (unsigned int i = 0; i < r->out.event_count; i++)
		if (r->out.events[i].kind == VMSPACE_EVENT_MERGE ||
		    r->out.events[i].kind == VMSPACE_EVENT_NO_MERGE)
			add(cover, KIND_VERDICT, 0, r->out.events[i].verdict);
}

static const char *error_name(unsigned int error)
{
	const char *name = error ? strerrorname_np((int)error) : "0";

	return name ? name : "?";
}

static void write_row(FILE *file, const struct cover_row *row)
{
	unsigned int kind = (unsigned int)(row->key >> 56), small = row->key >> 48 & 0xff;
	uint64_t rest = row->key & REST_MASK;

	switch (kind) {
	case KIND_WHY:
		fprintf(file, "why %s: %s", vmspace_op_name((enum vmspace_op)small),
			(const char *)(uintptr_t)rest);
		break;
	case KIND_ADVICE:
		fprintf(file, "advice %lu %s", (unsigned long)rest, error_name(small));
		break;
	case KIND_VERDICT:
		fprintf(file, "verdict %s", vma_verdict_text((enum vma_verdict)rest));
		break;
	case KIND_FILE:
		fprintf(file, "file %lu", (unsigned long)rest);
		break;
	case KIND_WAY:
		fprintf(file, "way %s", pair_way_name((enum pair_way)small));
		break;
	default:
		fprintf(file, "call %s %s", vmspace_op_name((enum vmspace_op)kind),
			error_name(small));
	}
	fprintf(file, "\t%lu\n", row->count);
}

int cover_write(const struct cover *cover, const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return -errno;
	for (int i = 0; i < COVER_ROWS; i++)
		if (cover->rows[i].key)
			write_row(file, &cover->rows[i]);
	return output_close(file);
}
