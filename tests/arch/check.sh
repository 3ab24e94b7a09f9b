#!/bin/bash
# Builds the library and its tests for other architectures and runs them under qemu-user.
# Usage: [SUITES="unit api"] check.sh [-b BUILD_DIRECTORY] [ARCHITECTURE...]
# (Debian's names; default: all)
#
# Compilers and qemu are Debian packages, installed where missing. The libraries the tests need are
# Debian's for that architecture, unpacked into a directory of their own: the host's package
# system stays as it is. For riscv64, which this Debian release does not have, they are built from
# Debian's sources.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=build
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mapletree-arch
release=${DEBIAN_RELEASE:-bookworm}
# The mirror that this machine installs from: of Debian itself, if apt has its lists, or else the first.
mirror=${DEBIAN_MIRROR:-$( (
	apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(RELEASE) $(REPO_URI)' |
		sed -n "s,^Debian main $release ,,p"
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources |
		sed -nE 's,^(deb( \[[^]]*\])?|URIs:) +(https?://[^ ]+).*,\3,p'
) 2>/dev/null | head -n 1)}
all='i386 armhf arm64 s390x ppc64el riscv64'
suites=${SUITES:-unit api regress fault model fuzz conformance}

die()
{
	printf 'check-arch: %s\n' "$*" >&2
	exit 2
}

while getopts b: option; do
	case $option in
	b) build=$OPTARG ;;
	*) die "usage: check.sh [-b BUILD_DIRECTORY] [ARCHITECTURE...]; known: $all" ;;
	esac
done
shift $((OPTIND - 1))

# Sets triplet, multiarch, qemu, family (meson's), endian, bits of the Debian architecture $1.
describe()
{
	endian=little
	bits=64
	multiarch=
	case $1 in
	i386) triplet=i686-linux-gnu multiarch=i386-linux-gnu qemu=i386 family=x86 bits=32 ;;
	armhf) triplet=arm-linux-gnueabihf qemu=arm family=arm bits=32 ;;
	arm64) triplet=aarch64-linux-gnu qemu=aarch64 family=aarch64 ;;
	s390x) triplet=s390x-linux-gnu qemu=s390x family=s390x endian=big ;;
	ppc64el) triplet=powerpc64le-linux-gnu qemu=ppc64le family=ppc64 ;;
	riscv64) triplet=riscv64-linux-gnu qemu=riscv64 family=riscv64 ;;
	*) die "unknown architecture $1; known: $all" ;;
	esac
	multiarch=${multiarch:-$triplet}
	sysroot=$cache/$release/$1
}

install_missing()
{
	local missing=() package sudo=
	for package in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
			missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	echo "check-arch: installing packages: ${missing[*]}"
	if [ "$(id -u)" != 0 ]; then
		sudo=sudo
		command -v sudo >/dev/null || die "as root, run: apt-get install ${missing[*]}"
	fi
	$sudo apt-get -q -o DPkg::Lock::Timeout=300 update
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends "${missing[@]}" ||
		die "apt-get could not install: ${missing[*]}"
}

# apt-get as if this were a machine of architecture $1, with a state of its own.
apt_for()
{
	local arch=$1 state=$cache/apt-$release-$1
	shift
	mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/etc"
	printf '%s [signed-by=%s] %s %s main\n' \
		deb /usr/share/keyrings/debian-archive-keyring.gpg "$mirror" "$release" \
		deb-src /usr/share/keyrings/debian-archive-keyring.gpg "$mirror" "$release" \
		>"$state/etc/sources.list"
	apt-get -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
		-o Dir::State="$state" -o Dir::State::lists="$state/lists" \
		-o Dir::State::status=/dev/null -o Dir::Cache="$state" \
		-o Dir::Etc::sourcelist="$state/etc/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferencesparts=- -o APT::Sandbox::User=root -o APT::Get::List-Cleanup=0 "$@"
}

