# Front end to meson: one build directory per purpose under $(BUILD).
#
#   make                      optimised build, without the tests, in build/release
#   make check                every test suite: assertions on, then ASan + UBSan
#   make conformance          the recorded calls alone
#   make model OPS= SEED=     random operations against the model
#   make exhaustive | fault   all of the suites of which "make check" runs slices
#   make torture DURATION= SEED=   readers beside writers for so many seconds, on large and on
#                             small nodes; torture-asan, torture-tsan: under a sanitizer
#   make shrink-tsan          threads at work while their caches are emptied, under ThreadSanitizer
#   make torture-space DURATION= SEED=  threads that fault beside threads that map, protect, move
#                             and fork, in address spaces; and in windows, beside forks of the host, a
#                             process that writes their file, and pins; torture-space-asan, torture-space-tsan
#   make torture-signals DURATION= SEED=  lookups in signal handlers that interrupt calls of the
#                             same space; torture-signals-asan, torture-signals-tsan
#   make self-mirror THREADS= DURATION= SEED=  a program that mirrors itself, beside /proc/self/maps
#   make programs             real programs under vmscope, a table of what was checked
#   make programs-large       the same for a browser, a database, Java, a parallel build and
#                             Python's own tests, some minutes each; installs what they need;
#                             LARGE="browser build": only these
#   make report-browser      what 'vmscope report' writes, tried in Chromium
#   make cost                 what following a call costs, beside strace
#   make export-perfetto     what 'vmscope export' writes for Perfetto, read by its own definitions and,
#                             where that can be fetched, its trace processor
#   make cost-watch ROUNDS= SECONDS= WORK=   what being followed costs redis, PostgreSQL, nginx and a
#                             loop of mmap and munmap: vmscope watch beside perf trace, strace and
#                             vmscope trace; as root; installs what it needs
#   make fuzz DURATION=       libFuzzer on trees, address spaces and logs (60 or 10m or 1h in all)
#   make fuzz-afl DURATION=   the same with AFL++
#   make model-check          the Promela models of publishing, retiring and sharing, with spin
#   make valgrind             the suites under memcheck; SUITES="unit model": only these
#   make builds               gcc and clang, -O0 -O2 -O3, without and with LTO, for processors
#                             without AVX2 or AVX-512: no warning, and tests pass
#   make proofs               a short slice of every proof that "make check" does not run
#   make coverage             which branches of the tree's core the suites reach
#   make mutate COUNT= SEED= OF=  break the core of the tree, or with OF=vmspace the rules of libvmspace,
#                             one thing at a time: do the suites notice?
#   make check-cover OPS=      vmscope check reaches every call, errno, reason and verdict it should
#   make check-arch ARCHS=    the suites on other architectures under qemu-user
#   make rv64                 Debian's busybox, Lua, sqlite3, Python, gcc for riscv64 in examples/rv64, and qemu-user
#   make kernels KERNELS="6.1 7.3" VARIANTS="root user" DURATION= OPS= SUITES= GUESTS=
#                             the comparisons with the kernel under others, Debian's, in QEMU; which
#                             variants there are: tests/kernels/kernels.py --help
#   make kernels-arm64 KERNELS="6.12 6.12-16k"   the same on arm64, with pages of 4 and 16 KiB
#   make kernels-16k          windows of guests with smaller pages than the host, there alone
#   make kernels-slice        a few minutes of it on 6.1 and the newest
#   make kernels-watch KERNELS="6.1 6.12 7.3"   the tests of vmscope watch alone, whole, there
#   make kernels-cost KERNELS="6.1 6.12" ROUNDS= WORK=   "make cost-watch" under other kernels, counted
#                             in instructions; installs what it needs
#   make debug | asan | clang   the suites with assertions | under ASan + UBSan | built with clang
#   make check-abi | record-abi   what the libraries promise to programs, compared with abi/ by abidiff
#                             | recorded there (docs/abi.md)
#   make check-debug2         unit and vmspace suites with MT_DEBUG=2: invariants after every write
#   make bench | bench-full | bench-build  against the peers: quick (minutes) | all sizes and modes |
#                             only built; with ISA=scalar, avx2 or avx512 for processors that have that
#   make counts BASE=         instructions an operation, counted by callgrind; BASE=counts.tsv: beside
#                             those of before; SHOW=append/plain/1000: the functions of one cell
#   make counts-calls BASE= SHOW=  the same of libvmspace's calls
#   make rust                 tests of the Rust crates (docs/bindings.md); rust-asan, rust-tsan: under
#                             a sanitizer, with a nightly toolchain
#   make rust-bench           the map of ranges beside other maps of Rust
#   make install PREFIX= DESTDIR=
#   make uninstall            removes what the last "make install" installed
#   make dist                 the sources of the last commit as a tar file in build/release/meson-dist
#   make check-dist           ... builds, plays the recorded files, and installs, by itself
#   make deb RELEASES="bookworm trixie"  Debian's packages, in build/deb/RELEASE/packages: built in a
#                             clean root of each release, looked at by lintian, installed, used and
#                             removed in another; as root; DEB_BUILD_OPTIONS=nocheck: without tests
#   make newcomer RELEASES=   what the README tells, in clean roots of these releases; as root
#   make site                 the documentation as static HTML in build/site, links checked
#   make tidy                 clang-tidy over all C files
#   make clean
#   make help                 these lines
#
# A warning is an error in every build directory but build/release, which is what users install:
# their compilers may know warnings that ours do not. WERROR=true or WERROR=false sets it for all.

