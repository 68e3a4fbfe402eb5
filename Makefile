# Two commands do everything on a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2

.PHONY: help env demo test test-fast docs lint format clean
help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

env: .venv/.installed  ## create .venv with everything pinned in constraints.txt

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 …"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,notebooks,dask,lsdb,label]'
	@touch $@

demo: env        ## simulate surveys, ingest them, and show what came out
	PATH="$(CURDIR)/$(BIN):$$PATH" bash demo.sh

# one thread each: the tests themselves run side by side
test: env        ## all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-fast: env   ## the everyday tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

# The documentation's own packages come on top, so that nobody needs them who only runs the tests.
.venv/.installed-docs: .venv/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: .venv/.installed-docs  ## the documentation site, in docs/_build/html
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -c docs . docs/_build/html
	@echo "docs/_build/html/index.html"

# mypy does not follow an editable install into cli/ and catalogs/: it looks at the package as it is installed.
lint: env        ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target build/typecheck .
	cd build/typecheck && ../../$(BIN)/python -m mypy --config-file ../../pyproject.toml -p lcdvt

format: env      ## let ruff put everything in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:           ## remove what was built, not what was ingested
	rm -rf .venv build docs/_build docs/api docs/generated dist *.egg-info demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
