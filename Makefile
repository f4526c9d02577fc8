# The everyday commands. `make demo` and `make test` are all that a fresh Debian 12 machine needs.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
VENEER := build/release/veneer

.PHONY: help deps test-deps build install demo test bench bench-plots asan tsan fuzz lint format format-check clean

help:
	@echo "make demo    install what is missing, build, draw the demo pictures"
	@echo "make install  build, and copy the program under PREFIX ($(PREFIX)); DESTDIR is understood"
	@echo "make test    install what tests need, build, run every test"
	@echo "make bench   measure this machine and what Veneer makes of it; BENCH=\"--quick --json FILE\" passes flags, --help lists them"
	@echo "make bench-plots   measure cost against size, batch and threads, and draw it into docs/images"
	@echo "make asan | tsan | fuzz | lint | format | clean"

deps:
	@tools/install_deps.sh

test-deps:
	@tools/install_deps.sh --tests

build: deps
	@mkdir -p build
	@cmake --preset release -DVENEER_BUILD_TESTS=OFF -DVENEER_BUILD_BENCH=OFF >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target veneer

install: build
	@cmake --install build/release --prefix $(PREFIX)

demo: build
	@tools/demo.sh $(VENEER)

test: test-deps
	@cmake --preset release -DVENEER_BUILD_TESTS=ON -DVENEER_BUILD_BENCH=OFF >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j $(JOBS)

bench: test-deps
	@cmake --preset release -DVENEER_BUILD_TESTS=ON -DVENEER_BUILD_BENCH=ON >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target veneer-bench veneer_testing_server
	@build/release/veneer-bench $(BENCH)
	@case "$(BENCH)" in *--groups*|*_only*|*--help*) ;; *) \
	  bench/server_throughput.py build/release/tests/server/veneer_testing_server 8 5000 && \
	  bench/server_throughput.py build/release/tests/server/veneer_testing_server 8 5000 --fresh;; esac

bench-plots: test-deps
	@cmake --preset release -DVENEER_BUILD_TESTS=ON -DVENEER_BUILD_BENCH=ON >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target veneer-bench
	@build/release/veneer-bench --groups machine,scaling --json build/scaling.json
	@bench/plots.py build/scaling.json docs/images

asan tsan: test-deps
	@cmake --preset $@ -DVENEER_BUILD_BENCH=OFF >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset $@ -j $(JOBS)
	@ctest --preset $@ -j $(JOBS)

fuzz: test-deps
	@tools/fuzz.sh 30

lint: test-deps
	@tools/lint.sh

format-check:
	@git ls-files '*.cc' '*.h' | xargs clang-format --dry-run --Werror && echo "clang-format: all files have the form"

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

clean:
	@find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +
