#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vmscope report: what its data say of any moment is what "vmscope replay --until" says.

Usage: report.py data VMSCOPE [SEED]         the data, decoded here
       report.py browser VMSCOPE [SEED]      the page in headless Chromium: exit status 77 without
       report.py screenshot VMSCOPE LOG PNG  how it looks
"""
import base64
import difflib
import html
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import large

LOGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "logs")
NAMES = sorted(name for name in os.listdir(LOGS) if name.endswith((".log", ".strace")))
OPEN = -1
failures = 0


def wanted(what, is_so, *seen):
    global failures
    if not is_so:
        failures += 1
        print(f"FAILED: {what}: {str(seen)[:2000]}")


def run(*args):
    return subprocess.run(args, text=True, capture_output=True, timeout=240, errors="replace")


def make_report(vmscope, log, path, *options):
    got = run(vmscope, "report", *options, log, "-o", path)
    wanted(f"report of {log}", got.returncode == 0 and
           not (log.isdigit() and got.stderr), got.stderr)
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---- the data ------------------------------------------------------------------------------------

def numbers(text):
    value = shift = 0
    for byte in base64.b64decode(text, validate=True):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0
    assert shift == 0, "a number has no end"


def signed(value):
    return -(value + 1) // 2 if value % 2 else value // 2


def sums(values):
    total, found = 0, []
    for value in values:
        total += value
        found.append(total)
    return found


class Report:
    """The data of a page, as page_data.js decodes them."""

    def __init__(self, page):
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
        self.data = json.loads(text[1])
        self.lines = sums(numbers(self.data["lines"]))
        self.times = sums(map(signed, numbers(self.data["times"])))
        self.spaces = self.data["spaces"]
        for space in self.spaces:
            space["list"] = list(self.areas_of(space))

    def areas_of(self, space):
        n = numbers(space["areas"])
        start = begin = 0
        for first in n:
            start += signed(first)
            pages = next(n)
            begin += signed(next(n))
            lasts, what, offset, line, tid, cause, bits = (next(n) for _ in range(7))
            fixed, name = self.data["whats"][what].split("\t")
            perms, device, inode = fixed.split()
            text = (f"{start * 4096:08x}-{(start + pages) * 4096:08x} {perms} {offset * 4096:08x} "
                    f"{device} {inode} ")
            yield {"start": start, "begin": begin, "until": begin + lasts if lasts else OPEN,
                   "text": text.ljust(73) + name if name else text,
                   "line": self.lines[begin] - signed(line), "tid": space["pid"] + signed(tid),
                   "cause": self.data["causes"][cause], "kind": bits % 16,
                   "left": bits // 16 % 32, "right": bits // 512}

    def moment(self, line):
        return sum(at <= line for at in self.lines) - 1

    def state(self, line):
        """As state_of(): what each address space has after a line."""
        moment = self.moment(line)

        def is_there(what):
            return what["begin"] <= moment and (what["until"] == OPEN or moment < what["until"])

        return [f"# process {space['pid']}\n" + "".join(
            area["text"] + "\n" for area in sorted(filter(is_there, space["list"]),
                                                   key=lambda area: area["start"])) +
                (space["gate"] + "\n" if space["gate"] else "")
                for space in self.spaces if is_there(space) and not space["leftOut"]]


def state_of(vmscope, log, line):
    """What vmscope replay --until says of the address spaces that are there then."""
    got = run(vmscope, "replay", f"--until={line}", log)
    parts = re.split(r"^(?=# process )", got.stdout, flags=re.M)
    return [re.sub(r"^# process (\d+) .*", r"# process \1", part).rstrip("\n") + "\n"
            for part in parts if re.match(r"# process \d+ \(.*\) at its last call\n", part)]


def differences(got, expected):
    return "\n".join(difflib.unified_diff("\n".join(got).split("\n"),
                                          "\n".join(expected).split("\n"), "report", "replay",
                                          lineterm="", n=1))


def check_states(vmscope, log, report, chosen):
    for line in chosen:
        got, expected = report.state(line), state_of(vmscope, log, line)
        wanted(f"{log} after line {line}", got == expected, differences(got, expected))


def count_lines(log):
    with open(log, "rb") as file:
        return sum(1 for _ in file)


def check_log(vmscope, work, name, draw):
    log = os.path.join(LOGS, name)
    page = make_report(vmscope, log, os.path.join(work, name + ".html"))
    report = Report(page)
    chosen = draw.sample(range(1, count_lines(log) + 1), 12)
    check_states(vmscope, log, report, [line for line in chosen if line >= report.lines[0]])
    wanted(f"{name}: no network", not re.search(r'(src|href)=|url\(|@import|fetch\(|XMLHttp', page))
    summary = html.unescape(re.search(r"<noscript><pre>(.*?)</pre></noscript>", page, re.S)[1])
    wanted(f"{name}: the summary", all(
        f"{s['atEnd']:8} {s['peak']:8} {s['calls']:8}  {s['pid']} " in summary
        for s in report.spaces[:50]), summary)
    calls = run(vmscope, "replay", log).stderr
    wanted(f"{name}: calls", sum(row[0] for row in report.data["calls"]) ==
           sum(row[0] for row in report.data["threads"]) ==
           int(re.search(r" (\d+) calls replayed", calls)[1]), calls)
    wanted(f"{name}: all is there", report.data["summarised"] == "", report.data["summarised"])


def check_causes(vmscope, work):
    """Who made an area, with the whole stack, and why it was not merged."""
    log = os.path.join(LOGS, "frames.strace")
    report = Report(make_report(vmscope, log, os.path.join(work, "frames.html")))
    causes = [area["cause"] for area in report.spaces[-1]["list"]]
    wanted("causes", any(re.match(r"mmap anonymous.*\tsteps\(_start.*;steps\(main", cause)
                         for cause in causes), causes)
    log = os.path.join(LOGS, "steps.log")
    report = Report(make_report(vmscope, log, os.path.join(work, "steps.html")))
    with open(log) as file:
        records = [json.loads(line) for line in file]
    seen = 0
    for area in report.spaces[0]["list"]:
        record = records[area["line"] - 1]
        wanted("the line and thread of an area", record["tid"] == area["tid"], area, record)
        for side, at in (("left", area["start"] * 4096), ("right", None)):
            for event in record.get("events", []) if at else []:
                if event["kind"] == "no-merge" and int(event["at"], 16) == at:
                    seen += 1
                    wanted("why it was not merged", report.data["verdicts"][area[side]] ==
                           event["verdict"], area, event)
    wanted("reasons were compared", seen > 10, seen)


def many_forks(path, count):
    """A log with short-lived children: what they have does not fit."""
    with open(path, "w") as file:
        file.writelines(large.mappings(300))
        for i in range(count):
            child = 1000 + i
            at = 0x7e0000000000 + i * 0x10000
            file.write(f"10 {large.BEGIN + 100 + i}.000000 fork() = {child}\n"
                       f"{child} {large.BEGIN + 100 + i}.100000 mmap({at:#x}, 4096, PROT_READ, "
                       f"MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0) = {at:#x}\n"
                       f"{child} {large.BEGIN + 100 + i}.200000 +++ exited with 0 +++\n")
    return path


def check_size(vmscope, work, draw):
    """A page is no larger than it may be, says what it left out, and is right in what is there."""
    log = os.path.join(work, "large.strace")
    large.large_log(log, 20)
    forks = many_forks(os.path.join(work, "forks.strace"), 1500)
    for path, said in ((log, "Summarised: each moment is of "), (forks, " are left out")):
        name = os.path.join(work, "small.html")
        page = make_report(vmscope, path, name, "--size=1")
        report = Report(page)
        wanted("the size", os.path.getsize(name) <= 1000000, os.path.getsize(name))
        wanted("what was summarised is said", said in report.data["summarised"],
               report.data["summarised"])
        wanted("much is left", len(report.lines) > 1000 and
               sum(len(s["list"]) for s in report.spaces) > 2000,
               len(report.lines), sum(len(s["list"]) for s in report.spaces))
        left_out = {s["pid"] for s in report.spaces if s["leftOut"]}
        for line in draw.sample(report.lines, 3):
            expected = [part for part in state_of(vmscope, path, line)
                        if int(part.split()[2]) not in left_out]
            wanted(f"{path} after line {line}", report.state(line) == expected)
    got = run(vmscope, "report", "--size=10", log, "-o", os.path.join(work, "larger.html"))
    wanted("a larger one", got.returncode == 0 and
           os.path.getsize(os.path.join(work, "larger.html")) > 1000000)


MAPS_AND_WAITS = """
import mmap, sys
print("ready", flush=True)
for line in sys.stdin:
    kept = mmap.mmap(-1, int(line), flags=mmap.MAP_PRIVATE)
    print("mapped", flush=True)
