# SPDX-License-Identifier: MIT
"""For guests of another architecture: Debian's packages for it, unpacked, and a build with them."""

import subprocess

import debian

PACKAGES = """
    bash busybox-static coreutils dash diffutils e2fsprogs findutils grep libc-bin mawk mount
    perl-base procps python3-minimal libpython3-stdlib sed util-linux
    libc6-dev libcmocka-dev libjson-c-dev liburcu-dev zlib1g-dev
""".split()


class Failed(Exception):
    """It cannot be made; the text says why."""


def make(work, arch):
    """The directory that holds them. Programs for it need a compiler for "arch" besides."""
    target = (work / f"sysroot-{arch.name}").resolve()
    if target.exists():
        return target
    archive = debian.Archive(work, arch.name, suites=[debian.release_here()])
    archive.update()
    done = archive.apt("apt-get", "install", "--download-only", "-y", "--no-install-recommends",
                       *PACKAGES)
    if done.returncode:
        raise Failed(f"apt-get: {done.stdout.strip().splitlines()[-1]}")
    unfinished = target.with_name(target.name + ".new")
    for name in ("bin", "sbin", "lib"):
        (unfinished / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (unfinished / name).is_symlink():
            (unfinished / name).symlink_to(f"usr/{name}")
    for deb in sorted((archive.state / "archives").glob("*.deb")):
        debian.unpack(deb, unfinished)
    unfinished.rename(target)
    return target


def build(work, arch, sysroot):
    """A build directory of meson's for that architecture, like build/debug."""
    directory = (work / f"build-{arch.name}").resolve()
    if (directory / "build.ninja").exists():
        return directory
    cross = work / f"{arch.name}.ini"
    cross.write_text(f"""[binaries]
c = '{arch.triplet}-gcc'
cpp = '{arch.triplet}-g++'
ar = '{arch.triplet}-gcc-ar'
strip = '{arch.triplet}-strip'
pkgconfig = 'pkg-config'

[properties]
needs_exe_wrapper = true
sys_root = '{sysroot}'
pkg_config_libdir = '{sysroot}/usr/lib/{arch.triplet}/pkgconfig:{sysroot}/usr/share/pkgconfig'

[built-in options]
c_args = ['--sysroot={sysroot}']
c_link_args = c_args
cpp_args = c_args
cpp_link_args = c_args

[host_machine]
system = 'linux'
cpu_family = '{arch.family}'
cpu = '{arch.family}'
endian = 'little'
""", encoding="utf-8")
    done = subprocess.run(["meson", "setup", "-Dwerror=true", "-Dfuzzers=disabled",
                           "--cross-file", cross, directory],
                          text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Failed(f"meson: {done.stdout.strip().splitlines()[-1]} (it needs the packages "
                     f"gcc-{arch.triplet}, g++-{arch.triplet}, libc6-dev-{arch.name}-cross)")
    return directory
