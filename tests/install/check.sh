#!/bin/sh
# check.sh BUILD_DIR LIBDIR SOURCE_DIR KIND - installs BUILD_DIR under a temporary DESTDIR, uses what is
# there as a user would (pkg-config, C and C++) and removes it again. KIND: which libraries there are,
# shared, static or both. Prints TAP.
set -u

build=$1
libdir=$2
source=$3
kind=$4
here=$(dirname "$0")
CC=${CC:-cc}
CXX=${CXX:-c++}
. "$here/tap.sh"
dest=$work/dest

# config PACKAGE OPTION... - pkg-config on what was installed.
config()
{
	PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_PATH=$dest$libdir/pkgconfig pkg-config "$@"
}

install_all()
{
	"${MESON:-meson}" install -C "$build" --no-rebuild --quiet --destdir "$dest"
}

installed_headers()
{
	(cd "$dest" && find . -name '*.h' -o -name '*.hpp') | sed 's|.*/include/||' | LC_ALL=C sort >"$work/headers"
	(cd "$source/include" && find . -name '*.h' -o -name '*.hpp') | sed 's|^\./||' | LC_ALL=C sort |
		diff - "$work/headers"
}

# header_alone LANGUAGE STANDARD PACKAGE HEADER - it needs no other include and has no warning; nor do
# those whose names begin like its own.
header_alone()
{
	for header in "$source/include/mapletree/${4%.h}"*.h; do
		echo "#include <mapletree/${header##*/}>" >"$work/alone.$1"
		# shellcheck disable=SC2046
		$CC -x "$1" -std="$2" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
			$(config --cflags "$3") "$work/alone.$1" || return 1
	done
}

# cpp_header_alone - the headers for C++ only, likewise, as they are installed.
cpp_header_alone()
{
	for header in "$source"/include/mapletree/*.hpp; do
		echo "#include <mapletree/${header##*/}>" >"$work/alone.cc"
		# shellcheck disable=SC2046
		$CXX -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
			$(config --cflags mapletree) "$work/alone.cc" || return 1
	done
}

# shared PROGRAM PACKAGE COMPILER LANGUAGE - build and run against the shared library.
shared()
{
	# shellcheck disable=SC2046 # flags are words
	$3 -x "$4" -Wall -Wextra -Werror -o "$work/shared" "$here/$1.c" -x none \
		$(config --cflags --libs "$2") -Wl,-rpath-link,"$dest$libdir" &&
		readelf -d "$work/shared" | grep -q "NEEDED.*lib$2.so.1" &&
		LD_LIBRARY_PATH=$dest$libdir "$work/shared"
}

# static_link PROGRAM PACKAGE COMPILER LANGUAGE - the same, with no shared library at all.
static_link()
{
	# shellcheck disable=SC2046
	$3 -x "$4" -Wall -Wextra -Werror -static -o "$work/static" "$here/$1.c" -x none \
		$(config --static --cflags --libs "$2") &&
		! readelf -d "$work/static" | grep NEEDED &&
		"$work/static"
}

soname()
{
	readelf -d "$dest$libdir/lib$1.so" | grep -F "Library soname: [lib$1.so.1]"
}

# declared HEADER - writes into $work/declared the functions that the header, and those whose names begin
# like its own, declare, and their macros that have a function behind them: all but loops, what these are
# made of, and initialisers of names.
declared()
{
	for header in "$source/include/mapletree/${1%.h}"*.h; do
		echo "#include <mapletree/${header##*/}>"
		sed -n 's/^#define \([A-Za-z_]*\)(.*/\1/p' "$header" >&3
	done >"$work/declared.c" 3>"$work/macros"
	gcc -I"$source/include" -aux-info "$work/declared.txt" -fsyntax-only "$work/declared.c" &&
		{
			grep "/mapletree/${1%.h}[a-z_]*\.h:" "$work/declared.txt" |
				sed 's/^[^*]*\*\/ //; s/ (.*//; s/.*[ *]//'
			grep -v -e '_for_each' -e '_FOR_EACH_' -e '^MT_RCU_FLAVOUR$' -e '^MAS_BATCH_' "$work/macros"
		} | LC_ALL=C sort -u >"$work/declared" && test -s "$work/declared"
}

# exports PACKAGE HEADER - the shared library exports these functions, and nothing else.
exports()
{
	nm -D --defined-only "$dest$libdir/lib$1.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
		LC_ALL=C sort -u >"$work/exported"
	declared "$2" && diff "$work/declared" "$work/exported"
}

