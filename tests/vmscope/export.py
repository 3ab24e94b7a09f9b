#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vmscope explain --json, and vmscope export: what is written is what the log says.

Usage: export.py VMSCOPE SCHEMA      the schema of explain --json
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

LOGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "logs")
NAMES = sorted(name for name in os.listdir(LOGS) if name.endswith((".log", ".strace")))
failures = 0


def wanted(what, is_so, *seen):
    global failures
    if not is_so:
        failures += 1
        print(f"FAILED: {what}: {str(seen)[:2000]}")


def run(*args):
    got = subprocess.run(args, capture_output=True, timeout=120)
    return got.returncode, got.stdout, got.stderr.decode(errors="replace")


def log(name):
    return os.path.join(LOGS, name)


# ---- explain --json ------------------------------------------------------------------------------

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float),
         "integer": int, "null": type(None)}


def is_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def invalid(value, schema, root, where="$"):
    """What of @value is not as @schema says: the keywords that ours uses, and no others."""
    known = {"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required",
             "additionalProperties", "items", "const", "enum", "minimum", "pattern", "if", "then"}
    assert set(schema) <= known, f"keywords that are not checked: {set(schema) - known}"
    if "$ref" in schema:
        yield from invalid(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, where)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, name) for name in types):
        yield f"{where} is no {types}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {schema['enum']}"
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        yield f"{where} is less than {schema['minimum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where} is not like {schema['pattern']}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from invalid(item, schema.get("items", {}), root, f"{where}[{i}]")
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where} has no {key}"
        more = schema.get("additionalProperties", {})
        for key, item in value.items():
            of = schema.get("properties", {}).get(key, more)
            if of is False:
                yield f"{where} has a {key}"
            else:
                yield from invalid(item, of, root, f"{where}.{key}")
    if "if" in schema and not list(invalid(value, schema["if"], root)):
        yield from invalid(value, schema["then"], root, where)


def check_schema(schema):
    """It refuses what is wrong, or it would prove nothing."""
    status, out, _ = run(sys.argv[1], "explain", "--json", log("steps.log"))
    good = json.loads(out)
    wanted("the schema takes what is right", status == 0 and not list(invalid(good, schema, schema)),
           list(invalid(good, schema, schema)))
    for key in good:
        less = {k: v for k, v in good.items() if k != key}
        wanted(f"the schema needs {key}", list(invalid(less, schema, schema)))
        wanted(f"the schema knows the type of {key}",
               list(invalid({**good, key: [1.5] if isinstance(good[key], dict) else {"x": -1}},
                            schema, schema)))
    wanted("the schema refuses what it does not know",
           list(invalid({**good, "surprise": 1}, schema, schema)))


def check_explain(vmscope, schema):
    for name in NAMES:
        status, out, err = run(vmscope, "explain", "--json", log(name))
        wanted(f"explain --json {name}", status == 0, err)
        found = json.loads(out)
        wrong = list(invalid(found, schema, schema))
        wanted(f"explain --json {name}: the schema", not wrong, wrong)
        text = run(vmscope, "explain", "-n", "100000", log(name))[1].decode()
        wanted(f"explain --json {name}: as the text", f"Process {found['pid']} (" in text and
               f": {found['areas']} areas at the end, at most {found['areas_peak']} at one time: "
               in text and f"of the {found['limit']['max_map_count']} that" in text and
               all(f" {r['calls']:8} {r['made']:8} {r['gone']:8} {r['splits']:8} {r['merges']:8}  "
                   f"{r['what']}\n" in text for r in found["by_call"]) and
               all(f"  {o['areas']:8}  " in text and f"  {o['what']}\n" in text
                   for o in found["owners"]), text[:500])
        wanted(f"explain --json {name}: sums", sum(r["calls"] for r in found["by_call"]) ==
               sum(r["calls"] for r in found["by_thread"]) == found["calls"] and
               sum(o["areas"] for o in found["owners"]) == found["areas"] and
               max(p["most"] for p in found["course"]) == found["areas_peak"], found["calls"])
    status, out, _ = run(vmscope, "explain", "--json", "-n", "1", log("steps.log"))
    wanted("explain --json -n", status == 0 and len(json.loads(out)["by_call"]) == 1)
    status, out, err = run(vmscope, "explain", "--json", str(os.getpid()))
    found = json.loads(out)
    wanted("explain --json of a process", status == 0 and found["of"] == "process" and
           found["pid"] == os.getpid() and found["areas"] > 10 and
           not list(invalid(found, schema, schema)), err, list(invalid(found, schema, schema)))


# ---- export --------------------------------------------------------------------------------------

def export(vmscope, form, name, *options):
    status, out, err = run(vmscope, "export", "-f", form, *options, log(name))
    wanted(f"export {form} {name}", status == 0, status, err)
    return out


