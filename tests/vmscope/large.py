#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Logs that are large, of another version, not whole, or of a process that comes near its limit.

Usage: large.py VMSCOPE MANY REFUSALS   what must hold
       large.py measure VMSCOPE [MB [LOG]]   how fast a log of strace is read, and in how much
           memory: one that is made up, or LOG (strace -f -ttt), repeated by other processes, later
"""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import inject

LOGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "logs")
BEGIN = 1700000000  # what looks like a time of -ttt
ANON = "MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"
failures = 0


def wanted(what, is_so, *seen):
    global failures
    if not is_so:
        failures += 1
        print(f"FAILED: {what}: {str(seen)[:3000]}")


def run(*args, **options):
    return subprocess.run(args, text=True, capture_output=True, timeout=2 * inject.LIMIT, **options)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def mappings(count, start=0, step=0.1):
    """Lines of strace: mappings that cannot be merged, from an address downwards."""
    for i in range(count):
        yield (f"10 {BEGIN + start * step + i * step:.6f} mmap(NULL, 4096, "
               f"{'PROT_NONE' if i % 2 else 'PROT_READ'}, {ANON}) = "
               f"{0x7f0000000000 - (start + i) * 4096:#x}\n")


# ---- other versions, and what is skipped ---------------------------------------------------------

def check_versions(vmscope, work):
    with open(os.path.join(LOGS, "steps.log")) as file:
        lines = file.readlines()
    first = json.loads(lines[0])

    def replay(command, text):
        options = ["-o", "-"] if command == "draw" else []
        return run(vmscope, command, *options, write(os.path.join(work, "other.log"), text))

    newer = json.dumps({**first, "version": 2}) + "\n" + "".join(lines[1:])
    for command in "replay", "explain", "draw":
        got = replay(command, newer)
        wanted(f"{command}: a newer version is refused", got.returncode == 125 and
               not got.stdout and "differences" not in got.stderr and
               "it is a log of version 2, and this vmscope reads version 1" in got.stderr, got)
    got = replay("replay", "".join(lines[1:]))
    wanted("no version is refused", got.returncode == 125 and "does not tell the version" in
           got.stderr and "differences" not in got.stderr, got)

    without = json.dumps({k: v for k, v in first.items() if k != "revision"}) + "\n"
    for command in "replay", "explain", "draw":
        got = replay(command, without + "".join(lines[1:]))
        wanted(f"{command}: no revision is refused", got.returncode == 125 and not got.stdout and
               "its first record has no revision" in got.stderr, got)

    # One that ends at once is a log, in which there is nothing.
    for command, *options in (["replay"], ["explain"], ["draw", "-o", "-"], ["at"], ["report", "-o", "-"],
                              ["export", "-f", "folded"]):
        path = write(os.path.join(work, "other.log"), lines[0])
        got = run(vmscope, command, *options, path, *(["1"] if command == "at" else []))
        wanted(f"{command}: only its start", got.returncode == 125 and not got.stdout and
               "is a log of vmscope that tells of no address space: it ends before" in got.stderr
               and "neither" not in got.stderr, got)
    got = run(vmscope, "replay", "--until=1", write(os.path.join(work, "other.log"), "".join(lines)))
    wanted("until its start", got.returncode == 125 and "no address space until there" in got.stderr,
           got)

    # What an older one cannot know is passed over, and told.
    later = json.dumps({**first, "revision": 99}) + "\n" + '{"type":"later"}\n' * 3
    got = replay("replay", later + "".join(lines[1:]))
    wanted("a later revision", got.returncode == 0 and "3 records are of types that a later" in
           got.stderr and " 0 differences\n" in got.stderr, got)
    # What none knows is wrong, and so is what follows a record on its line.
    for what, wrong in (("an unknown type", '{"type":"calll"}\n'),
                        ("two records on a line", lines[5].strip() + lines[6])):
        got = replay("replay", lines[0] + wrong + "".join(lines[1:]))
        wanted(what, got.returncode == 1 and ":2: skipped: " in got.stderr and
               "1 malformed, which were skipped" in got.stderr and
               "0 differences in the other lines" in got.stderr, got)
    for command, *options in (["replay"], ["explain"], ["draw", "-o", "-"], ["at"], ["report", "-o", "-"],
                              ["export", "-f", "csv"]):
        path = write(os.path.join(work, "other.log"), "".join(lines[:-1]))
        got = run(vmscope, command, *options, path, *(["9"] if command == "at" else []))
        wanted(f"{command}: a log without its end", got.returncode == 0 and
               got.stderr.count("the log has no end") == 1, got)
    got = replay("replay", "".join(lines))
    wanted("a whole log", got.returncode == 0 and "no end" not in got.stderr, got)

    # What follows the table of strace -C is another log.
    calls = list(mappings(4))
    table = ("% time     seconds  usecs/call     calls    errors syscall\n"
             "------ ----------- ----------- --------- --------- ----------------\n"
             "100.00    0.000012           3         4           mmap\n"
             "------ ----------- ----------- --------- --------- ----------------\n"
             "100.00    0.000012           3         4           total\n")
    got = replay("replay", "".join(calls[:2]) + table + "".join(calls[2:]))
    wanted("calls behind a table", got.returncode == 0 and " 4 calls replayed" in got.stderr and
           " 0 malformed" in got.stderr, got)


# ---- segments of System V -----------------------------------------------------------------------

EXECVE = '10 execve("/bin/x", ["x"], 0x7ffc0 /* 1 var */) = 0\n'
MAPPED = r"7effff000000-7effff%s rw-s 00000000 00:00 7 +/SYSV%08x \(deleted\)\n"


def check_segments(vmscope, work):
    """How large an attached segment is is told, or said not to be; what then follows is no difference."""
    attach = "10 shmat(7, NULL, 0) = 0x7effff000000\n"
    # Where libvmspace, which does not know the segment, would have put it, is something else.
    later = ("10 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7efffeff0000\n"
             "10 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7efffefe0000\n")
    told = {"shmget(IPC_PRIVATE, 8192, IPC_CREAT|0600) = 7\n": ("002000", 0),
            "shmget(0x1234, 12288, IPC_CREAT|IPC_EXCL|0600) = 7\n": ("003000", 0x1234),
            "shmctl(7, IPC_STAT, {shm_perm={uid=0, gid=0, mode=0600, key=305419896, cuid=0, cgid=0}, "
            "shm_segsz=16384, shm_cpid=1}) = 0\n": ("004000", 305419896)}
    path = os.path.join(work, "segments.strace")
    for line, (end, key) in told.items():
        got = run(vmscope, "replay", write(path, EXECVE + "10 " + line + attach))
        wanted(f"a segment: {line}", got.returncode == 0 and "how large" not in got.stderr and
               re.search(MAPPED % (end, key), got.stdout), got)
    for line in ("shmget(0x1234, 8192, IPC_CREAT|0600) = 7\n", "shmget(0x1234, 0, 0) = 7\n",
                 "shmget(0x1234, 4096, 0) = 7\n", "getpid() = 10\n"):
        write(path, EXECVE + "10 " + line + attach + later)
        for command in "replay", "explain":
            got = run(vmscope, command, path)
            wanted(f"{command}: a segment that there was: {line}", got.returncode == 0 and
                   got.stderr.count(":3: shmat of process 10: how large this segment is is not told")
                   == 1 and "SYSV" not in got.stdout, got)
    # All areas are known but that one.
    maps = write(os.path.join(work, "segments.maps"),
                 "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n")
    for text, status in ((attach + later, 0), (later, 1)):
        got = run(vmscope, "replay", f"--maps={maps}", write(path, text))
        wanted(f"what the segment explains: {text}", got.returncode == status, got)


# ---- names in stacks -----------------------------------------------------------------------------

def check_names(vmscope, work):
    """strace names the last symbol before a place, even if it ends before: then the place is told."""
    source = write(os.path.join(work, "few.c"), "int few(int a) { return a + 1; }\n"
                   "static int __attribute__((noinline, used)) hidden(int a) { return few(a) * 7; }\n"
                   "int last(int a) { return hidden(a) + 2; }\n")
    library = os.path.join(work, "few.so")
    try:
        run("cc", "-O1", "-shared", "-fPIC", "-s", "-o", library, source, check=True)
        symbols = run("nm", "-D", "-S", library, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"SKIP in part: no compiler or nm here: {error}")
        return
    value, size = (int(x, 16) for x in re.search(r"^(\S+) (\S+) T few$", symbols, re.M).groups())
    for offset, moved, expected in ((size - 1, 0, f"few.so(few+{size - 1:#x})"),
                                    (size, 0, f"few.so(+{value + size:#x})"),
                                    (0x8823, 0, f"few.so(+{value + 0x8823:#x})"),
                                    (0x8823, 16, "few.so(few+0x8823)")): # another file's
        frame = f" > {library}(few+{offset:#x}) [{value + offset + moved:#x}]\n"
        got = run(vmscope, "explain", write(os.path.join(work, "few.strace"),
                                            next(mappings(1)) + frame))
        wanted(f"few+{offset:#x}", f" {expected}: mmap anonymous" in got.stdout, got)


# ---- progress, and interruption ------------------------------------------------------------------

def check_progress(vmscope, work):
    """On a terminal alone. Slowly written, so that it is slow on any machine."""
    text = "".join(mappings(2000))
    for terminal in ([True] if os.path.exists("/dev/ptmx") else []) + [False]:
        ours, theirs = pty.openpty() if terminal else os.pipe()
        err = theirs if terminal else ours
        with subprocess.Popen([vmscope, "replay", "-o", "/dev/null", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=theirs, text=True) as child:
            os.close(theirs)
            child.stdin.write(text)
            child.stdin.flush()
            while not is_read(child):
                time.sleep(0.01)
            time.sleep(0.8)
            child.stdin.close()
            said = b""
            while True:
                try:
                    part = os.read(ours, 65536)
                except OSError:
                    break
                if not part:
                    break
                said += part
        os.close(ours)
        shown = re.search(rb"vmscope: -: \d+ MB, \d+ lines, \d+ MB/s", said)
        wanted(f"progress, terminal {terminal}", bool(shown) == terminal and b" 0 differences" in
               said, said)


def check_interruption(vmscope):
    """What was read until then is told, as partial."""
    for command in "replay", "explain":
        with subprocess.Popen([vmscope, command, "-"], stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            child.stdin.write("".join(mappings(1000)) + "10 1700001200.0 mmap(NULL, 40")
            child.stdin.flush()
            # It sleeps in its read when it has got all of this.
            while inject.state(child.pid, child.pid) != "S" or not is_read(child):
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            out, err = child.stdout.read(), child.stderr.read()
            child.stdin.close()
        wanted(f"{command} interrupted", child.returncode == 130 and
               "interrupted after line 1000: the answer is about these lines only" in err,
               child.returncode, err)
        if command == "replay":
            wanted("replay: what was read", " 1000 results compared, 0 differences so far" in err
                   and out.count(" 00:00 0") == 1000, err)
        else:
            wanted("explain: what was read", out.startswith("This is partial: only the first 1000 "
                   "lines") and "1000 areas at the end" in out, out)


def is_read(child):
    """Whether a pipe is empty."""
    import fcntl
    import struct
    import termios
    return struct.unpack("i", fcntl.ioctl(child.stdin, termios.FIONREAD, b"\0\0\0\0"))[0] == 0


# ---- memory --------------------------------------------------------------------------------------

def large_log(path, megabytes):
    """A process that maps and unmaps, with as many areas at the end as at the beginning; forks."""
    with open(path, "w") as file:
        file.writelines(mappings(1000, step=0.00001))
        size = number = 0
        while size < megabytes * 1000000:
            addr = 0x7e0000000000 + number % 500 * 0x10000
            when = f"{BEGIN + 1 + number * 0.00004:.6f}"
            text = "".join(f"10 {when} {line}\n" for line in (
                f"mmap({addr:#x}, {number % 50 * 4096 + 4096}, PROT_READ|PROT_WRITE, "
                f"MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0) = {addr:#x}",
                f"mprotect({addr:#x}, 4096, PROT_READ) = 0",
                f"madvise({addr:#x}, 4096, MADV_DONTNEED) = 0",
                f"munmap({addr:#x}, {number % 50 * 4096 + 4096}) = 0"))
            number += 1
            if number % 1000 == 0:
                child = 100000 + number
                text += f"10 fork() = {child}\n{child} +++ exited with 0 +++\n"
            file.write(text)
            size += len(text)


def repeated_log(path, megabytes, log):
    """The processes of a recording again and again, by other numbers; strace -f -ttt has recorded it."""
    with open(log, errors="surrogateescape") as file:
        text = file.read()
    pids = sorted({int(pid) for pid in re.findall(r"^(\d+) ", text, re.M)})
    number = {str(pid): i + 1 for i, pid in enumerate(pids)}
    parts = re.split(r"\b(%s)\b|(?<= )(\d{10}\.\d{6})\b" %
                     "|".join(number), text, flags=re.M)
    stamps = [float(part) for part in parts[2::3] if part]
    first, length = min(stamps), max(stamps) - min(stamps) + 1
    with open(path, "w", errors="surrogateescape") as file:
        size = turn = 0
        while size < megabytes * 1000000:
            again = []
            for at in range(0, len(parts) - 1, 3):
                stamp = parts[at + 2]
                again += [parts[at], f"{float(stamp) + turn * length:.6f}" if stamp else
                          str(100 + turn * len(pids) + number[parts[at + 1]])]
            size += file.write("".join(again) + parts[-1])
            turn += 1
    print(f"{log}: {len(pids)} processes in {length - 1:.1f} s, from {first:.0f} on; {turn} times")


def peak_memory(*args):
    """Of a run, in MB; and its seconds of processor time."""
    # AddressSanitizer keeps what is freed, up to that.
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    child = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "ASAN_OPTIONS": options})
    err = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss / 1000, usage.ru_utime + usage.ru_stime, err


def check_memory(vmscope, work):
    """Twice the log takes no more memory."""
    path = os.path.join(work, "large.strace")
    peaks = []
    for command, megabytes in ((["explain"], 9), (["explain"], 20), (["replay"], 20),
                               (["export", "-f", "perfetto"], 20), (["export", "-f", "folded"], 20)):
        large_log(path, megabytes)
        status, peak, _, err = peak_memory(vmscope, *command, path)
        wanted(f"{command} of {megabytes} MB", status == 0, status, err)
        peaks.append(peak)
    wanted("memory does not grow with the log", max(peaks) < peaks[0] + 8, peaks)


# ---- the limit -----------------------------------------------------------------------------------

def check_rate(vmscope, work):
    path = write(os.path.join(work, "rate.strace"), "".join(mappings(600)))
    got = run(vmscope, "explain", path)
    minutes = (65530 + 1 - 600) / 10 / 60
    match = re.search(r"It gained (\d+) in the last (\d+) seconds, ([\d.]+) a second: at this rate "
                      r"the limit is reached (\d+) minutes later", got.stdout)
    wanted("the rate", match and abs(int(match[1]) - 300) < 5 and match[2] == "30" and
           float(match[3]) == 10 and abs(int(match[4]) - minutes) <= 1, got.stdout[:600])
    wanted("what fits", "At most 64931 more fit." in got.stdout, got.stdout[:600])
    # A process that has ended reaches nothing; nor does one that does not grow.
    write(path, "".join(mappings(600)) + f"10 {BEGIN + 61}.0 +++ exited with 0 +++\n")
    wanted("ended", "more fit" not in run(vmscope, "explain", path).stdout and
           "It gained" not in run(vmscope, "explain", path).stdout)
    write(path, "".join(mappings(600)) + f"10 {BEGIN + 200}.0 munmap(0x7f0000000000, 4096) = 0\n")
    wanted("no growth", "It did not gain any in the last " in run(vmscope, "explain", path).stdout)


def check_limit(vmscope, many, limit):
    """As many areas as it says that fit can be mapped, and not one more."""
    with subprocess.Popen([many, str(max(limit - 1000, limit // 2)), "fill"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        before = run(vmscope, "explain", str(child.pid)).stdout
        child.stdin.write("\n")
        child.stdin.flush()
        fitted = int(child.stdout.readline())
        after = run(vmscope, "explain", str(child.pid)).stdout
        child.stdin.write("\n")
    wanted("what fits was right", f"\n{fitted} more fit." in before and fitted > limit // 100,
           fitted, before[:600])
    wanted("what is refused when", f" {limit - 5}: mremap() to a given address or with "
           f"MREMAP_DONTUNMAP; {limit - 3}: any mremap() that moves; {limit - 1}: calls on the "
           f"middle of an area (mprotect, mlock, madvise ...); {limit}: those on one end of it, and "
           f"munmap() or mmap(MAP_FIXED) in its middle; {limit + 1}: mmap() and brk().\n" in before,
           before[:800])
    wanted("nothing fits then", f"{limit + 1} areas: 100.0% of the {limit} that" in after and
           "No other area fits. Refused with ENOMEM (madvise: EAGAIN) now: mremap() to a given "
           "address or with MREMAP_DONTUNMAP, any mremap() that moves, calls on the middle of an "
           "area (mprotect, mlock, madvise ...), those on one end of it, and munmap() or "
           "mmap(MAP_FIXED) in its middle, mmap() and brk().\n" in after, after[:800])


# By what tests/vmscope/refusals.c calls it: which of those that explain tells it is.
REFUSALS = {"mremap-there": "mremap() to a given address", "mremap-copies": "with MREMAP_DONTUNMAP",
            "mmap-middle": "mmap(MAP_FIXED) in its middle", "mremap-moves": "any mremap() that moves",
            "mprotect-middle": "calls on the middle", "mlock-middle": "calls on the middle",
            "madvise-middle": "calls on the middle", "mprotect-end": "those on one end",
            "madvise-end": "those on one end", "munmap-middle": "munmap() or mmap(MAP_FIXED)",
            "munmap-end": None, "mmap": "mmap() and brk()"}


def check_refusals(vmscope, refusals, limit):
    """What explain says is refused is what this kernel refuses: from exactly that number of areas on."""
    told = json.loads(run(vmscope, "explain", "--json", str(os.getpid())).stdout)
    rules = told["limit"]["refused"]
    results = {}
    for line in run(refusals).stdout.splitlines():
        areas, what, result = line.split()
        results.setdefault(what, {})[int(areas)] = result
    wanted("all were tried", set(results) == set(REFUSALS), results)
    for what, at in results.items():
        begins = [rule["from"] for rule in rules if REFUSALS[what] and REFUSALS[what] in rule["what"]]
        error = "EAGAIN" if what.startswith("madvise") else "ENOMEM"
        expected = {areas: error if begins and areas >= begins[0] else "ok" for areas in at}
        wanted(f"{what} at each number of areas", bool(begins) == bool(REFUSALS[what]) and
               max(at) == limit + 1 and min(at) < limit - 5 and at == expected, at, expected)


def measure(vmscope, megabytes, log):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as work:
        path = os.path.join(work, "large.strace")
        if log:
            repeated_log(path, megabytes, log)
        else:
            large_log(path, megabytes)
        size = os.path.getsize(path) / 1e6
        for command in (["replay"], ["explain"], ["draw", "-o", "/dev/null"],
                        ["report", "-o", "/dev/null"],
                        *(["export", "-o", "/dev/null", "-f", form]
                          for form in ("perfetto", "chrome", "csv", "folded"))):
            status, peak, seconds, err = peak_memory(vmscope, *command, path)
            print(f"{' '.join(command)}: {size:.0f} MB in {seconds:.1f} s of processor time: "
                  f"{size / seconds:.1f} MB/s, at most {peak:.0f} MB resident, status {status}")


def main():
    if sys.argv[1] == "measure":
        measure(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 100,
                sys.argv[4] if len(sys.argv) > 4 else None)
        return
    vmscope, many, refusals = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        check_versions(vmscope, work)
        check_segments(vmscope, work)
        check_names(vmscope, work)
        check_progress(vmscope, work)
        check_interruption(vmscope)
        check_memory(vmscope, work)
        check_rate(vmscope, work)
    with open("/proc/sys/vm/max_map_count") as file:
        limit = int(file.read())
    if limit > 200000:
        print(f"SKIP in part: vm.max_map_count is {limit}: too many to map them all")
    else:
        check_refusals(vmscope, refusals, limit)
        check_limit(vmscope, many, limit)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