BUILD ?= build
MESON ?= meson
NINJA ?= ninja
OPS   ?= 10000000
SEED  ?=
DURATION ?= 60
ARCHS ?=
COUNT ?= 300
SUITES ?=
LARGE ?=
SCENARIO ?=
ROUNDS ?=
SECONDS ?=
WORK ?=
BUILDS ?=
BASE ?=
SHOW ?=
KERNELS ?= 5.10 6.1 6.12 6.16 6.17 6.18 6.19 7.0 7.1 7.2 7.3
VARIANTS ?= root
GUESTS ?= 1
RELEASES ?= bookworm trixie

VERSION = $(shell sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)

RELEASE := $(BUILD)/release
DEBUG   := $(BUILD)/debug
ASAN    := $(BUILD)/asan
CLANG   := $(BUILD)/clang
BENCH   := $(BUILD)/bench$(if $(ISA),-$(ISA))
COUNTS  := $(BUILD)/counts
TSAN    := $(BUILD)/tsan
FUZZ    := $(BUILD)/fuzzers
MEMCHECK := $(BUILD)/valgrind
DEBUG2  := $(BUILD)/debug2

SETUP_PLAIN   := $(MESON) setup -Dwerror=$(or $(WERROR),true)
# Tests that cannot be built are no success.
SETUP         := $(SETUP_PLAIN) -Dtests=enabled
SETUP_RELEASE := $(MESON) setup --buildtype=release -Dtests=disabled -Dwerror=$(or $(WERROR),false)
# -g1: reports show functions and lines. What only a debugger reads besides would be a third of the work of
# compiling with sanitizers.
SANITIZE := -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Dc_args=-g1 -Dcpp_args=-g1
# The suites' limits of time only end what hangs: a busy machine must not reach them.
TEST     := $(MESON) test --no-rebuild --print-errorlogs --timeout-multiplier 20

# One test more at a time than there are processors: those that wait for grace periods, for children or for a
# while need none.
export MESON_TESTTHREADS := $(or $(MESON_TESTTHREADS),$(shell expr $$(nproc) + 1))

# ThreadSanitizer of clang 14 does not know the places of kernels that randomise more than 28 bits.
FIXED_PLACES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: all check check-debug2 debug asan clang conformance model exhaustive fault
.PHONY: install uninstall dist check-dist deb newcomer site tidy clean help
.PHONY: torture torture-asan torture-tsan shrink-tsan torture-space torture-space-asan torture-space-tsan
.PHONY: torture-signals torture-signals-asan torture-signals-tsan self-mirror
.PHONY: fuzz fuzz-afl model-check check-arch check-cover programs programs-large cost cost-watch export-perfetto report-browser coverage mutate valgrind
.PHONY: check-abi record-abi builds proofs rv64 kernels kernels-arm64 kernels-16k kernels-slice kernels-watch kernels-cost rust rust-asan rust-tsan rust-bench

