# SPDX-License-Identifier: MIT
"""Debian's kernel packages: found, downloaded and unpacked.

apt has a source list, lists and a cache of its own here, below one directory: those of the machine
stay as they are.
"""

import functools
import os
import platform
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ("bullseye", "bookworm", "bookworm-backports", "trixie", "trixie-backports")
# Most of what is in them: drivers (but for those of blocks and buses) and protocols.
LEFT_OUT = ("*/kernel/drivers/[!b]*", "*/kernel/net/*", "*/kernel/sound/*", "./usr/share/*")
LISTS_LAST = 24 * 3600  # seconds until the lists are fetched again


class Unavailable(Exception):
    """No such kernel can be had; the text says why."""


@dataclass(frozen=True)
class Kernel:
    version: str  # as asked for: 6.1
    release: str  # what uname -r says
    package: str  # the package's version
    image: Path
    modules: Path  # the directory /lib/modules/RELEASE

    @property
    def has_modules(self):
        return (self.modules / "kernel").is_dir()


def mirrors():
    """The URIs of Debian and of its security updates that this machine installs from."""
    found = {}
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"],
        capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        origin, label, uri = line.split("|")
        if origin == "Debian":
            found.setdefault(label, uri)
    return (os.environ.get("DEBIAN_MIRROR") or found.get("Debian", "http://deb.debian.org/debian"),
            os.environ.get("DEBIAN_SECURITY_MIRROR") or
            found.get("Debian-Security", "http://deb.debian.org/debian-security"))


def unpack(deb, target, left_out=()):
    """Unpacks a package below a directory but for what fits a pattern, and removes it."""
    files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
    with files:
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", target,
                        *(f"--exclude={pattern}" for pattern in left_out)],
                       stdin=files.stdout, check=True)
    if files.returncode:
        raise subprocess.CalledProcessError(files.returncode, files.args)
    Path(deb).unlink()


def newer(one, other):
    """Compares versions of packages as sorting wants it."""
    for operator, result in (("gt", 1), ("lt", -1)):
        if subprocess.run(["dpkg", "--compare-versions", one, operator, other],
                          check=False).returncode == 0:
            return result
    return 0


def release_here():
    """The code name of this machine's Debian."""
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


