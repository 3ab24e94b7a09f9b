#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Branch coverage of the tree's core by the test suites, compared with a list of exceptions.

usage: coverage.py BUILD

Prints the figures of each file and every branch not reached. Fails if one of them is not in
unreached.txt, where each line gives file, number of branches, the source line and the reason.
What threads reach is partly chance: before it fails it runs the suites once more and adds up.
"""

import collections
import json
import shutil
import subprocess
import sys
from pathlib import Path

import suites

HERE = Path(__file__).resolve().parent
RELEASE = ['-DNDEBUG']  # an assertion is no branch
FLAGS = ['-O0', '--coverage', *RELEASE]
# One thread runs the library at a time: its counters need no atomic additions, which take four times
# as long as the rest.
ONE_THREAD = ['races', 'races-small', 'watched']
FLAVOURS = [f for f in suites.FLAVOURS if f not in ('sanitized', 'space')]


def allowed():
    """{(file, source line): number of branches}"""
    exceptions = {}
    for line in (HERE / 'unreached.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            file, count, rest = line.split(' | ', 2)
            text = rest.rsplit(' | ', 1)[0]
            if text not in map(str.strip, (suites.CORE / file).read_text().splitlines()):
                raise SystemExit(f'coverage: no longer there, but in unreached.txt: {file}: {text}')
            exceptions[file, text] = int(count)
    return exceptions


def build_all(build):
    """Builds the libraries and the programs, and returns the suites."""
    chosen = [s for s in suites.core_suites(8) if s.flavour in FLAVOURS]
    for flavour in FLAVOURS:
        update = 'single' if flavour in ONE_THREAD else 'atomic'
        suites.build_library(build, flavour, chosen, [*FLAGS, f'-fprofile-update={update}'],
                             [HERE / 'flush.c'])
    for suite in chosen:
        suites.build_program(build, suite, RELEASE)
    return chosen


def measure(build, chosen):
    """Runs the suites, whose counts add up, and returns gcovr's findings: [{file, lines}]."""
    for suite in chosen:
        wrong, _ = suites.run(build, suite, build / suite.library, 300, 3000)
        if wrong:
            raise SystemExit(f'coverage: {wrong}')
    # Older versions of gcov now and then count backwards in programs of several threads.
    done = subprocess.run(['gcovr', '--root', suites.ROOT, '--filter', f'{suites.CORE}/',
                           '--gcov-ignore-parse-errors', '--json', '-', build],
                          stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)['files']


def report(files):
    """Prints what was reached, and returns the lines about branches that are not listed."""
    exceptions = allowed()
    reached = total = 0
    unreached, new = [], []
    for file in sorted(files, key=lambda f: f['file']):
        name = Path(file['file']).name
        source = (suites.CORE / name).read_text().splitlines()
        here = [0, 0]
        missing = collections.Counter()
        for line in file['lines']:
            for branch in line['branches']:
                here[1] += 1
                here[0] += branch['count'] > 0
                if not branch['count']:
                    missing[line['line_number']] += 1
        print(f'{name:12} {here[0]:4} of {here[1]:4} branches')
        reached, total = reached + here[0], total + here[1]
        unreached += [(name, number, count, source[number - 1].strip())
                      for number, count in sorted(missing.items())]
    for name, number, count, text in unreached:
        known = exceptions.get((name, text), 0)
        exceptions[name, text] = known - count
        print(f'unreached: {name}:{number}: {count} of: {text}')
        if count > known:
            new.append(f'NOT LISTED: {name}:{number}: {count - max(known, 0)} of: {text}')
    print(f'{reached} of {total} branches: {100 * reached / total:.2f}%')
    return new


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()  # is emptied
    shutil.rmtree(build, ignore_errors=True)
    allowed()  # stops at once if the list is out of date
    chosen = build_all(build)
    for _ in range(2):
        new = report(measure(build, chosen))
        if not new:
            return
        print('\n'.join(new), flush=True)
    sys.exit('coverage: write a test for the branches not listed, or put them into '
             'tests/mutate/unreached.txt with the reason')


if __name__ == '__main__':
    main()
