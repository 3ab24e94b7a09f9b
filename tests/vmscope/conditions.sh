#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs under other limits and privileges than those of the tests, which may change on the way.
# Usage: conditions.sh VMSCOPE PRIVILEGES
. "$(dirname "$0")/common.sh"
privileges=$2

# refused NUMBER WHAT: checks how many calls the program was refused.
refused() {
	grep -q "^refused $1\$" "$work/out" || fail "$2: $(cat "$work/out"), not $1"
}

# Without a limit on the stack, mappings begin at a sixth of the address space; the limit at exec
# counts, not what the program makes of it.
for program in "ls /" "bash -c 'ulimit -Ss 8192; ls / | cat; (exec ls /)'"; do
	expect 0 "an unlimited stack: $program" bash -c "ulimit -s unlimited && exec \"\$@\"" sh \
		"$vmscope" trace -- bash -c "$program"
done
expect 0 "a stack that becomes unlimited" "$vmscope" trace -- \
	bash -c 'ulimit -Ss unlimited 2>/dev/null; ls /; ulimit -Ss 8192; ls /'

# attached WHAT COMMANDS LATER: attaches to a shell after the commands, before it goes on.
mkfifo "$work/go"
attached() {
	rm -f "$work/ready"
	bash -c "$2; exec bash -c 'echo >$work/ready; read <$work/go; $3'" >"$work/shell" 2>&1 &
	pid=$!
	wait_for test -e "$work/ready"
	{
		wait_for grep -q 'TracerPid:	[1-9]' /proc/$pid/status
		echo >"$work/go"
	} &
	expect 0 "$1" "$vmscope" trace -p $pid
	wait $pid
}
later='ls /; mapfile a </etc/services; ls /'
attached "attached, with an unlimited stack" 'ulimit -Ss unlimited' "$later"
attached "attached, with a stack that was unlimited" 'ulimit -Ss unlimited' "ulimit -Ss 8192; $later"
attached "attached, with a stack that has become unlimited" : "ulimit -Ss unlimited; $later"

# A thread that drops its capabilities keeps those of others.
if [ "$(id -u)" = 0 ]; then
	expect 0 "all privileges" "$vmscope" trace -- "$privileges"
	refused 0 "all privileges"
	expect 0 "privileges that are dropped" "$vmscope" trace -- "$privileges" drop
	refused 10 "privileges that are dropped"
	expect 0 "the user nobody" "$vmscope" trace -- setpriv --reuid 65534 --clear-groups \
		"$privileges"
	refused 20 "the user nobody"
	# The maps of a program that one may execute, but not read, are root's: it runs all the same.
	cp "$vmscope" "$work/vmscope"
	cp /bin/echo "$work/unreadable"
	chmod 711 "$work/unreadable"
	chmod 755 "$work" "$work/vmscope"
	for command in "$work/unreadable it has run" "sh -c '$work/unreadable it has run; true'"; do
		expect 1 "a program that may not be read: $command" setpriv --reuid 65534 --regid 65534 \
			--clear-groups bash -c "cd /; exec $work/vmscope trace -q -- $command"
		grep -q '^it has run$' "$work/out" || fail "it has not run: $command: $(cat "$work/err")"
		said "runs, but is not followed: its maps cannot be read: Permission denied" "$command"
	done
	# Capabilities in a user namespace of one's own are no privilege.
	if unshare --user --map-root-user true 2>/dev/null; then
		expect 0 "a user namespace" "$vmscope" trace -- \
			unshare --user --map-root-user "$privileges"
		refused 20 "a user namespace"
	else
		echo "SKIP in part: there are no user namespaces here"
	fi
else
	expect 0 "no privilege" "$vmscope" trace -- "$privileges"
	refused 20 "no privilege"
fi
finish
