#!/bin/sh
# SPDX-License-Identifier: MIT
# newcomer.sh BUILD TARFILE RELEASE... - follows the README, in a root of each release of Debian that has
# nothing but what git's checkout would be, TARFILE, as a user who may use sudo: the commands of its sections,
# as they stand there, but for ./run test. Prints what they took, and writes a table of it to
# BUILD/deb/RELEASE/newcomer.md. The roots are those of deb.sh, and trust the certificates that this machine
# trusts, with its settings of pip. NEWCOMER_ENV= are NAME=VALUE for what is run there. Needs root and the
# network.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)

[ $# -ge 3 ] || { sed -n '3,9s/^# //p' "$0" >&2; exit 2; }
. "$top/packaging/roots.sh"
sources=$(realpath "$2")
shift 2

# block HEADING [MARK] - the shell's lines in the section of the README; those after <!-- MARK --> alone
block()
{
	awk -v heading="## $1" -v mark="${2:+<!-- $2 -->}" '
		!inside && /^## / { here = $0 == heading; marked = mark == "" }
		!inside && here && mark != "" && /^<!-- / { marked = $0 == mark }
		!inside && /^```/ { inside = 1; wanted = here && marked && $0 == "```sh"; next }
		inside && /^```/ { inside = 0; if (wanted && mark != "") exit; wanted = 0; next }
		wanted' "$place/README.md" | grep -v '^\./run test'
}

# as_user COMMAND... - in the root, in the checkout
as_user()
{
	# shellcheck disable=SC2086 # NAME=VALUE words
	inside "$work/root" setpriv --reuid=newcomer --regid=newcomer --init-groups \
		env -C /home/newcomer/mapletree HOME=/home/newcomer USER=newcomer \
		PATH=/usr/local/bin:/usr/bin:/bin ${NEWCOMER_ENV:-} "$@"
}

# step NAME EXPECTED COMMANDS - they succeed, and print the line EXPECTED
step()
{
	[ -n "$3" ] || die "the README has no commands in the section $1"
	printf '%s\n' "$3" >"$work/root/step"
	began=$(date +%s)
	as_user sh -ex /step >"$work/newcomer.log" 2>&1 </dev/null ||
		{ tail -30 "$work/newcomer.log" >&2; die "$release: $1: failed; see $work/newcomer.log"; }
	took=$(($(date +%s) - began))
	grep -q -- "$2" "$work/newcomer.log" ||
		die "$release: $1: no line has '$2'; see $work/newcomer.log"
	echo "$release: $1: $took s"
	# A line of a table is one line.
	printf '| %s | %s | %s | %s s |\n' "$release" "$1" \
		"$(printf '%s\n' "$3" | sed 's/ *#.*//; s/   */ /g; /^$/d; s/|/\\|/g; s/.*/`&`/' | paste -sd ' ')" "$took" \
		>>"$work/newcomer.md"
}

# A machine as others have it: a user, sudo, certificates.
prepare()
{
	fresh "$work/root" "$work/base.tar"
	if [ -d /usr/local/share/ca-certificates ]; then
		mkdir -p "$work/root/usr/local/share/ca-certificates"
		cp -r /usr/local/share/ca-certificates/. "$work/root/usr/local/share/ca-certificates"
	fi
	[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$work/root/etc/pip.conf"
	inside "$work/root" sh -euxc 'apt-get -q update
		apt-get -q -y install --no-install-recommends sudo ca-certificates
		useradd --create-home --shell /bin/bash newcomer
		echo "newcomer ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/newcomer
		mkdir /home/newcomer/mapletree' >"$work/newcomer.log" 2>&1 ||
		{ tail "$work/newcomer.log" >&2; die "see $work/newcomer.log"; }
	place=$work/root/home/newcomer/mapletree
	tar -C "$place" --strip-components=1 -xf "$sources"
	inside "$work/root" chown -R newcomer:newcomer /home/newcomer
}

for release in "$@"; do
	need_root "$release"
	prepare
	rm -f "$work/newcomer.md"
	step 'Two commands' ' 0 differences$' "$(block 'Two commands')"
	step 'In C' '^data$' "$(block 'In C')"
	step 'In C++' '^3000-8fff data$' "$(block 'In C++')"
	step 'In Rust' '^0x2000..=0x2fff heap$' "$(block 'In Rust')"
	step 'In Python' '^0x1800 0x2800 driver$' "$(block 'In Python')"
	step 'vmscope' 'areas at the end' "$(block vmscope runs)"
	rm -rf --one-file-system "$work/root"
	echo "PASS $release"
done
