#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What vmscope export --format=perfetto writes, read by Perfetto's own definitions and trace processor.

Usage: export_perfetto.py VMSCOPE      by a Python that has the package perfetto ("make export-perfetto")

The package has the definitions. Its trace processor is a program that it fetches when it is first
used: where that cannot be had, this is said, and only the definitions are tried.
"""
import csv
import io
import os
import signal
import subprocess
import sys
import tempfile

try:
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as definitions
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
except ImportError as missing:
    print(f"export_perfetto.py: {missing}: pip install perfetto, or make export-perfetto")
    sys.exit(77)

LOGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "logs")
NAMES = sorted(name for name in os.listdir(LOGS) if name.endswith((".log", ".strace")))
PATIENCE = 60  # seconds to fetch the trace processor


def wanted(what, is_so, *seen):
    if not is_so:
        sys.exit(f"FAILED: {what}: {str(seen)[:2000]}")


def export(vmscope, form, name):
    return subprocess.run([vmscope, "export", "-f", form, os.path.join(LOGS, name)], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120).stdout


def only_known(message):
    """No field, however deep, that the definitions do not have."""
    if len(UnknownFieldSet(message)):
        return False
    for field, value in message.ListFields():
        if field.message_type:
            many = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
            if not all(map(only_known, value if many else [value])):
                return False
    return True


def read_by_definitions(data, rows, name):
    trace = definitions.Trace()
    trace.ParseFromString(data)
    wanted(f"{name}: only fields that there are", only_known(trace))
    wanted(f"{name}: the same bytes again", trace.SerializeToString(deterministic=True) == data or
           trace.ByteSize() == len(data))
    kinds = definitions.TrackEvent
    instants = [p for p in trace.packet if p.track_event.type == kinds.TYPE_INSTANT]
    counts = [p for p in trace.packet if p.track_event.type == kinds.TYPE_COUNTER]
    tracks = {p.track_descriptor.uuid for p in trace.packet if p.HasField("track_descriptor")}
    wanted(f"{name}: all events", len(instants) == len(rows), len(instants), len(rows))
    wanted(f"{name}: all counts", [p.track_event.counter_value for p in counts] ==
           [int(row["areas"]) for row in rows if int(row["change"])])
    wanted(f"{name}: tracks", all(p.track_event.track_uuid in tracks for p in instants + counts))
    return len(instants), len(counts)


class NotInTime(Exception):
    pass


def not_in_time(*_):
    raise NotInTime(f"not within {PATIENCE} seconds")


def have_processor(path):
    """A trace processor that has opened the file; None, and why, if it cannot be had."""
    signal.signal(signal.SIGALRM, not_in_time)
    signal.alarm(PATIENCE)
    try:
        # Whatever keeps it from being fetched: no network, a proxy, a file that is not there.
        return TraceProcessor(trace=path, config=TraceProcessorConfig(load_timeout=30)), ""
    except Exception as error:  # pylint: disable=broad-except
        return None, type(error).__name__
    finally:
        signal.alarm(0)


def main():
    vmscope = sys.argv[1]
    processor_missing = ""
    opened = 0
    for name in NAMES:
        data = export(vmscope, "perfetto", name)
        rows = list(csv.DictReader(io.StringIO(export(vmscope, "csv", name).decode(errors="replace"),
                                               newline=""), strict=True))
        instants, counts = read_by_definitions(data, rows, name)
        if processor_missing:
            continue
        with tempfile.NamedTemporaryFile(suffix=".perfetto") as file:
            file.write(data)
            file.flush()
            processor, processor_missing = have_processor(file.name)
            if not processor:
                continue
            with processor:
                def number(query):
                    return next(iter(processor.query(query))).n

                wanted(f"{name}: events in the trace processor",
                       number("select count(*) as n from slice") == instants)
                wanted(f"{name}: counts in the trace processor",
                       number("select count(*) as n from counter") == counts)
                wanted(f"{name}: no error in the trace processor", number(
                    "select count(*) as n from stats where severity = 'error' and value > 0") == 0)
                opened += 1
    print(f"PASS perfetto: {len(NAMES)} files read by its definitions, {opened} by its trace processor")
    if processor_missing:
        print(f"SKIP in part: the trace processor could not be fetched ({processor_missing})")


main()
