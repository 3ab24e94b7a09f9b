# SPDX-License-Identifier: MIT
"""The logs of vmscope (vmscope trace -o FILE), record by record. docs/log-format.md describes them.

for call in mapletree.vmscope.Log('trace.log').calls():
    print(call.time, call.name, call.result)
"""
from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    import pandas

VERSION = 1


class LogError(ValueError):
    """The log is none, or of another version; the text says where and why."""


def word(text: str | int) -> int:
    """A machine word of a log, which is hexadecimal text, or a number."""
    return text if isinstance(text, int) else int(text, 16)


@dataclass(frozen=True)
class Call:
    """A record "call"."""
    number: int
    time: float             # seconds since the log was opened
    pid: int
    tid: int
    space: int              # which address space, from 1
    name: str
    args: tuple[int, ...]
    result: int             # what the kernel returned: a word, or a negative errno
    request: str | None     # what libvmspace was asked, in words
    record: dict[str, Any]  # all of it, as in the log


class Log:
    """A log in a file. Each iteration reads it from the beginning, a line at a time.

    truncated: the last iteration met a last line that is not whole: vmscope was killed, or writes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.truncated = False
        start = next(iter(self), None)
        if start is None:
            raise LogError(f'{self.path}: the log is empty')
        self.revision: int = start.get('revision', 0)
        self.command: list[str] | None = start.get('command')

    def _check_start(self, record: Any) -> None:
        if record.get('type') != 'start' or record.get('log') != 'vmscope':
            raise LogError(f'{self.path}: this is no log of vmscope: '
                           'its first record is no "start" of one')
        if record.get('version') != VERSION:
            raise LogError(f'{self.path}: the log is of version {record.get("version")}, '
                           f'and only {VERSION} can be read')

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """All records, each after the number of its line."""
        self.truncated = False
        with open(self.path, encoding='utf-8', errors='surrogateescape') as file:
            for number, line in enumerate(file, 1):
                try:
                    record = json.loads(line)
                except ValueError as error:
                    if not line.endswith('\n') and number > 1:
                        self.truncated = True
                        return
                    raise LogError(f'{self.path}:{number}: no JSON: {error}') from error
                if not isinstance(record, dict):
                    raise LogError(f'{self.path}:{number}: a record is a JSON object')
                if number == 1:
                    self._check_start(record)
                yield number, record

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """All records, of unknown types too."""
        return (record for _, record in self._lines())

    def records(self, kind: str) -> Iterator[dict[str, Any]]:
        """The records of one type."""
        return (record for record in self if record.get('type') == kind)

    def calls(self) -> Iterator[Call]:
        for number, record in self._lines():
            if record.get('type') != 'call':
                continue
            try:
                call = Call(record['n'], record['time'], record['pid'], record['tid'], record['space'],
                            record['call'], tuple(map(word, record['args'])), word(record['result']),
                            record.get('request'), record)
            except KeyError as error:
                raise LogError(f'{self.path}:{number}: this call has no {error}') from error
            except (TypeError, ValueError) as error:
                raise LogError(f'{self.path}:{number}: a number of this call is none: '
                               f'{error}') from error
            yield call

    def summary(self) -> dict[str, Any] | None:
        """The last record; None if vmscope was killed."""
        return next(self.records('summary'), None)

    def to_frame(self) -> pandas.DataFrame:
        """A pandas.DataFrame, a row a call, without its record. Needs pandas."""
        import pandas

        columns = ['number', 'time', 'pid', 'tid', 'space', 'name', 'args', 'result', 'request']
        return pandas.DataFrame([[getattr(call, name) for name in columns]
                                 for call in self.calls()], columns=columns)
