#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bindings.py LIBRARY HEADER[,HEADER...] - the library as a binding sees it: every public function of
the headers has a symbol, inline functions and macros too, and trees and cursors can be made, used and
freed without knowing their layout."""
import ctypes
import sys

from header import Header

# What a function cannot do: loops, and an initialiser of names of another library.
MACROS_ONLY = {'mas_for_each', 'mas_for_each_rev', 'mt_for_each', 'MT_RCU_FLAVOUR'}

LONG = ctypes.c_ulong
ANY = ctypes.c_void_p
ULONG_MAX = LONG(-1).value
GFP_KERNEL = 0x0800 | 0x0400 | 0x0040 | 0x0080
MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU, MT_FLAGS_LOCK_EXTERN = 1, 2, 0x300
MA_ACTIVE, MA_START, MA_ERROR = 0, 1, 7
EINVAL = 22


class Library:
    def __init__(self, path):
        self.handle = ctypes.CDLL(path)

    def has(self, name):
        return hasattr(self.handle, name)

    def call(self, name, *arguments, result=ANY):
        function = getattr(self.handle, name)
        function.restype = result
        return function(*arguments)


def expect(got, wanted, what):
    if got != wanted:
        sys.exit(f'{what}: {got}, not {wanted}')


def entries(lib):
    value = lib.call('xa_mk_value', LONG(21))
    expect(value, 43, 'xa_mk_value')
    expect(lib.call('xa_to_value', ANY(value), result=LONG), 21, 'xa_to_value')
    for name, entry, wanted in [
            ('xa_is_value', value, True), ('xa_is_value', 64, False),
            ('xa_is_internal', value, False), ('xa_is_internal', 6, True),
            ('xa_is_zero', 257 << 2 | 2, True), ('xa_is_zero', value, False),
            ('xa_is_err', lib.call('MA_ERROR', ctypes.c_long(-EINVAL)), True)]:
        expect(lib.call(name, ANY(entry), result=ctypes.c_bool), wanted, f'{name}({entry})')
    expect(lib.call('xa_mk_internal', LONG(257)), 257 << 2 | 2, 'xa_mk_internal')
    expect(lib.call('xa_err', ANY(lib.call('MA_ERROR', ctypes.c_long(-EINVAL))),
                    result=ctypes.c_int), -EINVAL, 'xa_err')


def range_of(lib, mas):
    first, last = LONG(), LONG()
    lib.call('mas_get_range', mas, ctypes.byref(first), ctypes.byref(last), result=None)
    return first.value, last.value


def locks(lib, mt, mas):
    flags = LONG(77)
    for lock, unlock, over, more in [
            ('mtree_lock', 'mtree_unlock', mt, ()),
            ('mtree_lock_nested', 'mtree_unlock', mt, (ctypes.c_int(1),)),
            ('mtree_lock_irqsave', 'mtree_unlock_irqrestore', mt, (ctypes.byref(flags),)),
            ('mas_lock', 'mas_unlock', mas, ()),
            ('mas_lock_nested', 'mas_unlock', mas, (ctypes.c_int(1),)),
            ('mas_lock_irqsave', 'mas_unlock_irqrestore', mas, (ctypes.byref(flags),))]:
        lib.call(lock, over, *more, result=None)
        expect(lib.call('mtree_trylock', mt, result=ctypes.c_bool), False, f'{lock} took it, a try')
        lib.call(unlock, over, *([flags] if 'irq' in unlock else []), result=None)
        expect(lib.call('mtree_trylock', mt, result=ctypes.c_bool), True, f'after {unlock}, a try')
        lib.call('mtree_unlock', mt, result=None)
    expect(flags.value, 0, 'flags')


def tree(lib):
    mt = ANY(lib.call('mt_new', ctypes.c_uint(MT_FLAGS_ALLOC_RANGE)))
    mas = ANY(lib.call('mas_new', mt, LONG(10), LONG(19)))
    locks(lib, mt, mas)
    expect(lib.call('mtree_empty', mt, result=ctypes.c_bool), True, 'mtree_empty')
    expect(lib.call('mt_height', mt, result=ctypes.c_uint), 0, 'mt_height')
    expect(lib.call('mt_in_rcu', mt, result=ctypes.c_bool), False, 'mt_in_rcu')
    expect(lib.call('mt_external_lock', mt, result=ctypes.c_bool), False, 'mt_external_lock')
    lib.call('mas_lock', mas, result=None)
    expect(lib.call('mas_store_gfp', mas, ANY(43), ctypes.c_uint(GFP_KERNEL), result=ctypes.c_int),
           0, 'mas_store_gfp')
    expect(lib.call('mas_is_active', mas, result=ctypes.c_bool), True, 'mas_is_active')
    expect(lib.call('mas_get_status', mas, result=ctypes.c_int), MA_ACTIVE, 'mas_get_status')
    lib.call('mas_set', mas, LONG(0), result=None)
    expect(lib.call('mas_find', mas, LONG(ULONG_MAX)), 43, 'mas_find')
    expect(range_of(lib, mas), (10, 19), 'mas_get_range')
    lib.call('__mas_set_range', mas, LONG(12), LONG(11), result=None)
    expect(lib.call('mas_store_gfp', mas, ANY(43), ctypes.c_uint(GFP_KERNEL), result=ctypes.c_int),
           -EINVAL, 'mas_store_gfp of 12-11')
    expect(lib.call('mas_is_err', mas, result=ctypes.c_bool), True, 'mas_is_err')
    expect(lib.call('mas_get_error', mas, result=ctypes.c_int), -EINVAL, 'mas_get_error')
    lib.call('mas_reset', mas, result=None)
    expect(lib.call('mas_get_status', mas, result=ctypes.c_int), MA_START, 'mas_reset')
    lib.call('mas_set_range', mas, LONG(3), LONG(4), result=None)
    expect(range_of(lib, mas), (3, 4), 'mas_set_range')
    lib.call('mas_unlock', mas, result=None)
    lib.call('MA_STATE', mas, mt, LONG(5), LONG(6), result=None)
    expect(range_of(lib, mas), (5, 6), 'MA_STATE')
    lib.call('mas_init', mas, mt, LONG(7), result=None)
    expect(range_of(lib, mas), (7, 7), 'mas_init')
    lib.call('mas_free', mas, result=None)
    lib.call('mas_free', None, result=None)
    lib.call('mt_free', mt, result=None)
    lib.call('mt_free', None, result=None)


def initialisers(lib):
    mt = ANY(lib.call('mt_new', ctypes.c_uint(0)))
    for name, arguments, external, rcu in [
            ('mt_init', [], False, False), ('DEFINE_MTREE', [], False, False),
            ('MTREE_INIT', [ctypes.c_uint(MT_FLAGS_USE_RCU)], False, True),
            ('MTREE_INIT_EXT', [ctypes.c_uint(MT_FLAGS_USE_RCU), None], True, True)]:
        lib.call(name, mt, *arguments, result=None)
        expect(lib.call('mt_external_lock', mt, result=ctypes.c_bool), external, name)
        expect(lib.call('mt_in_rcu', mt, result=ctypes.c_bool), rcu, name)
    lib.call('mt_set_external_lock', mt, mt, result=None)
    lib.call('mt_on_stack', mt, result=None)
    lib.call('mt_free', mt, result=None)


def mutex(lib):
    word = ctypes.c_uint(0)
    lib.call('mt_mutex_lock', ctypes.byref(word), result=None)
    expect(lib.call('mt_mutex_trylock', ctypes.byref(word), result=ctypes.c_bool), False, 'a try')
    lib.call('mt_mutex_unlock', ctypes.byref(word), result=None)
    expect(word.value, 0, 'the lock')


def main():
    header = Header(sys.argv[2].split(',')[0])
    for path in sys.argv[2].split(',')[1:]:
        header.add(Header(path))
    lib = Library(sys.argv[1])
    names = header.calls() - MACROS_ONLY
    missing = sorted(name for name in names if not lib.has(name))
    if missing:
        sys.exit('no symbol for ' + ' '.join(missing) + ' (see src/mapletree/twins.c)')
    if MACROS_ONLY - header.calls() or len(names) < 100:
        sys.exit(f'only {len(names)} names found in {sys.argv[2]}: has its form changed?')
    entries(lib)
    tree(lib)
    initialisers(lib)
    mutex(lib)
    print(f'all {len(names)} functions and macros can be called')


main()
