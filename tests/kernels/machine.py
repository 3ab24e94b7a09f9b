# SPDX-License-Identifier: MIT
"""One run of QEMU: a kernel, a root, two serial ports in files, and limits of time."""

import os
import re
import subprocess
import time

QEMU = "qemu-system-x86_64"
MEMORY = "2G"
PROCESSORS = 2
SILENCE_MOST = 300  # seconds without a line; a guest sends one every ten seconds
BOOT_MOST = 600
# The console is for panics; a panic ends QEMU, since it may not start the machine again.
CMDLINE = "console=ttyS0 loglevel=5 panic=-1 random.trust_cpu=on mitigations=off"


def accelerators():
    """KVM where the processor virtualises in hardware; a /dev/kvm alone may hang."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            hardware = re.search(r"^flags\s*:.*\b(vmx|svm)\b", file.read(), re.MULTILINE)
    except OSError:
        hardware = False
    usable = hardware and os.access("/dev/kvm", os.R_OK | os.W_OK)
    return (["-accel", "kvm"] if usable else []) + ["-accel", "tcg"]


def command(kernel, initrd, variant, console, port):
    return [QEMU, *accelerators(), "-cpu", variant.cpu, "-smp", str(PROCESSORS),
            "-m", MEMORY, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", str(kernel.image), "-initrd", str(initrd),
            "-append", f"{CMDLINE} {variant.cmdline}".strip(),
            "-serial", f"file:{console}", "-serial", f"file:{port}", *variant.qemu]


def why_to_end(begun, last_line, any_line, limit):
    """A reason to end a guest that still runs, or None."""
    now = time.monotonic()
    if now - begun > limit:
        return f"it ran longer than {limit} s"
    if now - last_line > (SILENCE_MOST if any_line else BOOT_MOST):
        return f"nothing was heard of it for {now - last_line:.0f} s"
    return None


def run(kernel, initrd, variant, console, port, limit):
    """Runs a guest to its end. Returns what went wrong with the machine, or None."""
    for path in (console, port):
        path.write_bytes(b"")
    with subprocess.Popen(command(kernel, initrd, variant, console, port),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        begun = last_line = time.monotonic()
        size = 0
        try:
            while process.poll() is None:
                time.sleep(0.2)
                if port.stat().st_size != size:
                    size = port.stat().st_size
                    last_line = time.monotonic()
                why = why_to_end(begun, last_line, size > 0, limit)
                if why:
                    return why
        finally:
            if process.poll() is None:
                process.kill()
        errors = process.stderr.read().strip()
    if process.returncode:
        return f"{QEMU}: status {process.returncode}: {errors}"
    return None
