# make demo: set everything up and run the main job. make test: set everything up and test it. make check: the fast tests.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
LOWEST = .venv-lowest
AUDIT = .venv-audit
FAST = -m "not calibration and not slow and not browser" --hypothesis-profile=quick

CYTHON_SOURCES = $(shell find src -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

# byte code is kept, whoever forbids it: hundreds of processes of the tests would compile every source anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test build compiler kernels dist slow browser coverage lowest lint types docs bench fuzz sbom audit \
  clean

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

demo: kernels
	$(BIN)/shardwise demo

# compiled once for all processors of a common kind; does nothing where they are there
kernels: $(VENV)/.installed
	@$(BIN)/python make_kernels.py

# an archive of the sources and a wheel for this machine, as they would be published
dist: $(VENV)/.tools
	@$(MAKE) --no-print-directory compiler
	rm -rf dist
	$(BIN)/pip install --quiet build twine
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# about a minute once the kernels are compiled
check: $(VENV)/.installed-dev kernels
	$(BIN)/pytest -q -n 2 $(FAST)

test: $(VENV)/.installed-dev kernels browser
	$(BIN)/pytest -q -n 2

# which tests take over a fifth of a second once the kernels are compiled, for check to leave out
slow: $(VENV)/.installed-dev kernels
	$(BIN)/pytest -q -n 2 --durations=0 --durations-min=0.1 | $(BIN)/python tests/slow_tests.py > slow.txt
	mv slow.txt tests/slow.txt

# compiled kernels are not traced: their lines count only as far as they run as Python
coverage: $(VENV)/.installed-dev kernels
	$(BIN)/pytest -q -n 2 -m "not calibration and not browser" --cov=shardwise --cov-report=term:skip-covered

# with kernels of its own: those of another numba beside the sources would be compiled anew each time
lowest: $(LOWEST)/.installed
	NUMBA_CACHE_DIR=$(abspath $(LOWEST))/kernels $(LOWEST)/bin/pytest -q -n 2 $(FAST)

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

docs: $(VENV)/.installed-docs
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_options.py
	$(BIN)/python docs/make_notebooks.py --pages
	$(BIN)/zensical build --strict --clean

bench: $(VENV)/.installed-dev kernels
	$(BIN)/python -m bench.run

# N cases, of which one in five hundred is a command line; stopped, it goes on where it was. BOUNDSCHECK=1 lets the
# kernels check every index, with kernels of their own
fuzz: $(VENV)/.installed-dev
	$(if $(BOUNDSCHECK),NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(VENV))/checked) \
	  $(BIN)/python -m fuzz.run --cases $(or $(N),100000) --seed $(or $(SEED),0) --journal fuzz-$(or $(SEED),0).jsonl

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
	rm -rf $(VENV) $(LOWEST) $(AUDIT) src/shardwise/compiled build dist sbom.json fuzz-*.jsonl demo report.html site docs/reference .cache .coverage
	find src -name '*.so' -delete
