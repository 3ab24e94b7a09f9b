# Front end to meson: one build directory per purpose under $(BUILD).
#
#   make                      optimised build, without the tests, in build/release
#   make check                every test suite: assertions on, then ASan + UBSan
#   make conformance          the recorded calls alone
#   make model OPS= SEED=     random operations against the model
#   make asan | clang         the suites under ASan + UBSan | built with clang
#   make install PREFIX= DESTDIR=
#   make tidy                 clang-tidy over all C files
#   make clean

BUILD ?= build
MESON ?= meson
NINJA ?= ninja
OPS   ?= 10000000
SEED  ?=

RELEASE := $(BUILD)/release
DEBUG   := $(BUILD)/debug
ASAN    := $(BUILD)/asan
CLANG   := $(BUILD)/clang

SANITIZE := -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
TEST     := $(MESON) test --no-rebuild --print-errorlogs

.PHONY: all check debug asan clang conformance model install tidy clean

all: $(RELEASE)/build.ninja
	$(NINJA) -C $(RELEASE)

check: debug asan

debug: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG)
	$(TEST) -C $(DEBUG)

asan: $(ASAN)/build.ninja
	$(NINJA) -C $(ASAN)
	$(TEST) -C $(ASAN) --timeout-multiplier 4

clang: $(CLANG)/build.ninja
	$(NINJA) -C $(CLANG)
	$(TEST) -C $(CLANG)

conformance: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/conformance/conformance
	$(DEBUG)/tests/conformance/conformance tests/conformance/vectors/*.mtv.gz

model: $(DEBUG)/build.ninja
	$(NINJA) -C $(DEBUG) tests/model/model
	$(DEBUG)/tests/model/model --ops=$(OPS) $(if $(SEED),--seed=$(SEED))

install: $(RELEASE)/build.ninja
	$(if $(PREFIX),$(MESON) configure $(RELEASE) -Dprefix=$(PREFIX))
	$(NINJA) -C $(RELEASE)
	$(MESON) install -C $(RELEASE) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

tidy: $(CLANG)/build.ninja
	clang-tidy -quiet -p $(CLANG) $$(find src tools tests -name '*.c' ! -path '*/install/*')

clean:
	rm -rf $(BUILD)

$(RELEASE)/build.ninja:
	$(MESON) setup $(RELEASE) --buildtype=release -Dtests=false

$(DEBUG)/build.ninja:
	$(MESON) setup $(DEBUG)

$(ASAN)/build.ninja:
	$(MESON) setup $(ASAN) $(SANITIZE)

$(CLANG)/build.ninja:
	CC=clang $(MESON) setup $(CLANG)
