#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py PROGRAM SCRIPT - gdb shows the trees, cursors and the space of PROGRAM (shown.c) as they are,
with SCRIPT (tools/gdb/mapletree.py), in the running process and in a core file of it. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TREES = ('empty', 'lone', 'small', 'large')
QUESTIONS = [
    *(f'print {tree}' for tree in TREES),
    'print *mas',
    'print *failed',
    'print *space',
    'print $mtree_load(&large, 640)',
    'print $mtree_load(&large, 63)',
    'print $mtree_load(&lone, 0)',
    'print $mtree_load(&lone, 1)',
    'print (unsigned long)$mtree_load(&small, ~0UL) == (unsigned long)$mtree_load(&lone, 0)',
]


def gdb(*arguments):
    return subprocess.run(['gdb', '-nx', '-batch', '-iex', 'set auto-load off', '-iex', 'set debuginfod enabled off',
                           *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=100, check=False).stdout


def ask(script):
    """The commands that ask everything, each after a line of its own."""
    words = ['-ex', f'source {script}', '-ex', 'set print elements unlimited', '-ex', 'set print pretty on',
             '-ex', 'frame function main']
    for question in QUESTIONS:
        words += ['-ex', f'echo \\n== {question}\\n', '-ex', question.replace('*mas', 'mas').replace(
            '*failed', 'failed')]
    return words


def expect(output, wanted):
    """Complaints, by name."""
    answers = dict(re.findall(r'^== (.*)\n((?:(?!== ).*\n)*)', output, re.M))
    for tree in TREES:
        answer = answers.get(f'print {tree}', '')
        found = re.findall(r'(\[0x.*\]) = "?(.*?)"?,?$', answer, re.M)
        expected = re.findall(rf'^{tree}: (\[.*\]) = (.*)$', wanted, re.M)
        expected = [(re.sub(r'\b0([,\]])', r'0x0\1', range_), entry) for range_, entry in expected]
        yield f'tree {tree}', found == expected and 'maple tree of height' in answer, answer[:2000]
    for name, question, pattern in (
            ('flags', 'print large', r'height 4, gaps'),
            ('flags of RCU', 'print small', r'height 1, RCU'),
            ('a cursor', 'print *mas', r'cursor at \[0x280, 0x28a\], active, of tree 0x[0-9a-f]+, slot \d+ of node'),
            ('a cursor that failed', 'print *failed', r'cursor at \[0x3, 0x2\], error, .* -22$'),
            ('a space', 'print *space', r'address space, 3 areas, 6 pages'),
            ('its areas', 'print *space', r'10000-12000 = "?rw-p.*\n.*20000-22000 = "?r--p.*\n.*30000-32000 = "?rw-p'),
            ('a lookup', 'print $mtree_load(&large, 640)', r'0x15$'),
            ('a lookup of nothing', 'print $mtree_load(&large, 63)', r' 0x0$'),
            ('a lookup of the lone entry', 'print $mtree_load(&lone, 0)', r' 0x[0-9a-f]{4,}'),
            ('a lookup beside it', 'print $mtree_load(&lone, 1)', r' 0x0$'),
            ('a lookup of the last index', QUESTIONS[-1], r'= 1$')):
        answer = answers.get(question, '')
        yield name, re.search(pattern, answer, re.M) is not None, answer[:2000] or output[-2000:]


def main():
    program, script = sys.argv[1:]
    if not shutil.which('gdb'):
        print('1..0 # SKIP there is no gdb here')
        return 0
    if 'yes' not in gdb('-ex', 'python print("yes")'):
        print('1..0 # SKIP this gdb has no Python')
        return 0
    wanted = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as work:
        core, output = os.path.join(work, 'core'), os.path.join(work, 'output')
        # What the program prints goes past gdb, whose messages would come between.
        live = gdb(program, '-ex', 'break shown', '-ex', f'run >{output}', *ask(script),
                   '-ex', f'generate-core-file {core}')
        if 'Breakpoint 1, ' not in live:
            print('1..0 # SKIP gdb may not trace here: ' + ' '.join(live.split('\n')[-3:]))
            return 0
        with open(output, encoding='utf-8') as file:
            printed = file.read()
        same = wanted.count('\n') == printed.count('\n')
        results = [('the program prints as much alone', same, printed[:500])]
        results += list(expect(live, printed))
        after = gdb(program, core, *ask(script))
        results += [(f'core file: {name}', good, text) for name, good, text in expect(after, printed)]
    print(f'1..{len(results)}')
    for number, (name, good, text) in enumerate(results, 1):
        if not good:
            print(*(f'# {line}' for line in text.splitlines()), sep='\n')
        print(f'{"ok" if good else "not ok"} {number} - {name}')
    return not all(good for _, good, _ in results)


sys.exit(main())