# Debian's packages of the libraries, unpacked.
unpack_libraries()
{
	local arch=$1 debs=$cache/debs/$release/$1
	mkdir -p "$debs" "$sysroot.new"
	apt_for "$arch" update
	(cd "$debs" && apt_for "$arch" download liburcu8 liburcu-dev libcmocka0 libcmocka-dev \
		zlib1g zlib1g-dev)
	local deb
	for deb in "$debs"/*.deb; do
		dpkg -x "$deb" "$sysroot.new"
	done
	if [ -d "$sysroot.new/lib" ]; then # zlib1g lives there
		cp -a "$sysroot.new/lib/." "$sysroot.new/usr/lib/"
	fi
}

# The libraries from Debian's sources, for an architecture without packages.
build_libraries()
{
	local sources=$cache/sources/$release work=$sysroot.work
	local lib=$sysroot.new/usr/lib/$multiarch
	mkdir -p "$sources" "$lib/pkgconfig" "$sysroot.new/usr/include"
	rm -rf "$work"
	mkdir -p "$work"
	apt_for amd64 update
	(cd "$sources" && apt_for amd64 source --download-only liburcu cmocka zlib)
	for name in liburcu cmocka zlib; do
		mkdir "$work/$name"
		tar -C "$work/$name" --strip-components=1 -xf "$(ls "$sources/${name}"_*.orig.tar.* | grep -v asc | head -1)"
	done
	(cd "$work/liburcu" && ./configure --quiet --host="$triplet" --prefix=/usr \
		--libdir="/usr/lib/$multiarch" --disable-dependency-tracking &&
		make -s -C include install DESTDIR="$sysroot.new" &&
		make -s -C src install DESTDIR="$sysroot.new") >"$work/liburcu.log" 2>&1 ||
		{ tail -20 "$work/liburcu.log"; die "liburcu did not build for $triplet"; }
	(cd "$work/zlib" && CHOST=$triplet ./configure --prefix=/usr --libdir="/usr/lib/$multiarch" &&
		make -s libz.a && make -s install-libs DESTDIR="$sysroot.new") \
		>"$work/zlib.log" 2>&1 ||
		(cd "$work/zlib" && make -s install DESTDIR="$sysroot.new") >>"$work/zlib.log" 2>&1 ||
		{ tail -20 "$work/zlib.log"; die "zlib did not build for $triplet"; }
	(cd "$work/cmocka" && "$triplet-gcc" -O2 -fPIC -shared -Wl,-soname,libcmocka.so.0 -w \
		-Iinclude -DHAVE_TIME_H -DHAVE_STDINT_H -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H \
		-DHAVE_STRSIGNAL -DHAVE_SNPRINTF -DHAVE_VSNPRINTF -DHAVE_CLOCK_GETTIME \
		-DHAVE_CLOCK_REALTIME -DHAVE_STRUCT_TIMESPEC -DHAVE_UNISTD_H -DHAVE_MALLOC_H \
		-o "$lib/libcmocka.so.0" src/cmocka.c &&
		ln -sf libcmocka.so.0 "$lib/libcmocka.so" &&
		cp include/cmocka*.h "$sysroot.new/usr/include/") >"$work/cmocka.log" 2>&1 ||
		{ tail -20 "$work/cmocka.log"; die "cmocka did not build for $triplet"; }
	cat >"$lib/pkgconfig/cmocka.pc" <<-END
		Name: cmocka
		Description: unit tests
		Version: 1.1.5
		Libs: -L/usr/lib/$multiarch -lcmocka
		Cflags: -I/usr/include
	END
	rm -rf "$work"
}

make_sysroot()
{
	[ ! -d "$sysroot" ] || return 0
	echo "check-arch: getting the libraries for $1 into $sysroot"
	rm -rf "$sysroot.new"
	if [ "$1" = riscv64 ]; then
		build_libraries "$1"
	else
		unpack_libraries "$1"
	fi >"$cache/$1.log" 2>&1 || { tail -20 "$cache/$1.log"; return 1; }
	mv "$sysroot.new" "$sysroot"
}

# A build directory is set up anew when its cross file has changed.
write_cross_file()
{
	local lib=$sysroot/usr/lib/$multiarch file=$build/arch-$1.ini
	cat >"$file.new" <<-END
		[binaries]
		c = '$triplet-gcc'
		cpp = '$triplet-g++'
		ar = '$triplet-gcc-ar'
		strip = '$triplet-strip'
		pkgconfig = 'pkg-config'
		exe_wrapper = ['qemu-$qemu', '-L', '/usr/$triplet', '-E', 'EMULATED=1', '-E', 'LD_LIBRARY_PATH=$lib:/usr/$triplet/lib']

		[properties]
		sys_root = '$sysroot'
		pkg_config_libdir = '$lib/pkgconfig:$sysroot/usr/share/pkgconfig'

		[built-in options]
		c_args = ['-isystem', '$sysroot/usr/include', '-isystem', '$sysroot/usr/include/$multiarch']
		c_link_args = ['-L$lib', '-Wl,-rpath-link,$lib']
		cpp_args = c_args
		cpp_link_args = c_link_args

		[host_machine]
		system = 'linux'
		cpu_family = '$family'
		cpu = '$qemu'
		endian = '$endian'
	END
	cmp -s "$file.new" "$file" || rm -rf "$build/arch-$1"
	mv "$file.new" "$file"
}

# Builds and runs the suites for $1; the last line tells the counts.
check()
{
	local arch=$1 dir=$build/arch-$1 status=0 suite
	local chosen=() options=() vectors=("$top"/tests/conformance/vectors/*.mtv.gz)
	local skipped=0 reason=
	write_cross_file "$arch"
	# No suite of these reads debugging information, which is a sixth of the work of compiling.
	if [ ! -f "$dir/build.ninja" ]; then
		meson setup "$dir" "$top" --cross-file "$build/arch-$arch.ini" -Dtools=disabled \
			-Dtests=enabled -Dwerror=true -Ddebug=false >"$dir.log" 2>&1 ||
			{ tail -30 "$dir.log"; return 1; }
	fi
	for suite in $suites; do
		if [ "$bits/$suite" = 32/conformance ]; then
			skipped=${#vectors[@]}
			reason='conformance files: their indexes are 64 bits wide'
		elif [ -d "$dir/tests/$suite" ] || [ -d "$dir/$suite" ]; then
			chosen+=("$suite")
			options+=(--suite "$suite")
		fi
	done
	# shellcheck disable=SC2046 # a list of words
	ninja -C "$dir" $(python3 "$top/tests/targets.py" "$dir" "${chosen[@]}") >"$dir.log" 2>&1 ||
		{ grep -A8 -E 'error|FAILED' "$dir.log" | head -40; return 1; }
	rm -f "$dir/meson-logs/testlog.json"
	meson test -C "$dir" --no-rebuild "${options[@]}" --timeout-multiplier 60 \
		--print-errorlogs >"$dir.log" 2>&1 || status=1
	[ $status = 0 ] || sed -n '/^Summary of Failures/,$p' "$dir.log" | head -40
	printf '%s: ' "$arch"
	python3 "$here/count.py" "$status" "$dir/meson-logs/testlog.json" "$skipped" "$reason"
}

[ $# -gt 0 ] || set -- $all
packages=(meson ninja-build pkg-config python3 qemu-user make debian-archive-keyring)
for arch in "$@"; do
	describe "$arch"
	packages+=("gcc-$triplet" "g++-$triplet" "libc6-dev-$arch-cross")
done
install_missing "${packages[@]}"
mkdir -p "$build" "$cache"
build=$(cd "$build" && pwd)
failed=0
for arch in "$@"; do
	describe "$arch"
	if ! make_sysroot "$arch"; then
		echo "$arch: 0 passed, 1 failed, 0 skipped (its libraries could not be had)"
		failed=1
	elif ! check "$arch"; then
		failed=1
	fi
done
exit $failed
