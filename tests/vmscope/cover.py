#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rounds of vmscope check cover: every row of cover.txt, every reason, every verdict.

Runs all mixes together, then each by itself, with a seed that is printed, and adds up what
`vmscope check --cover` tells. Fails if a run does, or if no round reached
- a row of cover.txt: a call with an errno (0: it succeeded), an advice of madvise() with one, a
  file of enum puppet_file that was mapped, a way of comparing;
- a reason that libvmspace gives (a sentence in src/vmspace), or a verdict about two neighbours;
- a known difference (tools/vmscope/check/known.c): it is mended, and its entry must go.
Lines of cover.txt that begin with "-" are exceptions: rows that may be missing, with why behind #.

Usage: cover.py VMSCOPE SOURCE_ROOT OPS [SEED]
"""
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile


def read_rows(path):
    """Required rows, and exceptions with their reasons."""
    required, exceptions = [], {}
    for line in path.read_text().splitlines():
        row, _, reason = (part.strip() for part in line.partition('#'))
        if row.startswith('-'):
            if not reason:
                sys.exit(f'{path}: an exception without a reason: {line}')
            exceptions[row[1:].strip()] = reason
        elif row:
            required.append(row)
    return required, exceptions


def sentences(source):
    """The reasons in libvmspace's sources, and its verdicts."""
    text = '\n'.join(path.read_text() for path in sorted(source.glob('*.c')))
    # Strings may be spread over lines, in several pieces.
    call = r'outcome_(?:fail|limit)\([^;"]*((?:"[^"]*"\s*)+)\)'
    reasons = {''.join(re.findall(r'"([^"]*)"', found)) for found in re.findall(call, text)}
    verdicts = set(re.findall(r'\[VMA_\w+\] = "([^"]*)"', (source / 'merge.c').read_text()))
    return reasons, verdicts


def run(vmscope, counts, *arguments):
    with tempfile.NamedTemporaryFile(mode='r') as cover:
        command = [vmscope, 'check', '--cover', cover.name, *arguments]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f'{" ".join(command)}: status {result.returncode}\n{result.stderr}')
        for line in cover:
            row, _, count = line.rstrip('\n').rpartition('\t')
            counts[row] += int(count)


def main():
    vmscope, root, ops = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.getrandbits(63)
    print(f'# seed {seed}', flush=True)
    required, exceptions = read_rows(pathlib.Path(__file__).parent / 'cover.txt')
    reasons, verdicts = sentences(root / 'src/vmspace')
    text = subprocess.run([vmscope, 'check', '--help'], capture_output=True, text=True).stdout
    mixes = re.findall(r'^ *mix (\w+):', text, re.M)[1:]

    counts = collections.Counter()
    run(vmscope, counts, '--seed', str(seed), '--ops', str(ops // 2))
    for mix in mixes:
        run(vmscope, counts, '--seed', str(seed), '--mix', mix,
            '--ops', str(ops // 2 // len(mixes)))

    reached = {row for row, count in counts.items() if count}
    given = {row.split(': ', 1)[1] for row in reached if row.startswith('why ')}
    missing = [row for row in required if row not in reached]
    missing += [f'reason {why}' for why in sorted(reasons - given)
                if f'reason {why}' not in exceptions]
    missing += [f'verdict {verdict}' for verdict in sorted(verdicts)
                if f'verdict {verdict}' not in reached | set(exceptions)]
    missing += [row for row, count in counts.items() if row.startswith('known ') and not count]
    listed = set(required) | set(exceptions)
    for row in sorted(reached):
        if row.startswith(('call ', 'advice ', 'file ', 'way ')) and row not in listed:
            print(f'not in cover.txt: {row} ({counts[row]} times)')
    for row in missing:
        print(f'not covered: {row}')
    print(f'{len(reached)} rows covered, {len(missing)} missing; {len(exceptions)} exceptions')
    if len(sys.argv) > 5:
        for row, count in sorted(counts.items()):
            print(f'{row}\t{count}')
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main())
