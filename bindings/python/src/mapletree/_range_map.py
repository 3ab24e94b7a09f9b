# SPDX-License-Identifier: MIT
"""RangeMap: ranges of integers and their objects, in a maple tree."""
from __future__ import annotations

import array
import errno
import itertools
import operator
from typing import (TYPE_CHECKING, Any, Generic, Iterable, Iterator, Sequence, TypeVar, Union,
                    overload)

from ._ffi import ffi, lib

if TYPE_CHECKING:
    import pandas

V = TypeVar('V')
D = TypeVar('D')
Where = Union[slice, range]

# One past the greatest index: bounds are half-open, as in slices.
WORD = ffi.sizeof('unsigned long')
END = 2 ** (8 * WORD)

# What is read of a tree at a time.
BATCH = 64

# The objects of all maps by their numbers, which the trees know them by: the one reference that the
# maps hold to an object, taken and given back with the GIL held.
_objects: dict[int, Any] = {}
_numbers = itertools.count(1)


def _drop_unused() -> None:
    """Give back the references to objects that this thread's last call has dropped from the trees."""
    while number := lib.py_next_dropped():
        _objects.pop(number, None)


def _check(error: int) -> None:
    if error == -errno.ENOMEM:
        raise MemoryError('mapletree: there is no memory for a node of the tree')
    if error:
        raise RuntimeError(f'mapletree: the tree failed with errno {-error}')


def _bounds(where: Where | None) -> tuple[int, int]:
    """First index and the one past the last; both equal: none."""
    if where is None:
        return 0, END
    if where.step not in (None, 1):
        raise ValueError(f'a range of a RangeMap has no step: {where}')
    start = 0 if where.start is None else operator.index(where.start)
    stop = END if where.stop is None else operator.index(where.stop)
    if not (0 <= start <= END and 0 <= stop <= END):
        raise IndexError(f'indexes are 0 .. {END - 1}, and a range stops at {END} at the latest: '
                         f'{start}:{stop}')
    return start, max(start, stop)


def _index(key: int) -> int:
    index = operator.index(key)
    if not 0 <= index < END:
        raise IndexError(f'indexes are 0 .. {END - 1}: {index}')
    return index


def _keys(keys: Any) -> Any:
    """Unsigned integers of a word, as they are in memory; anything else is copied into such."""
    try:
        view = memoryview(keys)
    except TypeError:
        view = None
    if view is None or view.format not in ('L', 'Q', 'N') or view.itemsize != WORD \
            or view.ndim != 1 or not view.c_contiguous:
        view = memoryview(array.array('L', map(_index, keys)))
    return ffi.from_buffer('unsigned long[]', view)


