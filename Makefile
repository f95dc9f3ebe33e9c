# The commands a person types; each is a thin wrapper around CMake presets and tools/.
# Run `make help` for a list.

PROMPT ?= What is the capital of France?
PREFIX ?= /usr/local
CORES := $(shell nproc 2>/dev/null || echo 2)
PROGRAM := build/release/bin/qualia
LEDGER := build/steps.txt
STEP := tools/step.sh $(LEDGER)
export PROMPT

.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: help build run test test-long test-aarch64 bundle peers fuzz format tidy install clean packages test-packages model

help:  ## lists these commands
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 14

packages:
	@tools/install_packages.sh build libraries tests

# Software GPU drivers, for the tests of the wgpu lane.
test-packages: packages
	@tools/install_packages.sh gpu

model:
	@tools/fetch_default_model.sh >/dev/null

# Once configured, the build runs CMake again by itself when a CMakeLists.txt changes.
build/%/build.ninja: CMakePresets.json
	@cmake --preset $*
	@touch $@

build: packages build/release/build.ninja  ## builds the program: build/release/bin/qualia
	@cmake --build --preset release --target qualia-program

run: build model  ## builds, fetches the default model once, and asks it PROMPT (greedily)
	@$(PROGRAM) run --temp 0 -p "$$PROMPT"

test: test-packages  ## builds and runs the tests: release, then address and thread sanitizers
	@rm -f $(LEDGER)
	@$(STEP) "release: configure" cmake --preset release
	@$(STEP) "release: build" cmake --build --preset release
	@$(STEP) "default model" $(MAKE) --no-print-directory model
	@$(STEP) "release: test" ctest --preset release -j $(CORES)
	@for preset in asan tsan; do \
	  $(STEP) "$$preset: configure" cmake --preset $$preset && \
	  $(STEP) "$$preset: build" cmake --build --preset $$preset && \
	  $(STEP) "$$preset: test" ctest --preset $$preset -j $(CORES) || exit 1; \
	done
	@tools/step.sh $(LEDGER)

test-long: build/release/build.ninja test-packages model  ## runs the tests that take minutes
	@cmake --build --preset release
	@ctest --preset long

test-aarch64:  ## runs the cpu lane's tests as an AArch64 program, under emulation
	@tools/install_packages.sh build libraries tests aarch64
	@cmake -S tests/aarch64 -B build/aarch64 -G Ninja --log-level=WARNING
	@cmake --build build/aarch64
	@ctest --test-dir build/aarch64 --output-on-failure -j $(CORES)

bundle: build  ## makes the relocatable folder and archive under dist/
	@tools/make_bundle.sh build/release dist

peers: build model  ## compares with llama.cpp, which it builds once (PEERS="-m FILE -d 0,4096")
	@tools/install_packages.sh peers
	@python3 tools/peers.py $(PEERS)

fuzz:  ## fuzzes the readers for a minute each
	@tools/install_packages.sh build libraries fuzz
	@cmake --workflow --preset fuzz

format:  ## formats every C and C++ file
	@tools/install_packages.sh tidy
	@git ls-files -co --exclude-standard -z -- '*.h' '*.cpp' '*.c' | xargs -0 clang-format -i

tidy: build/release/build.ninja  ## runs the style checks and clang-tidy
	@tools/install_packages.sh tidy
	@python3 tests/tidy/tidy.py
	@run-clang-tidy -quiet -p build/release -j $(CORES) "^$(CURDIR)/(src|apps)/.*"

install: build  ## installs under PREFIX (default /usr/local); DESTDIR is honoured
	@cmake --install build/release --prefix "$(PREFIX)"

clean:  ## removes build/ and dist/
	@rm -rf build dist
