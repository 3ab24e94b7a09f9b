#!/bin/sh
# SPDX-License-Identifier: MIT
# overlay.sh PROGRAM ARG... - runs the program with its files ($TMPDIR) on an overlayfs, the root of most
# containers; 77 where none can be mounted.
set -u

if [ "${1-}" != --within ]; then
	work=$(mktemp -d) || exit 1
	user=
	[ "$(id -u)" -eq 0 ] || user=--map-root-user
	unshare --mount $user true 2>"$work/why" || {
		echo "SKIP: no mount namespace is allowed: $(cat "$work/why")"
		rm -rf "$work"
		exit 77
	}
	unshare --mount $user "$0" --within "$work" "$@"
	status=$?
	rm -rf "$work"
	exit $status
fi

work=$2
shift 2
# On a file system of its own: an overlayfs cannot lie over an overlayfs.
# userxattr, without which users cannot mount one, is younger than Linux 5.10.
if ! why=$(mount -t tmpfs tmpfs "$work" 2>&1 && cd "$work" && mkdir lower upper work root &&
	dirs=lowerdir=$work/lower,upperdir=$work/upper,workdir=$work/work &&
	{ mount -t overlay overlay -o "$dirs,userxattr" root ||
		mount -t overlay overlay -o "$dirs" root; } 2>&1); then
	echo "SKIP: no overlayfs can be mounted: $why"
	exit 77
fi
TMPDIR=$work/root
export TMPDIR
exec "$@"
