#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py LIBRARY PROGRAM - readelf lists the static probes of LIBRARY with their arguments; gdb and bpftrace,
attached to those of PROGRAM (calls.c), are stopped by as many calls as it has made. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys

ARGUMENTS = {'read': 4, 'write': 6, 'op': 6}


class Skip(Exception):
    """A test that cannot run here, and why."""


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100,
                          check=False, **more).stdout


def need(name):
    if not shutil.which(name):
        raise Skip(f'{name} is not installed')


def probes(file):
    """{name: [arguments of each place]} of provider mapletree."""
    found = {}
    notes = run('readelf', '--wide', '--notes', file, env={**os.environ, 'LC_ALL': 'C'})
    for name, arguments in re.findall(r'Provider: mapletree\n\s*Name: (\S+)\n.*\n\s*Arguments: (.*)', notes):
        found.setdefault(name, []).append(arguments.split())
    return found


def readelf_lists_the_three_with_their_arguments(library, _):
    need('readelf')
    found = probes(library)
    counts = {name: {len(place) for place in places} for name, places in found.items()}
    return counts == {name: {count} for name, count in ARGUMENTS.items()}, found


def expected(program):
    return dict(line.rsplit(' ', 1) for line in run(program).splitlines())


def what_is_hit_is_what_was_called_in_gdb(_, program):
    need('gdb')
    wanted = expected(program)
    script = []
    for number, name in enumerate(wanted, 1):
        probe, *kind = name.split()
        script += ['-ex', f'break -probe-stap mapletree:{probe}', '-ex', f'ignore {number} 1000000']
        script += ['-ex', f'condition {number} $_probe_arg5 == {kind[0]}'] if kind else []
    output = run('gdb', '-nx', '-batch', '-iex', 'set auto-load off', '-iex', 'set debuginfod enabled off',
                 *script, '-ex', 'run', '-ex', 'info breakpoints', program)
    if 'ptrace: Operation not permitted' in output:
        raise Skip('processes may not be traced here')
    hits = dict(re.findall(r'^(\d+) .*(?:\n\s.*)*?already hit (\d+) time', output, flags=re.M))
    return {name: hits.get(str(number)) for number, name in enumerate(wanted, 1)} == wanted, output


def what_is_hit_is_what_was_called_in_bpftrace(_, program):
    need('bpftrace')
    wanted = expected(program)
    script = (f'usdt:{program}:mapletree:read {{ @hits["read"] = count(); }} '
              f'usdt:{program}:mapletree:write {{ @hits["write"] = count(); }} '
              f'usdt:{program}:mapletree:op /arg5 >= 7/ {{ @op[arg5] = count(); }}')
    output = run('bpftrace', '-c', program, '-e', script)
    hits = {**dict(re.findall(r'@hits\[(\w+)\]: (\d+)', output)),
            **{f'op {kind}': count for kind, count in re.findall(r'@op\[(\d+)\]: (\d+)', output)}}
    if not hits:
        raise Skip('bpftrace cannot attach here: ' + ' '.join(output.split())[:200])
    return hits == wanted, output


def main():
    tests = [readelf_lists_the_three_with_their_arguments, what_is_hit_is_what_was_called_in_gdb,
             what_is_hit_is_what_was_called_in_bpftrace]
    print(f'1..{len(tests)}')
    for number, test in enumerate(tests, 1):
        try:
            passed, shown = test(*sys.argv[1:3])
        except Skip as why:
            print(f'ok {number} - {test.__name__} # SKIP {why}')
            continue
        if not passed:
            print('# ' + str(shown).replace('\n', '\n# '))
        print(f'{"ok" if passed else "not ok"} {number} - {test.__name__}')


main()
