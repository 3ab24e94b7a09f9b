#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vmscope replay, explain and draw.

Usage: replay.py stored VMSCOPE          the logs in logs/, and variations of them
       replay.py live VMSCOPE BIN_DIR    programs traced now: a replay leads to the same maps
"""
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import inject

LOGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "logs")
failures = 0


def fail(what, text=""):
    global failures
    failures += 1
    print(f"FAILED: {what}\n{text[:3000]}")


def run(*args, stdin=None):
    return subprocess.run(args, input=stdin, text=True, capture_output=True, timeout=2 * inject.LIMIT,
                          errors="replace")


def expect(what, got, status, *said):
    """Checks the exit status of a run and texts in its output. Returns whether they are right."""
    missing = [text for text in said if text not in got.stdout + got.stderr]
    if got.returncode == status and not missing:
        return True
    fail(f"{what}: status {got.returncode}, not {status}; not said: {missing}", got.stderr)
    return False


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


# ---- stored logs ---------------------------------------------------------------------------------

# For each: number of calls whose results were compared, and of all calls.
STORED = {
    "steps.log": (36, 36), "forks.log": (93, 93), "attached.log": (50, 50),
    "forks.strace": (54, 54), "threads.strace": (89, 89), "numbers.strace": (33, 33),
    "frames.strace": (32, 33), "verbose.strace": (35, 35), "raw.strace": (35, 36),
    "regions.strace": (40, 40), "regions_raw.strace": (40, 40),
}


def check_stored(vmscope, name):
    got = run(vmscope, "replay", os.path.join(LOGS, name))
    checked, calls = STORED[name]
    if not expect(name, got, 0,
                  f"{calls} calls replayed: {checked} results compared, 0 differences",
                  " 0 malformed"):
        return
    expected = read(os.path.join(LOGS, re.sub(r"\.log$", "", name) + ".maps"))
    if got.stdout != expected:
        fail(f"{name}: other maps than expected", got.stdout)


def check_kernel(vmscope):
    log = os.path.join(LOGS, "steps.log")
    expect("another kernel", run(vmscope, "replay", "--kernel", "6.18", log), 0, "0 differences")
    for command in ["replay"], ["explain"], ["draw", "-o", "-"]:
        expect(f"{command}, no kernel", run(vmscope, *command, "--kernel", "2.4", log), 125,
               "the rules of Linux '2.4' are not known")
    got = run(vmscope, "explain", "--kernel", "6.1", str(os.getpid()))
    expect("explain a process, kernel", got, 125, "--kernel, --until and --maps are for a log")
    expect("no such process", run(vmscope, "replay", "--pid", "1", "-q", "-o", "-", log), 125,
           "has no process 1")


def check_strace_keys(vmscope, work):
    """Only such a log shows that its processor had protection keys, and some leave calls out."""
    anon = "MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"
    allocated = "1 pkey_alloc(0, PKEY_DISABLE_WRITE) = 1\n"
    lines = ('1 execve("/bin/x", ["x"], 0x7ffc /* 1 vars */) = 0\n'
             f"1 mmap(NULL, 8192, PROT_READ, {anon}) = 0x7f0000000000\n" + allocated +
             "1 pkey_mprotect(0x7f0000000000, 4096, PROT_READ, 1) = 0\n"
             f"1 mmap(NULL, 4096, PROT_EXEC, {anon}) = 0x7f0000010000\n"
             "1 mlock(0x7f0000010000, 4096) = -1 ENOMEM (Cannot allocate memory)\n"
             "1 pkey_free(1) = 0\n")
    path = write(os.path.join(work, "keys.strace"), lines)
    expect("keys in strace", run(vmscope, "replay", path), 0,
           "6 calls replayed: 6 results compared, 0 differences")
    write(path, lines.replace(allocated, ""))
    expect("keys allocated before", run(vmscope, "replay", path), 0, "0 differences")


def check_standard_input(vmscope):
    got = run(vmscope, "replay", "-q", "-o", "-", "-", stdin=read(os.path.join(LOGS, "steps.log")))
    expect("standard input", got, 0, "[stack]")


def check_until(vmscope):
    got = run(vmscope, "replay", "--until=10", os.path.join(LOGS, "steps.log"))
    expect("--until", got, 0, "at its last call", "[stack]")


def check_pid(vmscope):
    name = os.path.join(LOGS, "forks.log")
    pids = sorted({r["pid"] for r in map(json.loads, open(name)) if r["type"] == "end"})
    got = run(vmscope, "replay", f"--pid={pids[0]}", name)
    found = re.findall(r"^# process (\d+)", got.stdout, re.M)
    if expect("--pid", got, 0) and found != [str(pids[0])]:
        fail("--pid: not that process alone", got.stdout)


# ---- logs that are wrong -------------------------------------------------------------------------

GARBAGE = ["{", "{}", "[1,2]", '{"type":5}', '{"type":"call"}', '{"type":"call","space":1}',
           '{"type":"call","space":1,"call":"mmap","do":{"op":"mmap","length":7},'
           '"result":"0x1000"}',
           '{"type":"call","space":1,"call":"mmap","do":{"op":"nothing"},"result":"0"}',
           '{"type":"call","space":99,"call":"brk","do":{"op":"brk"},"result":"0"}',
           '{"type":"copy","space":3,"from":77}', '{"type":"space","space":1,"areas":5}',
           '{"type":"seen","space":1,"stacks":[["0x1"]]}', '{"type":"end","space":1}', "\x01\x02",
           "execve(", '{"type":"space","space":9,"config":{"page_size":"0x3"},"image":{}}']


def check_malformed(vmscope, work):
    lines = read(os.path.join(LOGS, "steps.log")).splitlines()
    wrong = []
    text = []
    for i, line in enumerate(lines):
        text.append(line)
        if 2 <= i < 2 + len(GARBAGE):
            text.append(GARBAGE[i - 2])
            wrong.append(len(text))
    path = write(os.path.join(work, "garbage.log"), "\n".join(text) + "\n")
    got = run(vmscope, "replay", path)
    if not expect("malformed lines", got, 1, f"{len(GARBAGE)} malformed", "0 differences"):
        return
    told = [int(n) for n in re.findall(re.escape(path) + r":(\d+): skipped: .", got.stderr)]
    if told != wrong:
        fail(f"malformed lines: told of {told}, not of {wrong}", got.stderr)
    if got.stdout != read(os.path.join(LOGS, "steps.maps")):
        fail("malformed lines: other maps", got.stdout)


def check_malformed_strace(vmscope, work):
    lines = read(os.path.join(LOGS, "threads.strace")).splitlines()
    lines[20:20] = ["100 mmap(", "100 mmap(NULL) = 5", "100 munmap(x, y) = 0", "what is this"]
    path = write(os.path.join(work, "garbage.strace"), "\n".join(lines) + "\n")
    got = run(vmscope, "replay", path)
    expect("malformed lines of strace", got, 1, "4 malformed", "0 differences",
           *(f"{path}:{n}: skipped: " for n in range(21, 25)))


def check_falsified(vmscope, work):
    """Every recorded result that is changed is noticed: another address or a success at its line.
    An error is accepted (it may be due to a file system or a limit), but the final areas differ."""
    lines = read(os.path.join(LOGS, "steps.log")).splitlines()
    tried = 0
    for i, line in enumerate(lines):
        record = json.loads(line)
        if record["type"] != "call" or "do" not in record or "answer" in record["do"]:
            continue
        result = record["result"]
        if result == "0" and record["call"] in ("madvise", "mlock", "munlock", "mlockall",
                                                "munlockall", "mlock2", "prctl"):
            continue  # what these do does not show in the text of the areas
        record["result"] = "0x10000" if isinstance(result, int) else -22 if result == "0" else \
            hex(int(result, 16) - 0x1000000)
        path = write(os.path.join(work, "false.log"),
                     "\n".join(lines[:i] + [json.dumps(record)] + lines[i + 1:]) + "\n")
        said = [f"{path}:{i + 1}: process ", "the kernel answered "]
        said = [] if record["result"] == -22 else said
        expect(f"a false answer in line {i + 1}", run(vmscope, "replay", "-q", path), 1, *said)
        tried += 1
    if tried < 25:
        fail(f"only {tried} answers could be falsified")


def check_ends(vmscope, work):
    """A missing call shows in the final areas."""
    lines = read(os.path.join(LOGS, "steps.log")).splitlines()
    missing = next(i for i, line in enumerate(lines) if '"call":"munmap"' in line)
    rest = lines[:missing] + lines[missing + 1:]
    path = write(os.path.join(work, "missing.log"), "\n".join(rest))
    expect("a missing call", run(vmscope, "replay", "-q", path), 1,
           "the areas at the end are not those")


def check_statuses(vmscope, work):
    steps = os.path.join(LOGS, "steps.log")
    for command in ("replay", "explain", "draw"):
        out = ["-o", os.path.join(work, "out")] if command != "explain" else []
        expect(f"{command}: no log", run(vmscope, command, *out), 125, "give a ")
        expect(f"{command}: a log that is not there",
               run(vmscope, command, *out, os.path.join(work, "nothing")), 125, "No such file")
        expect(f"{command}: a directory", run(vmscope, command, *out, work), 125, "cannot read")
        expect(f"{command}: an empty log", run(vmscope, command, *out, "/dev/null"), 125, "empty")
        expect(f"{command}: no log at all", run(vmscope, command, *out, __file__), 125,
               "is neither a log of")
        expect(f"{command}: --help", run(vmscope, command, "--help"), 0, "LOG")
        expect(f"{command}: an unknown option", run(vmscope, command, "--frob", steps), 125)
        expect(f"{command}: --maps of our own log",
               run(vmscope, command, *out, "--maps", "/dev/null", steps), 125, "--maps is for")
    expect("draw without -o", run(vmscope, "draw", steps), 125, "-o FILE.svg")
    expect("draw --axis", run(vmscope, "draw", "--axis=up", "-o", "-", steps), 125,
           "neither 'time'")
    expect("draw: no times", run(vmscope, "draw", "--axis=time", "-o", "-",
                                 os.path.join(LOGS, "threads.strace")), 125, "tells no times")
    expect("draw: no such process", run(vmscope, "draw", "--pid=1", "-o", "-", steps), 125,
           "no such process")
    expect("explain: no such process", run(vmscope, "explain", "4194303"), 125, "no such process")
    expect("explain: no such process in the log", run(vmscope, "explain", "--pid=1", steps), 125,
           "process 1 is not in")
    expect("explain --for a log", run(vmscope, "explain", "--for=1", steps), 125, "is no process")
    expect("another version", run(vmscope, "replay", write(
        os.path.join(work, "new.log"), '{"type":"start","version":9}\n')), 125, "version 9")
    if os.path.exists("/dev/full"):
        expect("draw: a full disk", run(vmscope, "draw", "-o", "/dev/full", steps), 125,
               "cannot write")
        expect("replay: a full disk", run(vmscope, "replay", "-o", "/dev/full", steps), 125,
               "cannot write")


# ---- a log of strace with the initial areas given ------------------------------------------------

def check_maps_option(vmscope, work):
    maps = write(os.path.join(work, "maps"),
                 "00400000-00402000 r-xp 00000000 08:01 5          /usr/bin/program\n"
                 "01000000-01021000 rw-p 00000000 00:00 0          [heap]\n"
                 "7f0000000000-7f0000004000 rw-p 00000000 00:00 0 \n"
                 "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0  [stack]\n")
    log = write(os.path.join(work, "told.strace"),
                "munmap(0x7f0000001000, 4096) = 0\n"
                "mprotect(0x7f0000002000, 4096, PROT_READ) = 0\n"
                "brk(NULL) = 0x1021000\nbrk(0x1042000) = 0x1042000\n"
                "madvise(0x500000, 4096, MADV_NORMAL) = 0\n")
    got = run(vmscope, "replay", "--maps", maps, log)
    # Nothing is mapped at 0x500000: as all areas are known, that result proves a difference.
    if not expect("--maps", got, 1, "5 results compared, 1 differences", ":5: process 0: "):
        return
    lines = [line.split()[:2] for line in got.stdout.splitlines()[1:]]
    if lines != [["00400000-00402000", "r-xp"], ["01000000-01042000", "rw-p"],
                 ["7f0000000000-7f0000001000", "rw-p"], ["7f0000002000-7f0000003000", "r--p"],
                 ["7f0000003000-7f0000004000", "rw-p"], ["7ffc00000000-7ffc00021000", "rw-p"]]:
        fail("--maps: other areas", got.stdout)
    expect("--maps of something else", run(vmscope, "replay", "--maps", log, log), 125,
           f"{log}:1: this is not a line of")


# ---- calls of several threads in logs of strace -------------------------------------------------

def check_overlapping_calls(vmscope, work):
    """A place that a call was given is free: the munmap() that frees it has come first, wherever it ends."""
    anon = "PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"
    thread = "clone(child_stack=0x7f1000000000, flags=CLONE_VM|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD)"
    before = (f'1 execve("/bin/x", ["x"], 0x7ffc /* 1 vars */) = 0\n1 {thread} = 2\n'
              f"1 {thread} = 3\n"
              f"1 mmap(NULL, 16384, {anon}) = 0x7f0000000000\n")
    mapped = f"2 mmap(NULL, 8192, {anon}) = 0x7f0000002000\n"
    begun, ended = "1 munmap(0x7f0000000000, 16384 <unfinished ...>\n", "1 <... munmap resumed>) = 0\n"
    after = "2 mremap(0x7f0000002000, 8192, 4096, 0) = 0x7f0000002000\n"
    for name, lines, count in (
            ("the mmap is whole", begun + mapped + ended, 4),
            ("both overlap", f"2 mmap(NULL, 8192, {anon} <unfinished ...>\n" + begun +
             "2 <... mmap resumed>) = 0x7f0000002000\n" + ended, 4),
            ("two munmaps", begun.replace("16384", "12288") +
             "3 munmap(0x7f0000003000, 4096 <unfinished ...>\n" + mapped +
             "3 <... munmap resumed>) = 0\n" + ended, 5),
            ("an mremap", f"2 mmap(NULL, 4096, {anon}) = 0x7f0000020000\n"
             f"2 mmap(NULL, 4096, {anon.replace('READ', 'NONE')}) = 0x7f0000021000\n" + begun +
             "2 mremap(0x7f0000020000, 4096, 8192, MREMAP_MAYMOVE) = 0x7f0000002000\n" + ended, 6),
            ("the second page of an mremap", f"2 mmap(NULL, 4096, {anon}) = 0x7f0000020000\n"
             f"2 mmap(NULL, 4096, {anon.replace('READ', 'NONE')}) = 0x7f0000021000\n"
             "1 munmap(0x7f0000000000, 12288) = 0\n1 munmap(0x7f0000003000, 4096 <unfinished ...>\n"
             "2 mremap(0x7f0000020000, 4096, 8192, MREMAP_MAYMOVE) = 0x7f0000002000\n" + ended, 7)):
        log = write(os.path.join(work, "overlap.strace"), before + lines + after)
        got = run(vmscope, "replay", log)
        if not expect(f"overlapping calls: {name}", got, 0, f"{count} calls replayed", " 0 differences",
                      ": 0 of these showed later as"):
            continue
        areas = [line.split() for line in got.stdout.splitlines() if line.startswith("7f00000")]
        if [area[:2] for area in areas if area[1] == "r--p"] != [["7f0000002000-7f0000003000", "r--p"]]:
            fail(f"overlapping calls: {name}: {areas}", got.stdout)
    # What was put elsewhere says nothing of the order; nor does what another process was given.
    child = "1 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 9\n"
    for name, lines, count in (
            ("elsewhere", begun + mapped.replace("2000\n", "8000\n") +
             "2 mremap(0x7f0000000000, 16384, 16384, 0) = 0x7f0000000000\n" + ended, 4),
            ("below", begun + mapped.replace("0x7f0000002000\n", "0x7effffff0000\n") +
             "2 mremap(0x7f0000000000, 16384, 16384, 0) = 0x7f0000000000\n" + ended, 4),
            ("a fixed place", begun + "2 mmap(0x7f0000000000, 16384, "
             f"{anon.replace('PRIVATE', 'PRIVATE|MAP_FIXED')}) = 0x7f0000000000\n" + ended, 3),
            ("where it was", begun + "2 mremap(0x7f0000000000, 16384, 8192, 0) = 0x7f0000000000\n" +
             ended, 3),
            ("in another process", child + "9 munmap(0x7f0000000000, 16384) = 0\n" + begun +
             mapped.replace("2 mmap", "9 mmap") +
             "2 mremap(0x7f0000000000, 16384, 16384, 0) = 0x7f0000000000\n" + ended, 5)):
        log = write(os.path.join(work, "overlap.strace"), before + lines)
        got = run(vmscope, "replay", "--pid", "1", log)
        expect(f"overlapping calls: {name}", got, 0, f"{count} calls replayed", " 0 differences")
        if "7f0000000000" in got.stdout:
            fail(f"overlapping calls: {name}", got.stdout)


def check_place_in_use(vmscope, work):
    """No Linux puts a mapping where another one is: this log lacks a call."""
    anon = "MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"
    log = write(os.path.join(work, "in_use.strace"),
                f"12 mmap(NULL, 8192, PROT_READ, {anon}) = 0x7f0000000000\n"
                f"12 mmap(NULL, 4096, PROT_NONE, {anon}) = 0x7f0000001000\n")
    expect("a place in use", run(vmscope, "replay", log), 1, " 1 differences",
           ":2: process 12", "the kernel answered 0x7f0000001000, where something is mapped")


# ---- descriptors in logs of strace ---------------------------------------------------------------

def check_inherited_descriptor(vmscope, work):
    log = write(os.path.join(work, "inherited.strace"),
                '10 execve("/bin/a", ["a"], 0x7ffe /* 2 vars */) = 0\n'
                '10 openat(AT_FDCWD, "/lib/one", O_RDONLY) = 3\n'
                '10 openat(AT_FDCWD, "/lib/two", O_RDONLY) = 4\n'
                '10 fork() = 11\n'
                '11 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000000000\n'
                '11 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 4, 0) = 0x7f0000002000\n'
                '11 +++ exited with 0 +++\n10 +++ exited with 0 +++\n')
    got = run(vmscope, "replay", log)
    names = [line.split()[-1] for line in got.stdout.splitlines() if line.startswith("7f0000")]
    if got.returncode != 0 or names != ["/lib/one", "/lib/two"]:
        fail(f"inherited descriptors: {names}", got.stdout + got.stderr)


# ---- colours -------------------------------------------------------------------------------------

def on_terminal(args, **env):
    """What a run writes to standard output and standard error, which are a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(args, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL,
                          env={**os.environ, "TERM": "xterm", **env}):
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
    os.close(ours)
    return said.decode()