"""


def may_trace(pid, vmscope):
    """Whether this system lets us follow another process."""
    got = run(vmscope, "explain", "--for=1", str(pid))
    return got.returncode == 0, got.stderr


def wait_until_traced(pid):
    for _ in range(400):
        with open(f"/proc/{pid}/status") as file:
            if "TracerPid:\t0\n" not in file.read():
                return
        time.sleep(0.05)


def map_areas(child):
    print(5 << 20, file=child.stdin, flush=True)
    child.stdout.readline()


def map_until(child, over):
    """Again and again: when exactly it is followed, nobody is told."""
    while not over.wait(0.05):
        map_areas(child)


SLOW_TO_HANDLE = ["strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=rt_sigaction",
                  "-e", "inject=rt_sigaction:delay_enter=200000",
                  "-E", "ASAN_OPTIONS=detect_leaks=0"]  # which cannot be done to what is traced


def check_stopped(vmscope, pid, page):
    """A signal ends the time early: the answer is about what was seen, and nobody goes on tracing. Even one
    that comes when the process is just followed, to a program that is slow to say that it handles it."""
    slow = SLOW_TO_HANDLE if shutil.which("strace") else []
    for number, how in ((signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGQUIT, slow)):
        os.unlink(page)
        with subprocess.Popen([*how, vmscope, "report", "--for=60", str(pid), "-o", page]) as follower:
            wait_until_traced(pid)
            follower.send_signal(number)
            status = follower.wait(60)
        with open(f"/proc/{pid}/status") as file:
            traced = "TracerPid:\t0\n" not in file.read()
        wanted("stopped early", status == 130 and not traced and os.path.getsize(page) > 1000,
               number, status, traced)


def check_killed(vmscope, child, page):
    """The process is killed meanwhile: what it had done by then is told, at once."""
    os.unlink(page)
    with subprocess.Popen([vmscope, "report", "--for=600", str(child.pid), "-o", page]) as follower:
        wait_until_traced(child.pid)
        map_areas(child)
        child.kill()
        status = follower.wait(90)
    wanted("killed meanwhile", status == 0 and os.path.getsize(page) > 1000, status)


def check_process(vmscope, work):
    """A running process: its areas as they are, or what it does for a while."""
    page = os.path.join(work, "process.html")
    os.environ["TMPDIR"] = os.path.join(work, "tmp")  # where nobody else writes
    os.mkdir(os.environ["TMPDIR"])
    with subprocess.Popen([sys.executable, "-c", MAPS_AND_WAITS], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        report = Report(make_report(vmscope, str(child.pid), page))
        with open(f"/proc/{child.pid}/maps") as file:
            maps = file.read()
        expected = [f"# process {child.pid}\n" + maps]
        got = report.state(report.lines[0])
        wanted("the areas of a process", got == expected, differences(got, expected))
        able, why = may_trace(child.pid, vmscope)
        if able:
            over = threading.Event()
            calls = threading.Thread(target=map_until, args=(child, over), daemon=True)
            calls.start()
            report = Report(make_report(vmscope, str(child.pid), page, "--for=3"))
            over.set()
            calls.join()
            wanted("what a process did", any(re.match("mmap anonymous, 5 MiB", area["cause"])
                                             for area in report.spaces[0]["list"]),
                   [area["cause"] for area in report.spaces[0]["list"]])
            check_stopped(vmscope, child.pid, page)
            check_killed(vmscope, child, page)
        else:
            print(f"SKIP in part: processes cannot be followed here: {why}")
        child.stdin.close()
    left = os.listdir(os.environ.pop("TMPDIR"))
    wanted("nothing is left behind", not left, left)


def check_errors(vmscope, work):
    steps = os.path.join(LOGS, "steps.log")
    page = os.path.join(work, "x.html")
    for what, said, args in (
            ("no file", "give a file for the page", [steps]), ("no log", "give a process, or a log", ["-o", page]),
            ("no process", "there is no such process", ["4194305", "-o", page]),
            ("a log is not followed", "is for a running process", [steps, "--for=1", "-o", page]),
            ("a process has no lines", "are for a log", ["1", "--until=3", "-o", page]),
            ("no size", "--size", ["--size=0", steps, "-o", page]),
            ("a log that is not there", "No such file", [os.path.join(work, "no"), "-o", page]),
            ("a directory", "Is a directory", [steps, "-o", work]),
            ("no log at all", "is neither a log of", [__file__, "-o", page])):
        got = run(vmscope, "report", *args)
        wanted(f"report: {what}", got.returncode == 125 and said in got.stderr, got)
    if os.path.exists("/dev/full"):
        got = run(vmscope, "report", steps, "-o", "/dev/full")
        wanted("report: a full disk", got.returncode == 125 and "No space left" in got.stderr, got)
    # Names are bytes, and may look like a part of the page.
    odd = os.path.join(work, "</title><script>alert(1)</script>@DATA@.strace")
    os.makedirs(os.path.dirname(odd), exist_ok=True)
    with open(odd, "wb") as file:
        file.write(b'1 openat(AT_FDCWD, "/a</script><!--\xff", O_RDONLY) = 3\n'
                   b"1 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000000000\n")
    page = make_report(vmscope, odd, page)
    wanted("an odd name", page.count("<script") == 2 and "/a\\u003c/script>\\u003c!--?" in page and
           Report(page).spaces[0]["list"], page[:300])


# ---- the picture of vmscope draw -----------------------------------------------------------------

def draw_picture(vmscope, work, lines):
    """The picture of a log: its size, its panels of rectangles as (x, y, width, height), texts."""
    log, svg = os.path.join(work, "drawn.strace"), os.path.join(work, "drawn.svg")
    if lines:
        with open(log, "w") as file:
            file.writelines(lines)
    got = run(vmscope, "draw", lines and log or os.path.join(work, "large.strace"), "-o", svg)
    wanted("draw", got.returncode == 0, got.stderr)
    with open(svg) as file:
        text = file.read()
    return (len(text), [tuple(map(float, found)) for found in re.findall(
        r'<rect class="k\d+(?: before)?" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" '
        r'height="([\d.]+)"', text)], re.findall(r'<text class="name"[^>]*>([^<]*)<', text))


def check_picture(vmscope, work):
    """As many areas as there may be, side by side: few rectangles, and no band without any."""
    size, rects, names = draw_picture(vmscope, work, list(large.mappings(40000, step=0.0001)))
    wanted("a picture of many areas", size < 2500000 and len(rects) < 20100, size, len(rects))
    right = max(x + width for x, _, width, _ in rects)
    at_end = sorted((y, y + height) for x, y, width, height in rects
                    if x + width > right - 1 and y > 50)
    reached = at_end[0][0]
    for top, bottom in at_end:
        wanted("no white band", top <= reached + 0.1, top, reached)
        reached = max(reached, bottom)
    wanted("all of it is covered", reached - at_end[0][0] > 700, at_end[0], reached)
    wanted("no names of what cannot be seen apart", not any("4 KiB" in name for name in names),
           names[:5])
    # check_size() has left a log with a process that maps and unmaps without end.
    size, rects, _ = draw_picture(vmscope, work, None)
    wanted("a picture of much that comes and goes", size < 4000000 and len(rects) < 20100, size,
           len(rects))


def check_transient(vmscope, work):
    """What was there for a moment has no name beside the picture; what stayed has one."""
    lines = ['1 1700000000.0 openat(AT_FDCWD, "/lib/short.so", O_RDONLY) = 3\n',
             '1 1700000000.0 openat(AT_FDCWD, "/lib/long.so", O_RDONLY) = 4\n',
             "1 1700000000.1 mmap(NULL, 409600, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000000000\n",
             "1 1700000000.11 munmap(0x7f0000000000, 409600) = 0\n",
             "1 1700000000.2 mmap(NULL, 40960, PROT_READ, MAP_PRIVATE, 4, 0) = 0x7f0000000000\n",
             "1 1700000010.0 brk(NULL) = 0x1000000\n"]
    names = " ".join(draw_picture(vmscope, work, lines)[2])
    wanted("names of what lasts", "long.so" in names and "short.so" not in names, names)


def vforked(path):
    """A process that is made by vfork, executes two programs, and makes another by fork."""
    with open(path, "w") as file:
        file.write('10 execve("/bin/sh", ["sh"], 0x7ffe00000000 /* 1 var */) = 0\n'
                   "10 brk(NULL) = 0x1000000\n"
                   "10 vfork( <unfinished ...>\n"
                   '11 execve("/bin/env", ["env"], 0x7ffe00000000 /* 1 var */) = 0\n'
                   "10 <... vfork resumed>) = 11\n"
                   "11 brk(NULL) = 0x2000000\n"
                   '11 execve("/bin/make", ["make"], 0x7ffe00000000 /* 1 var */) = 0\n'
                   "11 brk(NULL) = 0x3000000\n"
                   "11 fork() = 12\n"
                   '12 execve("/bin/cc", ["cc"], 0x7ffe00000000 /* 1 var */) = 0\n'
                   "12 brk(NULL) = 0x4000000\n"
                   "12 exit_group(0) = ?\n")


def makers(report):
    """By command: the command of what it was forked from, or made from by vfork or exec, if told."""
    command = {space["id"]: space["command"] for space in report.spaces}
    return {space["command"]: command.get(space["from"] or space["maker"]) for space in report.spaces}


def check_vfork(vmscope, work):
    """Whose child a process is that had no address space of its own until it executed a program."""
    log, page = os.path.join(work, "vfork.strace"), os.path.join(work, "vfork.html")
    vforked(log)
    found = makers(Report(make_report(vmscope, log, page)))
    wanted("strace: vfork", found["env"] == "sh" and found["make"] == "make", found)
    log = os.path.join(work, "vfork.log")
    # /bin/sh would not do: who executes the last command in its own process makes no other.
    traced = run(vmscope, "trace", "-q", "-o", log, "--", sys.executable, "-c",
                 "import subprocess; subprocess.run(['true'], close_fds=False)")
    if traced.returncode == 125:
        print(f"SKIP in part: nothing can be traced here: {traced.stderr}")
        return
    with open(log) as file:
        told = [json.loads(line) for line in file]
    if not any(record["type"] == "vfork" for record in told):
        print("SKIP in part: this Python does not use vfork")
        return
    report = Report(make_report(vmscope, log, page))
    space = {space["id"]: space for space in report.spaces}
    made = [s for s in report.spaces if s["command"] == "true"]
    wanted("trace: vfork", len(made) == 1 and made[0]["from"] == 0 and
           space[made[0]["maker"]]["command"].startswith("python"), report.spaces)


# ---- the browser ---------------------------------------------------------------------------------

# Runs in the page, after its scripts; what it finds is in the document that is printed.
SCRIPT = """
<pre id="results"></pre>
<script>
const results = {errors: [], states: {}};
window.addEventListener("error", (event) => results.errors.push(event.message));
try {
  const lines = LINES;
  for (const line of lines) results.states[line] = stateAt(line);
  const pixels = () => {
    const canvas = $("areas");
    const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let colored = 0;
    for (let i = 0; i < all.length; i += 4) colored += all[i] + all[i + 1] + all[i + 2] < 765;
    return colored / (all.length / 4);
  };
  drawAreas();
  drawCounts();
  results.drawn = view.drawn;
  results.skipped = view.skipped;
  results.pixels = pixels();
  zoom(0.25, 0.5, 0.5, false);
  zoom(0.5, 0.5, 0.5, true);
  drawAreas();
  results.zoomed = {x: view.x1 - view.x0, y: view.y1 - view.y0, drawn: view.drawn};
  $("areas").dispatchEvent(new WheelEvent("wheel", {deltaY: -100, clientX: 500, clientY: 300,
                                                    cancelable: true}));
  results.wheel = view.x1 - view.x0;
  $("all").click();
  results.all = [view.x0, view.x1, view.y0, view.y1];
  const some = view.space.list.find((area) => nameOf(area).startsWith("/") && area.until === OPEN);
  results.byName = some ? search(nameOf(some)).length : -1;
  results.sameName = some ? view.space.list.filter((a) => nameOf(a) === nameOf(some)).length : -1;
  const there = areasAt(view.space, view.moment)[0];
  results.byAddress = search(`0x${(there.start + 16).toString(16)}`).includes(there);
  results.found = $("found").textContent;
  results.listed = $("matches").children.length;
  results.nothing = search("no such name").length;
  search("");
  showArea(there);
  drawAreas();
  const box = boxOf(there, $("areas").width, $("areas").height);
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  results.hit = areaAt(x, y) === there;
  results.hover = $("hover").textContent;
  results.state = $("state").textContent;
  $("slider").value = 1;
  $("slider").dispatchEvent(new Event("input"));
  results.slider = [view.moment, $("when").textContent];
  results.tree = $("tree").children.length;
  results.rows = [$("calls").rows.length, $("threads").rows.length];
  results.hidden = $("page").hidden;
} catch (error) {
  results.errors.push(String(error.stack));
}
$("results").textContent = JSON.stringify(results);
</script>
</body>"""


def chromium():
    for name in "chromium", "chromium-browser", "google-chrome":
        if shutil.which(name):
            return shutil.which(name)
    return None


def browse(path, work, *options):
    """The document as the browser has it, and what it said."""
    got = run(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
              "--no-first-run", "--window-size=1300,1500", "--enable-logging=stderr", "--v=0",
              f"--user-data-dir={work}/browser", "--virtual-time-budget=10000", *options,
              f"file://{path}")
    said = [line for line in got.stderr.splitlines() if "CONSOLE" in line]
    return got.stdout, said, got


def check_page(vmscope, work, log, draw, *options):
    path = os.path.join(work, "page.html")
    page = make_report(vmscope, log, path, *options)
    report = Report(page)
    lines = draw.sample(report.lines, min(8, len(report.lines)))
    with open(path, "w") as file:
        file.write(page.replace("</body>", SCRIPT.replace("LINES", json.dumps(lines))))
    document, said, got = browse(path, work, "--dump-dom")
    wanted(f"{log}: nothing on the console", not said, said)
    match = re.search(r'<pre id="results">(.*?)</pre>', document, re.S)
    if not match or not match[1]:
        wanted(f"{log}: the page ran", False, got.stderr[-1500:], document[:300])
        return
    found = json.loads(html.unescape(match[1]))
    wanted(f"{log}: no error", found["errors"] == [], found["errors"])
    if found["errors"]:
        return
    left_out = {s["pid"] for s in report.spaces if s["leftOut"]}
    for line in lines:
        expected = [part for part in state_of(vmscope, log, line)
                    if int(part.split()[2]) not in left_out]
        wanted(f"{log}: the state after line {line}", found["states"][str(line)] ==
               "\n".join(expected), differences([found["states"][str(line)]], expected))
    wanted(f"{log}: it is drawn", found["drawn"] >= 5 and found["pixels"] > 0.05, found["pixels"])
    wanted(f"{log}: zoom", abs(found["zoomed"]["x"] - 0.25) < 1e-9 and
           abs(found["zoomed"]["y"] - 0.5) < 1e-9 and abs(found["wheel"] - 0.2) < 1e-9 and
           found["all"] == [0, 1, 0, 1], found["zoomed"], found["wheel"])
    wanted(f"{log}: search", found["byName"] == found["sameName"] and found["byAddress"] and
           found["nothing"] == 0 and found["found"].endswith(" areas") and found["listed"] > 0,
           found["byName"], found["sameName"], found["found"])
    wanted(f"{log}: hover", found["hit"] and "made by thread" in found["hover"], found["hover"])
    wanted(f"{log}: slider", found["slider"][0] == min(1, len(report.lines) - 1) and
           f"line {report.lines[found['slider'][0]]}" in found["slider"][1], found["slider"])
    wanted(f"{log}: tree and tables", found["tree"] == len(report.spaces) and
           found["rows"][0] == len(report.data["calls"]) + 1 and not found["hidden"], found)


def areas_again(path):
    """As vmscope watch writes it: areas that are read again, and a number that is used twice."""
    with open(os.path.join(LOGS, "forks.log")) as file, open(path, "w") as again:
        lines = file.readlines()
        for line in lines:
            again.write(line * (2 if json.loads(line)["type"] == "space" else 1))
        again.writelines(line for line in lines if json.loads(line)["type"] == "space")


LAYOUT = """<pre id="results"></pre><script>
const list = document.querySelector("nav"), chosen = view.space.button.getBoundingClientRect();
const frame = list.getBoundingClientRect(), bounds = $("areas").getBoundingClientRect();
$("results").textContent = JSON.stringify({
  pid: view.space.pid, scrolls: list.scrollHeight > list.clientHeight,
  seen: chosen.top >= frame.top && chosen.bottom <= frame.bottom + 1,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  share: bounds.width / document.documentElement.clientWidth,
  bottom: $("slider").getBoundingClientRect().bottom / window.innerHeight});
