# SPDX-License-Identifier: MIT
"""vmspace.load() beside /proc, and logs of vmscope."""
import json
import os
import signal
import subprocess
import sys

import pytest
from mapletree import vmscope, vmspace


@pytest.fixture(name='stopped')
def stopped_process():
    """A process that has begun, and does nothing."""
    with subprocess.Popen([sys.executable, '-c', 'print(flush=True); import time; time.sleep(600)'],
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield process.pid
        process.kill()


def test_a_process_is_loaded_as_proc_shows_it(stopped):
    space = vmspace.load(stopped)
    with open(f'/proc/{stopped}/maps', encoding='utf-8') as file:
        maps = file.read()
    assert space.maps() == maps
    # [vsyscall] is a line, but no area.
    lines = [line for line in maps.splitlines() if not line.endswith('[vsyscall]')]
    assert len(space) == len(lines)
    for area, line in zip(space, lines):
        bounds, perms, offset, dev, inode, *name = line.split(None, 5)
        assert bounds == f'{area.start:08x}-{area.stop:08x}' and perms == area.perms
        assert int(offset, 16) == area.offset and int(inode) == area.inode
        assert dev == '{:02x}:{:02x}'.format(*area.dev)
        if name and name[0].startswith('/'):
            assert area.name == name[0]
        assert ('rd' in area.flags) == ('r' in perms) and area.stop - area.start == area.size
        assert space.lookup(area.start) == area == space.lookup(area.stop - 1)
        assert area.start in area and area.stop not in area
    assert space.lookup(0) is None
    assert space.verify(stopped, vmspace.VERIFY_MAPS | vmspace.VERIFY_FLAGS) is None
    assert space.verify('self') is not None


def test_what_cannot_be_loaded_says_why():
    with subprocess.Popen(['true']) as process:
        process.wait()
    with pytest.raises(ProcessLookupError, match=str(process.pid)):
        vmspace.load(process.pid)


def test_what_has_no_areas_says_so():
    with subprocess.Popen(['true']) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(ProcessLookupError, match=f"zombie.*/proc/{process.pid}'"):
            vmspace.load(process.pid)


def test_a_thread_of_the_kernel_is_called_so():
    try:
        with open('/proc/2/comm', encoding='utf-8') as file:
            name = file.read()
    except OSError:
        name = ''
    if name != 'kthreadd\n':
        pytest.skip('/proc shows no threads of the kernel here')
    with pytest.raises(ProcessLookupError, match="thread of the kernel.*/proc/2'"):
        vmspace.load(2)


def test_oneself():
    assert any(area.perms == 'r-xp' and area.name for area in vmspace.load())


def write_log(path, records):
    path.write_text(''.join(json.dumps(record) + '\n' for record in records), encoding='utf-8')
    return path


START = {'type': 'start', 'time': 0, 'log': 'vmscope', 'version': 1, 'revision': 3,
         'command': ['true']}
CALL = {'type': 'call', 'time': 0.5, 'pid': 7, 'tid': 8, 'space': 1, 'n': 1, 'call': 'mmap',
        'args': ['0', '2000', '3', '22', 'ffffffffffffffff', '0'], 'result': '7f0000001000',
        'request': 'mmap(...)'}


def test_a_log_is_read_record_by_record(tmp_path):
    failed = {**CALL, 'n': 2, 'call': 'munmap', 'result': -22, 'args': ['1']}
    path = write_log(tmp_path / 'log', [START, CALL, {'type': 'of a later revision'}, failed,
                                        {'type': 'summary', 'time': 1, 'calls': 2}])
    log = vmscope.Log(path)
    assert log.command == ['true'] and log.revision == 3 and log.summary()['calls'] == 2
    assert [record['type'] for record in log] == \
        ['start', 'call', 'of a later revision', 'call', 'summary']
    first, second = log.calls()
    assert first.result == 0x7f0000001000 and first.args[4] == 2 ** 64 - 1 and first.name == 'mmap'
    assert second.result == -22 and second.args == (1,) and second.record == failed
    assert not log.truncated


def test_logs_that_cannot_be_read_say_why(tmp_path):
    for records, why in (([{**START, 'version': 2}], 'version 2, and only 1'), ([], 'is empty'),
                         ([CALL], 'no log of vmscope'), ([START, [1]], ':2: a record is')):
        with pytest.raises(vmscope.LogError, match=why):
            list(vmscope.Log(write_log(tmp_path / 'log', records)))
    (tmp_path / 'log').write_text(json.dumps(START) + '\nnonsense\n', encoding='utf-8')
    with pytest.raises(vmscope.LogError, match=':2: no JSON'):
        list(vmscope.Log(tmp_path / 'log'))


def test_a_call_that_cannot_be_read_is_told_with_its_line(tmp_path):
    for change, why in (({'result': '0x7fbd6199d0]0'}, ':2: a number of this call is none: .*7fbd6199d0]0'),
                        ({'args': None}, ':2: a number'), ({'result': [1]}, ':2: a number')):
        with pytest.raises(vmscope.LogError, match=why):
            list(vmscope.Log(write_log(tmp_path / 'log', [START, {**CALL, **change}])).calls())
    without = {key: value for key, value in CALL.items() if key != 'tid'}
    with pytest.raises(vmscope.LogError, match=":2: this call has no 'tid'"):
        list(vmscope.Log(write_log(tmp_path / 'log', [START, without])).calls())


def test_a_log_that_ends_in_a_line_is_read_up_to_it(tmp_path):
    path = write_log(tmp_path / 'log', [START, CALL])
    with path.open('a', encoding='utf-8') as file:
        file.write('{"type":"ca')
    log = vmscope.Log(path)
    assert len(list(log)) == 2 and log.truncated and log.summary() is None


@pytest.mark.skipif('VMSCOPE' not in os.environ, reason='vmscope was not built')
def test_a_log_that_vmscope_writes(tmp_path):
    path = tmp_path / 'log'
    run = subprocess.run([os.environ['VMSCOPE'], 'trace', '-o', str(path), '--', 'true'],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        pytest.skip(f'vmscope cannot trace here: {run.stderr}')
    log = vmscope.Log(path)
    calls = list(log.calls())
    assert log.command == ['true'] and log.summary()['calls'] == len(calls) > 5
    assert all(call.pid == calls[0].pid for call in calls)
    assert any(call.name == 'mmap' and call.result > 0 for call in calls)


def test_frames(tmp_path):
    pytest.importorskip('pandas')
    assert list(vmscope.Log(write_log(tmp_path / 'log', [START, CALL])).to_frame()['name']) == ['mmap']
    assert len(vmspace.load().to_frame()) > 5
