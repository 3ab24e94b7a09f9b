# SPDX-License-Identifier: MIT
# The large programs of table.sh: a browser, a database server under load, Java, a parallel build
# and Python's own tests. Installs missing Debian packages. Sourced by table.sh, whose row() it uses.
# LARGE="browser java_threads": only these.

# The tests of Python that use processes, threads and mappings, and some that only compute.
python_tests='test_mmap test_subprocess test_threading test_os test_posix test_signal test_ctypes
	test_resource test_thread test_threadsignals test_fork1 test_wait3 test_wait4 test_popen
	test_multiprocessing_fork test_multiprocessing_main_handling test_concurrent_futures test_gc
	test_array test_bytes test_memoryview test_json test_pickle test_zlib test_bz2 test_lzma
	test_hashlib test_ssl test_asyncio'

# install PACKAGE...: installs those that are missing. 0 if all are installed.
install() {
	local package missing=() sudo=
	for package in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
			missing+=("$package")
	done
	[ ${#missing[@]} = 0 ] && return 0
	[ "$(id -u)" = 0 ] || sudo=sudo
	echo "installing: ${missing[*]}" >&2
	$sudo apt-get update -q >"$work/apt" 2>&1
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
		"${missing[@]}" >>"$work/apt" 2>&1 && return 0
	tail -3 "$work/apt" >&2
	return 1
}

absent() {
	failed=$((failed + 1))
	echo "| $1 | its packages could not be installed | | | | | |"
}

browser() {
	local sandbox=
	install chromium || { absent chromium; return; }
	[ "$(id -u)" = 0 ] && sandbox=--no-sandbox
	row 'chromium, headless, a page with workers, WebGL and WebAssembly' chromium --headless $sandbox \
		--user-data-dir="$work/chromium" --virtual-time-budget=5000 --dump-dom \
		"file://$here/page.html"
	grep -q '<title>rendered' "$work/out" || {
		failed=$((failed + 1))
		echo "chromium has not rendered the page" >&2
	}
}

# PostgreSQL refuses to run as root.
unprivileged() {
	if [ "$(id -u)" = 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

load() {
	local bin=$1 home=$2 i
	for i in $(seq 300); do
		"$bin/pg_isready" -q -h "$home" && break
		sleep 0.2
	done
	unprivileged "$bin/pgbench" -q -i -s 3 -h "$home" postgres &&
		unprivileged "$bin/pgbench" -c 8 -j 2 -T 10 -h "$home" postgres &&
		unprivileged "$bin/pgbench" -C -c 4 -j 2 -t 20 -h "$home" postgres &&
		unprivileged "$bin/pgbench" -S -M prepared -c 8 -j 2 -T 5 -h "$home" postgres
	unprivileged "$bin/pg_ctl" -D "$home/data" stop -m fast
}

database() {
	local home=$work/postgres name='PostgreSQL, pgbench with 8 clients' bin as=
	install postgresql || { absent "$name"; return; }
	bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
	mkdir "$home"
	chmod 711 "$work"
	cp "$vmscope" "$home/vmscope"
	[ "$(id -u)" = 0 ] && chown -R postgres "$home"
	unprivileged "$bin/initdb" -D "$home/data" -A trust --no-sync >"$work/initdb" 2>&1 ||
		{ tail -3 "$work/initdb" >&2; absent "$name"; return; }
	load "$bin" "$home" >"$work/pgbench" 2>&1 &
	[ "$(id -u)" = 0 ] && as='runuser -u postgres --'
	row_by "$as $home/vmscope" "$home/summary" "$name" "$bin/postgres" -D "$home/data" \
		-c listen_addresses= -c "unix_socket_directories=$home" -c fsync=off
	wait $!
	[ "$(grep -c '^tps' "$work/pgbench")" = 3 ] || {
		failed=$((failed + 1))
		tail -5 "$work/pgbench" >&2
	}
}

java_threads() {
	install default-jdk-headless || { absent 'java, 200 threads'; return; }
	javac -d "$work" "$here/Threads.java" && row 'java, 200 threads' java -cp "$work" Threads 200
}

# Gets the source from the archive configured in /etc/apt, with separate package lists.
build() {
	local name='make -j4 of coreutils' lists=$work/lists options
	install gcc make libc6-dev xz-utils || { absent "$name"; return; }
	mkdir -p "$lists/partial" "$work/build"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"http://deb.debian.org/debian $(. /etc/os-release; echo "$VERSION_CODENAME") main" \
		>"$work/sources.list"
	options="-o Dir::Etc::sourcelist=$work/sources.list -o Dir::Etc::sourceparts=/dev/null
		-o Dir::State::lists=$lists -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache=
		-o APT::Sandbox::User=root"
	# shellcheck disable=SC2086 # a list of words
	(cd "$work/build" && apt-get $options update &&
		apt-get $options source --download-only coreutils &&
		tar xf coreutils_*.orig.tar.xz --strip-components=1 &&
		FORCE_UNSAFE_CONFIGURE=1 ./configure -q --disable-nls) >"$work/configure" 2>&1 ||
		{ tail -3 "$work/configure" >&2; absent "$name"; return; }
	row "$name" make -C "$work/build" -j4
}

python() {
	install libpython3.11-testsuite || { absent "Python's own tests"; return; }
	# shellcheck disable=SC2086
	row "Python's own tests, $(echo $python_tests | wc -w) modules" \
		/usr/bin/python3.11 -m test -j2 --timeout 300 $python_tests
}

limit=1500
for program in ${LARGE:-browser database java_threads build python}; do
	"$program"
done
