#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh BUILD TARFILE RELEASE... - builds Debian's packages of the published sources TARFILE for each
# release of Debian (bookworm, trixie), in a root of its own that debootstrap makes; lets lintian look at
# them; then installs them in another one that has nothing else, uses and removes them.
#
# Roots are made once and kept as tar files in BUILD/deb/RELEASE, what is downloaded in
# BUILD/deb/RELEASE/archives, the packages in BUILD/deb/RELEASE/packages. DEB_BUILD_OPTIONS=nocheck leaves
# the tests out, MIRROR= names another mirror. Needs root (debootstrap, chroot) and the network.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)

[ $# -ge 3 ] || { sed -n '3,10s/^# //p' "$0" >&2; exit 2; }
. "$top/packaging/roots.sh"
sources=$(realpath "$2")
shift 2
version=${sources##*/mapletree-}
version=${version%.tar.xz}

# What is needed to build, and lintian; anew if that has changed.
build_root()
{
	needs=$work/build-$(cksum <"$top/packaging/debian/control" | cut -d' ' -f1).tar
	if [ ! -e "$needs" ]; then
		rm -f "$work"/build-*.tar
		fresh "$work/root" "$work/base.tar"
		mkdir "$work/root/needs"
		cp -r "$top/packaging/debian" "$work/root/needs/debian"
		inside "$work/root" sh -euc 'apt-get -q update
			apt-get -q -y install --no-install-recommends build-essential fakeroot lintian
			cd /needs && apt-get -q -y build-dep --no-install-recommends ./' >"$work/needs.log" 2>&1 ||
			{ tail "$work/needs.log" >&2; die "see $work/needs.log"; }
		keep "$work/root" "$needs"
	fi
	fresh "$work/root" "$needs"
}

build_packages()
{
	place=$work/root/build/mapletree-$version
	mkdir "$work/root/build"
	tar -C "$work/root/build" -xf "$sources"
	cp "$sources" "$work/root/build/mapletree_$version.orig.tar.xz"
	cp -r "$place/packaging/debian" "$place/debian"
	revision=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$place/debian/changelog")~$release
	[ "${revision%-*}" = "$version" ] ||
		die "packaging/debian/changelog begins with version ${revision%-*}, the sources are $version"
	{
		printf 'mapletree (%s) %s; urgency=medium\n\n  * Built for %s.\n\n' \
			"$revision" "$release" "$release"
		sed -n "s/^\( -- .*>\).*/\1  $(date -R -r "$sources")/p" "$place/debian/changelog" | head -1
		echo
		cat "$place/debian/changelog"
	} >"$work/changelog"
	mv "$work/changelog" "$place/debian/changelog"
	inside "$work/root" sh -euc "cd /build/mapletree-$version
		dpkg-buildpackage -us -uc" >"$work/build.log" 2>&1 ||
		{ tail -30 "$work/build.log" >&2; die "the build failed; see $work/build.log"; }
	rm -rf "$work/packages"
	mkdir "$work/packages"
	cp "$work/root"/build/*.* "$work/packages" 2>/dev/null || :
	inside "$work/root" sh -euc 'useradd checker && cd /build &&
		setpriv --reuid=checker --regid=checker --clear-groups \
			lintian --fail-on error,warning ./*.changes' >"$work/lintian.log" 2>&1 ||
		{ cat "$work/lintian.log" >&2; die "lintian has objections"; }
	echo "deb: $release: lintian has no objection"
}

# Installs what one test of the packages needs, in a root that has nothing else, and runs it there; then
# removes what was installed. Uses the packages' tests as autopkgtest would.
use_packages()
{
	fresh "$work/root" "$work/base.tar"
	mkdir "$work/root/packages"
	cp "$work/packages"/*.deb "$work/root/packages"
	cp -r "$top/packaging/debian/tests" "$work/root/tests"
	echo 'deb [trusted=yes] file:/packages ./' >"$work/root/etc/apt/sources.list.d/packages.list"
	# An index without a tool for it: a paragraph a package.
	(cd "$work/packages" && for deb in *.deb; do
		dpkg-deb -f "$deb"
		echo "Filename: ./$deb"
		echo "Size: $(stat -c %s "$deb")"
		echo "SHA256: $(sha256sum "$deb" | cut -d' ' -f1)"
		echo
	done) >"$work/root/packages/Packages"
	inside "$work/root" apt-get -q update >"$work/use.log" 2>&1 ||
		{ tail "$work/use.log" >&2; die "see $work/use.log"; }
	sed -n 's/^Tests: //p' "$top/packaging/debian/tests/control" | while read -r name; do
		needs=$(sed -n "/^Tests: $name$/,/^$/s/^Depends: //p" "$top/packaging/debian/tests/control" |
			sed 's/ *|[^,]*//g; s/,/ /g')
		# shellcheck disable=SC2086 # a list of words
		inside "$work/root" apt-get -q -y install --no-install-recommends $needs >>"$work/use.log" 2>&1 ||
			{ tail "$work/use.log" >&2; die "these cannot be installed: $needs"; }
		status=0
		inside "$work/root" sh "/tests/$name" >"$work/test.log" 2>&1 || status=$?
		cat "$work/test.log" >>"$work/use.log"
		case $status in
		0) echo "deb: $release: test $name passed" ;;
		77) echo "deb: $release: test $name skipped: $(cat "$work/test.log")" ;;
		*) cat "$work/test.log" >&2; die "test $name failed in $release, installed: $needs" ;;
		esac
	done
	ours=$(cd "$work/packages" && for deb in *.deb; do dpkg-deb -f "$deb" Package; done | grep -v dbgsym)
	inside "$work/root" sh -euc 'dpkg -L "$@" 2>/dev/null >/files || :
		apt-get -q -y purge "$@"
		while read -r file; do
			[ -d "$file" ] || [ ! -e "$file" ] || { echo "left: $file"; exit 1; }
		done </files
		[ "$(wc -l </files)" -gt 100 ]
		! ls -d /usr/include/mapletree /usr/share/doc/mapletree' sh $ours >>"$work/use.log" 2>&1 ||
		{ tail "$work/use.log" >&2; die "something stayed behind"; }
	echo "deb: $release: removed, nothing is left"
}

for release in "$@"; do
	began=$(date +%s)
	need_root "$release"
	build_root
	build_packages
	use_packages
	rm -rf --one-file-system "$work/root"
	(cd "$work/packages" && ls ./*.deb)
	echo "PASS $release ($(($(date +%s) - began)) s)"
done