all: $(RELEASE)/build.ninja
	$(NINJA) -C $(RELEASE)

check: debug asan

debug: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG)
	$(TEST) -C $(DEBUG)

asan: $(ASAN)/build.ninja
	$(NINJA) -C $(ASAN)
	$(TEST) -C $(ASAN)

clang: $(CLANG)/build.ninja
	$(NINJA) -C $(CLANG)
	$(TEST) -C $(CLANG)

check-debug2: $(DEBUG2)/build.ninja
	$(NINJA) -C $(DEBUG2)
	$(TEST) -C $(DEBUG2) --suite unit --suite vmspace

conformance: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/conformance/conformance
	$(DEBUG)/tests/conformance/conformance tests/conformance/vectors/*.mtv.gz

model: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/model/model
	$(DEBUG)/tests/model/model --ops=$(OPS) $(if $(SEED),--seed=$(SEED))

exhaustive: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/exhaustive/exhaustive tests/exhaustive/family \
		tests/unit/test_races tests/unit/test_races-small
	$(DEBUG)/tests/exhaustive/exhaustive --full
	$(DEBUG)/tests/exhaustive/family --full
	$(DEBUG)/tests/unit/test_races --full
	$(DEBUG)/tests/unit/test_races-small --full

fault: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/fault/fault tests/fault/fault-small
	$(DEBUG)/tests/fault/fault --full
	$(DEBUG)/tests/fault/fault-small --full

torture: $(DEBUG)/build.ninja
	$(call run_torture,$(DEBUG),)

torture-asan: $(ASAN)/build.ninja
	$(call run_torture,$(ASAN),)

torture-tsan: $(TSAN)/build.ninja
	$(call run_torture,$(TSAN),$(FIXED_PLACES))

shrink-tsan: $(TSAN)/build.ninja
	$(NINJA) -C $(TSAN) tests/unit/test_shrink
	$(FIXED_PLACES) $(TSAN)/tests/unit/test_shrink

define run_torture
	$(NINJA) -C $(1) tests/torture/torture tests/torture/torture-small tests/torture/torture-loops
	$(2) $(1)/tests/torture/torture --duration=$(DURATION) $(if $(SEED),--seed=$(SEED))
	$(2) $(1)/tests/torture/torture-small --duration=$(DURATION) $(if $(SEED),--seed=$(SEED))
	$(2) $(1)/tests/torture/torture-loops --duration=$(DURATION) $(if $(SEED),--seed=$(SEED))
endef

torture-space: $(DEBUG)/build.ninja
	$(call run_torture_space,$(DEBUG),)
	$(call run_torture_space,$(DEBUG),,torture-windows)

torture-space-asan: $(ASAN)/build.ninja
	$(call run_torture_space,$(ASAN),)
	$(call run_torture_space,$(ASAN),,torture-windows)

torture-space-tsan: $(TSAN)/build.ninja
	$(call run_torture_space,$(TSAN),$(FIXED_PLACES))
	$(call run_torture_space,$(TSAN),$(FIXED_PLACES),torture-windows)

torture-signals: $(DEBUG)/build.ninja
	$(call run_torture_space,$(DEBUG),,torture-signals)

torture-signals-asan: $(ASAN)/build.ninja
	$(call run_torture_space,$(ASAN),,torture-signals)

torture-signals-tsan: $(TSAN)/build.ninja
	$(call run_torture_space,$(TSAN),$(FIXED_PLACES),torture-signals)

# Where it cannot run it says why, and fails; 77 is meson's status for that.
self-mirror: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) examples/self_mirror
	$(DEBUG)/examples/self_mirror $(or $(THREADS),8) $(DURATION) $(SEED) || \
		{ [ $$? -ne 77 ] || echo "0 passed, 0 failed"; exit 1; }

define run_torture_space
	$(NINJA) -C $(1) tests/torture/space/$(or $(3),torture-space)
	$(2) $(1)/tests/torture/space/$(or $(3),torture-space) --duration=$(DURATION) $(if $(SEED),--seed=$(SEED))
endef

FUZZERS ?= tree_small tree vmspace log

fuzz: $(FUZZ)/build.ninja
	$(NINJA) -C $(FUZZ) $(FUZZERS:%=fuzz/fuzz_%)
	fuzz/run.sh libfuzzer $(DURATION) $(BUILD)/fuzz fuzz/corpus $(FUZZERS:%=$(FUZZ)/fuzz/fuzz_%)

fuzz-afl: $(FUZZ)/build.ninja
	$(NINJA) -C $(FUZZ) $(FUZZERS:%=fuzz/afl_%)
	fuzz/run.sh afl $(DURATION) $(BUILD)/fuzz fuzz/corpus $(FUZZERS:%=$(FUZZ)/fuzz/afl_%)

model-check:
	model/run.sh $(BUILD)/spin $(SCENARIO)

valgrind: $(MEMCHECK)/build.ninja
	$(NINJA) -C $(MEMCHECK) $(if $(SUITES),$$(python3 tests/targets.py $(MEMCHECK) $(SUITES)))
	$(TEST) -C $(MEMCHECK) --setup=valgrind --timeout-multiplier 100 $(SUITES:%=--suite %) \
		--no-suite oracle --no-suite faults --no-suite avx2

check-abi record-abi: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) src/mapletree/libmapletree.so.$(VERSION) src/vmspace/libvmspace.so.$(VERSION)
	tests/abi/check.sh $(@:%-abi=%) $(DEBUG)

rust: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) src/mapletree/libmapletree.so.$(VERSION) src/vmspace/libvmspace.so.$(VERSION)
	bindings/rust/test.sh $(BUILD)/rust $(DEBUG)

rust-asan:
	bindings/rust/sanitize.sh address $(BUILD)/rust-asan

rust-tsan:
	bindings/rust/sanitize.sh thread $(BUILD)/rust-tsan

rust-bench:
	MAPLETREE_SYS_VENDORED=1 cargo run --release --locked --manifest-path bindings/rust/bench/Cargo.toml \
		--target-dir $(BUILD)/rust-bench

builds:
	tests/builds/check.sh -b $(BUILD) $(BUILDS)

proofs:
	tests/proofs.sh $(BUILD)

coverage:
	PYTHONDONTWRITEBYTECODE=1 python3 tests/mutate/coverage.py $(BUILD)/coverage

# Twice as many as processors: suites that wait for grace periods leave them idle.
mutate:
	PYTHONDONTWRITEBYTECODE=1 python3 tests/mutate/mutate.py $(BUILD)/mutate --count $(COUNT) \
		--jobs $$((2 * $$(nproc))) $(if $(SEED),--seed $(SEED)) $(if $(OF),--of $(OF))

# OPS is the model's unless it is given.
check-cover: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tools/vmscope/vmscope
	python3 tests/vmscope/cover.py $(DEBUG)/tools/vmscope/vmscope . \
		$(if $(filter file,$(origin OPS)),300000,$(OPS)) $(SEED)

check-arch:
	SUITES='$(SUITES)' tests/arch/check.sh -b $(BUILD) $(ARCHS)

rv64: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) examples/rv64/rv64
	tests/rv64/areas.py $(DEBUG)/examples/rv64/rv64 $(or $(SEED),$$$$) 3000
	tests/rv64/programs.py $(DEBUG)/examples/rv64/rv64 $(BUILD)/rv64

# OPS is the model's unless it is given.
run_kernels = PYTHONDONTWRITEBYTECODE=1 python3 tests/kernels/kernels.py --work $(BUILD)/kernels
kernels_options = --duration $(DURATION) --guests $(GUESTS) --variants $(VARIANTS) \
	$(if $(SUITES),--suites $(SUITES)) $(if $(filter file,$(origin OPS)),,--ops $(OPS))

kernels: $(DEBUG)/build.ninja
	$(run_kernels) --build $(DEBUG) $(kernels_options) -- $(KERNELS)

kernels-arm64:
	$(run_kernels) --arch arm64 $(kernels_options) -- \
		$(if $(filter file,$(origin KERNELS)),6.12 6.12-16k 7.3 7.3-16k,$(KERNELS))

# Guests with pages of 4 KiB on a host with 16: seconds, once there is a build for arm64.
kernels-16k:
	$(run_kernels) --arch arm64 --suites vmspace --only 'vmspace small pages*' 'vmspace window' -- 6.12-16k

# What is random is left out: what it finds is not what was changed last.
kernels-slice: $(DEBUG)/build.ninja
	$(run_kernels) --build $(DEBUG) --guests 2 --limit 9m --variants nopku --suites oracle trace \
		--without '*overlayfs' 'oracle pages' edges 'python3, imports' -- 6.1 7.3

kernels-watch: $(DEBUG)/build.ninja
	$(run_kernels) --build $(DEBUG) --guests $(GUESTS) --suites vmscope --only watch 'watch, *' -- \
		$(if $(filter file,$(origin KERNELS)),6.1 6.12 7.3,$(KERNELS))

# Without noise, on a busy machine, too: instructions are counted, not time.
kernels-cost: all
	@mkdir -p $(BUILD)/kernels
	$(CC) -O2 -o $(BUILD)/kernels/mmap_loop tests/programs/mmap_loop.c
	$(run_kernels) --build $(RELEASE) --variants counted \
		--add $(abspath $(BUILD))/kernels/mmap_loop $$(tests/programs/watch_cost.py vmscope --needs $(WORK)) \
		--command '$(CURDIR)/tests/programs/watch_cost.py $(abspath $(RELEASE))/tools/vmscope/vmscope \
			--counted --only watch --rounds $(or $(ROUNDS),3) \
			--loop $(abspath $(BUILD))/kernels/mmap_loop $(WORK)' -- \
		$(if $(filter file,$(origin KERNELS)),6.1 6.12,$(KERNELS))

programs: all $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/vmscope/calls
	tests/programs/table.sh $(RELEASE)/tools/vmscope/vmscope $(DEBUG)/tests/vmscope/calls

programs-large: all
	LARGE='$(LARGE)' tests/programs/table.sh $(RELEASE)/tools/vmscope/vmscope - large

report-browser: all
	python3 tests/vmscope/report.py browser $(RELEASE)/tools/vmscope/vmscope

cost: all $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/vmscope/pairs tests/vmscope/many
	tests/programs/cost.sh $(RELEASE)/tools/vmscope/vmscope \
		$(DEBUG)/tests/vmscope/pairs $(DEBUG)/tests/vmscope/many

# What cannot be fetched is no failure of what was exported.
export-perfetto: all
	@test -x $(BUILD)/perfetto/bin/python && $(BUILD)/perfetto/bin/python -c 'import perfetto' || \
		{ python3 -m venv --clear $(BUILD)/perfetto && \
		  $(BUILD)/perfetto/bin/pip install -q perfetto; } || \
		{ echo 'SKIP: the package perfetto could not be installed by pip'; \
		  echo '0 passed, 0 failed'; exit 1; }
	$(BUILD)/perfetto/bin/python tests/vmscope/export_perfetto.py $(RELEASE)/tools/vmscope/vmscope

cost-watch: all
	tests/programs/watch_cost.py $(RELEASE)/tools/vmscope/vmscope \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) $(WORK)

install: $(RELEASE)/build.ninja
	$(if $(PREFIX),$(MESON) configure $(RELEASE) -Dprefix=$(PREFIX))
	@packaging/may_install.py $(RELEASE) $(if $(DESTDIR),'$(abspath $(DESTDIR))')
	$(NINJA) -C $(RELEASE)
	$(MESON) install -C $(RELEASE) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))
	$(if $(DESTDIR),,@! command -v ldconfig >/dev/null || [ "$$(id -u)" -ne 0 ] || ldconfig)

uninstall:
	@test -f $(RELEASE)/meson-logs/install-log.txt || \
		{ echo "nothing was installed from $(RELEASE)"; exit 1; }
	$(NINJA) -C $(RELEASE) uninstall

DIST := mapletree-$(VERSION)

# A copy of a checkout looks changed to git until it has looked at the files again.
dist: $(RELEASE)/build.ninja
	@git update-index -q --refresh || git diff --stat
	$(NINJA) -C $(RELEASE) build.ninja # the version may have changed
	$(MESON) dist -C $(RELEASE) --no-tests --formats xztar $(DIST_FLAGS)

check-dist: dist
	rm -rf $(BUILD)/dist
	mkdir $(BUILD)/dist
	tar -C $(BUILD)/dist -xf $(RELEASE)/meson-dist/$(DIST).tar.xz
	$(MAKE) -C $(BUILD)/dist/$(DIST) BUILD=build all conformance
	$(MAKE) -C $(BUILD)/dist/$(DIST) BUILD=build install DESTDIR=installed
	test -f $(BUILD)/dist/$(DIST)/installed/usr/local/bin/vmscope

.PHONY: counts counts-calls bench bench-full bench-build
counts counts-calls: $(COUNTS)/build.ninja
	@command -v valgrind >/dev/null || { echo "make $@ needs valgrind"; exit 1; }
	$(NINJA) -C $(COUNTS) tests/counts/$(@:counts-%=%)
	PYTHONDONTWRITEBYTECODE=1 python3 tests/counts/counts.py \
		$(COUNTS)/tests/counts/$(@:counts-%=%) $(COUNTS)/$(@:counts%=counted%) \
		$(if $(BASE),--base '$(BASE)') $(if $(SHOW),--show '$(SHOW)')

# Peers installed after the first build count after "make clean".
bench bench-full: bench-build
	bench/bench run $(if $(filter bench-full,$@),--full) --build=$(BENCH) --output=$(BENCH)/results

bench-build:
	bench/install-peers $(BUILD)/peers
	test -f $(BENCH)/build.ninja || \
		$(SETUP_PLAIN) $(BENCH) --buildtype=release -Dtests=disabled -Dtools=disabled -Dbench=true \
			-Dbench_peers=$(abspath $(BUILD)/peers) $(if $(ISA),-Disa=$(ISA))
	$(NINJA) -C $(BENCH)

newcomer: dist
	packaging/newcomer.sh $(BUILD) $(RELEASE)/meson-dist/$(DIST).tar.xz $(RELEASES)

site:
	tools/site/build.py . $(BUILD)/site
	tools/site/links.py $(BUILD)/site

deb: dist
	packaging/deb.sh $(BUILD) $(RELEASE)/meson-dist/$(DIST).tar.xz $(RELEASES)

help:
	@sed -n -e '/^$$/q' -e 's/^# \{0,1\}//p' Makefile

tidy: $(CLANG)/build.ninja
	clang-tidy -quiet -p $(CLANG) $$(find src tools tests -name '*.c' ! -path '*/install/*')

clean:
	rm -rf $(BUILD)

$(RELEASE)/build.ninja:
	$(SETUP_RELEASE) $(RELEASE)

$(DEBUG)/build.ninja:
	$(SETUP) $(DEBUG)

# Every write to a tree and every call on an address space is followed by a check of all invariants.
$(DEBUG2)/build.ninja:
	$(SETUP) $(DEBUG2) -Dc_args=-DMT_DEBUG=2 -Dfuzzers=disabled

$(ASAN)/build.ninja:
	$(SETUP) $(ASAN) $(SANITIZE)

$(CLANG)/build.ninja:
	CC=clang $(SETUP) $(CLANG)

$(FUZZ)/build.ninja:
	$(SETUP) $(FUZZ) -Dfuzzers=enabled

# Each node is a block of the C library's, so that memcheck knows it.
$(MEMCHECK)/build.ninja:
	$(SETUP) $(MEMCHECK) -Dc_args='-g1 -DSLAB_SANITIZED' -Dcpp_args=-g1 -Dtools=disabled \
		-Dfuzzers=disabled

# Built like a release; of the tests only the program that is counted is made.
# Blocks that valgrind is told of take other ways than anywhere else.
$(COUNTS)/build.ninja:
	$(SETUP) $(COUNTS) --buildtype=release -Dtools=disabled -Dfuzzers=disabled -Dvalgrind=disabled

$(TSAN)/build.ninja:
	CC=clang $(SETUP) $(TSAN) -Db_sanitize=thread -Db_lundef=false -Dc_args=-g1 -Dcpp_args=-g1
