/* SPDX-License-Identifier: MIT */
/* The form that requests, areas and configurations have in a log: written and read by one table. */
#ifndef VMSCOPE_LOG_CODEC_H
#define VMSCOPE_LOG_CODEC_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stdint.h>

/* A machine word, "0x7f00...". The object is the caller's. */
struct json_object *encode_word(uint64_t value);

/* What a system call returned: a word, or a negative errno as a number. */
struct json_object *encode_result(int64_t value);

/* Read what the two above wrote. False: @from is something else. */
bool decode_word(struct json_object *from, uint64_t *value);
bool decode_result(struct json_object *from, int64_t *value);

/*
 * Each pair writes a struct as an object of the caller's and reads it back. What has the value zero is
 * left out. When reading, keys that are not known are ignored; strings belong to @from and live as
 * long; the ranges of a process_madvise are to be freed. False: a value is of another type than it has to be; *@key names it then.
 */
struct json_object *encode_request(const struct vmspace_request *req);
bool decode_request(struct json_object *from, struct vmspace_request *req, const char **key);

struct json_object *encode_area(const struct vmspace_area *area);
bool decode_area(struct json_object *from, struct vmspace_area *area, const char **key);

struct json_object *encode_image(const struct vmspace_image *image);
bool decode_image(struct json_object *from, struct vmspace_image *image, const char **key);

struct json_object *encode_backing(const struct vma_backing *backing);
bool decode_backing(struct json_object *from, struct vma_backing *backing, const char **key);

/* All but the host's callbacks, which reading leaves as they are. */
struct json_object *encode_config(const struct vmspace_config *config);
bool decode_config(struct json_object *from, struct vmspace_config *config, const char **key);

#endif
