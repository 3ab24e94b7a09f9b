#!/bin/sh
# SPDX-License-Identifier: MIT
# roots.sh - sourced, with arguments BUILD ...: clean roots of Debian's releases, made by debootstrap and
# kept as tar files in BUILD/deb/RELEASE/base.tar.

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

[ "$(id -u)" -eq 0 ] || die "debootstrap and chroot need root: run it as root, or with sudo"
for tool in debootstrap unshare chroot; do
	command -v $tool >/dev/null || die "there is no $tool here; as root: apt-get install debootstrap"
done
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-}"
mkdir -p "$1/deb"
build=$(cd "$1/deb" && pwd)

# inside ROOT COMMAND... - runs it in the root, with /proc and /dev, and what was downloaded before.
inside()
{
	inside_root=$1
	shift
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --fork --kill-child sh -eu -c '
		root=$0
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --bind "$1" "$root/var/cache/apt/archives"
		shift
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
			DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS="$DEB_BUILD_OPTIONS" "$@"
	' "$inside_root" "$work/archives" "$@"
}

# fresh ROOT TARFILE
fresh()
{
	rm -rf --one-file-system "$1"
	mkdir -p "$1"
	tar -C "$1" -xpf "$2"
	cp /etc/resolv.conf "$1/etc/resolv.conf"
	# If the machine stops these roots are of no use anyway; and archives stay.
	echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"
	echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "true";' >"$1/etc/apt/apt.conf.d/keep"
}

keep()
{
	tar -C "$1" --one-file-system -cf "$2.part" .
	mv "$2.part" "$2"
}

bootstrap()
{
	echo "making a root of $release"
	rm -rf --one-file-system "$work/root"
	# shellcheck disable=SC2086 # no word if there is no MIRROR
	debootstrap --variant=minbase "$release" "$work/root" ${MIRROR:-} >"$work/debootstrap.log" 2>&1 ||
		{ tail "$work/debootstrap.log" >&2; die "debootstrap failed; see $work/debootstrap.log"; }
	keep "$work/root" "$work/base.tar"
}

# need_root RELEASE - sets $release and $work, where its root is kept.
need_root()
{
	release=$1
	work=$build/$release
	mkdir -p "$work/archives/partial"
	[ -e "$work/base.tar" ] || bootstrap
}
