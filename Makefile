# make demo: set everything up and run the main job. make test: set everything up and test it.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test browser lint types docs bench clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/shardwise demo

test: $(VENV)/.installed-dev browser
	$(BIN)/pytest -q -n 2

# the report is tested in a real browser, where one is there or may be installed
browser:
	@command -v chromium >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; } \
	  || echo "no chromium here and none may be installed: tests in the browser are skipped"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

docs: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --editable '.[docs]'
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.installed-dev
	$(BIN)/python -m bench.run

clean:
	rm -rf $(VENV) demo report.html site