def check_color(vmscope, work):
    if not os.path.exists("/dev/ptmx"):
        print("SKIP in part: there are no terminals here")
        return
    steps = os.path.join(LOGS, "steps.log")
    explain = [vmscope, "explain", steps]
    plain = run(*explain).stdout
    heading = "\033[1mWhat the areas are, at the end\033[m"
    for what, got, colored in (
            ("a pipe", plain, False),
            ("--color=always", run(*explain, "--color=always").stdout, True),
            ("a terminal", on_terminal(explain), True),
            ("a terminal, --color=never", on_terminal(explain + ["--color=never"]), False),
            ("a terminal, NO_COLOR", on_terminal(explain, NO_COLOR="1"), False),
            ("a terminal without colours", on_terminal(explain, TERM="dumb"), False)):
        if (heading in got) != colored or ("\033" in got) != colored:
            fail(f"colours: {what}", got)
        elif re.sub("\033\\[[0-9;]*m|\r", "", got) != plain:
            fail(f"colours: {what}: another text", got)
    expect("--color=red", run(*explain, "--color=red"), 125, "'red' is not 'auto'")
    lines = read(steps).splitlines()
    missing = [line for line in lines if '"call":"munmap"' not in line]
    path = write(os.path.join(work, "missing.log"), "\n".join(missing))
    expect("a difference in colour", run(vmscope, "replay", "--color=always", "-q", path), 1,
           "\033[1;31mthe areas at the end are not those")


