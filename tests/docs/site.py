#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""site.py SOURCE_ROOT - the site of the documentation is built, and its links hold; what is broken in it is
noticed. Prints TAP.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
BUILD = ROOT / 'tools/site/build.py'
LINKS = ROOT / 'tools/site/links.py'


def run(program, *arguments):
    """Its exit status, and what it said."""
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.returncode, done.stdout


def replace_in(path, pattern, by):
    text, times = re.subn(pattern, by, path.read_text(encoding='utf-8'), count=1)
    assert times, f'{path} has no {pattern}'
    path.write_text(text, encoding='utf-8')


def built(work):
    return run(BUILD, ROOT, work / 'site') + (0, '')


def holds(work):
    return run(LINKS, work / 'site') + (0, '')


def broken(change, complaint):
    """A test: links.py has this complaint, and no other, after the change of a copy."""
    def test(work):
        shutil.copytree(work / 'site', work / 'copy')
        change(work / 'copy')
        status, said = run(LINKS, work / 'copy')
        shutil.rmtree(work / 'copy')
        return status, said, 1, complaint
    return test


def leads_nowhere(work):
    """build.py itself refuses a source that refers to a file that there is not."""
    source = work / 'source'
    (source / 'man').mkdir(parents=True)
    (source / 'README.md').write_text('# Title\n\n[a guide](docs/none.md)\n', encoding='utf-8')
    status, said = run(BUILD, source, work / 'other')
    return status, said, 1, 'build.py: README.md: docs/none.md: there is no such file\n'


TESTS = {
    'is built': built,
    'links hold': holds,
    'a missing file is noticed': broken(
        lambda site: replace_in(site / 'index.html', 'href="docs/design.html"', 'href="docs/sketch.html"'),
        'index.html: docs/sketch.html: there is no such file\n'),
    'a missing anchor is noticed': broken(
        lambda site: replace_in(site / 'docs/testing.html', 'id="claims"', ''),
        'index.html: docs/testing.html#claims: there is no such anchor\n'),
    'an anchor that is there twice is noticed': broken(
        lambda site: replace_in(site / 'man/mtree_load.3.html', 'id="SYNOPSIS"', 'id="SYNOPSIS"><p id="NAME"'),
        'man/mtree_load.3.html: 2 anchors are called NAME\n'),
    'what would need a network is noticed': broken(
        lambda site: replace_in(site / 'SECURITY.html', 'href="style.css"', 'href="//example.org/style.css"'),
        'SECURITY.html: //example.org/style.css would be loaded from elsewhere\n'),
    'a source that refers to nothing is refused': leads_nowhere,
}


def main():
    try:
        import markdown_it  # noqa: F401 pylint: disable=unused-import,import-outside-toplevel
        lack = '' if shutil.which('mandoc') else 'mandoc'
    except ImportError:
        lack = 'markdown-it for /usr/bin/python3 (on Debian: python3-markdown-it)'
    if lack:
        print(f'1..0 # SKIP there is no {lack}')
        return 0
    failed = 0
    print(f'1..{len(TESTS)}')
    with tempfile.TemporaryDirectory() as work:
        for number, (name, test) in enumerate(TESTS.items(), 1):
            status, said, expected_status, expected = test(pathlib.Path(work))
            # What a build that succeeds says is for people.
            right = status == expected_status and (test is built or said == expected)
            failed += not right
            if not right:
                print(*(f'# {line}' for line in [f'exit status {status}', *said.splitlines()]), sep='\n')
            print(f'{"ok" if right else "not ok"} {number} - the site: {name}')
    return failed > 0


sys.exit(main())
