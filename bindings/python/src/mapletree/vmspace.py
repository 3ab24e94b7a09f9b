# SPDX-License-Identifier: MIT
"""Address spaces of live processes, as libvmspace takes them over.

for area in mapletree.vmspace.load(pid):
    print(area)
"""
from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator

from ._ffi import ffi, lib

if TYPE_CHECKING:
    import pandas

VERIFY_MAPS = 1      # each line of /proc/PID/maps
VERIFY_FLAGS = 2     # VmFlags and keys of /proc/PID/smaps
VERIFY_COUNTERS = 4  # VmSize and so on of /proc/PID/status
VERIFY_ALL = 7

_KERNEL_THREAD = 0x200000  # of the flags in /proc/PID/stat


@dataclass(frozen=True)
class Area:
    """An area: start <= address < stop."""
    start: int
    stop: int
    perms: str              # as in /proc/PID/maps: "rw-p"
    flags: tuple[str, ...]  # the letters of VmFlags in /proc/PID/smaps: ("rd", "wr", "mr", ...)
    offset: int             # bytes, into what is mapped
    dev: tuple[int, int]    # major, minor
    inode: int
    name: str | None        # path, "[vdso]" and so on; None: anonymous, [heap] and [stack] as well
    anon_name: str | None   # given by PR_SET_VMA_ANON_NAME
    pkey: int               # memory protection key

    @property
    def size(self) -> int:
        return self.stop - self.start

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.stop

    def __str__(self) -> str:
        return f'{self.start:08x}-{self.stop:08x} {self.perms} {self.name or ""}'.rstrip()


def _text(pointer: Any) -> str | None:
    return None if pointer == ffi.NULL else os.fsdecode(ffi.string(pointer))


def _area(info: Any) -> Area:
    buffer = ffi.new('char[]', 256)
    lib.vma_flags_text(info.flags, buffer, 256)
    flags = tuple(ffi.string(buffer).decode().split())
    perms = ''.join(letter if flag in flags else '-'
                    for letter, flag in (('r', 'rd'), ('w', 'wr'), ('x', 'ex')))
    backing = info.backing
    return Area(info.start, info.end, perms + ('s' if 'ms' in flags else 'p'), flags, info.offset,
                (backing.dev_major, backing.dev_minor), backing.inode, _text(backing.name),
                _text(info.anon_name), info.pkey)


class Space:
    """A copy of a process's address space, in this process: load() makes it. Not for threads at a
    time."""

    __slots__ = ('_space', '__weakref__')

    def __init__(self, space: Any) -> None:
        self._space = space

    def __del__(self) -> None:
        lib.vmspace_destroy(self._space)

    def __iter__(self) -> Iterator[Area]:
        iterator = ffi.new('struct vma_iterator *')
        info = ffi.new('struct vma_info *')
        lib.vma_iter_init(iterator, self._space, 0)
        while lib.vma_iter_next(iterator, info):
            yield _area(info)

    def __len__(self) -> int:
        return int(lib.vmspace_count_areas(self._space))

    def lookup(self, address: int) -> Area | None:
        """The area at an address, or None."""
        info = ffi.new('struct vma_info *')
        return _area(info) if lib.vmspace_lookup(self._space, address, info) else None

    def maps(self) -> str:
        """The text of /proc/PID/maps, byte for byte, as of the moment of load()."""
        size = lib.vmspace_show(self._space, ffi.NULL, 0) + 1
        buffer = ffi.new('char[]', size)
        lib.vmspace_show(self._space, buffer, size)
        return os.fsdecode(ffi.string(buffer))

    def verify(self, pid: int | str = 'self', what: int = VERIFY_ALL) -> str | None:
        """What differs first from what a process is now, in words; None: nothing does."""
        difference = ffi.new('struct vmspace_difference *')
        result = lib.vmspace_verify(self._space, _pid(pid), what, difference)
        if result < 0:
            raise _error(pid, result)
        return os.fsdecode(ffi.string(difference.text)) if result else None

    def to_frame(self) -> pandas.DataFrame:
        """A pandas.DataFrame, a row an area. Needs pandas."""
        import dataclasses

        import pandas

        fields = [field.name for field in dataclasses.fields(Area)]
        return pandas.DataFrame([[getattr(area, name) for name in fields] for area in self],
                                columns=fields)


def _pid(pid: int | str) -> int:
    return os.getpid() if pid == 'self' else int(pid)


def _without_areas(pid: int) -> str | None:
    """Why a process that is there has no address space."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as file:
            # "PID (COMMAND) STATE ...": the command may contain anything.
            fields = file.read().rpartition(b') ')[2].split()
    except OSError:
        return None
    if int(fields[6]) & _KERNEL_THREAD:
        return 'it is a thread of the kernel, without an address space of its own'
    if fields[0] in (b'Z', b'X'):
        return 'it has ended, and its parent has not waited for it yet (a zombie)'
    return None


def _error(pid: int | str, result: int) -> OSError:
    why = _without_areas(_pid(pid)) if -result == errno.ESRCH else None
    return OSError(-result, why or os.strerror(-result), f'/proc/{pid}')


def load(pid: int | str = 'self') -> Space:
    """The address space that a process has now.

    A running process changes while it is read: stop it before. Raises ProcessLookupError,
    PermissionError and so on.
    """
    out = ffi.new('struct vmspace **')
    error = lib.vmspace_load(out, _pid(pid))
    if error:
        raise _error(pid, error)
    return Space(out[0])
