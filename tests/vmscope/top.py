#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vmscope top: what its tables say of a process whose areas are known, and its screen in a terminal.

Usage: top.py VMSCOPE
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

LIMIT = 60  # seconds: only for what hangs

# Maps as many areas as each line says, which cannot be merged, and answers each line.
PROGRAM = r"""
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(15, b"top (test) 1", 0, 0, 0)
file = os.memfd_create("red\x1b[31m")
os.truncate(file, 1 << 16)
kept = [mmap.mmap(file, 1 << 16, flags=mmap.MAP_PRIVATE)]
print("ready", flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        prot = mmap.PROT_READ if len(kept) % 2 else mmap.PROT_READ | mmap.PROT_WRITE
        kept.append(mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE, prot=prot))
    print("done", flush=True)
"""


def wanted(what, is_so, *seen):
    if not is_so:
        sys.exit(f"top: {what}: {seen}")


class Watched:
    """A process whose areas grow when it is told to."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        wanted("the watched process is ready", self.process.stdout.readline() == "ready\n")

    def map(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        wanted("it has mapped", self.process.stdout.readline() == "done\n")

    def maps(self):
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            lines = maps.read().splitlines()
        # The kernel does not count this against vm.max_map_count: it is no area.
        return [line for line in lines if not line.endswith(" [vsyscall]")]

    def end(self):
        self.process.kill()
        self.process.wait()


def run(vmscope, *options, **more):
    return subprocess.run([vmscope, "top", *options], text=True, capture_output=True,
                          timeout=LIMIT, check=False, **more)


def tables(text):
    """The tables of a batch: (title, heads, rows as lists of words)."""
    return [(table[0], table[1].split(), [line.split() for line in table[2:]])
            for table in (part.splitlines() for part in text.strip().split("\n\n"))]


def areas_of(rows, pid):
    """The row of a process; None: there is none."""
    return next((row for row in rows if row[0] == str(pid)), None)


def check_processes(vmscope, watched):
    result = run(vmscope, "--batch", "-n", "1")
    title, heads, rows = tables(result.stdout)[0]
    wanted("the heads", heads[:3] == ["PID", "AREAS", "%LIMIT"], heads)
    wanted("the sum", re.match(rf"{len(rows)} processes?: {sum(int(r[1]) for r in rows)} areas",
                               title), title)
    row = areas_of(rows, watched.pid)
    wanted("the number of areas is that of maps", row and int(row[1]) == len(watched.maps()), row)
    wanted("a first look knows no rate", row[3:5] == ["-", "-"], row)
    wanted("a command's name may hold blanks and brackets", " ".join(row[6:]) == "top (test) 1",
           row)
    counts = [int(row[1]) for row in rows]
    wanted("most areas first", counts == sorted(counts, reverse=True), counts)
    names = [" ".join(row[6:]) for row in
             tables(run(vmscope, "-b", "-n", "1", "--sort=name").stdout)[0][2]]
    wanted("sorted by name", [n.encode() for n in names] == sorted(n.encode() for n in names), names)
    few = tables(run(vmscope, "-b", "-n", "1", "--rows", "2").stdout)[0][2]
    wanted("at most so many rows", len(few) == 2, few)


def check_rates(vmscope, watched):
    """It gains 500 areas between two looks, or partly before one: the rate is that of some second about then."""
    looks = tables(run(vmscope, "-b", "-n", "2", "-d", "0.1").stdout)
    wanted("two tables", len(looks) == 2, looks)
    tool = subprocess.Popen([vmscope, "top", "-b", "-d", "0.5", "--sort=gained"],
                            stdout=subprocess.PIPE, text=True)
    first = tool.stdout.readline()
    areas = len(watched.maps()) + 500
    watched.map(500)
    until, row = time.monotonic() + LIMIT, []
    while row[:2] != [str(watched.pid), str(areas)]:
        row = tool.stdout.readline().split()
        wanted("the areas gained", time.monotonic() < until, row, areas)
    tool.kill()
    tool.wait()
    rate = float(row[3])
    # The looks are 0.5 s apart, or more on a busy machine.
    wanted("the rate", 0 < rate <= 1000, row)
    limit = int(re.search(r"may have (\d+)", first).group(1))
    left = (limit - areas) / rate
    unit = {"s": 1, "m": 60, "h": 3600}[row[4][-1]]
    wanted("when it is full", abs(left - float(row[4][:-1]) * unit) <= 0.02 * left + unit / 2, row, left)


def check_kinds(vmscope, watched):
    """The kinds of one process: each area is in one of them, and names cannot write escapes."""
    text = run(vmscope, "-b", "-n", "1", str(watched.pid)).stdout
    title, heads, rows = tables(text)[0]
    kinds = {" ".join(row[4:]): int(row[0]) for row in rows}
    maps = [line.split(None, 5) for line in watched.maps()]
    wanted("the heads", heads == ["AREAS", "%", "+/S", "SIZE", "KIND"], heads)
    wanted("all areas", sum(kinds.values()) == len(maps) and f": {len(maps)} areas" in title, title)
    for name, perms in ("(anonymous, write)", "rw"), ("(anonymous, read)", "r-"):
        count = sum(1 for area in maps if len(area) < 6 and area[1].startswith(perms))
        wanted(name, kinds.get(name) == count, kinds)
    wanted("no escape is passed on", "\x1b" not in text and
           kinds.get("/memfd:red?[31m (deleted)") == 1, text)


class Log:
    """A log as vmscope writes it, of the calls that the test says."""

    def __init__(self, directory, pid, name="log"):
        self.path, self.pid = os.path.join(directory, name), pid
        self.write({"type": "start", "log": "vmscope", "version": 1, "attach": pid})

    def write(self, record, end="\n"):
        with open(self.path, "a", encoding="utf-8") as log:
            log.write(json.dumps(record) + end)

    def call(self, name, args, result, site=None, pid=None, end="\n"):
        record = {"type": "call", "pid": pid or self.pid, "tid": self.pid, "call": name,
                  "args": [hex(a) for a in args], "result": result}
        self.write(record | ({"site": site} if site else {}), end)


def check_sites(vmscope, watched, directory):
    """Each area is its last maker's, as far as a log tells that is still being written."""
    def seen():
        title, heads, rows = tables(run(vmscope, "-b", "-n", "1", "-l", log.path,
                                        str(watched.pid)).stdout)[0]
        wanted("the heads of call sites", heads == ["AREAS", "%", "+/S", "SIZE", "CALL", "SITE"], heads)
        sites = {" ".join(row[4:]): int(row[0]) for row in rows}
        wanted("all areas are somebody's", sum(sites.values()) == len(watched.maps()), title, sites)
        return sites

    log = Log(directory, watched.pid)
    unknown = "(made before the log, or by no call that it tells of)"
    wanted("no calls", seen() == {unknown: len(watched.maps())}, seen())
    areas = [tuple(int(a, 16) for a in line.split()[0].split("-")) for line in watched.maps()
             if len(line.split()) == 5][:20]
    for start, end in areas:
        log.call("mmap", [0, end - start - 1, 3, 0x22, 0xffffffff, 0], hex(start), "a(one+0x1)")
    log.call("mmap", [0, 1 << 46], hex(1 << 12), "another(process+0x1)", pid=1)
    log.call("mmap", [0, 1 << 46], "-ENOMEM", "it(failed+0x1)")
    wanted("a call site", seen() == {unknown: len(watched.maps()) - 20, "a(one+0x1): mmap": 20}, seen())
    # The last says no more; what lies behind it is the first's; an area that was moved is the mover's.
    log.call("mprotect", [areas[0][0], areas[0][1] - areas[0][0], 1], "0", "b(two+0x2)")
    log.call("munmap", [areas[1][0], 1], "0", "b(three+0x3)")
    log.call("mremap", [areas[1][0], 4096, areas[2][1] - areas[2][0], 1], hex(areas[2][0]))
    wanted("who was last", seen() == {unknown: len(watched.maps()) - 19, "a(one+0x1): mmap": 17,
                                      "b(two+0x2): mprotect": 1,
                                      "(its site is not known): mremap": 1}, seen())
    start, end = areas[3]
    tool = subprocess.Popen([vmscope, "top", "-b", "-d", "0.1", "-l", log.path, str(watched.pid)],
                            stdout=subprocess.PIPE, text=True)
    tool.stdout.readline()
    log.call("mmap", [0, end - start], hex(start), "c(four+0x4)", end="")  # a line in two parts
    with open(log.path, "a", encoding="utf-8") as text:
        text.write("\n")
    until = time.monotonic() + LIMIT
    while not (line := tool.stdout.readline()).endswith("c(four+0x4): mmap\n"):
        wanted("the log has grown", line and time.monotonic() < until, line)
    wanted("what the log has gained", line.split()[0] == "1", line)
    tool.kill()
    tool.wait()
    log.write({"type": "exec", "pid": watched.pid})
    wanted("another program", seen() == {unknown: len(watched.maps())}, seen())
    for path, said in ((os.path.join(directory, "none"), "No such file"),
                       (__file__, "none that vmscope has written"), ("/dev/null", "none that vmscope")):
        result = run(vmscope, "-b", "--log", path, str(watched.pid))
        wanted(f"a log that is none: {path}", result.returncode == 125 and said in result.stderr, result)
    return log