class RangeMap(Generic[V]):
    """A map from ranges of the integers 0 .. 2**64 - 1 to objects.

    m[5], m[10:20] = "x", del m[12:14], 13 in m; a store makes its range one of its own and cuts what
    it overlaps. Keys are ranges, as range objects; len(m) is how many there are. Neighbours with
    equal objects stay two ranges. copy() takes the same time whatever is in the map.

    Threads may use one map; each call happens as a whole. An iteration is no snapshot: it goes on
    behind the range that it gave last.
    """

    __slots__ = ('_tree', '__weakref__')
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: RangeMap[V] | Iterable[tuple[Where, V]] = ()) -> None:
        if isinstance(items, RangeMap):
            self._own(lib.py_tree_snapshot(items._tree))
            return
        self._own(lib.py_tree_new())
        for where, value in items:
            self[where] = value

    def _own(self, tree: Any) -> None:
        if tree == ffi.NULL:
            raise MemoryError('mapletree: there is no memory for a tree')
        self._tree = tree

    def __del__(self) -> None:
        tree = getattr(self, '_tree', None)
        if tree is not None:
            lib.py_tree_free(tree)
            _drop_unused()

    # ---- changes -------------------------------------------------------------------------------

    def _object(self, value: V) -> Any:
        """The object as the tree takes it. Who makes one stores it, and then calls _settle()."""
        number = next(_numbers)
        is_number = isinstance(value, int) and -2 ** 63 <= value < 2 ** 63
        made = ffi.new('struct py_object *', (number, is_number, value if is_number else 0))
        _objects[number] = value
        return made

    def _settle(self, made: Any, error: int) -> None:
        if error:
            _objects.pop(made.slot, None)
        _drop_unused()

    def _store(self, start: int, stop: int, value: V, only_if_free: bool) -> bool:
        made = self._object(value)
        error = lib.py_store(self._tree, start, stop - 1, made, only_if_free)
        self._settle(made, error)
        if error == -errno.EEXIST:
            return False
        _check(error)
        return True

    def __setitem__(self, key: int | Where, value: V) -> None:
        """Give an index, or all of a range, an object, whatever was there. A range may be empty."""
        if not isinstance(key, (slice, range)):
            index = _index(key)
            self._store(index, index + 1, value, False)
            return
        start, stop = _bounds(key)
        if start < stop:
            self._store(start, stop, value, False)

    def insert(self, where: Where, value: V) -> bool:
        """The same, but only if all of the range is free. Returns whether it was."""
        start, stop = _bounds(where)
        return start == stop or self._store(start, stop, value, True)

    def erase(self, where: Where) -> int:
        """Take the objects from a range. Returns from how many ranges something was taken."""
        start, stop = _bounds(where)
        if start == stop:
            return 0
        count = ffi.new('unsigned long *')
        error = lib.py_erase(self._tree, start, stop - 1, count)
        _drop_unused()
        _check(error)
        return int(count[0])

    def __delitem__(self, key: int | Where) -> None:
        """Take the object from an index, which has one, or from all of a range."""
        if isinstance(key, (slice, range)):
            self.erase(key)
            return
        index = _index(key)
        if not self.erase(slice(index, index + 1)):
            raise KeyError(key)

    def clear(self) -> None:
        self.erase(slice(0, END))

    # ---- single indexes --------------------------------------------------------------------------

    def _load(self, index: int, default: Any) -> Any:
        while number := lib.py_load(self._tree, index):
            try:
                return _objects[number]
            except KeyError:
                pass  # another thread has replaced it meanwhile
        return default

    @overload
    def __getitem__(self, key: int) -> V: ...
    @overload
    def __getitem__(self, key: Where) -> list[tuple[range, V]]: ...

    def __getitem__(self, key: int | Where) -> Any:
        """The object at an index; of a slice, a list of the ranges in it, cut to it, and objects."""
        if isinstance(key, (slice, range)):
            start, stop = _bounds(key)
            return [(range(max(have.start, start), min(have.stop, stop)), value)
                    for have, value in self.overlapping(range(start, stop))]
        found = self._load(_index(key), _objects)
        if found is _objects:
            raise KeyError(key)
        return found

    @overload
    def get(self, key: int) -> V | None: ...
    @overload
    def get(self, key: int, default: D) -> V | D: ...

    def get(self, key: int, default: Any = None) -> Any:
        return self._load(_index(key), default)

    def __contains__(self, key: object) -> bool:
        try:
            return bool(lib.py_load(self._tree, _index(key)))  # type: ignore[arg-type]
        except (TypeError, IndexError):
            return False

    def find(self, key: int) -> tuple[range, V] | None:
        """The whole range that holds an index, and its object."""
        index = _index(key)
        return next(self.overlapping(range(index, index + 1)), None)

    # ---- many indexes ------------------------------------------------------------------------------

    def get_many(self, keys: Sequence[int] | Any, default: Any = None, *, out: Any = None,
                 missing: int = -1) -> Any:
        """What get() returns for each of many indexes, looked up at once without the GIL.

        Arrays of unsigned words (numpy.uint64, array('L')) are read where they are; other sequences
        are copied. Returns a list. With out, a writable array of as many signed words (numpy.int64),
        the objects have to be ints: they are written there by C alone, missing for free indexes, and
        out is returned; TypeError if an object is none, with the rest of out unspecified.
        """
        indexes = _keys(keys)
        count = len(indexes)
        if out is None:
            numbers = ffi.new('uint64_t[]', count)
            lib.py_load_many(self._tree, indexes, numbers, count)
            return [default if not number
                    else _objects[number] if number in _objects
                    else self._load(indexes[i], default)
                    for i, number in enumerate(ffi.unpack(numbers, count))]
        view = memoryview(out)
        if view.readonly or view.format not in ('l', 'q') or view.itemsize != 8 \
                or view.ndim != 1 or not view.c_contiguous or len(view) != count:
            raise TypeError(f'out must be a writable array of {count} signed integers of 8 bytes')
        done = lib.py_load_numbers(self._tree, indexes,
                                   ffi.from_buffer('int64_t[]', view, require_writable=True),
                                   missing, count)
        if done < count:
            raise TypeError(f'the object at index {indexes[done]} is no int of 64 bits: '
                            'leave out away')
        return out

    # ---- ranges --------------------------------------------------------------------------------

    def _ranges(self, first: int, last: int, back: bool) -> Iterator[tuple[range, V]]:
        read = lib.py_read_back if back else lib.py_read
        found = ffi.new('struct py_range[]', BATCH)
        while True:
            count = read(self._tree, first, last, found, BATCH)
            for have in found[0:count]:
                value = _objects.get(have.slot, _objects)
                if value is not _objects:  # otherwise it is gone meanwhile
                    yield range(have.first, have.last + 1), value
            if count < BATCH:
                return
            if back:
                last = found[count - 1].first - 1
            else:
                first = found[count - 1].last + 1
            if not 0 <= first <= last < END:
                return

    def overlapping(self, where: Where) -> Iterator[tuple[range, V]]:
        """The ranges that have an index in a range, whole, and their objects."""
        start, stop = _bounds(where)
        return self._ranges(start, stop - 1, False) if start < stop else iter(())

    def items(self) -> Iterator[tuple[range, V]]:
        return self._ranges(0, END - 1, False)

    def keys(self) -> Iterator[range]:
        return (have for have, _ in self.items())

    def values(self) -> Iterator[V]:
        return (value for _, value in self.items())

    def __iter__(self) -> Iterator[range]:
        return self.keys()

    def __reversed__(self) -> Iterator[range]:
        return (have for have, _ in self._ranges(0, END - 1, True))

    def __len__(self) -> int:
        """How many ranges there are. Reads the whole map."""
        return int(lib.py_count(self._tree))

    def __bool__(self) -> bool:
        return next(self.items(), None) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RangeMap):
            return NotImplemented
        return all(a == b for a, b in itertools.zip_longest(self.items(), other.items()))

    def __repr__(self) -> str:
        some = list(itertools.islice(self.items(), 9))
        texts = [f'{have.start:#x}:{have.stop:#x} {value!r}' for have, value in some[:8]]
        return f'<RangeMap {", ".join(texts) + (" ..." if len(some) > 8 else "") or "empty"}>'

    # ---- gaps ----------------------------------------------------------------------------------

    def gaps(self, where: Where | None = None) -> Iterator[range]:
        """The free ranges, cut to a range."""
        start, stop = _bounds(where)
        found = ffi.new('struct py_range[]', BATCH)
        while start < stop:
            count = lib.py_read_gaps(self._tree, start, stop - 1, found, BATCH)
            for have in found[0:count]:
                yield range(have.first, have.last + 1)
            if count < BATCH:
                return
            start = found[count - 1].last + 1

    @staticmethod
    def _area(size: int, where: Where | None, align: int, highest: bool) -> Any:
        start, stop = _bounds(where)
        if size <= 0:
            raise ValueError(f'the size of a gap is at least 1: {size}')
        if align <= 0 or align & (align - 1):
            raise ValueError(f'the alignment of a gap is a power of two: {align}')
        if size > stop - start or size >= END or align >= END:
            return None
        return ffi.new('struct py_area *', (start, stop - 1, size, align, highest))

    def find_gap(self, size: int, where: Where | None = None, *, align: int = 1,
                 highest: bool = False) -> int | None:
        """Where size free indexes begin, inside a range, the lowest or highest place; or None."""
        area = self._area(size, where, align, highest)
        start = ffi.new('unsigned long *')
        if area is None or lib.py_find_gap(self._tree, area, start):
            return None
        return int(start[0])

    def allocate(self, size: int, value: V, where: Where | None = None, *, align: int = 1,
                 highest: bool = False) -> int | None:
        """Give an object to size free indexes, found like find_gap(), in one step."""
        area = self._area(size, where, align, highest)
        if area is None:
            return None
        start = ffi.new('unsigned long *')
        made = self._object(value)
        error = lib.py_allocate(self._tree, area, made, start)
        self._settle(made, error)
        if error in (-errno.EBUSY, -errno.EINVAL):
            return None
        _check(error)
        return int(start[0])

    # ---- copies --------------------------------------------------------------------------------

    def copy(self) -> RangeMap[V]:
        """A map of its own with what this one has now, in constant time: they share their nodes."""
        return RangeMap(self)

    __copy__ = copy

    def to_frame(self) -> pandas.DataFrame:
        """A pandas.DataFrame with the columns start, stop (one past the last) and value.

        Needs pandas. A range up to the end stops at 2**64, which no column of integers holds: then
        the column stop is one of objects.
        """
        import pandas

        rows = [(have.start, have.stop, value) for have, value in self.items()]
        return pandas.DataFrame(rows, columns=['start', 'stop', 'value'])
