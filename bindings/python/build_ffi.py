#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build_ffi.py SOURCES OUTPUT - let cffi write the C source of the extension module mapletree._ffi.

SOURCES is the folder of _ffi.h and _ffi.c.
"""
import pathlib
import sys

from cffi import FFI


def main():
    sources, output = map(pathlib.Path, sys.argv[1:])
    ffi = FFI()
    ffi.cdef((sources / '_ffi.h').read_text(encoding='utf-8'))
    ffi.set_source('mapletree._ffi', (sources / '_ffi.c').read_text(encoding='utf-8'))
    ffi.emit_c_code(str(output))


main()