# ---- explain and draw ----------------------------------------------------------------------------

def check_explain(vmscope):
    steps = os.path.join(LOGS, "steps.log")
    expect("explain", run(vmscope, "explain", steps), 0, "at most ", "of the 65530 that",
           "Areas over time", "The calls that made areas", "not merged: ", "What the areas are",
           "Neighbours that are not one", "different flags", "e.g. at 7", "-> ")
    expect("explain: call sites", run(vmscope, "explain", os.path.join(LOGS, "frames.strace")), 0,
           "steps(", "are not in the log, and not counted")
    expect("explain: threads", run(vmscope, "explain", os.path.join(LOGS, "threads.strace")), 0,
           "  thread\n")
    expect("explain: one of several", run(vmscope, "explain", os.path.join(LOGS, "forks.log")), 0,
           "It is one of 7 address spaces")
    expect("explain: a running process", run(vmscope, "explain", str(os.getpid())), 0,
           f"Process {os.getpid()} (python", "What the areas are, now", "libc.so.6", "of the ")


def check_draw(vmscope, work):
    for name in sorted(STORED):
        for axis in ("calls", "time"):
            out = os.path.join(work, "out.svg")
            got = run(vmscope, "draw", f"--axis={axis}", "-o", out, os.path.join(LOGS, name))
            if axis == "time" and got.returncode == 125 and "tells no times" in got.stderr:
                continue
            if not expect(f"draw {name}", got, 0):
                continue
            root = xml.etree.ElementTree.parse(out).getroot()
            width, height = float(root.get("width")), float(root.get("height"))
            rects = [r for r in root.iter("{http://www.w3.org/2000/svg}rect")
                     if re.match(r"k\d+( before)?$", r.get("class"))]
            outside = [r.attrib for r in rects if float(r.get("x")) < 0 or float(r.get("y")) < 0 or
                       float(r.get("x")) + float(r.get("width")) > width + 1 or
                       float(r.get("y")) + float(r.get("height")) > height]
            if len(rects) < 15 or outside:
                fail(f"draw {name}: {len(rects)} areas, outside of the picture: {outside[:3]}")
    text = run(vmscope, "draw", "-o", "-", os.path.join(LOGS, "forks.log")).stdout
    for word in ("the fork", "number of areas", "[stack]", "[heap]", "libc.so.6", " free<",
                 'class="k3 before"', "more address spaces are not shown"):
        if word not in text:
            fail(f"draw forks.log: no '{word}' in the picture")


