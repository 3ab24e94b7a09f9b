#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the completions of vmscope for a shell, from what its commands say with --help.

Usage: completions.py VMSCOPE bash|zsh|fish [OUTPUT]
"""
import os
import re
import subprocess
import sys

# Words that an option takes; what it says of itself must name them. Those of --mix are read.
WORDS = {
    ("trace", "verify"): ["each", "end", "none"],
    ("trace", "inject"): ["drop", "double", "alter"],
    ("draw", "axis"): ["time", "calls"],
    ("export", "format"): ["perfetto", "chrome", "csv", "folded"],
    ("export", "weight"): ["areas", "calls"],
    ("top", "sort"): ["areas", "gained", "size", "pid", "name"],
    ("check", "way"): ["pure", "told", "asked", "any"],
    **{(command, "color"): ["always", "never", "auto"]
       for command in ("trace", "watch", "replay", "explain", "check")},
}
FILES = ("FILE", "LOG")
# What follows the options: files, processes, a command.
POSITIONAL = {"trace": "command", "watch": "command", "replay": "files", "at": "files",
              "explain": "files or processes", "draw": "files", "export": "files", "report": "files or processes",
              "check": "nothing", "top": "processes"}


class Option:
    """An option of a command: its names, and what its value is (None: it has none)."""

    def __init__(self, command, short, name, value, text):
        self.command, self.short, self.name = command, short, name
        self.value, self.text = value, text
        self.words = []

    def kind(self):
        if self.words:
            return "words"
        if self.value in FILES:
            return "files"
        if self.value == "PID" and self.command in ("trace", "watch"):  # others ask for one in a log
            return "processes"
        return "anything" if self.value else None

    def summary(self):
        """Its first clause, without what a shell would take for its own."""
        return re.sub(r"[^\w ,./'-]", "", re.split(r"[;(:]", self.text)[0]).strip().replace("'", "")


def say(vmscope, *args):
    # As wide as it takes, so that each option is one line.
    env = {**os.environ, "ARGP_HELP_FMT": "rmargin=4000,opt-doc-col=40,long-opt-col=6",
           "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run([vmscope, *args, "--help"], env=env, text=True, capture_output=True,
                          check=True).stdout


def commands_of(vmscope):
    """Names and summaries of all commands but help."""
    found = re.findall(r"^  (\w+) +(.+)$", say(vmscope), re.M)
    return {name: text for name, text in found if name != "help"}


def options_of(vmscope, command):
    text = say(vmscope, command)
    options = []
    for short, name, value, what in re.findall(
            r"^  (?:-(.), |    )--([\w-]+)(?:=(\S+))? +(\S.*)$", text, re.M):
        option = Option(command, short, name, value or None, what)
        option.words = WORDS.get((command, name), [])
        for word in option.words:
            assert re.search(rf"\b{word}\b", what), f"{command} --{name} says nothing of {word}"
        if (command, name) == ("check", "mix"):
            option.words = re.findall(r"^mix (\w+):", text, re.M)
            assert option.words
        options.append(option)
    assert {"help", "usage"} < {option.name for option in options}
    return options


def tables(vmscope):
    commands = commands_of(vmscope)
    assert set(commands) == set(POSITIONAL), "POSITIONAL lacks a command, or has one too many"
    return commands, {command: options_of(vmscope, command) for command in commands}


# ---- bash ----------------------------------------------------------------------------------------

BASH = """\
# Completions of vmscope for bash.
_vmscope()
{
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	local command=${COMP_WORDS[1]} options what words

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W '@COMMANDS@ help --help --version' -- "$cur"))
		return
	fi
	# "--option=value" is three words to bash.
	if [[ $cur == '=' ]]; then
		cur=
	elif [[ $before == '=' ]]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
	case "$command $before" in
@VALUES@
	esac
	if [[ -z $what ]]; then
		case $command in
