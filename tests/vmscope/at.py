#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""at.py VMSCOPE PROGRAM... - what 'vmscope at' tells of a log is what 'vmscope replay --until'
comes to: at lines drawn by chance (the seed is printed), of programs that fork and of many calls.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

vmscope, programs = sys.argv[1], sys.argv[2:]
seed = int(os.environ.get('SEED', 0)) or random.SystemRandom().randrange(1 << 32)
draw = random.Random(seed)
print(f'# SEED={seed}')
failures = 0


def run(*args, text=None, status=None):
    done = subprocess.run([vmscope, *map(str, args)], input=text, capture_output=True, text=True,
                          timeout=300)
    if status is not None and done.returncode != status:
        fail(f'{args}: status {done.returncode}, not {status}: {done.stderr[:500]}')
    return done


def fail(what):
    global failures
    failures += 1
    print('FAILED:', what)


def sections(text, heading):
    """{pid: maps} of the processes whose heading matches."""
    found = {}
    for part in re.split(r'^(?=# process )', text, flags=re.M):
        match = re.match(r'# process (\d+) .*\n', part)
        if match and re.search(heading, match[0]):
            found[int(match[1])] = part[match.end():].strip()
    return found


def area_at(maps, address):
    for line in maps.splitlines():
        start, end = (int(x, 16) for x in line.split()[0].split('-'))
        if start <= address < end:
            return line
    return None


def check_line(log, line):
    at = run('at', log, line)
    then = sections(run('replay', log, f'--until={line}').stdout, 'at its last call')
    now = sections(at.stdout, f'after line {line}$')
    if now != then:
        fail(f'{log}: line {line}: at tells\n{at.stdout[:2000]}\nreplay comes to {then}')
    return now


def addresses(maps):
    bounds = [int(x, 16) for line in maps.splitlines() for x in line.split()[0].split('-')]
    return [draw.choice(bounds) + draw.choice([-1, 0, 1]) for _ in range(8)]


def check_addresses(log, line, spaces):
    queries, answers = '', []
    for address in addresses(draw.choice(list(spaces.values()))):
        queries += f'{line} {address:#x}\n\n'
        for pid, maps in spaces.items():
            area = area_at(maps, address)
            answers.append(f'{line} {address:#x} {pid} {area or "-"}')
            one = run('at', log, line, hex(address), f'--pid={pid}', status=0 if area else 1)
            if (area or '# nothing is mapped from') not in one.stdout:
                fail(f'{log}: line {line}: {address:#x}: {one.stdout}, not {area}')
    got = run('at', log, '--queries=-', text=queries).stdout.splitlines()
    if got != answers:
        fail(f'{log}: {queries}: {got}, not {answers}')


def check_times(log, records):
    timed = [(r['time'], n) for n, r in enumerate(records, 1)
             if r.get('type') in ('space', 'call', 'copy', 'seen')]
    for time, line in draw.sample(timed, min(5, len(timed))):
        last = max(n for t, n in timed if t <= time)
        now = sections(run('at', log, f'{time:.6f}s').stdout, '')
        if now != sections(run('at', log, last).stdout, ''):
            fail(f'{log}: {time}s is not line {last}')


# What strace writes, by its kinds of stamps; the process ends a minute later.
STRACE = """{0} mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000
{1} munmap(0x7f0000001000, 4096) = 0
{2} exit_group(0) = ?
{2} +++ exited with 0 +++
"""
STAMPS = {'-ttt': ('1700000000.100001', '1700000001.600002', '1700000061.600002'),
          '-tt': ('23:59:59.100001', '00:00:00.600002', '00:01:00.600002'),
          '-r': ('0.000000', '1.500001', '60.000000')}


def check_stamps(log):
    """Stamps of a log name moments of it, and so do the seconds since its first one."""
    before, after = '7f0000000000-7f0000002000', '7f0000000000-7f0000001000'
    for kind, (first, second, last) in STAMPS.items():
        with open(log, 'w', encoding='utf-8') as file:
            file.write(STRACE.format(first, second, last))
        asked = [('1', before), ('2', after), ('0s', before), ('0.0', before),
                 ('1.500000s', before), ('1.500001s', after), ('61.4s', after),
                 ('1000s', None)]
        if kind != '-r':
            asked += [(first, before), (second, after), (last, None)]
        for when, areas in asked:
            told = run('at', log, when, '7f0000000000',
                       status=0 if areas else 1)
            if areas and areas not in told.stdout:
                fail(f'{kind}: {when}: {told.stdout}{told.stderr}')
            if not areas and 'there was no process' not in told.stderr:
                fail(f'{kind}: {when}: {told.stdout}{told.stderr}')
    if 'does not tell which areas' not in run('at', log, '1').stderr:
        fail('at does not warn of areas that the log has not told')
    with open(log, 'w', encoding='utf-8') as file:
        file.write(''.join(line.split(' ', 1)[1] + '\n'
                           for line in STRACE.splitlines()[:2]))
    if 'tells no times' not in run('at', log, '1s', status=1).stderr:
        fail('a log without times')


with tempfile.TemporaryDirectory() as work:
    check_stamps(f'{work}/strace.log')
    for program in programs:
        log = f'{work}/{os.path.basename(program)}.log'
        traced = run('trace', '-q', '--verify=end', '-o', log, '--', program)
        if traced.returncode:
            fail(f'{program}: {traced.stderr[:500]}')
            continue
        with open(log, encoding='utf-8') as file:
            records = [json.loads(line) for line in file]
        spaces = {}
        for line in sorted(draw.sample(range(2, len(records) + 1), min(25, len(records) - 1))):
            spaces = check_line(log, line) or spaces
            if spaces and draw.randrange(5) == 0:
                living = check_line(log, line)
                if living:
                    check_addresses(log, line, living)
        check_times(log, records)
    # what cannot be answered
    for args, status, words in [
            ((log,), 125, 'give a log, and a line'), ((log, 'soon'), 125, "'soon' is not a line"),
            ((log, '0'), 125, "'0' is not a line"),
            *(((log, wrong), 125, 'is not a line')
              for wrong in ('9' * 20, '1e3s', '1.5.2', '25:00:00', '12:60:00', '12:00', '1s2',
                            '.5s', '+1', '', '12:00:00s')), ((log, '5', 'there'), 125, 'not an address'),
            ((log, '5', '10', '11'), 125, 'one too many'),
            ((log, '1'), 1, 'there was no process at 1'),
            ((log, '10:50:00'), 1, 'does not tell the time of the day'),
            ((log, '1700000000.5'), 1, 'does not tell the date'),
            ((log, '5', '--pid=999999999'), 1, 'there was no process 999999999'),
            ((log, '--queries=/nowhere'), 125, 'cannot read /nowhere'),
            ((log, '5', '--queries=/dev/null'), 125, 'leave that out'),
            (('/nowhere', '5'), 125, 'cannot read /nowhere'),
            (('/dev/null', '5'), 125, 'it is empty'), (('-', '--queries=-'), 125, 'both')]:
        said = run('at', *args, status=status, text='')
        if words not in said.stderr:
            fail(f'{args}: did not say "{words}": {said.stderr[:500]}')
    bad = run('at', log, '--queries=-', text='5 10\n5\n', status=125)
    if '-:2: ' not in bad.stderr:
        fail(f'a malformed query: {bad.stderr}')
    bad = run('at', log, '--queries=-', text='5 10\0 11\n', status=125)
    if '-:1: ' not in bad.stderr:
        fail(f'a query with a NUL: {bad.stderr}')

sys.exit(1 if failures else 0)
