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
	"$meson" setup -Dtests=disabled -Dtools=disabled "$@" "$work/$directory" "$source"
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

# leaves_out TEXT COMMAND... - the set-up succeeds, and its summary has TEXT
leaves_out()
{
	text=$1
	shift
	"$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
	tail -20 "$work/said"
	grep -q "^ *$text" "$work/said"
}

# With -Dpython=enabled all of the package is installed, its metadata too, and nothing of it without.
python_package()
{
	setup python -Dpython=enabled || return
	"$meson" introspect --installed "$work/python" >"$work/python.json" &&
		"$meson" introspect --installed "$work/release" >"$work/plain.json" || return
	for file in __init__.py _range_map.py py.typed _ffi.cpython- dist-info/METADATA; do
		grep -qE "/(mapletree|mapletree-[0-9.]+)[./]$file" "$work/python.json" || { echo "no $file"; return 1; }
	done
	! grep -q '__init__.py' "$work/plain.json"
}

# The file of sources that is published: of the last commit, with all that a set-up needs.
dist()
{
	setup dist && "$meson" dist -C "$work/dist" --no-tests --allow-dirty --formats gztar &&
		tar -C "$work" -xf "$work"/dist/meson-dist/mapletree-*.tar.gz &&
		"$meson" setup -Dtests=enabled "$work/again" "$work"/mapletree-*.*.*
}

# make TARGET... as another user than root
make_as_nobody()
{
	set -- make --no-print-directory -C "$source" BUILD="$work" "$@"
	if [ "$(id -u)" -eq 0 ]; then
		set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	fi
	MAKEFLAGS='' "$@"
}

# Who may not write where it would be installed is told so, before anything is done.
not_allowed()
{
	setup release || return
	mkdir -m 755 "$work/other" && chmod 755 "$work" || return
	[ "$(id -u)" -eq 0 ] || chmod 555 "$work/other"
	! make_as_nobody install DESTDIR="$work/other" >"$work/said" 2>&1 || return
	cat "$work/said"
	grep -q "^make install: may not write to $work/other" "$work/said" &&
		grep -q 'PREFIX=' "$work/said"
}

# Every target that is not a file is told.
help()
{
	MAKEFLAGS='' make --no-print-directory -C "$source" help >"$work/help" || return
	sed -n 's/^\.PHONY: //p' "$source/Makefile" | tr ' ' '\n' | sort -u >"$work/targets"
	[ "$(wc -l <"$work/targets")" -gt 40 ] || return
	while read -r target; do
		grep -q -- "\b$target\b" "$work/help" || echo "$target"
	done <"$work/targets" >"$work/missing"
	cat "$work/missing"
	[ ! -s "$work/missing" ]
}

# A project that finds what it includes by the names that pkg-config knows.
subproject()
{
	mkdir -p "$work/parent/subprojects/mapletree" || return
	for part in meson.build meson_options.txt docs include man packaging src tools; do
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
check 'without cmocka: no tests, and said' \
	leaves_out 'tests *: no: .*cmocka' without cmocka -Dtools=disabled
check 'without a C++ compiler: the same' leaves_out 'tests *: no: .*C++ compiler' \
	env CXX=/nonexistent "$meson" setup -Dtools=disabled "$work/plain" "$source"
check 'without json-c: no vmscope, and said' \
	leaves_out 'vmscope *: no: .*json-c' without json-c -Dtests=disabled
check 'without cmocka, the tests asked for' \
	says 'tests: .*cmocka.*-Dtests=disabled' without cmocka -Dtests=enabled
check 'without json-c, vmscope asked for' \
	says 'vmscope: .*json-c.*-Dtools=disabled' without json-c -Dtools=enabled
check 'options as they were: true and false' \
	says 'json-c.*-Dtools=disabled' without json-c -Dtools=true -Dtests=false
if /usr/bin/python3 -c 'import cffi, os, sysconfig
os.stat(sysconfig.get_path("include") + "/Python.h")' 2>"$work/log"; then
	check 'the package for Python, as distributions install it' python_package
else
	skip 'the package for Python, as distributions install it' "$(tail -1 "$work/log")"
fi
check 'as a subproject' subproject
if git -C "$source" rev-parse --verify -q HEAD >"$work/log" 2>&1; then
	check 'the published sources can be set up' dist
else
	skip 'the published sources can be set up' 'this is no git checkout'
fi
if [ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null; then
	check 'make install, not allowed to write' not_allowed
else
	skip 'make install, not allowed to write' 'there is no setpriv here, to be another user by'
fi
check 'make help' help

echo "1..$number"
[ "$failures" -eq 0 ]
