/* SPDX-License-Identifier: MIT */
/* Writing messages of protocol buffers: fields of a message in memory. */
#ifndef VMSCOPE_REPORT_PROTOBUF_H
#define VMSCOPE_REPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROTOBUF_MAX = 16384 };

/* All zero: empty. What no longer fits is left out as a whole field, and @full says so. */
struct protobuf {
	size_t length;
	bool full;
	unsigned char bytes[PROTOBUF_MAX];
};

/* Fields by their number: an unsigned integer or bool, int64, a string, a message. */
void protobuf_uint(struct protobuf *message, unsigned int field, uint64_t value);
void protobuf_int(struct protobuf *message, unsigned int field, int64_t value);
void protobuf_string(struct protobuf *message, unsigned int field, const char *text);
void protobuf_message(struct protobuf *message, unsigned int field, const struct protobuf *inner);

#endif
