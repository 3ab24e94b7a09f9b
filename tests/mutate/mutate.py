#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks a library, one condition, operator, constant or statement at a time, and counts how many of
the broken ones the tests notice.

usage: mutate.py BUILD [--of LIBRARY] [--count N] [--seed N] [--jobs N] [--minutes N]
                 [--only FILE[:LINE]]

The library is mapletree, of which the core of the tree is broken, or vmspace.

A mutant is noticed if a suite fails, crashes or hangs. One that does not compile, or compiles to
the same code, is none: --count counts the others. The suites are those of "make check", shorter:
see suites.py. Survivors that cannot be noticed are listed in equivalent.txt, each with the reason;
they are not counted as either.

Verdicts are kept in BUILD/verdicts.jsonl: a later run, of any seed, goes on where this one ended.
They hold as long as the sources they were found with: all of them the library's, survival the
tests'.
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

FILES = {
    'mapletree': ('layout_plan.c layout.c layout.h content.h splice.h leaf_pair.c leaf_divide.c '
                  'root_leaf.h shared_gap.c leaf_plan.h leaf_merge.h leaf_write.h leaf_short.h '
                  'leaf_slots.h inplace.h write.c change_leaves.h expected.h cursor.h finger.h '
                  'publish.c retire.c rcu.c polled.c dead.c dead.h gap.c gap.h own.c refs.h '
                  'share.h snapshot.c gap_search.c gap_node.h walk.h walk.c iter.c batch.c '
                  'loop.c descend.c lookup_many.c watch.h search.h retry.c retry.h node.h mas.c '
                  'mtree.c join.c update.c rewrite.c spot.h range_list.h dup.c copy.c check.c '
                  'pool.c').split(),
    # The rules, and what changes areas; what asks the running kernel, reads files or has pages is not here.
    'vmspace': [f'vmspace/{f}' for f in (
        'accounting.c anon_vma.c become.c begin.c brk.c change.c commit.c decide.c edit.c '
        'edit_remove.c exec.c find.c fork.c fork_copy.c fork_share.c guards.c inherited.c lock.c '
        'map.c merge.c name.c outcome.c past.c pkey.c policy.c protect.c remap.c remap_source.c '
        'request.c reserve.c rules.c seal.c snapshot.c stock.c store.c sync.c uffd.c unmap.c '
        'vma.c vma_new.c vma_store.c words.c').split()],
}
HERE = Path(__file__).resolve().parent
FLAGS = ['-O1']
# Told of a base directory, ccache compiles the file that a link leads to, beside which the headers are
# unchanged ones: no change of a header would be one.
os.environ['CCACHE_DISABLE'] = '1'


def source(file):
    """Where a file is, as mutants name it."""
    return suites.ROOT / 'src' / file if '/' in file else suites.CORE / file


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

    def __init__(self, file, library, tests):
        self.file, self.found = file, {}
        headers = suites.ROOT.glob('include/mapletree/m*.h')
        if library == 'vmspace':
            headers = [*suites.ROOT.glob('include/mapletree/*.h'), *suites.SPACE.iterdir()]
        self.core = digest([*suites.CORE.iterdir(), *headers])
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
    """The unchanged library of each flavour, the programs, and how long these take: made and found out
    when the first mutant comes so far. Most are noticed by the first suites."""

    def __init__(self, build, library, all_suites):
        self.build = build
        self.folder, self.library = suites.LIBRARIES[library], library
        self.suites = all_suites
        self.objects, self.ready = {}, set()
        self.locks = {suite.flavour: threading.Lock() for suite in all_suites}
        self.users = self.sources_with()

    def unchanged(self, flavour):
        """The objects of the library as it is."""
        with self.locks[flavour]:
            if flavour not in self.objects:
                self.objects[flavour] = suites.build_library(self.build, flavour, self.suites, FLAGS)
            return self.objects[flavour]

    def prepare(self, suite):
        """Builds the suite, which passes without any change, and notes how long it takes."""
        with self.locks[suite.flavour]:
            if suite.name not in self.ready:
                suites.build_program(self.build, suite)
                wrong, suite.cpu = suites.run(self.build, suite, self.build / suite.library, 300, 3000)
                if wrong:
                    raise SystemExit(f'without any change: {wrong}')
                self.ready.add(suite.name)

    def sources_with(self):
        """{file: the sources that have to be compiled again when it changes}"""
        own = {s for f in self.locks for s in suites.sources(f) if s.parent == self.folder}
        needs = {s: subprocess.run([*suites.COMPILE, '-MM', s], check=True,
                                   capture_output=True, text=True).stdout.split()
                 for s in sorted(own)}
        return {f: [s for s in needs if str(source(f)) in needs[s]] for f in FILES[self.library]}

    def compile(self, mutant, folder, shadow, flavour):
        """The objects of the mutant. None: does not compile; []: the same code as without the change."""
        objects = dict(self.unchanged(flavour))
        differs = False
        for user in self.users[mutant.file]:
            made = suites.compile_object(folder / flavour, flavour, shadow / user.name, FLAGS)
            if not made:
                return None
            differs |= made.read_bytes() != objects[user].read_bytes()
            objects[user] = made
        return list(objects.values()) if differs else []

    def judge(self, mutant, folder):
        """The verdict on a mutant: see Verdicts."""
        shadow = folder / 'sources'
        shadow.mkdir(parents=True)
        for file in self.folder.iterdir():
            (shadow / file.name).symlink_to(file)
        changed = source(mutant.file)
        (shadow / changed.name).unlink()
        (shadow / changed.name).write_text(mutant.apply(changed.read_text()))
        built = {}
        for suite in self.suites:
            flavour, library = suite.flavour, folder / suite.library
            if flavour == 'sanitized' and not any(built.values()):
                break  # there the same code differs by where in its line it stands
            if flavour not in built:
                built[flavour] = self.compile(mutant, folder, shadow, flavour)
            if built[flavour] is None:
                return None
            if built[flavour]:
                self.prepare(suite)
                if not (library / 'libtree.so').exists():
                    suites.link_library(library, suite, built[flavour])
                wrong, _ = suites.run(self.build, suite, library, 2 + 4 * suite.cpu,
                                      30 + 10 * suite.cpu)
                if wrong:
                    return wrong
        return '' if any(built.values()) else None


def choose(args, known):
    found = {library: [m for f in files for m in mutants.find(f, source(f).read_text())]
             for library, files in FILES.items()}
    gone = known.keys() - {m.key for all_of_one in found.values() for m in all_of_one}
    if gone:
        raise SystemExit('mutate: no longer there, but in equivalent.txt:\n' + '\n'.join(gone))
    found = found[args.of]
    if args.only:
        file, _, line = args.only.partition(':')
        found = [m for m in found if source(m.file).name == file and (not line or m.line == int(line))]
    random.Random(args.seed).shuffle(found)
    return found


def judge_all(args, chosen, known, verdicts, build, all_suites):
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
    shop = Workshop(build, args.of, all_suites)
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
    parser.add_argument('--of', choices=FILES, default='mapletree', help='the library')
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
    all_suites = suites.all_suites(args.of, 1.6)
    verdicts = Verdicts(build / 'verdicts.jsonl', args.of, suites.test_sources(all_suites))
    print(f'mutate: {args.count} of {len(chosen)} places, seed {args.seed}', flush=True)
    judge_all(args, chosen, known, verdicts, build, all_suites)
    report(args, chosen, known, verdicts)


if __name__ == '__main__':
    main()
