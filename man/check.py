#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py HEADER[,HEADER...] ALIASES PAGE... - the pages describe the headers: every public name,
with its prototype. ALIASES is the directory of the pages that only source another.

Also compiles the examples, and runs mandoc's lint where mandoc is installed. Prints TAP.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

from header import Header

SECTIONS = ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'LOCKING AND RCU', 'RETURN VALUES', 'EXAMPLES',
            'SEE ALSO']

class Page:
    def __init__(self, path):
        self.path = path
        self.file = os.path.basename(path)
        self.text = open(path, encoding='utf-8').read()
        parts = re.split(r'^\.Sh (.*)\n', self.text, flags=re.M)
        self.sections = dict.fromkeys(SECTIONS, '') | dict(zip(parts[1::2], parts[2::2]))
        self.names = re.findall(r'^\.Nm (\w+)', self.sections['NAME'], flags=re.M)
        self.prototypes = {}
        kind = None
        name, arguments = None, []
        for line in self.sections['SYNOPSIS'].splitlines():
            macro, *rest = shlex.split(line)
            if macro == '.Ft':
                kind = ' '.join(rest)
            elif macro == '.Fo':
                name, arguments = rest[0], []
            elif macro == '.Fa':
                arguments += rest
            elif macro == '.Fn':
                name, arguments = rest[0], rest[1:]
            if macro in ('.Fn', '.Fc'):
                self.prototypes[name] = (kind, arguments)
                kind = None

    def example(self, headers):
        code = '\n'.join(re.findall(r'^\.Bd -literal.*?\n(.*?)^\.Ed', self.sections['EXAMPLES'],
                                    flags=re.M | re.S))
        return ''.join(f'#include <mapletree/{name}>\n' for name in headers) + code.replace('\\e', '\\')


def check_prototypes(header, page):
    for name, (kind, arguments) in page.prototypes.items():
        if name in header.functions:
            if (kind, arguments) != header.functions[name]:
                yield f'{name}: header has {header.functions[name]}, page has {kind, arguments}'
        elif (kind, arguments) != (None, header.macros.get(name)):
            yield f'{name}: not in the header with arguments {arguments}'
    if page.file.endswith('.3') and \
            [n for n in page.names if n not in header.types - header.calls()] \
            != list(page.prototypes):
        yield 'NAME and SYNOPSIS differ'


def check_form(pages, page):
    needed = SECTIONS if page.file.endswith('.3') else [s for s in SECTIONS if s[0] != 'R']
    for section in needed:
        if not page.sections[section]:
            yield f'no section {section}'
    if page.file[:-2] not in page.names:
        yield 'is not named after what it describes'
    ours = {f'{name} {p.file[-1]}' for p in pages for name in p.names}
    for name, section in re.findall(r'\bXr (\w+) (\d)', page.text):
        if re.match(r'_*(mt|mas|mtree|maple|xa|vma|vmspace)_|[A-Z]', name) \
                and f'{name} {section}' not in ours and not os.path.exists(
                    os.path.join(os.path.dirname(page.path), f'{name}.{section}')):
            yield f'refers to {name}({section}), which is no page'
    for name in page.prototypes:
        if not re.search(r'\b%s\b' % name, page.sections['DESCRIPTION'] +
                         page.sections['RETURN VALUES']):
            yield f'does not describe {name}'
    for name in re.findall(r'\bFn (\w+)', page.sections['DESCRIPTION']):
        if page.file.endswith('.3') and re.match(r'_*(mt|mas|mtree|vma|vmspace)_', name) \
                and name not in page.names:
            yield f'describes {name}, which it does not name'


def check_cost(page):
    """Of each call of libvmspace: what it costs, what it waits for, and whether signal handlers may make it."""
    cost = page.sections.get('COST AND BLOCKING', '')
    if not page.file.startswith('v') or not page.file.endswith('.3'):
        return
    if not cost:
        yield 'no section COST AND BLOCKING'
    elif not re.search(r'\bsignal', cost):
        yield 'COST AND BLOCKING does not tell of signal handlers'
    elif not re.search(r'\bwait', cost):
        yield 'COST AND BLOCKING does not tell what is waited for'
    # A sentence about all that the others have in common names none of them.
    if not re.search(r'^(All|Both|Neither|Each|The others|The rest|All others)\b', cost, flags=re.M):
        for name in page.prototypes:
            if not re.search(r'\b%s\b' % name, cost):
                yield f'COST AND BLOCKING does not tell of {name}'


def check_aliases(directory, page):
    section = page.file[-1]
    for name in page.names:
        path = os.path.join(directory, f'{name}.{section}')
        if f'{name}.{section}' == page.file:
            continue
        if not os.path.exists(path):
            yield f'man {name} finds nothing'
        elif open(path, encoding='utf-8').read() != f'.so man{section}/{page.file}\n':
            yield f'man {name} finds another page'


def check_example(paths, page):
    compiler = shlex.split(os.environ.get('CC', 'cc'))
    include = os.path.dirname(os.path.dirname(os.path.abspath(paths[0])))
    run = subprocess.run(
        compiler + ['-std=gnu17', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-I', include,
                    '-x', 'c', '-'],
        input=page.example(map(os.path.basename, paths)), capture_output=True, text=True, check=False)
    if run.returncode:
        yield from run.stderr.splitlines()


def check_lint(page):
    run = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', page.path],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        yield from run.stdout.splitlines()


def check_whole(header, pages):
    manual = '\n'.join(page.text for page in pages)
    described = [name for page in pages for name in page.prototypes]
    for name in sorted(header.calls() - set(described)):
        yield f'{name} is in no synopsis'
    for name in sorted({n for n in described if described.count(n) > 1}):
        yield f'{name} is in two pages'
    for name in sorted(header.constants | header.types):
        if not re.search(r'\b%s\b' % name, manual):
            yield f'{name} is nowhere mentioned'
    if len(header.functions) < 50 or len(header.macros) < 40:
        yield 'hardly anything found in the header: has its form changed?'


def main():
    paths = sys.argv[1].split(',')
    header = Header(paths[0])
    for path in paths[1:]:
        header.add(Header(path))
    pages = [Page(path) for path in sys.argv[3:]]
    results = [('everything public is described', check_whole(header, pages))]
    for page in pages:
        results.append((f'{page.file}: prototypes', check_prototypes(header, page)))
        results.append((f'{page.file}: form', check_form(pages, page)))
        results.append((f'{page.file}: cost', check_cost(page)))
        results.append((f'{page.file}: aliases', check_aliases(sys.argv[2], page)))
        results.append((f'{page.file}: examples compile', check_example(paths, page)))
        if shutil.which('mandoc'):
            results.append((f'{page.file}: lint', check_lint(page)))
    print(f'1..{len(results)}')
    failed = 0
    for number, (name, complaints) in enumerate(results, 1):
        complaints = list(complaints)
        for complaint in complaints:
            print(f'# {complaint}')
        print(f'{"not ok" if complaints else "ok"} {number} - {name}')
        failed += bool(complaints)
    return failed > 0


sys.exit(main())
