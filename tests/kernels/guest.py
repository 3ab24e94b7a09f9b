# SPDX-License-Identifier: MIT
"""Runs the jobs in a guest: guest.py SETTINGS.

SETTINGS: {"port": "a serial port that nothing else writes to",
           "sysctls": {}, "user": "", "scratch": "tmpfs",
           "alive_every": seconds, by the guest's clock,
           "slowdown": the factor by which the tests' own limits of time are extended,
           "jobs": [{"argv": [], "directory": "", "limit": seconds}, ...]}
The lines that it writes to that port:

    @guest RELEASE          it has begun
    @refused TEXT           a setting
    @begin N                job N of the list has begun
    | TEXT                  a line of its output, standard error included
    @end N STATUS SECONDS   its exit status, "signalN" or "time" (over its limit)
    @alive                  sent at intervals, so that a guest that hangs is noticed
    @done                   all jobs have ended
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

USER = 1000
SCRATCH = os.environ["TMPDIR"]
DISK_SIZE = 512 << 20
LINES_MOST = 3000  # of one job; a serial port is slow


class Port:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8", errors="replace")
        self.lock = threading.Lock()

    def say(self, line):
        with self.lock:
            self.file.write(line + "\n")
            self.file.flush()

    def stay_alive(self, every):
        while True:
            time.sleep(every)
            self.say("@alive")


def apply_sysctls(port, sysctls):
    for name, value in sysctls.items():
        try:
            with open("/proc/sys/" + name.replace(".", "/"), "w", encoding="ascii") as file:
                file.write(str(value))
        except OSError as error:
            port.say(f"@refused {name}={value}: {error.strerror}")


def mount_scratch(port, kind):
    """Puts a file system of another kind than tmpfs there."""
    if kind == "tmpfs":
        return
    disk = "/run/disk"
    with open(disk, "wb") as file:
        file.truncate(DISK_SIZE)
    for command in (["mkfs." + kind, "-q", disk],
                    ["/bin/busybox", "mount", "-o", "loop", disk, SCRATCH],
                    ["chmod", "1777", SCRATCH]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            port.say(f"@refused {' '.join(command)}: {done.stderr.strip()}")


def become_user():
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


def start(job, user, slowdown):
    argv = job["argv"]
    if user == "userns":
        argv = ["/usr/bin/unshare", "--user", "--map-root-user", *argv]
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", SLOWDOWN=str(slowdown),
                       PYTHONDONTWRITEBYTECODE="1")
    if user != "root":
        environment["HOME"] = SCRATCH
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, cwd=job["directory"], env=environment,
                            preexec_fn=become_user if user != "root" else None)


def end_all_others():
    """Ends whatever runs but this process, which kill(2) spares, and the first."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(port, number, job, user, slowdown):
    port.say(f"@begin {number}")
    begun = time.monotonic()
    over = threading.Event()
    try:
        process = start(job, user, slowdown)
    except OSError as error:
        port.say(f"| {job['argv'][0]}: {error.strerror}")
        port.say(f"@end {number} 127 0")
        return

    def end():
        over.set()
        end_all_others()

    timer = threading.Timer(job["limit"], end)
    timer.start()
    # What it left behind may hold the pipe: only its own end counts.
    waiter = threading.Thread(target=lambda: (process.wait(), time.sleep(0.2), end_all_others()))
    waiter.start()
    lines = 0
    for line in process.stdout:
        lines += 1
        if lines <= LINES_MOST:
            port.say("| " + line.decode("utf-8", "replace").rstrip("\r\n"))
    if lines > LINES_MOST:
        port.say(f"| ({lines - LINES_MOST} lines left out)")
    waiter.join()
    timer.cancel()
    status = process.returncode
    word = "time" if over.is_set() else f"signal{-status}" if status < 0 else str(status)
    port.say(f"@end {number} {word} {time.monotonic() - begun:.1f}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = json.load(file)
    port = Port(settings["port"])
    port.say(f"@guest {os.uname().release}")
    apply_sysctls(port, settings["sysctls"])
    mount_scratch(port, settings["scratch"])
    threading.Thread(target=port.stay_alive, args=(settings["alive_every"],),
                     daemon=True).start()
    for number, job in enumerate(settings["jobs"]):
        run(port, number, job, settings["user"], settings["slowdown"])
    port.say("@done")


main()
