# SPDX-License-Identifier: MIT
"""Maps from ranges of integers to objects, address spaces of live processes, and vmscope's logs.

RangeMap             a map from the integers 0 .. 2**64 - 1, in ranges, to objects
mapletree.vmspace    load(pid): the areas of a process
mapletree.vmscope    Log(path): the records of a log of vmscope
"""
from . import vmscope, vmspace
from ._range_map import END, RangeMap

__all__ = ['END', 'RangeMap', 'vmscope', 'vmspace']