# ---- live ----------------------------------------------------------------------------------------

def check_live(vmscope, work, how, program, options):
    log, maps = os.path.join(work, "live.log"), os.path.join(work, "live.maps")
    traced = how(vmscope, ["-q", "-o", log, "--maps", maps, *options], program)
    what = f"{' '.join(program)[:60]} {' '.join(options)}"
    if traced.returncode not in (0, 3):
        fail(f"{what}: the trace failed ({traced.returncode})", traced.stderr)
        return
    got = run(vmscope, "replay", log)
    if expect(f"replay of {what}", got, 0, " 0 differences") and got.stdout != read(maps):
        fail(f"replay of {what}: other maps than those that the trace ended with")
    expect(f"explain {what}", run(vmscope, "explain", log), 0)
    expect(f"draw {what}", run(vmscope, "draw", "-o", os.path.join(work, "live.svg"), log), 0)


def check_injected(vmscope, work, program):
    log = os.path.join(work, "injected.log")
    traced = inject.start(vmscope, ["-q", "-o", log, "--verify=none"], program)
    number = next(r["n"] for r in map(json.loads, open(log)) if r.get("call") == "munmap")
    traced = inject.start(vmscope, ["-q", "-o", log, "--verify=none", f"--inject=drop:{number}"],
                          program)
    if traced.returncode == 0:
        expect("replay of a log with an injection", run(vmscope, "replay", "-q", log), 1,
               "--inject had hidden calls")