# archive_exports PACKAGE HEADER - they are all that a program can see of the static one.
archive_exports()
{
	nm -g --defined-only "$dest$libdir/lib$1.a" | awk 'NF == 3 { print $3 }' |
		LC_ALL=C sort >"$work/exported"
	declared "$2" && diff "$work/declared" "$work/exported"
}

# inner_names PACKAGE - the names that are used inside the static library; but for indirect functions, of
# which nm does not tell whether they are local. (walk_to is one.)
inner_names()
{
	nm "$dest$libdir/lib$1.a" | awk 'NF == 3 && $2 ~ /^[a-hj-z]$/ { print $3 }' |
		grep -x '[A-Za-z_][A-Za-z0-9_]*' | sort -u
}

# archives_alone PROGRAM - a user's program that has functions of its own under all these names, and under
# those in the file "names", which users might choose.
archives_alone()
{
	inner_names mapletree >"$work/names.tree" && inner_names vmspace >"$work/names.space" || return
	wc -l "$work/names.tree" "$work/names.space"
	[ "$(wc -l <"$work/names.tree")" -gt 50 ] && [ "$(wc -l <"$work/names.space")" -gt 200 ] || return
	{
		echo '#include <stdlib.h>'
		sort -u "$here/names" "$work/names.tree" "$work/names.space" |
			sed 's/.*/void &(void) { abort(); }/'
	} >"$work/own.c"
	# shellcheck disable=SC2046
	$CC -w -fno-builtin -c -o "$work/own.o" "$work/own.c" &&
		$CC -o "$work/alone" $(config --cflags vmspace) "$here/$1.c" "$work/own.o" \
			"$dest$libdir/libvmspace.a" "$dest$libdir/libmapletree.a" \
			$(config --libs liburcu-bp) -lpthread &&
		"$work/alone"
}

version()
{
	[ "$(config --modversion "$1")" = "$(config --modversion mapletree)" ] &&
		[ -e "$dest$libdir/lib$1.so.$(config --modversion "$1")" ]
}

# Where each shell looks for them; if vmscope was built, too, and could be run then.
completions()
{
	[ -e "$build/tools/vmscope/vmscope.bash" ] || return 0
	for file in bash-completion/completions/vmscope.bash zsh/site-functions/_vmscope \
		fish/vendor_completions.d/vmscope.fish; do
		find "$dest" -path "*/share/$file" | grep . || return 1
	done
}

# CMake finds the libraries where they are, and programs run with each kind.
cmake_project()
{
	cmake -S "$here/cmake" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$dest${libdir%/lib*}" \
		-DCMAKE_C_FLAGS='-Wall -Wextra -Werror' &&
		cmake --build "$work/cmake" || return
	built=0
	for program in "$work"/cmake/use_tree "$work"/cmake/use_space "$work"/cmake/use_*-static; do
		[ -e "$program" ] || continue
		LD_LIBRARY_PATH=$dest$libdir "$program" || return
		built=$((built + 1))
	done
	echo "$built programs"
	[ "$built" -eq "$([ "$kind" = shared ] && echo 2 || echo 4)" ]
}

# Another major version, and a later one, are not what was asked for.
cmake_version()
{
	mkdir "$work/version" || return
	cat >"$work/version/CMakeLists.txt" <<-END
		cmake_minimum_required(VERSION 3.13)
		project(version C)
		foreach(asked 0.1 $(config --modversion mapletree) 0.999 1.0)
			unset(mapletree_DIR CACHE)
			find_package(mapletree \${asked} CONFIG QUIET)
			message(STATUS "asked: \${mapletree_FOUND}")
		endforeach()
	END
	cmake -S "$work/version" -B "$work/version/build" -DCMAKE_PREFIX_PATH="$dest${libdir%/lib*}" \
		>"$work/versions" 2>&1
	cat "$work/versions"
	sed -n 's/^-- asked: //p' "$work/versions" | tr '\n' ' ' | grep -x '1 1 0 0 '
}

