# SPDX-License-Identifier: MIT
"""The architectures that guests may have, by Debian's names."""

import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    name: str
    family: str  # meson's, and Linux's machine
    triplet: str
    qemu: str
    qemu_package: str
    machine: tuple  # QEMU's options for it
    emulator: str  # where there is no KVM
    cpu: str
    cmdline: str  # for its kernels
    port: tuple  # QEMU's options for a second serial port, which writes to the chardev "port"
    port_name: str
    flavours: dict  # of Debian's kernels, by what follows the version that is asked for

    @property
    def is_native(self):
        return platform.machine() == self.family

    def flavour(self, version):
        """("6.12", the flavour of its packages) of a version as it is asked for, "6.12-16k"."""
        for suffix, flavour in self.flavours.items():
            if suffix and version.endswith(suffix):
                return version.removesuffix(suffix), flavour
        return version, self.flavours[""]


# x86: with a thread for each processor QEMU 7.2 lets kernels that change their own code die of an
# int3. no_timer_check: on a busy machine the timer is late for the check, and that would be a panic.
ARCHS = {arch.name: arch for arch in (
    Arch("amd64", "x86_64", "x86_64-linux-gnu", "qemu-system-x86_64", "qemu-system-x86", (),
         "tcg,thread=single", "max", "console=ttyS0 no_timer_check",
         ("-device", "isa-serial,chardev=port,index=1"), "ttyS1",
         {"": "cloud-amd64"}),
    # What the processor signs pointers with may be any function; the architecture's own is slow.
    Arch("arm64", "aarch64", "aarch64-linux-gnu", "qemu-system-aarch64", "qemu-system-arm",
         ("-machine", "virt"), "tcg", "max,pauth-impdef=on", "console=ttyAMA0",
         ("-device", "pci-serial,chardev=port"), "ttyS0",
         {"": "cloud-arm64", "-16k": "arm64-16k"}),
)}
