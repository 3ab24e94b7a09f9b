#!/bin/sh
# SPDX-License-Identifier: MIT
# setup.sh SOURCE_DIR - sets this project up as users may: with other kinds of libraries, without what
# the tests need, as a subproject of another one. Prints TAP.
set -u

source=$1
here=$(cd "$(dirname "$0")" && pwd)
meson=${MESON:-meson}
. "$here/tap.sh"

# setup DIRECTORY OPTION... - the libraries alone
setup()
{
	directory=$1
	shift
	"$meson" setup -Dtests=false -Dtools=false "$@" "$work/$directory" "$source"
}

# libraries KIND EXPECTED... - the names of the libraries that -Ddefault_library=KIND installs
libraries()
{
	kind=$1
	shift
	setup "$kind" --prefix=/usr -Ddefault_library="$kind" || return
	"$meson" introspect "$work/$kind" --installed | tr ',' '\n' |
		sed -n 's/.*: "\/usr\/lib\/\(lib[a-z]*\.[a-z]*\)"}*$/\1/p' | LC_ALL=C sort >"$work/names"
	printf '%s\n' "$@" | diff - "$work/names"
}

# What is linked with a static library needs its libraries too, without being told --static.
static_package()
{
	for package in mapletree vmspace; do
		PKG_CONFIG_PATH=$work/static/meson-private pkg-config --libs "$package" |
			grep -e -lmapletree | grep -e -lurcu-bp || return
	done
}

# without PACKAGE OPTION... - what a machine says that lacks it
without()
{
	package=$1
	shift
	mkdir -p "$work/packages"
	rm -f "$work/packages"/*
	for directory in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
		for file in "$directory"/*.pc; do
			[ ! -e "$file" ] || ln -sf "$file" "$work/packages"
		done
	done
	rm -f "$work/packages/$package.pc"
	printf "[binaries]\ncmake = '/nonexistent'\n" >"$work/native"
	rm -rf "$work/without"
	PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$work/packages \
		"$meson" setup --native-file "$work/native" "$@" "$work/without" "$source"
}

# says TEXT COMMAND... - the set-up fails, and the reason has TEXT
says()
{
	text=$1
	shift
	! "$@" >"$work/said" 2>&1 || return
	cat "$work/said"
	grep -q "ERROR: .*$text" "$work/said"
}

# A project that finds what it includes by the names that pkg-config knows.
subproject()
{
	mkdir -p "$work/parent/subprojects/mapletree" || return
	for part in meson.build meson_options.txt include src man; do
		ln -s "$source/$part" "$work/parent/subprojects/mapletree/" || return
	done
	cp "$here/use_tree.c" "$work/parent" || return
	cat >"$work/parent/meson.build" <<-END
		project('parent', 'c')
		tree = dependency('mapletree', fallback: 'mapletree')
		space = dependency('vmspace')
		executable('use_tree', 'use_tree.c', dependencies: [tree, space.partial_dependency(includes: true)])
	END
	"$meson" setup --buildtype=plain --force-fallback-for=mapletree "$@" \
		"$work/parent/build" "$work/parent" &&
		"${NINJA:-ninja}" -C "$work/parent/build" use_tree && "$work/parent/build/use_tree"
}

check 'a release, without a warning of meson' \
	setup release --buildtype=release --fatal-meson-warnings
check 'default_library=shared' libraries shared libmapletree.so libvmspace.so
check 'default_library=static' libraries static libmapletree.a libvmspace.a
check 'static libraries name what they need' static_package
check 'without cmocka: the tests can be left out' says 'cmocka.*-Dtests=false' without cmocka
check 'without a C++ compiler: the same' \
	says 'C++ compiler.*-Dtests=false' env CXX=/nonexistent "$meson" setup "$work/plain" "$source"
check 'without cmocka, the tests left out' without cmocka -Dtests=false -Dtools=false
check 'without json-c: vmscope can be left out' says 'json-c.*-Dtools=false' without json-c
check 'as a subproject' subproject

echo "1..$number"
[ "$failures" -eq 0 ]
