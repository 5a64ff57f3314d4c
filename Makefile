# make demo: set everything up and run the main job. make test: set everything up and test it. make check: the fast tests.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
LOWEST = .venv-lowest
AUDIT = .venv-audit
README = .venv-readme
FAST = -m "not calibration and not slow and not browser" --hypothesis-profile=quick

KERNEL_TESTS = tests/io/test_read_bytes.py tests/io/test_collisions.py tests/io/test_read_collection.py tests/scoring \
  tests/stats tests/methods/test_moderated.py tests/methods/test_moderated_designs.py tests/methods/test_max_t.py \
  tests/methods/test_bootstrap_ideal.py tests/comparing/test_paired_tests.py tests/lab/test_simulate_margins.py
CYTHON_SOURCES = $(shell find src -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

# byte code is kept, whoever forbids it: hundreds of processes of the tests would compile every source anew
unexport PYTHONDONTWRITEBYTECODE

# two processes of tests share the cores, and threads of linear algebra would only wait for one another
check test full explore slow coverage lowest: export OPENBLAS_NUM_THREADS = 1

.PHONY: demo check test full build compiler dist checked sanitize slow browser coverage lowest lint types docs bench fuzz \
  sbom audit clean freeze house explore readme generate mutants

# the tools of the build stand in the environment itself, so that `make build` compiles what has changed and no more
$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet 'setuptools>=77' 'cython>=3.1,<4'
	@touch $@

$(VENV)/.compiled: $(VENV)/.tools setup.py build_backend.py $(CYTHON_SOURCES)
	@$(MAKE) --no-print-directory compiler
	$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.compiled
	$(BIN)/pip install --quiet --no-build-isolation --editable .
	@touch $@

# extensions beside their sources, those that have changed
build: $(VENV)/.compiled

# Debian's compiler where it may be installed, else Zig's from the package index
compiler: $(VENV)/.tools
	@$(BIN)/python -c 'import build_backend, sys; sys.exit(build_backend.find_compiler() is None)' \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && echo "no C compiler: installing Debian's gcc" \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null 2>&1; } \
	  || { echo "no C compiler: installing Zig's from the package index" && $(BIN)/pip install --quiet ziglang; }

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml $(VENV)/.installed
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[docs]'
	@touch $@

# the library at the lowest versions that it allows, the tools of the tests at whatever goes with them; compiled
# as pip does, because a warning about the source of a tool would be an error in the first test that imports it
$(LOWEST)/.installed: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet uv
	$(LOWEST)/bin/uv pip compile --quiet --resolution lowest-direct --python $(LOWEST)/bin/python pyproject.toml \
	  --output-file $(LOWEST)/lowest.txt
	$(LOWEST)/bin/uv pip install --quiet --compile-bytecode --python $(LOWEST)/bin/python \
	  --constraint $(LOWEST)/lowest.txt --editable '.[dev]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/shardwise demo

# an archive of the sources and a wheel for this machine, as they would be published
dist: $(VENV)/.tools
	@$(MAKE) --no-print-directory compiler
	rm -rf dist
	$(BIN)/pip install --quiet build twine
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# about a minute
check: $(VENV)/.installed-dev build
	$(BIN)/pytest -q -n 2 $(FAST)

# examples that the other tests do not try, drawn by SEED or by a number of its own; ROUNDS times, each with the next seed
explore: $(VENV)/.installed-dev build
	@seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); status=0; \
	for round in $$(seq $(or $(ROUNDS),1)); do \
	  echo "make explore SEED=$$seed"; \
	  SHARDWISE_EXPLORE=$$seed $(BIN)/pytest -q -n 2 -m "hypothesis and not browser" $(or $(TESTS),tests) || status=$$?; \
	  seed=$$((seed + 1)); \
	done; exit $$status

# the cases that `make test` leaves to others which guard the same: all of a table of choices, more seeds
full: $(VENV)/.installed-dev build browser
	$(BIN)/pytest -q -n 2 -m full

test: $(VENV)/.installed-dev build browser
	$(BIN)/pytest -q -n 2

