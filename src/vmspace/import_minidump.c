/* SPDX-License-Identifier: MIT */
/*
 * import_minidump.c - the areas that a minidump of a Linux process tells of.
 *
 * A minidump begins with a header that tells where its directory is, and that where each stream is;
 * all numbers are little-endian. One of the streams is the text of maps.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

#define SIGNATURE  0x504d444du /* "MDMP" */
#define LINUX_MAPS 0x47670009u /* of Breakpad's own streams */

enum { HEADER_WORDS = 4, ENTRY_WORDS = 3 };

/* `count` words at `offset`, if they are there. */
static bool take_words(const char *dump, size_t size, size_t offset, uint32_t *words, size_t count)
{
	if (offset > size || count * sizeof(*words) > size - offset)
		return false;
	memcpy(words, dump + offset, count * sizeof(*words));
	for (size_t i = 0; i < count; i++)
		words[i] = le32toh(words[i]);
	return true;
}

/* The stream of maps is the `*length` bytes at `*at`. */
static int find_maps(const char *dump, size_t size, size_t *at, size_t *length,
		     struct vmspace_mistake *mistake)
{
	enum { MAGIC, VERSION, STREAMS, DIRECTORY };
	enum { TYPE, BYTES, PLACE };
	uint32_t header[HEADER_WORDS], entry[ENTRY_WORDS];

	if (!take_words(dump, size, 0, header, HEADER_WORDS) || header[MAGIC] != SIGNATURE)
		return import_wrong(mistake, 0, "not a minidump");
	for (uint32_t i = 0; i < header[STREAMS]; i++) {
		size_t place = header[DIRECTORY] + (size_t)i * sizeof(entry);

		if (!take_words(dump, size, place, entry, ENTRY_WORDS))
			return import_wrong(mistake, place, "the directory ends at stream %u of %u",
					    i + 1, header[STREAMS]);
		if (entry[TYPE] != LINUX_MAPS)
			continue;
		if (entry[PLACE] > size || entry[BYTES] > size - entry[PLACE])
			return import_wrong(mistake, place, "the stream of maps is cut");
		*at = entry[PLACE];
		*length = entry[BYTES];
		return 0;
	}
	return import_wrong(mistake, header[DIRECTORY],
			    "none of the %u streams is the maps of a Linux process",
			    header[STREAMS]);
}

int vmspace_parse_minidump(const void *dump, size_t size, struct vmspace_area **areas,
			   size_t *count, struct vmspace_mistake *mistake)
{
	size_t at = 0, length = 0;
	char *text;
	int err = find_maps(dump, size, &at, &length, mistake);

	*areas = NULL;
	*count = 0;
	if (err)
		return err;
	text = strndup((const char *)dump + at, length);
	if (!text)
		return -ENOMEM;
	err = import_text(text, at, areas, count, mistake);
	free(text);
	return err;
}
