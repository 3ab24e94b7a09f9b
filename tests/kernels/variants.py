# SPDX-License-Identifier: MIT
"""The variants of a guest: other processors, settings and users."""

from dataclasses import dataclass, field


# What every guest sets. The rules of vm.max_map_count are the same at any number, and 65530 areas
# take minutes without KVM.
SYSCTLS = {"vm.max_map_count": 10000}


@dataclass(frozen=True)
class Variant:
    name: str
    what: str
    cpu: str = ""  # what is added to the processor's name for QEMU
    only: str = ""  # the one architecture that has it
    qemu: tuple = ()  # further options
    cmdline: str = ""  # further words for the kernel
    sysctls: dict = field(default_factory=dict)  # beside SYSCTLS
    processors: int = 2
    alive_every: int = 10  # seconds of its clock after which a guest says that it is alive
    scratch: str = "tmpfs"  # where temporary files are
    user: str = "root"  # or "user": no capabilities; "userns": root in a user namespace of its own


def thp(mode):
    return Variant(f"thp-{mode}", f"transparent huge pages: {mode}",
                   cmdline=f"transparent_hugepage={mode}")


def overcommit(mode, **more):
    return Variant(f"overcommit-{mode}", f"vm.overcommit_memory={mode}",
                   sysctls={"vm.overcommit_memory": mode, **more})


VARIANTS = {variant.name: variant for variant in (
    Variant("root", "as root; but for vm.max_map_count as Debian configures it"),
    Variant("user", "a user without capabilities", user="user"),
    Variant("userns", "root in a user namespace of its own", user="userns"),
    Variant("nopku", "a processor without protection keys", cpu=",-pku", only="amd64"),
    Variant("la57", "five levels of page tables", cpu=",+la57", only="amd64"),
    Variant("nola57", "four levels of page tables", cpu=",-la57", only="amd64"),
    Variant("ext4", "temporary files on ext4", scratch="ext4"),
    thp("always"), thp("madvise"), thp("never"),
    overcommit(0), overcommit(1), overcommit(2, **{"vm.overcommit_ratio": 80}),
    Variant("legacy", "vm.legacy_va_layout=1: from low addresses upwards",
            sysctls={"vm.legacy_va_layout": 1}),
    Variant("few-areas", "vm.max_map_count=1000", sysctls={"vm.max_map_count": 1000}),
    Variant("hugetlb", "64 huge pages for hugetlbfs", sysctls={"vm.nr_hugepages": 64}),
    # Two processors would take turns, and the clock of each go on while the other one runs.
    # Nor is each byte that is copied one: processors are quicker. QEMU takes minutes for ten
    # seconds of that clock.
    Variant("counted", "one processor, and a clock that counts its instructions", processors=1,
            alive_every=1, cpu=",-erms,-fsrm", only="amd64", qemu=("-icount", "shift=0,sleep=off")),
    Variant("numa", "two NUMA nodes",
            qemu=("-object", "memory-backend-ram,id=m0,size=1G",
                  "-object", "memory-backend-ram,id=m1,size=1G",
                  "-numa", "node,memdev=m0,cpus=0", "-numa", "node,memdev=m1,cpus=1")),
)}
