/* SPDX-License-Identifier: MIT */
/*
 * input.h - the bytes a fuzzer supplies, taken one after the other.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* at <= end */
struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static inline bool input_left(const struct input *input)
{
	return input->at < input->end;
}

/* The next byte; 0 behind the end. */
static inline unsigned int input_byte(struct input *input)
{
	return input_left(input) ? *input->at++ : 0;
}

/* 0 .. limit - 1 from one byte, or two where one cannot reach; limit > 0. */
static inline size_t input_below(struct input *input, size_t limit)
{
	size_t value = input_byte(input);

	if (limit > 256)
		value = value << 8 | input_byte(input);
	return value % limit;
}

#endif
