#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions an operation, counted by valgrind's callgrind: a table, and beside an earlier one.

The figures are the same every time the same program runs, on a busy machine, too: good for telling
whether a change made an operation longer, not for how fast it is. They never fail a test.
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys


def count(program, directory, only):
    """Runs the program under callgrind, for one cell if @only is its label, and returns
    {(row, mode, n): (instructions, operations)}."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob('callgrind.out*'):
        old.unlink()
    # No address and nothing of the environment differs from run to run, no symbol is bound late.
    command = ['setarch', '-R', 'valgrind', '--quiet', '--tool=callgrind', '--collect-atstart=no',
               f'--callgrind-out-file={directory}/callgrind.out', program]
    command += [only] if only else []
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                            env={'PATH': os.environ['PATH'], 'LD_BIND_NOW': '1'}).stdout
    operations = dict(line.split('\t') for line in output.splitlines())
    variant = operations.pop('# variant')
    cells = {}
    for label, number in dumps(directory):
        if label in operations:
            row, mode, n = label.split('/')
            cells[row, mode, int(n)] = (number, int(operations[label]))
    return variant, cells


def dumps(directory):
    """The label and the instructions of each dump."""
    files = directory.glob('callgrind.out.*')
    for path in sorted(files, key=lambda path: int(path.suffix[1:])):
        label = None
        for line in path.read_text().splitlines():
            if line.startswith('desc: Trigger: Client Request: '):
                label = line.split(': ', 3)[3]
            elif line.startswith('totals: ') and label:
                yield label, int(line.split()[1])


def save(path, cells):
    with open(path, 'w', encoding='ascii') as out:
        out.write('row\tmode\tranges\tinstructions\toperations\n')
        for (row, mode, n), (instructions, operations) in cells.items():
            out.write(f'{row}\t{mode}\t{n}\t{instructions}\t{operations}\n')


def load(path):
    cells = {}
    with open(path, encoding='ascii') as lines:
        for line in list(lines)[1:]:
            row, mode, n, instructions, operations = line.rstrip('\n').split('\t')
            cells[row, mode, int(n)] = (int(instructions), int(operations))
    return cells


def each(cells, key):
    """Instructions an operation, or None."""
    return cells[key][0] / cells[key][1] if key in cells else None


def figure(value):
    if value is None:
        return '–'
    return f'{value:.1f}' if value < 100 else f'{value:,.0f}'


def print_table(cells, cell_text):
    rows = list(dict.fromkeys(row for row, _, _ in cells))
    modes = dict.fromkeys(mode for _, mode, _ in cells)
    columns = [(mode, n) for mode in modes for n in sorted({n for _, _, n in cells})]
    lines = [['an operation'] + [f'{mode}, {n:,}' for mode, n in columns]]
    lines += [[row] + [cell_text((row, *column)) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for number, line in enumerate(lines):
        cells_out = [line[0].ljust(widths[0])]
        cells_out += [text.rjust(width) for text, width in zip(line[1:], widths[1:])]
        print('| ' + ' | '.join(cells_out) + ' |')
        if number == 0:
            print('|' + '|'.join('-' * (width + 2) if i == 0 else '-' * (width + 1) + ':'
                                 for i, width in enumerate(widths)) + '|')


def compare(before, after):
    """Before -> after (ratio) of each cell, then of all together."""
    def text(key):
        old, new = each(before, key), each(after, key)
        if old is None or new is None:
            return figure(new)
        return f'{figure(old)} → {figure(new)} ({new / old:.3f})'

    both = [(each(before, key), each(after, key)) for key in after if key in before]
    print_table(after, text)
    if not both:
        print('\nNo cell is in both.')
        return
    old, new = (sum(column) for column in zip(*both))
    mean = math.exp(sum(math.log(b / a) for a, b in both) / len(both))
    print(f'\nSum of {len(both)} cells: {old:,.0f} → {new:,.0f}, ratio {new / old:.4f}; '
          f'geometric mean of their ratios {mean:.4f}')


def annotate(directory, label):
    """The functions of one cell, by their own instructions."""
    for path in directory.glob('callgrind.out.*'):
        if f'desc: Trigger: Client Request: {label}\n' in path.read_text():
            command = ['callgrind_annotate', '--auto=no', '--threshold=100', path]
            lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for line in lines.splitlines():
                # Not the frames outside of all that is counted, which get all of it.
                if '%)' in line and '(100' not in line and '( 0.0' not in line:
                    print(line.split(' [')[0].replace('???:', ''))
            return
    print(f'There is no "{label}"; a label is, for example, "append/gaps + RCU/1000"')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('program', help='tests/counts/counts of a release build, or calls')
    parser.add_argument('directory', type=pathlib.Path, help='for counts.tsv and the dumps')
    parser.add_argument('--base', help='a counts.tsv of before')
    parser.add_argument('--show', metavar='ROW/MODE/RANGES', help='the functions of one cell')
    args = parser.parse_args()

    variant, cells = count(args.program, args.directory, args.show)
    if args.show:
        annotate(args.directory, args.show)
        return 0
    save(args.directory / 'counts.tsv', cells)
    print(f"Instructions an operation, by number of ranges. Valgrind's processor has no AVX-512: "
          f'the searches are those for {variant}.\n')
    if args.base:
        compare(load(args.base), cells)
    else:
        print_table(cells, lambda key: figure(each(cells, key)))
    print(f'\n{args.directory}/counts.tsv')
    return 0


if __name__ == '__main__':
    sys.exit(main())
