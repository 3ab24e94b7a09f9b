/* SPDX-License-Identifier: MIT */
/* Reading a whole address space from the kernel: after an exec, and when attaching. */
#include "mirror/snapshot.h"

#include <mapletree/vmspace_proc.h>

#include "log/codec.h"

static void write_record(struct json_object *record, const struct vmspace_area *list,
			 size_t count, const struct vmspace_image *image)
{
	struct json_object *areas = json_object_new_array_ext((int)count);

	for (size_t i = 0; i < count; i++)
		json_object_array_add(areas, encode_area(&list[i]));
	json_object_object_add(record, "image", encode_image(image));
	json_object_object_add(record, "areas", areas);
}

int snapshot_load(struct vmspace *space, pid_t tid, bool attach, struct json_object *record)
{
	struct vmspace_area *areas;
	struct vmspace_image image;
	size_t count;
	int rc = vmspace_read_process(tid, attach, &areas, &count, &image);

	if (rc != 0)
		return rc;
	rc = vmspace_exec(space, areas, count, &image);
	if (record)
		write_record(record, areas, count, &image);
	vmspace_free_areas(areas, count);
	return rc;
}
