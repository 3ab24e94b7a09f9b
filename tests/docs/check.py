#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py SOURCE_ROOT BIN_DIR... - what the README, the guides and docs/ say can be followed.

Links lead to files and headings that exist; "make TARGET" and "./run WORD" are there. Before a block of
code in the README or a guide may stand a comment: <!-- FILE --> says that FILE, which a test runs, has
these lines; <!-- runs --> that the commands run, here, with the programs in BIN_DIR; <!-- prints --> that
the last commands that ran print each of these lines. Whole programs in manual pages compile as they stand.
Prints TAP.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LINK = re.compile(r'!?\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)')
BLOCK = re.compile(r'(?:^<!-- (\S+) -->\n)?^```([\w+]*)\n(.*?)^```$', re.M | re.S)


def anchors(text):
    """What headings are called in links."""
    found = set()
    for heading in re.findall(r'^#+ (.*)$', re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S), re.M):
        name = re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')
        found.add(name)
    return found


def check_links(root, path):
    text = path.read_text(encoding='utf-8')
    for link in LINK.findall(BLOCK.sub('', text)):
        if re.match(r'[a-z]+:', link):
            continue
        name, _, anchor = link.partition('#')
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            yield f'{link}: there is no such file'
        elif root not in target.parents:
            yield f'{link}: leads out of the project'
        elif anchor and anchor not in anchors(target.read_text(encoding='utf-8')):
            yield f'{link}: there is no such heading'


def check_commands(root, path):
    text = path.read_text(encoding='utf-8')
    targets = set(re.findall(r'^([a-z][\w-]*)(?: [a-z][\w -]*)?:', (root / 'Makefile').read_text(), re.M))
    for line in re.findall(r'^([a-z][\w -]*):', (root / 'Makefile').read_text(), re.M):
        targets |= set(line.split())
    words = set(re.findall(r'^(\w+)\) ', (root / 'run').read_text(), re.M))
    spans = re.findall(r'`([^`\n]+)`', text) + [
        line for _, language, block in BLOCK.findall(text) if language == 'sh'
        for line in block.splitlines()]
    for span in spans:
        for target in re.findall(r'\bmake ((?:[A-Z_]+=\S* )*[a-z][\w-]*)', span.split('#')[0]):
            if target.split()[-1] not in targets:
                yield f'make {target}: there is no such target'
        for word in re.findall(r'\./run (\w+)', span):
            if word not in words:
                yield f'./run {word}: not known'


def cannot_run(folders):
    """Why commands of vmscope cannot be run here, or ''."""
    if not folders:
        return 'vmscope is not built, or with a sanitizer'
    program = shutil.which('vmscope', path=os.pathsep.join(folders))
    run = subprocess.run([program, 'trace', '-q', '--', 'true'], stderr=subprocess.PIPE, text=True, check=False)
    return ' '.join(run.stderr.split()) if run.returncode == 125 else ''


def has_lines(path, block):
    """As they are, or in comments that document what follows, whose examples a language's tests run."""
    text = path.read_text(encoding='utf-8')
    return block in text or block in re.sub(r'^//[!/] ?', '', text, flags=re.M)


def check_blocks(root, path, folders, work):
    path_variable = os.pathsep.join([*map(os.path.abspath, folders), os.environ['PATH']])
    printed = None
    for mark, _, block in BLOCK.findall(path.read_text(encoding='utf-8')):
        if mark == 'runs':
            run = subprocess.run(['sh', '-e', '-c', block], cwd=work, env={**os.environ, 'PATH': path_variable},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            printed = run.stdout
            if run.returncode:
                yield f'exit status {run.returncode}: {block}{run.stderr}'
        elif mark == 'prints':
            for line in block.splitlines():
                if printed is None or line.strip() not in map(str.strip, printed.splitlines()):
                    yield f'is not printed: {line}'
        elif mark and not (root / mark).exists():
            yield f'{mark}: there is no such file'
        elif mark and not has_lines(root / mark, block):
            yield f'{mark} does not have these lines:\n{block}'


LITERAL = re.compile(r'^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$', re.M)
MAIN = re.compile(r'^(int )?main\(', re.M)


def check_programs(root, page):
    for block in LITERAL.findall(page.read_text(encoding='utf-8')):
        if not MAIN.search(block):
            continue
        language = ['-std=c++17', '-xc++'] if 'std::' in block else ['-std=gnu11', '-xc']
        program = block.replace('\\&', '').replace('\\e', '\\')
        run = subprocess.run(['cc', *language, '-fsyntax-only', '-I', root / 'include', '-'],
                             input=program, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode:
            yield run.stderr


# Where the version stands: the first line of the file that is like this.
VERSIONS = {
    'meson.build': r"^  version: '([^']*)',$",
    'packaging/debian/changelog': r'\Amapletree \(([^)]*)-\d+\)',
    'CHANGELOG.md': r'^## (\S+), .*$',
    'bindings/python/meson.build': r"^  version: '([^']*)',$",
    'bindings/python/pyproject.toml': r'^version = "([^"]*)"$',
    'bindings/rust/mapletree-sys/Cargo.toml': r'^version = "([^"]*)"$',
    'bindings/rust/mapletree/Cargo.toml': r'^version = "([^"]*)"$',
    'bindings/rust/vmspace-sys/Cargo.toml': r'^version = "([^"]*)"$',
    'bindings/rust/vmspace/Cargo.toml': r'^version = "([^"]*)"$',
}


def check_versions(root):
    found = {}
    for name, line in VERSIONS.items():
        match = re.search(line, (root / name).read_text(encoding='utf-8'), re.M)
        found[name] = match and match[1]
    if len(set(found.values())) != 1 or None in found.values():
        yield from (f'{name} has the version {version}' for name, version in found.items())


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    runs = '<!-- runs -->'
    shown = [root / 'README.md', *sorted((root / 'docs/guides').glob('*.md'))]
    others = sorted({*root.glob('*.md'), *(root / 'docs').glob('*.md'), *root.glob('bench/*.md')} - {*shown})
    reason = cannot_run(sys.argv[2:])
    results = [('versions', list(check_versions(root)))]
    for page in sorted((root / 'man').glob('*.[1-9]')):
        if MAIN.search(page.read_text(encoding='utf-8')):
            results.append((f'{page.name}: programs', list(check_programs(root, page))))
    for path in shown + others:
        name = path.relative_to(root)
        results.append((f'{name}: links', list(check_links(root, path))))
        results.append((f'{name}: make and run', list(check_commands(root, path))))
        if path in shown:
            if runs in path.read_text(encoding='utf-8') and reason:
                results.append((f'{name}: blocks # SKIP {reason}', []))
                continue
            with tempfile.TemporaryDirectory() as work:
                results.append((f'{name}: blocks', list(check_blocks(root, path, sys.argv[2:], work))))
    print(f'1..{len(results)}')
    for number, (name, complaints) in enumerate(results, 1):
        for complaint in complaints:
            print(*(f'# {line}' for line in complaint.splitlines()), sep='\n')
        print(f'{"not ok" if complaints else "ok"} {number} - {name}')
    return any(complaints for _, complaints in results)


sys.exit(main())
