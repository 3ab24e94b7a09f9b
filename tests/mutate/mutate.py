#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks the core of the tree, one condition, operator, constant or statement at a time, and counts
how many of the broken ones the tests notice.

usage: mutate.py BUILD [--count N] [--seed N] [--jobs N] [--minutes N] [--only FILE[:LINE]]

A mutant is noticed if a suite fails, crashes or hangs. One that does not compile, or compiles to
the same code, is none. The suites are those of "make check", shorter: see suites.py. Survivors
that cannot be noticed are listed in equivalent.txt, each with the reason; they are not counted.
"""

import argparse
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutants
import suites

FILES = ('plan.c build.c publish.c retire.c path.c gap.c walk.h walk.c iter.c lookup.c mas.c mtree.c '
         'dup.c node.h search.h write.c check.c pool.c').split()
HERE = Path(__file__).resolve().parent
FLAGS = ['-O1']
EQUIVALENT = 'equivalent'


def known_equivalent():
    """{'FILE: OLD  ->  NEW': reason}"""
    known = {}
    for line in (HERE / 'equivalent.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            change, reason = line.rsplit(' | ', 1)
            known[change] = reason
    return known


def key(mutant):
    return f'{mutant.file}: {mutant.old_line}  ->  {mutant.new_line}'


class Workshop:
    """The unchanged library of each flavour, the programs, and how long these take."""

    def __init__(self, build):
        self.build = build
        self.suites = suites.all_suites(1.6)
        self.objects = {f: suites.build_library(build, f, FLAGS) for f in suites.FLAVOURS}
        self.users = {f: self.sources_with(f) for f in FILES}
        for suite in self.suites:
            suites.build_program(build, suite)
            wrong, suite.cpu = suites.run(build, suite, build / suite.flavour, 300, 300)
            if wrong:
                raise SystemExit(f'without any change: {wrong}')

    @staticmethod
    def sources_with(file):
        """The sources that have to be compiled again when @file changes."""
        if file.endswith('.c'):
            return [file]
        return [s for s in suites.SOURCES if f'/{file}' in subprocess.run(
            [*suites.COMPILE, '-MM', suites.CORE / s], check=True, capture_output=True,
            text=True).stdout]

    def library(self, mutant, folder, shadow, flavour):
        """Links the mutant. None: does not compile; False: the same code as without the change."""
        objects = dict(self.objects[flavour])
        differs = False
        for source in self.users[mutant.file]:
            made = suites.compile_object(folder / flavour, flavour, shadow / source, FLAGS)
            if not made:
                return None
            differs |= made.read_bytes() != objects[source].read_bytes()
            objects[source] = made
        if differs:
            suites.link_library(folder / flavour, flavour, objects.values())
        return differs

    def judge(self, mutant, folder):
        """What noticed the mutant; '' if nothing did; None if it is no mutant at all."""
        shadow = folder / 'mapletree'
        shadow.mkdir(parents=True)
        for source in suites.CORE.iterdir():
            (shadow / source.name).symlink_to(source)
        (shadow / mutant.file).unlink()
        text = (suites.CORE / mutant.file).read_text()
        (shadow / mutant.file).write_text(mutant.apply(text))
        built = {}
        for suite in self.suites:
            flavour = suite.flavour
            if flavour not in built:
                built[flavour] = self.library(mutant, folder, shadow, flavour)
            if built[flavour] is None:
                return None
            if built[flavour]:
                wrong, _ = suites.run(self.build, suite, folder / flavour, 2 + 4 * suite.cpu,
                                      30 + 10 * suite.cpu)
                if wrong:
                    return wrong
        return '' if any(built.values()) else None


def choose(args):
    found = [m for f in FILES for m in mutants.find(f, (suites.CORE / f).read_text())]
    total = len(found)
    if args.only:
        file, _, line = args.only.partition(':')
        found = [m for m in found if m.file == file and (not line or m.line == int(line))]
    random.Random(args.seed).shuffle(found)
    return found[:args.count], total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('build', type=Path)
    parser.add_argument('--count', type=int, default=300)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--verbose', action='store_true', help='name the noticed ones, too')
    parser.add_argument('--only', help='FILE or FILE:LINE')
    parser.add_argument('--minutes', type=float, default=1e9, help='stop after these')
    args = parser.parse_args()

    chosen, total = choose(args)
    known = known_equivalent()
    end = time.monotonic() + 60 * args.minutes
    print(f'mutate: {len(chosen)} of {total} mutants, seed {args.seed}', flush=True)
    shop = Workshop(args.build.resolve())

    def work(i):
        mutant, folder = chosen[i], shop.build / f'mutant-{i}'
        if time.monotonic() > end:
            return mutant, None
        if key(mutant) in known:
            return mutant, EQUIVALENT
        shutil.rmtree(folder, ignore_errors=True)
        try:
            return mutant, shop.judge(mutant, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    noticed, survived, equivalent = {}, [], 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for mutant, verdict in pool.map(work, range(len(chosen))):
            if verdict is None:
                continue
            if verdict is EQUIVALENT:
                equivalent += 1
                continue
            if args.verbose and verdict:
                print(f'noticed by {verdict}: {mutant}', flush=True)
            if verdict:
                noticed[verdict] = noticed.get(verdict, 0) + 1
            else:
                survived.append(mutant)
                print(f'survived: {mutant}', flush=True)
    for by, count in sorted(noticed.items(), key=lambda n: -n[1]):
        print(f'{count:5} {by}')
    caught = sum(noticed.values())
    share = 100 * caught / max(1, caught + len(survived))
    print(f'{caught} noticed, {len(survived)} survived: {share:.1f}%; '
          f'{equivalent} listed as equivalent')
    if share < 95:
        sys.exit('mutate: fewer than 95% were noticed')


if __name__ == '__main__':
    main()
