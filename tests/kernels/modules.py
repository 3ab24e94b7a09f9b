# SPDX-License-Identifier: MIT
"""Kernel modules, with those that they need, in the order in which they are loaded."""

import lzma
import re
import subprocess


class ModuleMissing(Exception):
    """A module needs one that is not there, or cannot be unpacked."""


def unpack(path):
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True).stdout
    return data


def plain(name):
    return name.replace("-", "_")


def with_dependencies(directory, wanted):
    """[(name, its bytes)]. What the kernel has built in, or does not have, is left out."""
    files = {plain(path.name.split(".ko")[0]): path for path in directory.rglob("*.ko*")}
    loaded = {}

    def load(name):
        if name in loaded:
            return
        if name not in files:
            raise ModuleMissing(f"{directory.name}: there is no module {name}")
        data = unpack(files[name])
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in needs.group(1).decode().split(",") if needs else []:
            if other:
                load(plain(other))
        loaded[name] = data

    for name in wanted:
        if plain(name) in files:
            load(plain(name))
    return list(loaded.items())
