#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page.py SOURCE_ROOT - man/range_map.3 and the C++ headers say the same: each public name of the
headers is in the page's synopsis, and the other way round. Also compiles the page's example, and runs
mandoc's lint where mandoc is installed. Prints TAP.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

HEADERS = ['interval.hpp', 'range_map.hpp', 'range_map_iterator.hpp', 'tree_guards.hpp']
# Names of the language's or of std's protocols, which need no description of their own.
PROTOCOL = {'begin', 'end', 'cbegin', 'cend', 'rbegin', 'rend', 'swap', 'key_type', 'mapped_type',
            'value_type', 'const_iterator', 'const_reverse_iterator', 'reverse_iterator',
            'iterator_category', 'difference_type', 'reference', 'pointer', 'element'}


def public_names(text):
    """The classes, and the functions and types in their public parts."""
    text = re.sub(r'namespace detail \{.*?\} // namespace detail', '', text, flags=re.S)
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    names, public = set(), False
    for line in text.splitlines():
        match = re.match(r'(?:template <.*> )?(?:enum )?(class|struct) (\w+)', line)
        if match:
            names.add(match[2])
            public = match[1] == 'struct'
        elif re.match(r'[a-z_]+<.*\(', line):  # a function outside of classes
            names.add(re.search(r'(\w+)\(', line)[1])
            public = False
        elif line in ('public:', 'private:'):
            public = line == 'public:'
        elif public:
            match = re.match(r'\tusing (\w+) =', line) or (
                re.match(r'\t\w', line) and not re.match(r'\t(static_assert|:)', line)
                and re.search(r'\b(?!operator)(\w+)\((?!.*\) = delete)', re.sub(r'<[^()]*>', '', line)))
            if match:
                names.add(match[1])
    return {name for name in names if not name.startswith('operator') and name != 'if_half_open'}


def check_names(source, page):
    header = set()
    for name in HEADERS:
        with open(os.path.join(source, 'include/mapletree', name), encoding='utf-8') as file:
            header |= public_names(file.read())
    synopsis = page.split('.Sh SYNOPSIS')[1].split('.Sh')[0]
    told = set(re.findall(r'\w+', re.sub(r'//.*', '', synopsis)))
    if len(header) < 40:
        yield 'hardly anything found in the headers: has their form changed?'
    for name in sorted(header - told - PROTOCOL):
        yield f'{name} is not in the synopsis'
    for name in sorted(set(re.findall(r'(\w+)\(', synopsis)) - header - PROTOCOL):
        yield f'{name} is in the synopsis, but not in the headers'


def check_example(source, page):
    examples = page.split('.Sh EXAMPLES')[1].split('.Sh')[0]
    code = '\n'.join(re.findall(r'^\.Bd -literal.*?\n(.*?)^\.Ed', examples, flags=re.M | re.S))
    compiler = shlex.split(os.environ.get('CXX', 'c++'))
    run = subprocess.run(
        compiler + ['-std=c++17', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                    '-I', os.path.join(source, 'include'), '-x', 'c++', '-'],
        input=code.replace('\\e', '\\'), capture_output=True, text=True, check=False)
    if run.returncode or not code:
        yield from run.stderr.splitlines() or ['there is no example']


def check_lint(path):
    run = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', path],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        yield from run.stdout.splitlines()


def main():
    source = sys.argv[1]
    path = os.path.join(source, 'man/range_map.3')
    with open(path, encoding='utf-8') as file:
        page = file.read()
    results = [('the synopsis has what the headers have', check_names(source, page)),
               ('the example compiles', check_example(source, page))]
    if shutil.which('mandoc'):
        results.append(('mandoc has nothing to say', check_lint(path)))
    print(f'1..{len(results)}')
    failed = False
    for number, (name, complaints) in enumerate(results, 1):
        complaints = list(complaints)
        for complaint in complaints:
            print(f'# {complaint}')
        print(f'{"not ok" if complaints else "ok"} {number} - {name}')
        failed |= bool(complaints)
    return failed


sys.exit(main())
