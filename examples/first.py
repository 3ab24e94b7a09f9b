# SPDX-License-Identifier: MIT
"""The Python lines of the README."""
from mapletree import RangeMap, vmspace

owners = RangeMap()
owners[0x1000:0x2000] = "kernel"
owners[0x1800:0x2800] = "driver"  # cuts what is there
for indexes, owner in owners.items():
    print(hex(indexes.start), hex(indexes.stop), owner)
print(list(owners.gaps(range(0, 0x4000))))
print(any("x" in area.perms for area in vmspace.load("self")))
