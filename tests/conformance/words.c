/* SPDX-License-Identifier: MIT */
/*
 * words.c - reads and writes the words of a vector file.
 */
#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* eN is ENTRY_BASE + N * 16: distinct, above 4096, low four bits 0. */
#define ENTRY_BASE  0x100000000UL
#define ENTRY_LIMIT (ENTRY_BASE + (1UL << 28))

/* Room for one entry as text. */
#define WORD_MAX 64

static bool read_number(const char *word, int base, unsigned long *number)
{
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	*number = strtoul(word, &end, base);
	return errno == 0 && end != word && *end == 0;
}

bool word_index(const char *word, unsigned long *index)
{
	return word[0] == '0' && word[1] == 'x' && read_number(word, 16, index);
}

bool word_entry(const char *word, void **entry)
{
	unsigned long number;

	if (strcmp(word, "NULL") == 0) {
		*entry = NULL;
		return true;
	}
	if (strcmp(word, "zero") == 0) {
		*entry = XA_ZERO_ENTRY;
		return true;
	}
	if (!read_number(word + 1, 10, &number))
		return false;
	switch (word[0]) {
	case 'e':
		*entry = (void *)(ENTRY_BASE + number * 16);
		return (unsigned long)*entry < ENTRY_LIMIT;
	case 'v':
		*entry = xa_mk_value(number);
		return true;
	case 'r':
		*entry = (void *)number;
		return true;
	default:
		return false;
	}
}

void results_clear(struct results *results)
{
	results->length = 0;
	if (results->text)
		results->text[0] = 0;
}

void results_free(struct results *results)
{
	free(results->text);
	*results = (struct results){ 0 };
}

void results_text(struct results *results, const char *text)
{
	size_t length = strlen(text);

	if (results->length + length + 2 > results->size) {
		results->size = (results->length + length + 2) * 2;
		results->text = realloc(results->text, results->size);
		if (!results->text) {
			perror("conformance");
			exit(1);
		}
	}
	if (results->length)
		results->text[results->length++] = ' ';
	memcpy(results->text + results->length, text, length + 1);
	results->length += length;
}

void results_error(struct results *results, int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = { { -EEXIST, "-EEXIST" }, { -EBUSY, "-EBUSY" },
		      { -EINVAL, "-EINVAL" }, { -ENOMEM, "-ENOMEM" } };
	char word[WORD_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].error == error) {
			results_text(results, names[i].name);
			return;
		}
	}
	snprintf(word, sizeof(word), "%d", error);
	results_text(results, word);
}

void results_count(struct results *results, unsigned long count)
{
	char word[WORD_MAX];

	snprintf(word, sizeof(word), "%lu", count);
	results_text(results, word);
}

void results_index(struct results *results, unsigned long index)
{
	char word[WORD_MAX];

	snprintf(word, sizeof(word), "0x%lx", index);
	results_text(results, word);
}

static void write_entry(char word[WORD_MAX], const void *entry)
{
	unsigned long value = (unsigned long)entry;

	if (!entry)
		snprintf(word, WORD_MAX, "NULL");
	else if (xa_is_zero(entry))
		snprintf(word, WORD_MAX, "zero");
	else if (xa_is_value(entry))
		snprintf(word, WORD_MAX, "v%lu", xa_to_value(entry));
	else if (value >= ENTRY_BASE && value < ENTRY_LIMIT && value % 16 == 0)
		snprintf(word, WORD_MAX, "e%lu", (value - ENTRY_BASE) / 16);
	else
		snprintf(word, WORD_MAX, "pointer:0x%lx", value);
}

void results_entry(struct results *results, const void *entry)
{
	char word[WORD_MAX];

	write_entry(word, entry);
	results_text(results, word);
}

void results_range(struct results *results, unsigned long first, unsigned long last,
		   const void *entry)
{
	char name[WORD_MAX];
	char word[2 * WORD_MAX];

	write_entry(name, entry);
	if (first == last)
		snprintf(word, sizeof(word), "0x%lx:%s", first, name);
	else
		snprintf(word, sizeof(word), "0x%lx-0x%lx:%s", first, last, name);
	results_text(results, word);
}

void results_status(struct results *results, enum maple_status status)
{
	switch (status) {
	case ma_active: results_text(results, "active"); return;
	case ma_start: results_text(results, "start"); return;
	case ma_root: results_text(results, "root"); return;
	case ma_none: results_text(results, "none"); return;
	case ma_pause: results_text(results, "pause"); return;
	case ma_overflow: results_text(results, "overflow"); return;
	case ma_underflow: results_text(results, "underflow"); return;
	case ma_error: results_text(results, "error"); return;
	}
	results_text(results, "invalid-status");
}
