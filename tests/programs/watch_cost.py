#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs programs to be followed: servers under load, and a loop of mmap and munmap, bare and
under vmscope watch, perf trace, strace and vmscope trace, by turns.

usage: watch_cost.py VMSCOPE [--rounds N] [--seconds S | --counted] [WORK...]
       watch_cost.py VMSCOPE --needs [WORK...]

WORK: loop, redis, pgbench, nginx (default: all). A server is pinned to one processor; its load, and
what follows it, to another. A turn is as many requests as take about S seconds (default 4). Printed
are medians over N rounds (default 5): microseconds of the server's processor time (user and system) a
request, and of the clock; and the median of the ratios to the bare turn of the same round, with the
least and the largest one. On a busy machine the clock says little.
--counted: on a machine whose clock counts instructions (QEMU's -icount, "make kernels-cost"): one
processor does for all, turns are short, and a microsecond is 1,000 instructions.
--needs: prints the programs and directories that another machine takes to run this.
Installs, as root or through sudo, the Debian packages that are missing.
"""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGES = {
    "loop": ["gcc", "libc6-dev"],
    "redis": ["redis-server", "redis-tools"],
    "pgbench": ["postgresql"],
    "nginx": ["nginx-light", "apache2-utils"],
}
PEERS = ["strace", "linux-perf"]
HERE = pathlib.Path(__file__).resolve().parent
CALLS = "mmap,munmap,mprotect,mremap,brk,madvise"  # perf's trace knows no %memory
PATIENCE = 60  # seconds: only for what hangs
TICK = os.sysconf("SC_CLK_TCK")

NGINX = """
daemon off;
pid {home}/pid;
error_log {home}/error.log;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
	access_log {home}/access.log;
	client_body_temp_path {home}/body;
	proxy_temp_path {home}/proxy;
	fastcgi_temp_path {home}/fastcgi;
	uwsgi_temp_path {home}/uwsgi;
	scgi_temp_path {home}/scgi;
	server {{
		listen 127.0.0.1:{port};
		location / {{ root {home}; }}
	}}
}}
"""


def installed(packages):
    """Installs the packages that are missing. False: that failed.

    Where there are no packages, as in a guest of tests/kernels, what is needed has been put there.
    """
    if not shutil.which("dpkg-query"):
        return True

    def has(package):
        seen = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
                              capture_output=True, text=True, check=False)
        return seen.stdout == "installed"

    missing = [package for package in packages if not has(package)]
    if not missing:
        return True
    print("installing:", *missing, file=sys.stderr)
    # RUNLEVEL=1: their services are not started.
    root = [] if os.geteuid() == 0 else ["sudo"]
    quiet = root + ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", "-q", "-y"]
    for command in ["update"], ["install", "--no-install-recommends", *missing]:
        done = subprocess.run(quiet + command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr, file=sys.stderr)
            return False
    return True


def until(what, ready):
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            sys.exit(f"watch_cost: {what}: not within {PATIENCE} seconds")
        time.sleep(0.02)


def tasks_of(pid):
    """Nanoseconds that the threads of a process have run: to those, utime and stime are scaled."""
    total = 0
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text(encoding="utf-8").split()[0])
    return total


def family(pid):
    """{number: what its stat says} of a process and its children."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if not entry.name.isdigit():
                continue
            with open(entry / "stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            if pid in (int(entry.name), int(fields[1])):
                found[int(entry.name)] = fields
    return found


def spent(pid):
    """Seconds of processor time (user and system) of a process and its children, dead or alive."""
    while True:
        members = family(pid)
        total = sum(tasks_of(member) / 1e9 + sum(map(int, fields[13:15])) / TICK
                    for member, fields in members.items())
        # One that was waited for meanwhile is in neither figure.
        if family(pid).keys() == members.keys():
            return total


class Server:
    """A program under load; what it takes for a request is its processor time."""

    name = ""
    first = 1000  # requests of the turn that finds out how many to make
    counted = 2000  # requests of a turn where instructions are counted

    def __init__(self, home, cpus):
        self.home = home
        self.cpus = cpus
        self.process = None
        self.pid = 0  # which is followed

    def start(self, command, **more):
        more = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
        self.process = subprocess.Popen(["taskset", "-c", str(self.cpus[0]), *map(str, command)],
                                        **more)
        self.pid = self.process.pid

    def client(self, *command):
        subprocess.run(["taskset", "-c", str(self.cpus[1]), *map(str, command)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @staticmethod
    def needs():
        """The programs and directories that a machine must have, beside its libraries."""
        raise NotImplementedError

    def load(self, requests):
        raise NotImplementedError

    def spent(self):
        return spent(self.pid)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE)


class Loop(Server):
    name = "a loop of mmap and munmap"
    first = 2000
    program = None  # if it is compiled already

    def __init__(self, home, cpus):
        super().__init__(home, cpus)
        program = self.program
        if not program:
            program = home / "loop"
            subprocess.run(["cc", "-O2", "-o", program, HERE / "mmap_loop.c"], check=True)
        self.start([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def needs():
        return []

    def load(self, requests):
        self.process.stdin.write(f"{requests}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()


class Redis(Server):
    name = "redis, redis-benchmark: SET and GET, 50 clients"
    first = 4000
    counted = 8000

    def __init__(self, home, cpus):
        super().__init__(home, cpus)
        self.socket = home / "redis"
        self.start(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                    "--dir", home, "--appendonly", "no"])
        until("redis-server listens", self.socket.exists)

    @staticmethod
    def needs():
        return ["redis-server", "redis-benchmark"]

    def load(self, requests):
        self.client("redis-benchmark", "-q", "-s", self.socket, "-n", requests // 2, "-c", "50",
                    "-d", "64", "-r", "100000", "-t", "set,get")


class Pgbench(Server):
    name = "PostgreSQL, pgbench: its default transactions, 8 clients"
    first = 400

    def __init__(self, home, cpus):
        super().__init__(home, cpus)
        self.bin = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        home.chmod(0o711)
        self.as_user = []
        if os.geteuid() == 0:  # which PostgreSQL refuses
            shutil.chown(home, "postgres")
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        subprocess.run([*self.as_user, self.bin / "initdb", "-D", home / "data", "-A", "trust",
                        "--no-sync"], check=True, capture_output=True, cwd=home)
        self.start([*self.as_user, self.bin / "postgres", "-D", home / "data", "-k", home,
                    "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off",
                    "-c", "jit=off"], cwd=home)
        until("postgres answers", lambda: subprocess.run(
            [self.bin / "pg_isready", "-q", "-h", home], check=False).returncode == 0)
        self.pgbench("-i", "-s", "4")

    @staticmethod
    def needs():
        lib = max(pathlib.Path("/usr/lib/postgresql").glob("*"))
        return [*(lib / "bin" / name for name in ("initdb", "postgres", "pgbench", "pg_isready")),
                lib / "lib/plpgsql.so", lib / "lib/dict_snowball.so",
                f"/usr/share/postgresql/{lib.name}"]

    def pgbench(self, *options):
        self.client(*self.as_user, self.bin / "pgbench", "-q" if "-i" in options else "-n",
                    *options, "-h", self.home, "postgres")

    def load(self, requests):
        self.pgbench("-c", "8", "-j", "1", "-t", str(max(requests // 8, 1)))


class Nginx(Server):
    name = "nginx, ab: a page of 4 KiB, 16 clients, no keep-alive"
    first = 1000

    def __init__(self, home, cpus):
        super().__init__(home, cpus)
        (home / "page").write_text("x" * 4096, encoding="utf-8")
        home.chmod(0o755)
        self.port = 17080
        (home / "conf").write_text(NGINX.format(home=home, port=self.port), encoding="utf-8")
        self.start(["nginx", "-c", home / "conf", "-p", home])
        until("nginx has its worker", self.worker)
        self.pid = self.worker()

    @staticmethod
    def needs():
        return ["nginx", "ab"]

    def worker(self):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        pids = pathlib.Path(children).read_text(encoding="utf-8").split()
        return int(pids[0]) if pids else 0

    def load(self, requests):
        self.client("ab", "-q", "-c", "16", "-n", str(requests), f"http://127.0.0.1:{self.port}/page")


WORKS = {"loop": Loop, "redis": Redis, "pgbench": Pgbench, "nginx": Nginx}


def traced_by(pid):
    with contextlib.suppress(OSError):
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"TracerPid:\s*(\d+)", status)[1]) != 0
    return False


class Follower:
    """Follows a process for a turn: begins, says when it has begun, ends."""

    def __init__(self, name, command, begun):
        self.name = name
        self.command = command
        self.begun = begun

    @contextlib.contextmanager
    def follow(self, server, log):
        if not self.command:
            yield
            return
        log.unlink(missing_ok=True)
        command = [word.format(pid=server.pid, log=log) for word in self.command]
        with open(log.with_suffix(".err"), "w+", encoding="utf-8") as errors:
            process = subprocess.Popen(["taskset", "-c", str(server.cpus[1]), *command],
                                       stdout=subprocess.DEVNULL, stderr=errors)
            until(f"{self.name} has begun",
                  lambda: process.poll() is not None or self.begun(process.pid, server.pid))
            if process.poll() is None:
                yield
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE)
            errors.seek(0)
            said = errors.read()
        # 1: it has found a difference, which is not what is asked here.
        if process.returncode not in (0, 1, 128 + signal.SIGINT, -signal.SIGINT):
            sys.exit(f"watch_cost: {self.name}: status {process.returncode}: {said[-800:]}")
        if process.returncode == 1:
            print(f"{server.name}: {self.name}: {said.strip()[:400]}", file=sys.stderr)


def followers(vmscope):
    def listens(pid, _):
        """All of its program is in the kernel, and it has the areas to begin with."""
        links = 0
        with contextlib.suppress(OSError):
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    links += os.readlink(entry) == "anon_inode:bpf_link"
        return links >= 8 and time.sleep(1) is None

    def is_traced(_, pid):
        return traced_by(pid)

    return [
        Follower("bare", [], None),
        Follower("vmscope watch", [vmscope, "watch", "-q", "-o", "{log}", "-p", "{pid}"], listens),
        Follower("perf trace", ["perf", "trace", "-e", CALLS, "-o", "{log}", "-p", "{pid}"],
                 lambda *_: time.sleep(2) is None),
        Follower("strace -f -e trace=%memory", ["strace", "-f", "-qq", "-e", "trace=%memory", "-o",
                                                "{log}", "-p", "{pid}"], is_traced),
        Follower("vmscope trace", [vmscope, "trace", "-q", "--verify=end", "-o", "{log}", "-p",
                                   "{pid}"], is_traced),
    ]


def turn(server, follower, requests, log):
    """Microseconds of a request: of the server's processor time, and of the clock."""
    with follower.follow(server, log):
        spent_before, clock = server.spent(), time.monotonic()
        server.load(requests)
        clock = time.monotonic() - clock
        # A child that ends just now is counted with its parent.
        return (server.spent() - spent_before) / requests * 1e6, clock / requests * 1e6


def measure(server, contestants, options, log):
    server.load(server.first)  # it is warm now
    requests = {}
    for follower in contestants:
        if options.counted:
            requests[follower.name] = server.counted
            continue
        _, clock = turn(server, follower, server.first, log)
        requests[follower.name] = max(int(options.seconds * 1e6 / clock), server.first)
    seen = {follower.name: [] for follower in contestants}
    for _ in range(options.rounds):
        for follower in contestants:
            seen[follower.name].append(turn(server, follower, requests[follower.name], log))
    print(f"\n{server.name}: {requests['bare']} requests a turn, {options.rounds} rounds\n")
    print("| | processor time | | | clock | | |\n|---|---:|---:|---|---:|---:|---|")
    for follower in contestants:
        cells = [follower.name]
        for which in 0, 1:
            values = [values[which] for values in seen[follower.name]]
            ratios = [value / bare[which] if bare[which] else 0
                      for value, bare in zip(values, seen["bare"])]
            if follower.name != "bare":
                ratios.sort()
            cells += [f"{statistics.median(values):.2f} µs", f"{statistics.median(ratios):.3f}",
                      f"{min(ratios):.3f} .. {max(ratios):.3f}"]
        print("|", " | ".join(cells), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vmscope")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--counted", action="store_true")
    parser.add_argument("--loop", type=pathlib.Path, help="mmap_loop.c, compiled")
    parser.add_argument("--needs", action="store_true")
    parser.add_argument("--only", default="", help="followers by name, beside bare: watch,strace")
    parser.add_argument("work", nargs="*", metavar="WORK")
    options = parser.parse_intermixed_args()
    # Started in the background of a shell, programs would ignore what ends the followers.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    works = options.work or list(WORKS)
    Loop.program = options.loop
    for work in works:
        if work not in WORKS:
            parser.error(f"there is no {work}: give some of {', '.join(WORKS)}")
    if options.needs:
        print("taskset", "setpriv", *(needed for work in works if installed(PACKAGES[work])
                                      for needed in WORKS[work].needs()))
        return 0
    if os.geteuid() != 0:
        print("watch_cost: needs root, for vmscope watch and perf trace", file=sys.stderr)
        return 77
    cpus = sorted(os.sched_getaffinity(0))
    if options.counted:
        cpus = [cpus[0], cpus[0]]
    if len(cpus) < 2:
        print("watch_cost: needs two processors", file=sys.stderr)
        return 77
    have_peers = installed(PEERS)
    wanted = [word for word in options.only.split(",") if word]
    contestants = [follower for follower in followers(os.path.abspath(options.vmscope))
                   if not follower.command or
                   ((not wanted or any(word in follower.name for word in wanted)) and
                    (have_peers or shutil.which(follower.command[0])))]
    failed = 0
    for work in works:
        if not installed(PACKAGES[work]):
            print(f"\n{WORKS[work].name}: its packages could not be installed")
            failed = 1
            continue
        with tempfile.TemporaryDirectory(prefix="watch_cost.") as home, contextlib.ExitStack() as end:
            os.mkdir(f"{home}/server")
            os.chmod(home, 0o755)
            server = WORKS[work](pathlib.Path(home, "server"), cpus)
            end.callback(server.stop)
            measure(server, contestants, options, pathlib.Path(home, "log"))
    return failed


sys.exit(main())