def rows_of(vmscope, name):
    text = export(vmscope, "csv", name).decode(errors="replace")
    wanted(f"csv {name}: ends of lines", text.endswith("\r\n"))
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def check_csv(vmscope, name, rows):
    """Each call is there, and areas are their changes, summed up by address space."""
    wanted(f"csv {name}: whole lines", rows and all(None not in r and None not in r.values()
                                                    for r in rows))
    calls = [r for r in rows if r["event"] == "call"]
    replayed = re.search(r" (\d+) calls replayed", run(vmscope, "replay", log(name))[2])
    wanted(f"csv {name}: calls", len(calls) == int(replayed[1]), len(calls), replayed[1])
    areas = {}
    for row in rows:
        before = 0 if row["event"] in ("begin", "fork") else areas[row["space"]]
        areas[row["space"]] = int(row["areas"])
        wanted(f"csv {name}:{row['line']}: areas", before + int(row["change"]) ==
               int(row["areas"]), row)
    if name.endswith(".log"):
        with open(log(name)) as file:
            records = [json.loads(line) for line in file]
        for row in calls:
            record = records[int(row["line"]) - 1]
            result = record["result"]
            wanted(f"csv {name}:{row['line']}: the call", row["call"] == record["call"] and
                   int(row["tid"]) == record["tid"] and float(row["seconds"]) == record["time"] and
                   (not isinstance(result, str) or int(row["result"], 16) == int(result, 16)), row)


def detail(row):
    """What the other formats have of a row."""
    return (int(row["line"]), int(row["areas"]), int(row["change"]), row["result"] or None,
            row["not_merged"] or None)