def check_live_strace(vmscope, work):
    """The areas inferred from strace's output are those that the program itself saw."""
    if not shutil.which("strace"):
        print("SKIP in part: strace is not installed: logs of it are not tested live")
        return
    log, maps = os.path.join(work, "live.strace"), os.path.join(work, "self.maps")
    program = (f"import mmap; kept = [mmap.mmap(-1, 5000 * i + 1) for i in range(20)]; "
               f"del kept[::3]; open({maps!r}, 'w').write(open('/proc/self/maps').read()); "
               f"import os; os._exit(0)")
    traced = run("strace", "-f", "-y", "-o", log, "/usr/bin/python3", "-c", program)
    if traced.returncode != 0:
        print(f"SKIP in part: strace cannot trace here: {traced.stderr[:500]}")
        return
    got = run(vmscope, "replay", log)
    if not expect("a live log of strace", got, 0, " 0 differences", " 0 malformed"):
        return
    seen = {tuple(line.split()[:2]) for line in read(maps).splitlines()}
    ours = [line.split() for line in got.stdout.splitlines() if re.match("[0-9a-f]+-", line)]
    known = {tuple(line[:2]) for line in ours if line[-1] != "[unknown]"}
    # The buffers for reading and writing the maps may have been freed or allocated meanwhile.
    if len(known) < 30 or len(known - seen) > 3:
        fail(f"a live log of strace: {len(known)} areas, of which the program did not see "
             f"{sorted(known - seen)}")


