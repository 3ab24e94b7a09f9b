/* SPDX-License-Identifier: MIT */
/* Writing messages of protocol buffers: fields of a message in memory. */
#include "report/protobuf.h"

#include <string.h>

enum { VARINT = 0, BYTES = 2 };		/* wire types */
enum { VARINT_MAX = 10 };		/* bytes of the longest */

static bool has_room(struct protobuf *message, size_t size)
{
	message->full |= size > PROTOBUF_MAX - message->length;
	return size <= PROTOBUF_MAX - message->length;
}

/* Seven bits a byte, the lowest first; all but the last have bit 7 set. */
static void put_varint(struct protobuf *message, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		message->bytes[message->length++] = (unsigned char)(value | 128);
	message->bytes[message->length++] = (unsigned char)value;
}

void protobuf_uint(struct protobuf *message, unsigned int field, uint64_t value)
{
	if (!has_room(message, 2 * VARINT_MAX))
		return;
	put_varint(message, (uint64_t)field << 3 | VARINT);
	put_varint(message, value);
}

void protobuf_int(struct protobuf *message, unsigned int field, int64_t value)
{
	protobuf_uint(message, field, (uint64_t)value);
}

static void put_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size)
{
	if (!has_room(message, 2 * VARINT_MAX + size))
		return;
	put_varint(message, (uint64_t)field << 3 | BYTES);
	put_varint(message, size);
	memcpy(message->bytes + message->length, bytes, size);
	message->length += size;
}

void protobuf_string(struct protobuf *message, unsigned int field, const char *text)
{
	put_bytes(message, field, text, strlen(text));
}

void protobuf_message(struct protobuf *message, unsigned int field, const struct protobuf *inner)
{
	message->full |= inner->full;
	put_bytes(message, field, inner->bytes, inner->length);
}
