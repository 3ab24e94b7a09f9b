# SPDX-License-Identifier: MIT
"""RangeMap against a dict from indexes to objects; its references; threads."""
import array
import gc
import itertools
import sys
import threading
import weakref

import hypothesis
import hypothesis.stateful
import pytest
from hypothesis import strategies
from mapletree import END, RangeMap, _range_map

try:
    import numpy
except ImportError:
    numpy = None

# Windows of a few indexes, at both ends and between: all else stays free, or is one range.
WINDOW = 40
BASES = (0, 2 ** 63 - WINDOW // 2, END - WINDOW)


def indexes():
    return strategies.builds(lambda base, offset: base + offset, strategies.sampled_from(BASES),
                             strategies.integers(0, WINDOW - 1))


def ranges():
    return strategies.builds(lambda base, a, b: range(base + min(a, b), base + max(a, b)),
                             strategies.sampled_from(BASES), strategies.integers(0, WINDOW),
                             strategies.integers(0, WINDOW))


def objects():
    return strategies.one_of(strategies.integers(0, 3), strategies.sampled_from(['a', 'b', None]),
                             strategies.integers(2 ** 62, 2 ** 65))


class Model(hypothesis.stateful.RuleBasedStateMachine):
    """A dict has the object of each index, and which store put it there: ranges are its runs."""

    def __init__(self):
        super().__init__()
        self.map, self.right, self.stores = RangeMap(), {}, itertools.count()
        self.copies = []

    def runs(self):
        """(range, object): neighbours of one store."""
        found = []
        for index in sorted(self.right):
            store, value = self.right[index]
            if found and found[-1][0].stop == index and found[-1][1] == store:
                found[-1] = (range(found[-1][0].start, index + 1), store, value)
            else:
                found.append((range(index, index + 1), store, value))
        return [(have, value) for have, _, value in found]

    def put(self, where, value):
        store = next(self.stores)
        for index in where:
            self.right[index] = (store, value)

    @hypothesis.stateful.rule(where=ranges(), value=objects())
    def assign(self, where, value):
        self.map[where.start:where.stop] = value
        self.put(where, value)

    @hypothesis.stateful.rule(index=indexes(), value=objects())
    def assign_one(self, index, value):
        self.map[index] = value
        self.put([index], value)

    @hypothesis.stateful.rule(where=ranges(), value=objects())
    def insert(self, where, value):
        free = not any(index in self.right for index in where)
        assert self.map.insert(where, value) == free
        if free:
            self.put(where, value)

    @hypothesis.stateful.rule(where=ranges())
    def erase(self, where):
        count = sum(have.start < where.stop and where.start < have.stop for have, _ in self.runs())
        assert self.map.erase(where) == (count if where else 0)
        for index in where:
            self.right.pop(index, None)

    @hypothesis.stateful.rule(size=strategies.integers(1, 9), align=strategies.sampled_from([1, 2, 8]),
                              where=ranges(), highest=strategies.booleans(), value=objects(),
                              take=strategies.booleans())
    def gap(self, size, align, where, highest, value, take):
        places = [start for start in range(where.start, where.stop - size + 1) if start % align == 0
                  and not any(index in self.right for index in range(start, start + size))]
        expected = places[-1 if highest else 0] if places else None
        if take:
            found = self.map.allocate(size, value, where, align=align, highest=highest)
        else:
            found = self.map.find_gap(size, where, align=align, highest=highest)
        assert found == expected
        if take and found is not None:
            self.put(range(found, found + size), value)

    @hypothesis.stateful.rule()
    def copy(self):
        self.copies = [*self.copies[-1:], (self.map.copy(), self.runs())]

    @hypothesis.stateful.rule(index=indexes(), where=ranges())
    def look(self, index, where):
        value = self.right.get(index, (0, 'none'))[1]
        assert self.map.get(index, 'none') == value
        assert (index in self.map) == (index in self.right)
        found = self.map.find(index)
        assert found == next(((have, value) for have, value in self.runs() if index in have), None)
        parts = [(range(max(have.start, where.start), min(have.stop, where.stop)), value)
                 for have, value in self.runs()]
        assert self.map[where.start:where.stop] == [part for part in parts if part[0]]

    @hypothesis.stateful.rule(where=ranges())
    def gaps(self, where):
        free = [index for have in self.map.gaps(where) for index in have]
        assert free == [index for index in where if index not in self.right]
        assert all(a.stop < b.start for a, b in itertools.pairwise(self.map.gaps(where)))

    @hypothesis.stateful.invariant()
    def same(self):
        runs = self.runs()
        assert list(self.map.items()) == runs
        assert list(reversed(self.map)) == [have for have, _ in reversed(runs)]
        assert len(self.map) == len(runs) and bool(self.map) == bool(runs)
        assert _range_map.lib.py_check(self.map._tree)
        for copy, content in self.copies:
            assert list(copy.items()) == content


Model.TestCase.settings = hypothesis.settings(max_examples=60, stateful_step_count=25, database=None,
                                              deadline=None)
TestModel = Model.TestCase


def test_all_indexes_can_be_one_range():
    ranges_of = RangeMap()
    ranges_of[:] = 'all'
    assert list(ranges_of.items()) == [(range(0, END), 'all')] and list(ranges_of.gaps()) == []
    assert ranges_of[END - 1] == 'all' and ranges_of.find_gap(1) is None
    del ranges_of[END - 1]
    assert list(ranges_of.gaps()) == [range(END - 1, END)]
    assert list(reversed(ranges_of)) == [range(0, END - 1)]
    ranges_of.clear()
    assert not ranges_of and ranges_of.allocate(END - 1, 1) == 0
    assert ranges_of.find_gap(END) is None


def test_what_cannot_be_is_refused_in_words():
    ranges_of = RangeMap([(range(5, 9), 'x')])
    for wrong in (-1, END):
        with pytest.raises(IndexError, match='indexes are 0'):
            ranges_of[wrong] = 1
    with pytest.raises(IndexError, match='indexes are 0'):
        ranges_of[0:END + 1] = 1
    with pytest.raises(ValueError, match='no step'):
        ranges_of[0:10:2] = 1
    with pytest.raises(TypeError):
        ranges_of['a'] = 1
    with pytest.raises(KeyError):
        ranges_of[9]  # pylint: disable=pointless-statement
    with pytest.raises(KeyError):
        del ranges_of[9]
    with pytest.raises(ValueError, match='at least 1'):
        ranges_of.find_gap(0)
    with pytest.raises(ValueError, match='power of two'):
        ranges_of.allocate(1, 'y', align=3)
    with pytest.raises(TypeError):
        hash(ranges_of)
    assert -1 not in ranges_of and 'a' not in ranges_of and ranges_of == RangeMap([(range(5, 9), 'x')])


def test_more_ranges_than_are_read_at_once():
    ranges_of = RangeMap((range(i * 10, i * 10 + 4), i) for i in range(1000))
    assert [value for _, value in ranges_of.items()] == list(range(1000))
    assert list(reversed(ranges_of)) == [range(i * 10, i * 10 + 4) for i in reversed(range(1000))]
    assert len(list(ranges_of.gaps())) == 1000
    for have in ranges_of:  # it may change meanwhile
        ranges_of[have.stop:have.stop + 1] = 'behind'
        del ranges_of[have.start]
    assert len(ranges_of) == 2000


class Object:
    pass


def test_an_object_is_held_once_and_as_long_as_a_range_has_it():
    thing = Object()
    seen, before = weakref.ref(thing), sys.getrefcount(thing)
    first = RangeMap()
    first[0:100] = thing
    assert sys.getrefcount(thing) == before + 1
    first[40:60] = 'other'  # two ranges of it
    copy = first.copy()
    assert sys.getrefcount(thing) == before + 1
    first.clear()
    del thing
    assert seen() is copy[99]
    del copy[0:40]
    assert seen() is not None
    del copy[60:100]
    assert seen() is None
    held = len(_range_map._objects)
    del first, copy
    gc.collect()
    assert len(_range_map._objects) < held


def test_failed_and_refused_stores_hold_nothing():
    ranges_of = RangeMap([(range(0, 10), 'x')])
    held = len(_range_map._objects)
    assert not ranges_of.insert(range(5, 6), Object())
    assert ranges_of.allocate(5, Object(), range(0, 10)) is None
    assert ranges_of.allocate(50, Object(), range(0, 10)) is None
    ranges_of[7:7] = Object()
    assert len(_range_map._objects) == held


def test_a_destructor_may_use_the_map():
    ranges_of = RangeMap()

    class Last:
        def __del__(self):
            ranges_of[50] = 'gone'

    ranges_of[0:10] = Last()
    ranges_of[0:10] = 1
    assert ranges_of[50] == 'gone'


@pytest.mark.parametrize('make', [
    list, tuple, lambda keys: array.array('L', keys), lambda keys: array.array('Q', keys),
    pytest.param(lambda keys: numpy.array(keys, dtype=numpy.uint64),
                 marks=pytest.mark.skipif(numpy is None, reason='numpy is not installed')),
    pytest.param(lambda keys: numpy.array(keys, dtype=numpy.int64)[::1],
                 marks=pytest.mark.skipif(numpy is None, reason='numpy is not installed'))])
def test_many_lookups_are_as_one_by_one(make):
    ranges_of = RangeMap((range(i * 10, i * 10 + 4), i) for i in range(500))
    keys = [i * 7919 % 5000 for i in range(700)]
    assert ranges_of.get_many(make(keys), 'free') == [ranges_of.get(key, 'free') for key in keys]
    out = array.array('q', keys)
    assert ranges_of.get_many(make(keys), out=out, missing=-5) is out
    assert list(out) == [ranges_of.get(key, -5) for key in keys]
    if numpy is not None:
        numbers = numpy.empty(len(keys), dtype=numpy.int64)
        ranges_of.get_many(make(keys), out=numbers)
        assert numbers.tolist() == [ranges_of.get(key, -1) for key in keys]
    assert ranges_of.get_many(make([])) == []


def test_arrays_that_do_not_fit_are_refused():
    ranges_of = RangeMap([(range(0, 10), 1), (range(10, 20), 'x')])
    keys = array.array('L', [1, 2])
    for out in (array.array('q', [0]), array.array('i', [0, 0]), array.array('L', [0, 0])):
        with pytest.raises(TypeError, match='writable array of 2'):
            ranges_of.get_many(keys, out=out)
    with pytest.raises(TypeError, match='index 10 is no int'):
        ranges_of.get_many(array.array('L', [1, 10]), out=array.array('q', [0, 0]))
    for index in (-1, 2 ** 64):
        with pytest.raises(IndexError, match=f'indexes are 0 .. {2 ** 64 - 1}: {index}'):
            ranges_of.get_many([index])


def test_threads_share_a_map():
    """Writers of areas of their own, readers everywhere: no call is torn, no object is lost."""
    ranges_of, end = RangeMap(), threading.Event()
    failures = []

    def guard(work):
        def run(*args):
            try:
                work(*args)
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)
        return run

    @guard
    def write(base):
        for i in range(1500):
            ranges_of[base + i % 50:base + i % 50 + 10] = (base, i)
            if i % 7 == 0:
                ranges_of.erase(range(base, base + 30))
        end.set()

    @guard
    def read():
        while not end.is_set():
            for have, (base, _) in ranges_of.items():
                assert base <= have.start < base + 60
            for value in ranges_of.get_many(range(0, 300, 7)):
                assert value is None or value[0] in (0, 100, 200)
            copy = ranges_of.copy()
            assert list(copy.items()) == list(copy.items())

    threads = [threading.Thread(target=write, args=(base,)) for base in (0, 100, 200)]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    content = {id(value) for value in ranges_of.values()}
    mine = [value for value in _range_map._objects.values() if isinstance(value, tuple)
            and len(value) == 2 and value[0] in (0, 100, 200)]
    assert {id(value) for value in mine} == content


def test_frames():
    pandas = pytest.importorskip('pandas')
    frame = RangeMap([(range(5, 9), 'x')]).to_frame()
    assert isinstance(frame, pandas.DataFrame) and frame.values.tolist() == [[5, 9, 'x']]