def check_chrome(vmscope, name, rows):
    trace = json.loads(export(vmscope, "chrome", name))
    events = trace["traceEvents"]
    calls = [e for e in events if e["ph"] == "i"]
    wanted(f"chrome {name}: the same events", [
        (e["args"].get("line"), e["args"]["areas"], e["args"]["change"], e["args"].get("result"),
         e["args"].get("not merged")) for e in calls if "line" in e["args"]] ==
        [detail(r) for r in rows if r["line"]] and len(calls) == len(rows), calls[:2])
    wanted(f"chrome {name}: threads and times", all(
        e["pid"] == int(r["pid"]) and e["tid"] == int(r["tid"]) and
        (not r["seconds"] or abs(e["ts"] - float(r["seconds"]) * 1e6) < 0.6)
        for e, r in zip(calls, rows)))
    wanted(f"chrome {name}: the counter", [e["args"]["areas"] for e in events if e["ph"] == "C"] ==
           [int(r["areas"]) for r in rows if int(r["change"])])
    wanted(f"chrome {name}: phases", {e["ph"] for e in events} <= {"i", "C", "M"})


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """The fields of a message: {number: [integers or bytes]}."""
    found = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            size, at = varint(data, at)
            assert at + size <= len(data), "a field that ends too late"
            value, at = data[at:at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def details_of(event):
    """debug_annotations: name, and int_value or string_value."""
    found = {}
    for one in map(fields, event.get(4, [])):
        found[one[10][0].decode()] = signed(one[4][0]) if 4 in one else one[6][0].decode()
    return found


def check_perfetto(vmscope, name, rows):
    trace = fields(export(vmscope, "perfetto", name))
    wanted(f"perfetto {name}: packets alone", set(trace) == {1})
    tracks, instants, counts = {}, [], []
    for packet in map(fields, trace[1]):
        wanted(f"perfetto {name}: one sequence", packet[10] == [1])
        if 60 in packet:
            track = fields(packet[60][0])
            tracks[track[1][0]] = track
            wanted(f"perfetto {name}: a parent is told first", track.get(5, [track[1][0]])[0] in
                   tracks, track)
            continue
        event = fields(packet[11][0])
        wanted(f"perfetto {name}: a track is told first", event[11][0] in tracks, event)
        (instants if event[9] == [3] else counts).append((packet[8][0], event))
    got = [details_of(event) for _, event in instants]
    wanted(f"perfetto {name}: the same events", [
        (d.get("line"), d["areas"], d["change"], d.get("result"), d.get("not merged"))
        for d in got if "line" in d] == [detail(r) for r in rows if r["line"]] and
        len(got) == len(rows), got[:2])
    for (time, event), row in zip(instants, rows):
        thread = fields(tracks[event[11][0]][4][0])
        wanted(f"perfetto {name}:{row['line']}: thread and time", thread[1][0] ==
               max(int(row["pid"]), 1) and thread[2][0] == max(int(row["tid"]), 1) and
               (not row["seconds"] or abs(time - float(row["seconds"]) * 1e9) < 1000), row, time)
    wanted(f"perfetto {name}: the counter", [signed(e[30][0]) for _, e in counts] ==
           [int(r["areas"]) for r in rows if int(r["change"])] and
           all(e[9] == [4] and 8 in tracks[e[11][0]] for _, e in counts))


def check_folded(vmscope, name, rows):
    for weight in "areas", "calls":
        lines = export(vmscope, "folded", name, f"--weight={weight}").decode().splitlines()
        stacks = [re.fullmatch(r"(.+ \(\d+\);.+) (\d+)", line) for line in lines]
        wanted(f"folded {name}", all(stacks) and len({s[1] for s in stacks}) == len(lines), lines)
        calls = [r for r in rows if r["event"] == "call"]
        total = len(calls) if weight == "calls" else \
            sum(max(int(r["change"]), 0) for r in calls)
        wanted(f"folded {name}: {weight}", sum(int(s[2]) for s in stacks) == total, total, lines)


def check_stacks(vmscope):
    """Of strace -k: from the outermost function to the call."""
    rows = [r for r in rows_of(vmscope, "frames.strace") if r["call"] == "mlock"]
    wanted("stacks", rows and all(re.fullmatch(
        r"steps\(_start\+0x\w+\);libc[^;]*;libc[^;]*;steps\(main\+0x\w+\);libc\.so\.6\(mlock\+0x\w+\)",
        r["stack"]) and r["site"].startswith("steps(main+0x") for r in rows), rows[:1])
    text = export(vmscope, "folded", "frames.strace", "--weight=calls").decode()
    wanted("folded stacks", re.search(r"^steps \(\d+\);steps\(_start\);.*;steps\(main\);"
                                      r"libc.so.6\(mlock\);mlock \d+$", text, re.M), text[-500:])


def check_errors(vmscope, work):
    steps = log("steps.log")
    for what, said, args in (
            ("no format", "give a format", [steps]),
            ("another format", "'xml' is not 'perfetto', 'chrome', 'csv' or 'folded'",
             ["-f", "xml", steps]),
            ("no log", "give a log", ["-f", "csv"]),
            ("a weight of what has none", "--weight is for --format=folded",
             ["-f", "csv", "--weight=calls", steps]),
            ("a weight", "'bytes' is neither", ["-f", "folded", "--weight=bytes", steps]),
            ("a log that is not there", "No such file", ["-f", "csv", os.path.join(work, "no")]),
            ("no directory", "cannot write", ["-f", "csv", "-o", work + "/no/x", steps]),
            ("a directory", "Is a directory", ["-f", "csv", "-o", work, steps]),
            ("no log at all", "is neither a log of", ["-f", "csv", __file__])):
        status, _, err = run(vmscope, "export", *args)
        wanted(f"export: {what}", status == 125 and said in err, status, err)
    if os.path.exists("/dev/full"):
        for form in "perfetto", "chrome", "csv", "folded":
            status, _, err = run(vmscope, "export", "-f", form, "-o", "/dev/full", steps)
            wanted(f"export {form}: a full disk", status == 125 and
                   "cannot write /dev/full: No space left" in err, status, err)
    # Names are bytes, and may be anything; a log may tell no times.
    path = os.path.join(work, "odd.strace")
    with open(path, "wb") as file:
        file.write(b'1 openat(AT_FDCWD, "/a,\\"b\xff\\n;c", O_RDONLY) = 3\n'
                   b"1 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000000000\n")
    for form in "perfetto", "chrome", "csv", "folded":
        status, out, err = run(vmscope, "export", "-f", form, path)
        wanted(f"export {form}: an odd name", status == 0 and
               ("tells no times" in err) == (form != "folded"), status, err)
        if form == "chrome":
            json.loads(out)
    rows = list(csv.DictReader(io.StringIO(run(vmscope, "export", "-f", "csv", path)[1]
                                           .decode(errors="replace"), newline=""), strict=True))
    wanted("csv: an odd name", [r["event"] for r in rows] == ["begin", "call", "end"], rows)


def check_again(vmscope, work):
    """Areas that are read again in between are neither another address space nor another name."""
    path = os.path.join(work, "again.log")
    with open(log("forks.log")) as file, open(path, "w") as again:
        for line in file:
            again.write(line)
            record = json.loads(line)
            if record["type"] == "space":
                record.pop("command", None)
                again.write(json.dumps(record) + "\n")

    def rows(name):
        return [{**row, "line": ""} for row in rows_of(vmscope, name)]

    def told(name):  # but for the course over time, which has one point more
        return [line for line in run(vmscope, "explain", log(name))[1].decode().splitlines()
                if "█" not in line]
    wanted("csv: areas read again", rows(path) == rows("forks.log"), rows(path)[:9])
    wanted("explain: areas read again", told(path) == told("forks.log"), told(path))


def main():
    vmscope, path = sys.argv[1:]
    with open(path) as file:
        schema = json.load(file)
    check_schema(schema)
    check_explain(vmscope, schema)
    for name in NAMES:
        rows = rows_of(vmscope, name)
        check_csv(vmscope, name, rows)
        check_chrome(vmscope, name, rows)
        check_perfetto(vmscope, name, rows)
        check_folded(vmscope, name, rows)
    check_stacks(vmscope)
    with tempfile.TemporaryDirectory() as work:
        check_errors(vmscope, work)
        check_again(vmscope, work)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