</script></body>"""


def check_layout(vmscope, work):
    """Wide and narrow: the picture has most of the width, and the process that it shows is in view."""
    log, path = os.path.join(work, "many.strace"), os.path.join(work, "layout.html")
    forks = "".join(f"10 fork() = {child}\n{child} brk(NULL) = 0x55550000{child % 10}000\n"
                    for child in range(100, 250))
    with open(log, "w") as file:
        file.write(forks + "".join(line.replace("10 ", "249 ", 1) for line in large.mappings(500)))
    page = make_report(vmscope, log, path)
    with open(path, "w") as file:
        file.write(page.replace("</body>", LAYOUT))
    for size, share in (("1600,1000", 0.6), ("480,1400", 0.85)):
        document, said, got = browse(path, work, f"--window-size={size}", "--dump-dom")
        match = re.search(r'<pre id="results">(.*?)</pre>', document, re.S)
        found = json.loads(html.unescape(match[1])) if match and match[1] else {}
        wanted(f"layout {size}", found and found["pid"] == 249 and found["scrolls"] and found["seen"]
               and found["overflow"] <= 0 and found["share"] > share and found["bottom"] < 1, found,
               said, got.stderr[-500:])


TREE = """<pre id="results"></pre><script>
$("results").textContent = JSON.stringify([...$("tree").children].map((item) =>
  [item.textContent.replace(/ \\(.*/, ""), parseInt(item.firstChild.style.paddingLeft)]));
</script></body>"""


def check_tree(vmscope, work):
    """What was made by fork, by vfork and by exec stands below what has made it."""
    log, path = os.path.join(work, "vfork.strace"), os.path.join(work, "tree.html")
    vforked(log)
    page = make_report(vmscope, log, path)
    with open(path, "w") as file:
        file.write(page.replace("</body>", TREE))
    document, said, got = browse(path, work, "--dump-dom")
    match = re.search(r'<pre id="results">(.*?)</pre>', document, re.S)
    found = json.loads(html.unescape(match[1])) if match and match[1] else []
    wanted("the tree", found == [["• 10 sh", 4], ["└ 11 env", 14], ["→ 11 make", 24], ["└ 12 make", 34],
                                 ["→ 12 cc", 44]], found, said, got.stderr[-500:])


def browser(vmscope, draw):
    if not chromium():
        print("SKIP: there is no chromium here (./run proofs installs it)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        for name in "forks.log", "frames.strace":
            check_page(vmscope, work, os.path.join(LOGS, name), draw)
        log = os.path.join(work, "again.log")
        areas_again(log)
        check_page(vmscope, work, log, draw)
        log = os.path.join(work, "large.strace")
        large.large_log(log, 9)
        check_page(vmscope, work, log, draw, "--size=2")
        check_layout(vmscope, work)
        check_tree(vmscope, work)


def screenshot(vmscope, log, png):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "page.html")
        make_report(vmscope, log, path)
        print(browse(path, work, f"--screenshot={png}")[1])


def main():
    how, vmscope = sys.argv[1:3]
    if how == "screenshot":
        screenshot(vmscope, *sys.argv[3:])
        return
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    if how == "browser":
        browser(vmscope, draw)
    else:
        with tempfile.TemporaryDirectory() as work:
            for name in NAMES:
                check_log(vmscope, work, name, draw)
            check_causes(vmscope, work)
            check_size(vmscope, work, draw)
            check_picture(vmscope, work)
            check_transient(vmscope, work)
            check_vfork(vmscope, work)
            check_process(vmscope, work)
            check_errors(vmscope, work)
    if not failures:
        print("all as vmscope replay --until has it")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