def check_other_log(vmscope, watched, directory):
    """A log of other processes alone is no answer, and that is said, until it tells of this one."""
    def seen():
        result = run(vmscope, "-b", "-n", "1", "-l", log.path, str(watched.pid))
        return {" ".join(row[4:]) for row in tables(result.stdout)[0][2]}, result.stderr

    log = Log(directory, 1, "other")
    log.call("mmap", [0, 1 << 46], hex(1 << 12), "another(process+0x1)")
    rows, said = seen()
    wanted("another process's log", rows == {"(the log does not tell of this process)"} and
           f"{log.path} does not tell of process {watched.pid}" in said, rows, said)
    log.write({"type": "thread", "pid": watched.pid})
    rows, said = seen()
    wanted("its log, too", rows == {"(made before the log, or by no call that it tells of)"} and
           not said, rows, said)


def check_refusals(vmscope, watched):
    for arguments, said in ((["-d", "0"], "--delay"),
                            (["-s", "speed"], "speed"), (["-l", "x"], "give its PID"), (["-n", "2"], "--batch"),
                            (["1", "2"], "one process too many"), (["x"], "PID"),
                            (["--batch", str(2 ** 22 + 1)], "no such process")):
        result = run(vmscope, *arguments)
        wanted(f"refused: {arguments}", result.returncode == 125 and said in result.stderr, result)
    result = run(vmscope, stdin=subprocess.DEVNULL)
    wanted("no terminal", result.returncode == 125 and "--batch" in result.stderr, result)
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = subprocess.run([vmscope, "top", "-b"], stdout=full, stderr=subprocess.PIPE,
                                text=True, timeout=LIMIT, check=False)
    wanted("a full disk", result.returncode == 125 and "No space" in result.stderr, result)
    if os.getuid() == 0:
        try:
            result = run(vmscope, "-b", "-n", "1", user=65534, group=65534, extra_groups=[])
        except PermissionError:
            return  # the build directory is not for others
        wanted("what may not be looked at is counted", result.returncode == 0 and
               re.search(r"; \d+ process(es)? (is|are) not shown", result.stdout.splitlines()[0]) and
               not areas_of(tables(result.stdout)[0][2], watched.pid), result)
        result = run(vmscope, "-b", str(watched.pid), user=65534, group=65534, extra_groups=[])
        wanted("another user's process", result.returncode == 125 and
               "another user's" in result.stderr, result)


