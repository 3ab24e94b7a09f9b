#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks the core of the tree, one condition, operator, constant or statement at a time, and counts
how many of the broken ones the tests notice.

usage: mutate.py BUILD [--count N] [--seed N] [--jobs N] [--minutes N] [--only FILE[:LINE]]

A mutant is noticed if a suite fails, crashes or hangs. One that does not compile, or compiles to
the same code, is none: --count counts the others. The suites are those of "make check", shorter:
see suites.py. Survivors that cannot be noticed are listed in equivalent.txt, each with the reason;
they are not counted as either.

Verdicts are kept in BUILD/verdicts.jsonl: a later run, of any seed, goes on where this one ended.
They hold as long as the sources they were found with: all of them the core, survival the tests.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutants
import suites

FILES = ('layout_plan.c layout.c layout.h content.h splice.h leaf_pair.c leaf_divide.c root_leaf.h '
         'shared_gap.c leaf_plan.h leaf_merge.h leaf_write.h leaf_short.h leaf_slots.h inplace.h write.c change_leaves.h '
         'expected.h cursor.h '
         'finger.h publish.c retire.c rcu.c polled.c dead.c dead.h gap.c gap.h own.c refs.h share.h snapshot.c gap_search.c gap_node.h walk.h walk.c iter.c batch.c loop.c '
         'descend.c lookup_many.c watch.h search.h retry.c retry.h node.h mas.c mtree.c join.c update.c rewrite.c spot.h '
         'range_list.h dup.c copy.c '
         'check.c pool.c').split()
HERE = Path(__file__).resolve().parent
FLAGS = ['-O1']
# Told of a base directory, ccache compiles the file that a link leads to, beside which the headers are
# unchanged ones: no change of a header would be one.
os.environ['CCACHE_DISABLE'] = '1'


def known_equivalent():
    """{a mutant's key: reason}"""
    known = {}
    for line in (HERE / 'equivalent.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            change, reason = line.rsplit(' | ', 1)
            known[change] = reason
    return known


def digest(paths):
    """One word for what stands in files."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(path.name.encode() + b'\0' + path.read_bytes())
    return whole.hexdigest()[:16]


class Verdicts:
    """What is known of mutants from this run and earlier ones.

    A verdict is what noticed the mutant; '' if nothing did; None if it is no mutant at all.
    """

    def __init__(self, file, tests):
        self.file, self.found = file, {}
        self.core = digest([*suites.CORE.iterdir(), *suites.ROOT.glob('include/mapletree/m*.h')])
        self.tests = digest(tests)
        self.lock = threading.Lock()
        for line in file.read_text().splitlines() if file.exists() else []:
            old = json.loads(line)
            if old['core'] == self.core and (old['verdict'] != '' or old['tests'] == self.tests):
                self.found[old['key']] = old['verdict']

    def add(self, mutant, verdict):
        with self.lock:
            self.found[mutant.key] = verdict
            with self.file.open('a') as out:
                print(json.dumps({'key': mutant.key, 'verdict': verdict, 'core': self.core,
                                  'tests': self.tests}), file=out)


class Workshop:
    """The unchanged library of each flavour, the programs, and how long these take."""

    def __init__(self, build):
        self.build = build
        self.suites = suites.all_suites(1.6)
        self.objects = {f: suites.build_library(build, f, FLAGS) for f in suites.FLAVOURS}
        self.users = self.sources_with()
        for suite in self.suites:
            suites.build_program(build, suite)
            wrong, suite.cpu = suites.run(build, suite, build / suite.flavour, 300, 3000)
            if wrong:
                raise SystemExit(f'without any change: {wrong}')

    @staticmethod
    def sources_with():
        """{file: the sources that have to be compiled again when it changes}"""
        needs = {s: subprocess.run([*suites.COMPILE, '-MM', suites.CORE / s], check=True,
                                   capture_output=True, text=True).stdout.split()
                 for s in suites.SOURCES}
        return {f: [s for s in suites.SOURCES if str(suites.CORE / f) in needs[s]] for f in FILES}

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
        """The verdict on a mutant: see Verdicts."""
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
            if flavour == 'sanitized' and not any(built.values()):
                break  # there the same code differs by where in its line it stands
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


def choose(args, known):
    found = [m for f in FILES for m in mutants.find(f, (suites.CORE / f).read_text())]
    gone = known.keys() - {m.key for m in found}
    if gone:
        raise SystemExit('mutate: no longer there, but in equivalent.txt:\n' + '\n'.join(gone))
    if args.only:
        file, _, line = args.only.partition(':')
        found = [m for m in found if m.file == file and (not line or m.line == int(line))]
    random.Random(args.seed).shuffle(found)
    return found


def judge_all(args, chosen, known, verdicts, build):
    """Brings the verdicts to those of the first @args.count that are mutants."""
    end = time.monotonic() + 60 * args.minutes
    turns, lock = iter(chosen), threading.Lock()
    real = 0

    def next_unknown():
        nonlocal real
        with lock:
            for mutant in turns if real < args.count and time.monotonic() < end else ():
                if mutant.key not in known and mutant.key not in verdicts.found:
                    return mutant
                real += mutant.key in known or verdicts.found[mutant.key] is not None
                if real >= args.count:
                    break
        return None

    def work(number):
        nonlocal real
        folder = build / f'mutant-{number}'
        while mutant := next_unknown():
            shutil.rmtree(folder, ignore_errors=True)
            verdict = shop.judge(mutant, folder)
            shutil.rmtree(folder, ignore_errors=True)
            verdicts.add(mutant, verdict)
            if verdict is not None:
                with lock:
                    real += 1
                if args.verbose or not verdict:
                    print(f'noticed by {verdict}: {mutant}' if verdict else f'survived: {mutant}',
                          flush=True)

    first = next_unknown()
    if not first:
        return
    turns = itertools.chain([first], turns)
    shop = Workshop(build)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, range(args.jobs)))


def report(args, chosen, known, verdicts):
    noticed, survived, equivalent = {}, [], 0
    for mutant in chosen:
        if sum(noticed.values()) + len(survived) + equivalent >= args.count:
            break
        verdict = verdicts.found.get(mutant.key)
        if mutant.key in known:
            equivalent += 1
        elif verdict:
            noticed[verdict] = noticed.get(verdict, 0) + 1
        elif verdict == '':
            survived.append(mutant)
    for by, count in sorted(noticed.items(), key=lambda n: -n[1]):
        print(f'{count:5} {by}')
    for mutant in survived:
        print(f'survived: {mutant.key}')
    caught = sum(noticed.values())
    share = 100 * caught / max(1, caught + len(survived))
    print(f'{caught} noticed, {len(survived)} survived: {share:.1f}%; '
          f'{equivalent} listed as equivalent')


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

    build = args.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    known = known_equivalent()
    chosen = choose(args, known)
    verdicts = Verdicts(build / 'verdicts.jsonl', suites.test_sources())
    print(f'mutate: {args.count} of {len(chosen)} places, seed {args.seed}', flush=True)
    judge_all(args, chosen, known, verdicts, build)
    report(args, chosen, known, verdicts)


if __name__ == '__main__':
    main()
