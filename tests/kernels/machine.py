# SPDX-License-Identifier: MIT
"""One run of QEMU: a kernel, a root, two serial ports in files, and limits of time."""

import os
import re
import subprocess
import time

MEMORY = "2G"
SILENCE_MOST = 300  # seconds without a line; a guest sends one every ten seconds
BOOT_MOST = 600
# The console is for panics; a panic ends QEMU, since it may not start the machine again.
CMDLINE = "loglevel=5 panic=-1 random.trust_cpu=on mitigations=off"


def accelerators(arch):
    """KVM where it can be used; a /dev/kvm on x86 without hardware for it lets guests hang."""
    usable = arch.is_native and os.access("/dev/kvm", os.R_OK | os.W_OK)
    if usable and arch.name == "amd64":
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            usable = re.search(r"^flags\s*:.*\b(vmx|svm)\b", file.read(), re.MULTILINE)
    return (["-accel", "kvm"] if usable else []) + ["-accel", arch.emulator]


def command(arch, kernel, initrd, variant, console, port):
    return [arch.qemu, *arch.machine, *accelerators(arch), "-cpu", arch.cpu + variant.cpu,
            "-smp", str(variant.processors), "-m", MEMORY, "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-kernel", str(kernel.image), "-initrd", str(initrd),
            "-append", f"{arch.cmdline} {CMDLINE} {variant.cmdline}".strip(),
            "-serial", f"file:{console}", "-chardev", f"file,id=port,path={port}",
            *arch.port, *variant.qemu]


def why_to_end(begun, last_line, any_line, limit):
    """A reason to end a guest that still runs, or None."""
    now = time.monotonic()
    if now - begun > limit:
        return f"it ran longer than {limit} s"
    if now - last_line > (SILENCE_MOST if any_line else BOOT_MOST):
        return f"nothing was heard of it for {now - last_line:.0f} s"
    return None


def processor_time(pid):
    """The seconds that a process has used; of one that has ended but is not yet waited for, too."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(process, port, limit):
    """Waits for a guest's end; or returns a reason to end it."""
    begun = last_line = time.monotonic()
    size = 0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.2)
        if port.stat().st_size != size:
            size = port.stat().st_size
            last_line = time.monotonic()
        why = why_to_end(begun, last_line, size > 0, limit)
        if why:
            return why
    return None


def run(arch, kernel, initrd, variant, console, port, limit):
    """Runs a guest to its end. Returns what went wrong with the machine, or None; and its time."""
    for path in (console, port):
        path.write_bytes(b"")
    with subprocess.Popen(command(arch, kernel, initrd, variant, console, port),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            problem = watch(process, port, limit)
            used = processor_time(process.pid)
        finally:
            process.kill()
        errors = process.stderr.read().strip()
    if not problem and process.returncode:
        problem = f"{arch.qemu}: status {process.returncode}: {errors}"
    return problem, used