class Archive:
    """Debian's archive for one architecture, kept below a directory."""

    def __init__(self, directory, arch, flavour="", suites=None):
        self.directory = Path(directory).resolve()
        self.arch = arch
        self.flavour = flavour  # of kernels
        self.suites = suites or SUITES
        self.state = self.directory / "-".join(["apt", arch, *(suites or [])])
        self.warning = ""  # why the lists may be old

    def options(self):
        state = self.state
        return ["-q", f"-oAPT::Architecture={self.arch}", f"-oAPT::Architectures={self.arch}",
                f"-oDir::State={state}", f"-oDir::State::lists={state}/lists",
                f"-oDir::State::status={state}/status", f"-oDir::Cache={state}",
                f"-oDir::Etc::sourcelist={state}/sources.list", "-oDir::Etc::sourceparts=-",
                "-oDir::Etc::preferencesparts=-", "-oAPT::Sandbox::User=root",
                "-oAPT::Update::Post-Invoke=", "-oAPT::Update::Post-Invoke-Success=",
                "-oAcquire::Languages=none",
                "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"]

    def apt(self, command, *args, cwd=None):
        return subprocess.run([command, *self.options(), *args], cwd=cwd, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def update(self):
        """Fetches the lists, once a day. What an unreachable suite has is left out."""
        stamp = self.state / "updated"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < LISTS_LAST:
            return
        for directory in ("lists/partial", "archives/partial"):
            (self.state / directory).mkdir(parents=True, exist_ok=True)
        (self.state / "status").touch()  # nothing is installed
        if not os.path.exists(KEYRING):
            self.warning = f"there is no {KEYRING} (package debian-archive-keyring)"
            return
        debian, security = mirrors()
        (self.state / "sources.list").write_text("".join(
            f"deb [signed-by={KEYRING}] {uri} {suite} main\n"
            for uri, suites in ((debian, self.suites),
                                (security, [f"{suite}-security" for suite in self.suites
                                            if not suite.endswith("-backports")]))
            for suite in suites), encoding="utf-8")
        done = self.apt("apt-get", "update")
        complaints = [line for line in done.stdout.splitlines() if line[:2] in ("E:", "W:")]
        self.warning = complaints[0][3:] if complaints else ""
        if done.returncode == 0 and not complaints:
            stamp.touch()

    @functools.lru_cache
    def offered(self):
        """(name, version, dependencies) of each kernel there is."""
        self.update()
        pattern = f"^linux-image-[0-9].*-{self.flavour}$"
        names = [line.split(" ")[0] for line in
                 self.apt("apt-cache", "search", "--names-only", pattern).stdout.splitlines()
                 if line.startswith("linux-image-")]
        if not names:
            return []
        kernels = []
        for text in self.apt("apt-cache", "show", *names).stdout.split("\n\n"):
            fields = dict(re.findall(r"^(Package|Version|Depends): (.*)$", text, re.MULTILINE))
            # linux-image-6.1-cloud-amd64 only depends on the newest.
            if re.match(r"linux-image-\d+\.\d+[.+]", fields.get("Package", "")):
                kernels.append((fields["Package"], fields["Version"], fields.get("Depends", "")))
        return kernels

    def candidates(self, version):
        """The packages of a version (6.1, or 6.1.176), the newest first."""
        def matches(package):
            upstream = re.split(r"[-+~]", package)[0]
            return upstream == version or upstream.startswith(version + ".")

        fitting = {kernel[1]: kernel for kernel in self.offered() if matches(kernel[1])}
        order = sorted(fitting, key=functools.cmp_to_key(newer), reverse=True)
        return [fitting[package] for package in order]

    def fetch(self, version):
        """The newest kernel of a version that can be had."""
        reasons = []
        for name, package, depends in self.candidates(version)[:3]:
            release = name.removeprefix("linux-image-")
            target = self.directory / "unpacked" / f"{release}_{package}"
            if not target.exists():
                reason = self.download(name, package, depends, target)
                if reason:
                    reasons.append(f"{name}: {reason}")
                    continue
            return self.describe(version, release, package, target)
        return self.kept(version, reasons)

    def kept(self, version, reasons):
        """A kernel unpacked before, for when the archive cannot be reached or has it no more."""
        here = {path.name: path for path in self.directory.glob(f"unpacked/*-{self.flavour}_*")}
        for name in sorted(here, key=functools.cmp_to_key(
                lambda a, b: newer(a.split("_")[1], b.split("_")[1])), reverse=True):
            release, package = name.split("_")
            if re.match(re.escape(version) + r"[-.+]", package):
                return self.describe(version, release, package, here[name])
        if not self.offered():
            raise Unavailable(f"Debian's archive cannot be read: {self.warning}")
        if not reasons:
            there = {re.match(r"\d+\.\d+", kernel[1]).group() for kernel in self.offered()}
            reasons = [f"Debian's archive has no {version}-{self.flavour}, but "
                       + " ".join(sorted(there, key=functools.cmp_to_key(newer)))]
        raise Unavailable("; ".join(reasons))

    def download(self, name, package, depends, target):
        """Unpacks a kernel and what holds its parts into a directory; says why it cannot."""
        parts = [name] + re.findall(rf"linux-(?:binary|modules)-[^ ,]*-{self.flavour}", depends)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as place:
            for part in parts:
                done = self.apt("apt-get", "download", f"{part}={package}", cwd=place)
                # The archive keeps some kernels longer than their modules.
                if done.returncode and not part.startswith("linux-modules-"):
                    return done.stdout.strip().splitlines()[-1]
            unfinished = Path(place, "unpacked")
            unfinished.mkdir()
            for deb in Path(place).glob("*.deb"):
                unpack(deb, unfinished, LEFT_OUT)
            if not target.exists():  # another run may have been faster
                unfinished.rename(target)
        return None

    @staticmethod
    def describe(version, release, package, target):
        modules = target / "usr/lib/modules" / release
        if not modules.exists():
            modules = target / "lib/modules" / release
        for image in (target / f"boot/vmlinuz-{release}", modules / "vmlinuz"):
            if image.exists():
                return Kernel(version, release, package, image, modules)
        raise Unavailable(f"{release}: its packages hold no kernel")