def check_sites(vmscope, work, program):
    log = os.path.join(work, "sites.log")
    got = run(vmscope, "trace", "-q", "--sites", "-o", log, "--", program)
    if "built without libdw" in got.stderr:
        print("SKIP in part: built without libdw: call sites are not tested")
        return
    if not expect("trace --sites", got, 0):
        return
    calls = [r for r in map(json.loads, open(log)) if r["type"] == "call"]
    mine = [r for r in calls if r.get("site", "").startswith("steps(main+0x")]
    if len(mine) < 20 or not all("site" in r for r in calls):
        fail(f"trace --sites: {len(mine)} of {len(calls)} calls have a site in main", read(log))
    expect("explain a log with sites", run(vmscope, "explain", log), 0, "steps(main+0x")
    expect("--sites without a log", run(vmscope, "trace", "--sites", "--", program), 125, "give -o")


def live(vmscope, binaries):
    def path(name):
        return os.path.join(binaries, name)

    with tempfile.TemporaryDirectory() as work:
        for options in (["--verify=each"], ["--verify=end"], ["--verify=5"]):
            check_live(vmscope, work, inject.start, [path("steps")], options)
            check_live(vmscope, work, inject.start, [path("meet"), "6"], options)
            check_live(vmscope, work, inject.start, ["/bin/sh", "-c",
                       "for i in 1 2 3; do echo $i | cat; done; (exit 3)"], options)
            check_live(vmscope, work, inject.attach, [path("meet"), "4", "1", "wait"], options)
            for how in ("parent", "child", "orphan"):
                check_live(vmscope, work, inject.attach, [path("heirs"), how], options)
        check_live(vmscope, work, inject.start, [path("calls")], ["--verify=end"])
        check_live(vmscope, work, inject.start, ["/usr/bin/python3", "-c", "import json, ctypes"],
                   ["--verify=each"])
        check_injected(vmscope, work, [path("steps")])
        check_sites(vmscope, work, path("steps"))
        check_live_strace(vmscope, work)


def stored(vmscope):
    with tempfile.TemporaryDirectory() as work:
        for name in sorted(STORED):
            check_stored(vmscope, name)
        check_standard_input(vmscope)
        check_kernel(vmscope)
        check_strace_keys(vmscope, work)
        check_overlapping_calls(vmscope, work)
        check_place_in_use(vmscope, work)
        check_until(vmscope)
        check_pid(vmscope)
        check_malformed(vmscope, work)
        check_malformed_strace(vmscope, work)
        check_falsified(vmscope, work)
        check_ends(vmscope, work)
        check_maps_option(vmscope, work)
        check_inherited_descriptor(vmscope, work)
        check_statuses(vmscope, work)
        check_explain(vmscope)
        check_color(vmscope, work)
        check_draw(vmscope, work)


def main():
    if sys.argv[1] == "stored":
        stored(sys.argv[2])
    else:
        inject.skip_if_refused(sys.argv[2])
        live(*sys.argv[2:])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