# The files that the manual pages refer to are there.
documents()
{
	sed -n 's|^\.[A-Z][A-Za-z]* \(share/doc/[^ ]*\).*|\1|p' "$source"/man/*.[1-8] | sort -u >"$work/documents"
	[ "$(wc -l <"$work/documents")" -ge 4 ] || return
	while read -r file; do
		find "$dest" -path "*/$file" | grep . || { echo "no $file"; return 1; }
	done <"$work/documents" && ! grep -n 'docs/' "$source"/man/*.[1-8]
}

# Every file is in one of Debian's packages, which have the project's version.
packaged()
{
	cat "$source"/packaging/debian/*.install >"$work/patterns" || return
	(cd "$dest${libdir%/lib*}" && find . ! -type d) | sed 's|^\./|usr/|; s|^usr/lib/|usr/lib/any/|' \
		>"$work/files"
	sed "s|${libdir%/lib*}/lib/lib|/usr/lib/any/lib|" "$work/files" | while read -r file; do
		while read -r pattern; do
			# shellcheck disable=SC2254 # a pattern
			case $file in $pattern | $pattern/*) continue 2 ;; esac
		done <"$work/patterns"
		echo "in no package: $file"
	done >"$work/unpackaged"
	cat "$work/unpackaged"
	[ "$(wc -l <"$work/files")" -gt 100 ] && [ ! -s "$work/unpackaged" ] &&
		grep -q "^mapletree ($(config --modversion mapletree)-" "$source/packaging/debian/changelog"
}

# gdb loads its scripts with the libraries: where it looks for one is the folder of scripts, and below it
# the path of the library.
gdb_script()
{
	mkdir -p "$work/gdb${dest%/*}" && ln -s "$dest${libdir%/lib*}/share/gdb/auto-load" "$work/gdb$dest" || return
	for lib in mapletree vmspace; do
		gdb -nx -batch -iex "set auto-load scripts-directory $work/gdb" -iex "set auto-load safe-path $work" \
			-iex 'set debuginfod enabled off' -ex 'info auto-load python-scripts' \
			-ex 'info pretty-printer' "$dest$libdir/lib$lib.so" >"$work/gdb.log" 2>&1
		cat "$work/gdb.log"
		grep -q "^Yes.*lib$lib.so.*-gdb.py" "$work/gdb.log" && grep -q '^  *cursor' "$work/gdb.log" || return
	done
}

# What the last installation put there, as root or under a DESTDIR, is gone.
uninstall()
{
	mkdir "$work/build" && ln -s "$build" "$work/build/release" &&
		MAKEFLAGS='' make -C "$source" BUILD="$work/build" uninstall || return
	find "$dest" ! -type d >"$work/left"
	cat "$work/left"
	[ ! -s "$work/left" ]
}

# library PACKAGE HEADER PROGRAM - everything about one of the libraries.
library()
{
	check "$1: header alone, C11" header_alone c c11 "$1" "$2"
	check "$1: header alone, C++17" header_alone c++ c++17 "$1" "$2"
	if [ "$kind" != static ]; then
		check "$1: SONAME" soname "$1"
		check "$1: exports the public functions only" exports "$1" "$2"
		check "$1: pkg-config version" version "$1"
		check "$1: shared, C" shared "$3" "$1" "$CC" c
		check "$1: shared, C++" shared "$3" "$1" "$CXX" c++
	fi
	if [ "$kind" != shared ]; then
		check "$1: static, C" static_link "$3" "$1" "$CC" c
		check "$1: static, C++" static_link "$3" "$1" "$CXX" c++
		check "$1: the archive shows the public functions only" archive_exports "$1" "$2"
	fi
}

check 'meson install into a DESTDIR' install_all
check 'the public headers are installed, no others' installed_headers
library mapletree maple_tree.h use_tree
library vmspace vmspace.h use_space
if [ "$kind" != shared ]; then
	check 'archives: all other names are free for the program' \
		archives_alone use_space
fi
if command -v cmake >/dev/null; then
	check 'CMake: find_package' cmake_project
	check 'CMake: versions' cmake_version
else
	skip 'CMake: find_package' 'there is no cmake here'
fi
if [ "$kind" = static ] || ! command -v gdb >/dev/null; then
	skip 'gdb loads its script' 'there is no gdb here, or no shared library'
else
	check 'gdb loads its script' gdb_script
fi
check 'headers for C++ alone, C++17' cpp_header_alone
check 'completions are installed' completions
check 'manual pages refer to what is installed' documents
check 'what is installed is in packages' packaged
check 'make uninstall' uninstall

echo "1..$number"
[ "$failures" -eq 0 ]
