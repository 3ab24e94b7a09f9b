/* SPDX-License-Identifier: MIT */
/*
 * words.h - the words of a vector file: indexes, entries, results, as FORMAT.md section 1 has them.
 */
#ifndef CONFORMANCE_WORDS_H
#define CONFORMANCE_WORDS_H

#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stddef.h>

/* Results of a call, as text; grows as needed. text[length] == 0. */
struct results {
	char *text;
	size_t length;
	size_t size;
};

/* Read one word; false if it is not of that kind. */
bool word_index(const char *word, unsigned long *index);
bool word_entry(const char *word, void **entry);

/* Append one word. */
void results_clear(struct results *results);
void results_error(struct results *results, int error);
void results_count(struct results *results, unsigned long count);
void results_index(struct results *results, unsigned long index);
void results_entry(struct results *results, const void *entry);
void results_status(struct results *results, enum maple_status status);
void results_range(struct results *results, unsigned long first, unsigned long last,
		   const void *entry);
void results_text(struct results *results, const char *text);
void results_free(struct results *results);

#endif
