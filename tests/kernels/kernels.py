#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tests under other Linux versions: Debian's kernels, booted by QEMU.

Each kernel and each variant is a guest of its own, with a root made of what is built and installed
here. What each guest sent and its console are kept below the work directory. Ends with a table and
the line "N passed, N failed"; a kernel that cannot be had is skipped, with the reason.
"""

import argparse
import concurrent.futures
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import debian
import jobs
import machine
import report
import root
import sysroot
from arch import ARCHS
from variants import VARIANTS

OUTPUT_SHOWN = 30  # lines of a job that failed


def duration(text):
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time: seconds, or 10m, or 2h")
    return int(match.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600}[match.group(2)]


def arguments():
    known = "\n".join(f"  {name:13} {variant.what}" for name, variant in VARIANTS.items())
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"variants:\n{known}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="amd64", choices=ARCHS,
                        help="of kernels and programs (default amd64)")
    parser.add_argument("--build", type=Path,
                        help="meson's build directory (default: one made for the architecture)")
    parser.add_argument("--work", type=Path, required=True,
                        help="where kernels, roots and results are kept")
    parser.add_argument("--variants", nargs="+", default=["root"], choices=VARIANTS, metavar="NAME",
                        help="default: root")
    parser.add_argument("--suites", nargs="+", default=jobs.SUITES, choices=jobs.SUITES)
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN",
                        help="of the suites' jobs those with such a name")
    parser.add_argument("--without", nargs="+", default=[], metavar="PATTERN",
                        help="and none with such a name")
    parser.add_argument("--duration", type=duration, default=60,
                        help="vmscope check ends then (default 60)")
    parser.add_argument("--ops", type=int, default=100000,
                        help="or after so many operations (default 100000)")
    parser.add_argument("--limit", type=duration, default=4 * 3600,
                        help="a guest is ended then, and has failed (default 4h)")
    parser.add_argument("--guests", type=int, default=1, help="how many run side by side")
    parser.add_argument("--command", help="a shell's command to run instead of the suites")
    parser.add_argument("--add", nargs="+", default=[], metavar="PROGRAM",
                        help="what else is put into guests: programs, or paths of files and directories")
    parser.add_argument("kernels", nargs="+", metavar="VERSION",
                        help="6.1, or 6.1.176; arm64 also 6.12-16k")
    args = parser.parse_args()
    args.arch = ARCHS[args.arch]
    if args.arch.is_native and not args.build:
        parser.error("--build is missing")
    return args


def run_guest(args, kernel, variant, common, planned):
    """Boots one guest. Returns its results and lines that tell of them."""
    name = f"{kernel.release}-{variant.name}"
    place = args.work / "results" / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    initrd = place / "initrd"
    begun = time.monotonic()
    root.write_guest(initrd, common, args.arch, kernel, variant, planned)
    problem, used = machine.run(args.arch, kernel, initrd, variant, place / "console",
                                place / "port", args.limit)
    initrd.unlink()
    lines = (place / "port").read_text(encoding="utf-8", errors="replace").splitlines()
    results = report.parse(lines, planned, problem)
    said = [f"{name}: Linux {kernel.release} ({kernel.package}), {variant.what};"
            f" {time.monotonic() - begun:.0f} s, {used:.0f} s of processor time"]
    if not kernel.has_modules:
        said.append(f"{name}: Debian's archive has its modules no more: no overlayfs")
    if any(result.suite == "guest" for result in results):
        said.append(f"{name}: its console ends:")
        console = (place / "console").read_text(encoding="utf-8", errors="replace")
        said += [f"    {line}" for line in console.splitlines()[-OUTPUT_SHOWN:]]
    for number, result in enumerate(results):
        log = place / f"{number:02}-{re.sub(r'[^a-z0-9]+', '-', result.name.lower())}.log"
        log.write_text("\n".join(result.output) + "\n", encoding="utf-8")
        if result.suite == "command":
            said += [f"    {line}" for line in result.output]
        elif result.failed and result.output:
            said.append(f"{name}: {result.suite}: {result.name} failed; {log} begins:")
            said += [f"    {line}" for line in result.output[:OUTPUT_SHOWN]]
    said += report.details(name, results)
    return results, said


def make(build, *targets):
    built = subprocess.run(["ninja", "-C", build, *targets], text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if built.returncode:
        print("\n".join(built.stdout.splitlines()[-OUTPUT_SHOWN:]))
        sys.exit(f"kernels: {build} could not be built")


def prepare(args, common):
    """Builds what runs in guests, and writes what every root has. Returns the jobs."""
    below = "" if args.arch.is_native else str(sysroot.make(args.work, args.arch))
    build = str((args.build or sysroot.build(args.work, args.arch, below)).resolve())
    make(build, "build.ninja")  # which programs there are may have changed
    if args.command:
        planned = [jobs.Job("command", "command", ["/bin/sh", "-c", args.command], jobs.SCRATCH,
                            args.limit)]
    else:
        planned = jobs.plan(build, args.suites, args.duration, args.ops)
        planned = jobs.named(planned, args.only, args.without)
    if not planned:
        sys.exit(f"kernels: no job of the suites is named {shlex.join(args.only)}")
    programs = jobs.needed(build, planned)
    make(build, *sorted(str(Path(program).relative_to(build)) for program in programs))
    root.write_common(common, args.arch, below, programs, args.add)
    return planned


def run_all(args, planned, common):
    """[(kernel, variant, results)]; in the place of results the reason why there is no kernel."""
    guests = []
    with concurrent.futures.ThreadPoolExecutor(args.guests) as pool:
        for version in args.kernels:
            number, flavour = args.arch.flavour(version)
            try:
                kernel = debian.Archive(args.work, args.arch.name, flavour).fetch(number)
            except debian.Unavailable as why:
                guests.append((version, "", str(why)))
                print(f"SKIP {version}: {why}", flush=True)
                continue
            for name in args.variants:
                if VARIANTS[name].only not in ("", args.arch.name):
                    guests.append((kernel.release, name, f"{args.arch.name} has no such thing"))
                    continue
                guests.append((kernel.release, name, pool.submit(
                    run_guest, args, kernel, VARIANTS[name], common, planned)))
        finished = []
        for kernel, variant, outcome in guests:
            if not isinstance(outcome, str):
                outcome, said = outcome.result()
                print("\n".join(said), flush=True)
            finished.append((kernel, variant, outcome))
    return finished


def main():
    args = arguments()
    if not shutil.which(args.arch.qemu):
        print(f"SKIP: there is no {args.arch.qemu} here (package {args.arch.qemu_package})\n"
              "0 passed, 0 failed")
        return 77
    args.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.work) as place:
        common = Path(place, "root")
        try:
            planned = prepare(args, common)
        except (root.Incomplete, sysroot.Failed) as why:
            sys.exit(f"kernels: {why}")
        finished = run_all(args, planned, common)
    ran = [result for _, _, results in finished if not isinstance(results, str)
           for result in results]
    suites = list(dict.fromkeys(job.suite for job in planned)) + \
        ["guest"] * any(result.suite == "guest" for result in ran)
    print("\n".join([""] + report.table(finished, suites)))
    passed = sum(result.passed for result in ran)
    failed = sum(len(result.failed) for result in ran)
    if not ran:
        print("SKIP: no kernel could be had")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0 if ran else 77


sys.exit(main())
