/* SPDX-License-Identifier: MIT */
/* Requests, areas and configurations as JSON. One table of fields serves for both directions. */
#ifndef VMSCOPE_LOG_CODEC_H
#define VMSCOPE_LOG_CODEC_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdint.h>

/* A machine word as a string, "0x7f00...". The caller owns the object. */
struct json_object *encode_word(uint64_t value);

/* The result of a system call: a word, or a number if it is a negative errno. */
struct json_object *encode_result(int64_t value);

/* The inverse of the two above. False: @from is neither. */
bool decode_word(struct json_object *from, uint64_t *value);
bool decode_result(struct json_object *from, int64_t *value);

/*
 * Each pair encodes a struct as an object, which the caller owns, and decodes it again. Members
 * that are zero are omitted. Decoding ignores unknown keys. Decoded strings belong to @from; the
 * caller frees the ranges of a process_madvise. False: the value of *@key has the wrong type.
 */
struct json_object *encode_request(const struct vmspace_request *req);
bool decode_request(struct json_object *from, struct vmspace_request *req, const char **key);

struct json_object *encode_area(const struct vmspace_area *area);
bool decode_area(struct json_object *from, struct vmspace_area *area, const char **key);

struct json_object *encode_image(const struct vmspace_image *image);
bool decode_image(struct json_object *from, struct vmspace_image *image, const char **key);

struct json_object *encode_backing(const struct vma_backing *backing);
bool decode_backing(struct json_object *from, struct vma_backing *backing, const char **key);

/* All except the host's callbacks, which decoding leaves alone. */
struct json_object *encode_config(const struct vmspace_config *config);
bool decode_config(struct json_object *from, struct vmspace_config *config, const char **key);

#endif