@OPTIONS@
		help) what=words words='@COMMANDS@' ;;
		*) return ;;
		esac
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "$options" -- "$cur"))
			[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
			return
		fi
	fi
	case $what in
	words) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
	files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
	command) COMPREPLY=($(compgen -c -- "$cur")) ;;
	*processes)
		COMPREPLY=($(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur"))
		[[ $what == processes ]] || COMPREPLY+=($(compgen -f -- "$cur"))
		;;
	esac
}
complete -F _vmscope vmscope
"""


def write_bash(commands, options):
    values, cases = [], []
    for command in commands:
        for option in options[command]:
            if not option.value:
                continue
            names = f"'{command} --{option.name}'"
            if option.short:
                names += f" | '{command} -{option.short}'"
            words = f" words='{' '.join(option.words)}'" if option.words else ""
            values.append(f"\t{names}) what={option.kind()}{words} ;;")
        given = [f"--{option.name}{'=' if option.value else ''}" for option in options[command]]
        given += [f"-{option.short}" for option in options[command]
                  if option.short not in ("", "?")]
        cases.append(f"\t\t{command}) what='{POSITIONAL[command]}' options='{' '.join(given)}' ;;")
    return (BASH.replace("@COMMANDS@", " ".join(commands)).replace("@VALUES@", "\n".join(values))
            .replace("@OPTIONS@", "\n".join(cases)))


# ---- zsh -----------------------------------------------------------------------------------------

ZSH_VALUES = {"files": "_files", "processes": "_pids", "anything": " ",
              "command": "{_normal}", "files or processes": "{_pids; _files}", "nothing": " "}


def zsh_option(option):
    action = f"({' '.join(option.words)})" if option.words else ZSH_VALUES.get(option.kind())
    value = f":{option.value}:{action}" if option.value else ""
    name = f"--{option.name}{'=' if option.value else ''}"
    if option.short in ("", "?"):
        return f"'{name}[{option.summary()}]{value}'"
    short = f"-{option.short}{'+' if option.value else ''}"
    return (f"'(-{option.short} --{option.name})'{{{short},{name}}}'[{option.summary()}]{value}'")


def write_zsh(commands, options):
    lines = ["#compdef vmscope", "# Completions of vmscope for zsh.", "_vmscope()", "{",
             "\tlocal context state state_descr line", "\ttypeset -A opt_args", "",
             "\t_arguments -C '--help[tell the commands]' '--version[tell the version]' \\",
             "\t\t'1:command:->command' '*::argument:->argument'",
             "\tif [[ $state == command ]]; then", "\t\tlocal -a commands=("]
    lines += ["\t\t\t'{}:{}'".format(name, text.replace("'", "'\\''"))
              for name, text in commands.items()]
    lines += ["\t\t\t'help:tell the options of a command'", "\t\t)",
              "\t\t_describe command commands", "\t\treturn", "\tfi", "\tcase $words[1] in"]
    for command in commands:
        lines.append(f"\t{command})")
        lines.append("\t\t_arguments -s -S \\")
        lines += [f"\t\t\t{zsh_option(option)} \\" for option in options[command]]
        action = ZSH_VALUES[POSITIONAL[command]]
        if POSITIONAL[command] == "command":
            lines.append("\t\t\t'(-)1:command:_command_names -e' '*::argument:_normal'")
        else:
            lines.append(f"\t\t\t'*:argument:{action}'")
        lines.append("\t\t;;")
    lines += [f"\thelp) _values command {' '.join(commands)} ;;", "\tesac", "}", "",
              '_vmscope "$@"', ""]
    return "\n".join(lines)


# ---- fish ----------------------------------------------------------------------------------------

FISH_VALUES = {"files": "-r -F", "processes": "-x -a '(__fish_complete_pids)'", "anything": "-x",
               None: ""}


def write_fish(commands, options):
    lines = ["# Completions of vmscope for fish.", "complete -c vmscope -f"]
    for name, text in {**commands, "help": "tell the options of a command"}.items():
        lines.append(f"complete -c vmscope -n __fish_use_subcommand -a {name} -d {text!r}")
    lines.append("complete -c vmscope -n '__fish_seen_subcommand_from help' "
                 f"-a '{' '.join(commands)}'")
    for command in commands:
        seen = f"complete -c vmscope -n '__fish_seen_subcommand_from {command}'"
        for option in options[command]:
            short = f" -s {option.short}" if option.short not in ("", "?") else ""
            value = f"-x -a '{' '.join(option.words)}'" if option.words else \
                FISH_VALUES[option.kind()]
            lines.append(f"{seen}{short} -l {option.name} {value} -d '{option.summary()}'")
        if "files" in POSITIONAL[command]:
            lines.append(f"{seen} -F")
        if "processes" in POSITIONAL[command]:
            lines.append(f"{seen} -a '(__fish_complete_pids)'")
        if POSITIONAL[command] == "command":
            lines.append(f"{seen} -xa '(__fish_complete_subcommand --fcs-skip=2)'")
    return "\n".join(re.sub(" +", " ", line) for line in lines) + "\n"


def main():
    vmscope, shell = sys.argv[1:3]
    text = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}[shell](*tables(vmscope))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
