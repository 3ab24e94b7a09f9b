# SPDX-License-Identifier: MIT
"""What a program or library needs to be loaded, read from the file: of any 64-bit machine."""

import struct

PT_INTERP = 3
PT_DYNAMIC = 2
PT_LOAD = 1
DT_NEEDED, DT_STRTAB = 1, 5


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def text_at(data, offset):
    return data[offset:data.index(b"\0", offset)].decode()


def needs(path):
    """(the loader's path or None, the names of the libraries)"""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:6] == b"\x7fELF\x02\x01", f"{path}: not 64-bit, little-endian"
    table, = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    segments = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    loads = [(address, offset, length) for kind, _, offset, address, _, length in segments
             if kind == PT_LOAD]
    loader, names, strings = None, [], 0
    for kind, _, offset, _, _, length in segments:
        if kind == PT_INTERP:
            loader = text_at(data, offset)
        if kind == PT_DYNAMIC:
            entries = list(struct.iter_unpack("<QQ", data[offset:offset + length]))
            names = [value for tag, value in entries if tag == DT_NEEDED]
            strings = sum(value for tag, value in entries if tag == DT_STRTAB)
    for address, offset, length in loads:
        if address <= strings < address + length:
            strings += offset - address
            break
    return loader, [text_at(data, strings + name) for name in names]
