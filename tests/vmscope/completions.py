#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The completions of each shell offer every option that a command has, and no other.

What there is, comes from --usage; the completions are made from --help. bash is asked; fish is
asked and zsh parses its file, where they are installed.

Usage: completions.py VMSCOPE DIRECTORY     where vmscope.bash, _vmscope and vmscope.fish are
"""
import os
import re
import shutil
import subprocess
import sys

failures = 0


def wanted(what, got, expected):
    global failures
    if got != expected:
        failures += 1
        print(f"FAILED: {what}:\n  got      {got}\n  expected {expected}")


def run(*args):
    return subprocess.run(args, text=True, capture_output=True, timeout=60)


def commands_of(vmscope):
    return re.findall(r"^  (\w+) ", run(vmscope, "--help").stdout, re.M)


def usage(vmscope, command):
    """Long options, with a "=" if they take a value, and short ones."""
    text = re.sub(r"\s+", " ", run(vmscope, command, "--usage").stdout)
    long = re.findall(r"\[(--[\w-]+=?)", text)
    flags = re.search(r"\[-([\w?]+)\]", text)
    short = re.findall(r"\[-(\w) \w+\]", text) + [c for c in flags[1] if c != "?"]
    return sorted(long + ["-" + c for c in short])


def ask_bash(path, *words):
    """What it offers for the last of the words."""
    script = ("source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _vmscope; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    got = run("bash", "--norc", "-c", script, "bash", path, "vmscope", *words)
    wanted(f"bash says nothing of {words}", got.stderr, "")
    return sorted(got.stdout.split())


def check_bash(path, vmscope, commands):
    wanted("bash: commands", ask_bash(path, ""), sorted(commands + ["--help", "--version"]))
    wanted("bash: a beginning", ask_bash(path, "ex"), ["explain", "export"])
    for command in commands[:-1]:
        options = usage(vmscope, command)
        wanted(f"bash: {command}", ask_bash(path, command, "-"), options)
        wanted(f"bash: {command} --", ask_bash(path, command, "--"),
               [o for o in options if o.startswith("--")])
    wanted("bash: help", ask_bash(path, "help", ""), sorted(commands[:-1]))
    # "--option=value" comes in three words.
    wanted("bash: words", ask_bash(path, "trace", "--verify", "=", "e"), ["each", "end"])
    wanted("bash: all words", ask_bash(path, "draw", "--axis", "="), ["calls", "time"])
    wanted("bash: mixes", set(ask_bash(path, "check", "--mix", "")) >= {"all", "map", "uffd"}, True)
    wanted("bash: files", ask_bash(path, "replay", path[:-1]), [path])
    wanted("bash: a file", ask_bash(path, "trace", "-o", path[:-1]), [path])
    wanted("bash: processes", str(os.getpid()) in ask_bash(path, "trace", "-p", ""), True)
    wanted("bash: a process or a file", {str(os.getpid())} & set(ask_bash(path, "explain", "")),
           {str(os.getpid())})
    wanted("bash: a program", "true" in ask_bash(path, "trace", "tru"), True)
    wanted("bash: an unknown command", ask_bash(path, "frobnicate", "-"), [])


def check_fish(path, vmscope, commands):
    if not shutil.which("fish"):
        print("SKIP in part: fish is not installed")
        return

    def ask(line):
        got = run("fish", "--no-config", "-c", f"source {path}; complete -C '{line}'")
        wanted(f"fish says nothing of {line}", got.stderr, "")
        return sorted(text.split("\t")[0] for text in got.stdout.splitlines())

    wanted("fish: commands", ask("vmscope "), sorted(commands))
    for command in commands[:-1]:
        options = [o.rstrip("=") for o in usage(vmscope, command) if o.startswith("--")]
        wanted(f"fish: {command}", ask(f"vmscope {command} --"), options)
    wanted("fish: words", ask("vmscope trace --verify e"), ["each", "end"])


def check_zsh(path, vmscope, commands):
    with open(path) as file:
        text = file.read()
    wanted("zsh: its first line", text.partition("\n")[0], "#compdef vmscope")
    parts = dict(re.findall(r"^\t(\w+)\)\n(.*?)^\t\t;;", text, re.M | re.S))
    wanted("zsh: commands", sorted(parts), sorted(commands[:-1]))
    for command in commands[:-1]:
        found = re.findall(r"(?:'|,)(--[\w-]+=?)[\[}]", parts[command])
        wanted(f"zsh: {command}", sorted(found),
               [o for o in usage(vmscope, command) if o.startswith("--")])
    if shutil.which("zsh"):
        wanted("zsh parses it", run("zsh", "-f", "-n", path).stderr, "")
    else:
        print("SKIP in part: zsh is not installed")


def main():
    vmscope, where = sys.argv[1:]
    commands = commands_of(vmscope)
    wanted("the last command", commands[-1], "help")
    check_bash(os.path.join(where, "vmscope.bash"), vmscope, commands)
    check_fish(os.path.join(where, "vmscope.fish"), vmscope, commands)
    check_zsh(os.path.join(where, "_vmscope"), vmscope, commands)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