# every line of the README and the start page, in a new environment that has the wheel and no extra; the wheel takes the
# extensions that are compiled already, in a folder of its own, where no module stands that is no longer in the sources
readme: $(VENV)/.compiled
	rm -rf build/wheel
	$(BIN)/python -W ignore setup.py --quiet build --build-base build/wheel bdist_wheel --dist-dir build/wheel
	$(PYTHON) -m venv --clear $(README)
	$(README)/bin/pip install --quiet build/wheel/*.whl
	$(README)/bin/python docs/run_readme.py

# which tests take over a fifth of a second , for check to leave out
slow: $(VENV)/.installed-dev build
	$(BIN)/pytest -q -n 2 --durations=0 --durations-min=0.1 | $(BIN)/python tests/slow_tests.py > slow.txt
	mv slow.txt tests/slow.txt

# compiled code is not traced
coverage: $(VENV)/.installed-dev build
	$(BIN)/pytest -q -n 2 -m "not calibration and not browser" --cov=shardwise --cov-report=term:skip-covered

lowest: $(LOWEST)/.installed build
	$(LOWEST)/bin/pytest -q -n 2 $(FAST)

# the report is tested in a real browser, where one is there or may be installed: Chromium without its windows, which
# starts and draws in about three quarters of the time, or else the whole
browser:
	@command -v chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && apt-get update -qq \
	  && { apt-get install -y -qq --no-install-recommends chromium-headless-shell \
	  || apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1; } \
	  || echo "no chromium here and none may be installed: tests in the browser are skipped"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# every page that is made from the code, and the JSON schema of the command line among the expected outputs
generate: $(VENV)/.installed-dev build
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_options.py
	$(BIN)/python docs/make_methods.py
	$(BIN)/python docs/make_start.py
	$(BIN)/python docs/make_notebooks.py
	$(BIN)/python docs/make_notebooks.py --pages
	SHARDWISE_UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/cli/test_cli_golden.py -k json-schema

docs: $(VENV)/.installed-docs
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_notebooks.py --pages
	$(BIN)/zensical build --strict --clean

bench: $(VENV)/.installed-dev build
	$(BIN)/python -m bench.run

# numbers that changed on purpose, by the cells that tests/test_frozen.py names: make freeze CELLS="'plain/t holm' 'gates/*'"
freeze: $(VENV)/.installed-dev build
	PYTHONPATH=tests $(BIN)/python -m gold.frozen.make $(CELLS)

# how large the package is, by rooms, and which limits may be lowered
house: $(VENV)/.installed-dev build
	$(BIN)/python -m bench.house
	$(BIN)/pytest -q -s tests/core/test_house.py
# small faults that the tests should notice, about half an hour; survivors are listed
mutants: $(VENV)/.installed-dev build
	$(BIN)/python -m bench.mutants

# the package with compiled code that checks every index, or with AddressSanitizer and UBSan, in a folder of its own
build/checked build/sanitize: $(VENV)/.installed-dev $(VENV)/.compiled
	SHARDWISE_BUILD=$(notdir $@) $(BIN)/python setup.py --quiet build --build-lib $@ --build-temp $@-objects
	@touch $@

checked: build/checked
	PYTHONPATH=build/checked $(BIN)/pytest -q $(FAST) $(KERNEL_TESTS)

# memory errors and undefined behaviour: the tests of compiled code, then N fuzz cases; allocations that fail on purpose
# return nothing, as they do without, and pytrec_eval frees what it got by new
sanitize: build/sanitize
	LD_PRELOAD="$$($(or $(CC),cc) -print-file-name=libasan.so) $$($(or $(CC),cc) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:alloc_dealloc_mismatch=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  PYTHONPATH=build/sanitize sh -c '$(BIN)/pytest -q $(FAST) $(KERNEL_TESTS) \
	  && $(BIN)/python -m fuzz.run --cases $(or $(N),50000) --seed $(or $(SEED),0) --journal fuzz-sanitize.jsonl'

# N cases, of which one in five hundred is a command line; stopped, it goes on where it was. BOUNDSCHECK=1 checks every
# index
fuzz: $(VENV)/.installed-dev $(if $(BOUNDSCHECK),build/checked)
	$(if $(BOUNDSCHECK),PYTHONPATH=build/checked) \
	  $(BIN)/python -m fuzz.run --cases $(or $(N),100000) --seed $(or $(SEED),0) --journal fuzz-$(or $(SEED),0).jsonl
	$(BIN)/python -m fuzz.nulls --seed $(or $(SEED),0)

$(AUDIT)/.installed:
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/pip install --quiet cyclonedx-bom pip-audit
	@touch $@

# what an installation consists of (CycloneDX), and which known weaknesses it has; strict: what could not be looked up fails
sbom: $(VENV)/.installed $(AUDIT)/.installed
	$(AUDIT)/bin/cyclonedx-py environment $(BIN)/python --output-format JSON --output-file sbom.json

audit: $(VENV)/.installed $(AUDIT)/.installed
	$(BIN)/pip freeze --exclude-editable > $(AUDIT)/installed.txt
	$(AUDIT)/bin/pip-audit --requirement $(AUDIT)/installed.txt --no-deps --disable-pip --strict

clean:
	rm -rf $(VENV) $(LOWEST) $(AUDIT) $(README) build dist sbom.json fuzz*.jsonl demo report.html site docs/reference .cache .coverage
	find src -name '*.so' -delete