def check_end(vmscope):
    """A process that ends while it is looked at."""
    watched = Watched()
    tool = subprocess.Popen([vmscope, "top", "-b", "-d", "0.1", str(watched.pid)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wanted("the first table", str(watched.pid) in tool.stdout.readline())
    watched.end()
    _, error = tool.communicate(timeout=LIMIT)
    wanted("its end is told", tool.returncode == 125 and "no such process" in error, error)


# ---- the screen ----------------------------------------------------------------------------------

class Terminal:
    """vmscope top in a terminal of 24 lines; what it writes, without its escapes."""

    def __init__(self, vmscope, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(vmscope, [vmscope, "top", *arguments])
        self.resize(24, 100)
        self.raw = ""

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        try:
            return os.read(self.fd, 65536).decode(errors="replace") if ready else None
        except OSError:  # it has ended
            return ""

    def until(self, text, again=""):
        """Reads until @text has been written since the last call; presses @again until then."""
        seen, end = "", time.monotonic() + LIMIT
        while time.monotonic() < end:
            got = self.read(0.5)
            if got is None or text not in seen:
                self.keys(again + "\x0c")  # curses writes what has changed: this asks for the rest
            if got == "":
                break
            seen += got or ""
            self.raw += got or ""
            if text in re.sub(r"\x1b(\[[?0-9;]*[A-Za-z]|[()][A-Z0-9]|[=>])", "", seen):
                return
        wanted(f"the screen shows '{text}'", False, seen)

    def keys(self, text):
        os.write(self.fd, text.encode())

    def status(self):
        while (got := self.read(LIMIT)) not in ("", None):
            self.raw += got
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def check_screen(vmscope):
    watched = Watched()
    terminal = Terminal(vmscope, "-d", "0.1")
    terminal.until("sorted by areas")
    terminal.keys("ssss")
    terminal.until("sorted by name")
    terminal.keys(" ")
    terminal.until("PAUSED")
    terminal.keys(" ")
    terminal.resize(10, 60)
    terminal.keys("\x1b[6~\x1b[5~jjkk")  # page down, page up, and the letters
    # The process under the bar may have ended: then another is.
    terminal.until("KIND", again="\r")
    terminal.keys("\x1b")
    terminal.until("FULL IN")
    terminal.keys("q")
    wanted("q ends it", terminal.status() == 0)
    wanted("the terminal is as before", "\x1b[?1049l" in terminal.raw, terminal.raw[-200:])

    terminal = Terminal(vmscope, "-d", "0.1", str(watched.pid))
    terminal.until(f"process {watched.pid} (top (test) 1): {len(watched.maps())} areas")
    terminal.resize(24, 50)
    terminal.keys("e")
    terminal.until("any other key: back")
    # "Process PID (NAME): N areas: N% of the N that vm.max_map_count allows.": the end is not on
    # the screen.
    terminal.until("max_map_count allows.", again="l")
    terminal.until("Process", again="h")
    terminal.keys("x")
    terminal.until("sorted by areas")
    terminal.keys("c")
    terminal.until("shows call sites")
    watched.map(300)
    terminal.until("+")
    watched.end()
    terminal.until("it has ended")
    terminal.keys("q")
    wanted("q ends it after that", terminal.status() == 0)


def has_screen(vmscope):
    screen, terminal = pty.openpty()
    without = subprocess.run([vmscope, "top", "999999999"], stdin=terminal, stdout=terminal,
                             stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT).stderr
    os.close(screen)
    os.close(terminal)
    return "without ncurses" not in without


def check_site_keys(vmscope, watched, log):
    log.call("mmap", [0, 1 << 47], hex(1 << 12), "a(one+0x1)")
    terminal = Terminal(vmscope, "-d", "0.1", "--log", log.path, str(watched.pid))
    terminal.until("CALL SITE")
    terminal.until("a(one+0x1): mmap")
    terminal.keys("c")
    terminal.until("(anonymous, write)")
    terminal.keys("c")
    terminal.until("a(one+0x1): mmap")
    terminal.keys("q")
    wanted("q ends the view of call sites", terminal.status() == 0)


def main():
    vmscope = sys.argv[1]
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    watched = Watched()
    watched.map(1000)
    check_processes(vmscope, watched)
    check_rates(vmscope, watched)
    check_kinds(vmscope, watched)
    check_refusals(vmscope, watched)
    with tempfile.TemporaryDirectory() as directory:
        log = check_sites(vmscope, watched, directory)
        check_other_log(vmscope, watched, directory)
        if has_screen(vmscope):
            check_site_keys(vmscope, watched, log)
    watched.end()
    check_end(vmscope)
    if has_screen(vmscope):
        check_screen(vmscope)
    else:
        print("top: the screen was not tried: vmscope was built without ncurses")


main()
