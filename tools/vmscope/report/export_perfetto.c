/* SPDX-License-Identifier: MIT */
/*
 * A log as a trace of Perfetto: packets with an instant event for each call, on the track of its
 * thread, and with the number of areas of each process, on a track of its own. The numbers of the
 * fields are those of perfetto/protos/perfetto/trace/perfetto_trace.proto, which is public.
 */
#include <assert.h>

#include "report/export.h"
#include "report/protobuf.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_TRACK = 60,
	PACKET_SEQUENCE_FLAGS = 13, SEQUENCE_CLEARED = 1
};
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5,
       TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2 };
enum { COUNTER_UNIT = 3, UNIT_COUNT = 2 };
enum { EVENT_DETAIL = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_NAME = 23,
       EVENT_COUNT = 30, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { DETAIL_INT = 4, DETAIL_STRING = 6, DETAIL_NAME = 10 };

/* Identities of tracks. */
enum track { TRACK_OF_PROCESS = 1, TRACK_OF_THREAD, TRACK_OF_AREAS };

/* Process and thread 0 are the idle one there, and here that a log tells no numbers. */
static uint64_t id_of(pid_t pid)
{
	return pid > 0 ? (uint64_t)pid : 1;
}

static uint64_t uuid_of(enum track track, const struct export_event *event)
{
	const uint64_t thread = track == TRACK_OF_THREAD ? id_of(event->tid) : 0;

	/* A thread may act on the space of another process, with which it has begun. */
	return id_of(event->pid) << 33 ^ thread << 2 ^ (uint64_t)track;
}

static void put_packet(struct export *export, struct protobuf *packet)
{
	static struct protobuf trace;

	trace.length = 0;
	protobuf_uint(packet, PACKET_SEQUENCE, 1);
	if (!export->any)
		protobuf_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	export->any = true;
	protobuf_message(&trace, TRACE_PACKET, packet);
	/* The longest details together are half as long. */
	assert(!trace.full);
	fwrite(trace.bytes, 1, trace.length, export->to);
}

static void put_track(struct export *export, struct protobuf *track, uint64_t uuid)
{
	static struct protobuf packet;

	packet.length = 0;
	protobuf_uint(track, TRACK_UUID, uuid);
	protobuf_message(&packet, PACKET_TRACK, track);
	put_packet(export, &packet);
}

static void put_process(struct export *export, const struct export_event *event)
{
	static struct protobuf track, inner;
	const uint64_t process = uuid_of(TRACK_OF_PROCESS, event);

	track.length = inner.length = 0;
	protobuf_uint(&inner, PROCESS_PID, id_of(event->pid));
	if (event->space->command[0])
		protobuf_string(&inner, PROCESS_NAME, event->space->command);
	protobuf_message(&track, TRACK_PROCESS, &inner);
	put_track(export, &track, process);

	track.length = inner.length = 0;
	protobuf_uint(&inner, COUNTER_UNIT, UNIT_COUNT);
	protobuf_string(&track, TRACK_NAME, "areas");
	protobuf_uint(&track, TRACK_PARENT, process);
	protobuf_message(&track, TRACK_COUNTER, &inner);
	put_track(export, &track, uuid_of(TRACK_OF_AREAS, event));
}

static void put_thread(struct export *export, const struct export_event *event)
{
	static struct protobuf track, inner;

	track.length = inner.length = 0;
	protobuf_uint(&inner, THREAD_PID, id_of(event->pid));
	protobuf_uint(&inner, THREAD_TID, id_of(event->tid));
	protobuf_uint(&track, TRACK_PARENT, uuid_of(TRACK_OF_PROCESS, event));
	protobuf_message(&track, TRACK_THREAD, &inner);
	put_track(export, &track, uuid_of(TRACK_OF_THREAD, event));
}

/* Tells of tracks before anything is on them, and of a process again when its name is known. */
static void put_tracks(struct export *export, const struct export_event *event)
{
	if (export_is_new(export, uuid_of(TRACK_OF_PROCESS, event), event->space->command))
		put_process(export, event);
	if (export_is_new(export, uuid_of(TRACK_OF_THREAD, event), ""))
		put_thread(export, event);
}

static void put_counter(struct export *export, const struct export_event *event)
{
	static struct protobuf packet, inner;

	packet.length = inner.length = 0;
	protobuf_uint(&packet, PACKET_TIMESTAMP, event->ns);
	protobuf_uint(&inner, EVENT_TYPE, TYPE_COUNTER);
	protobuf_uint(&inner, EVENT_TRACK, uuid_of(TRACK_OF_AREAS, event));
	protobuf_int(&inner, EVENT_COUNT, (int64_t)event->areas);
	protobuf_message(&packet, PACKET_EVENT, &inner);
	put_packet(export, &packet);
}

static void put_details(struct protobuf *to, const struct export_event *event)
{
	static struct protobuf detail;
	struct export_details details;

	export_details(event, &details);
	for (unsigned int i = 0; i < details.count; i++) {
		const struct export_detail *one = &details.list[i];

		detail.length = 0;
		protobuf_string(&detail, DETAIL_NAME, one->key);
		if (one->text)
			protobuf_string(&detail, DETAIL_STRING, one->text);
		else
			protobuf_int(&detail, DETAIL_INT, one->number);
		protobuf_message(to, EVENT_DETAIL, &detail);
	}
}

static void put_event(struct export *export, const struct export_event *event)
{
	static struct protobuf packet, inner;

	put_tracks(export, event);
	if (event->change)
		put_counter(export, event);
	packet.length = inner.length = 0;
	protobuf_uint(&packet, PACKET_TIMESTAMP, event->ns);
	protobuf_uint(&inner, EVENT_TYPE, TYPE_INSTANT);
	protobuf_uint(&inner, EVENT_TRACK, uuid_of(TRACK_OF_THREAD, event));
	protobuf_string(&inner, EVENT_CATEGORY, "memory");
	protobuf_string(&inner, EVENT_NAME, export_name(event));
	put_details(&inner, event);
	protobuf_message(&packet, PACKET_EVENT, &inner);
	put_packet(export, &packet);
}

const struct export_format export_perfetto = { .name = "perfetto", .event = put_event };
