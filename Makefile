# Two commands do everything on a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Tests at a time: one more than two cores, for many wait for a process, a browser or a cluster that they have started.
JOBS ?= 3

# Python compiles what is imported when it is: all files of torch and SciPy would take most of a minute, and few are used.
# It must be allowed to keep what it compiled, or every process compiles all it imports once more: seconds at each start.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
INSTALL := $(PIP) -c constraints.txt -e
# Only files whose SHA-256 is known. torch is not among them, for its build is the machine's choice: it comes with INSTALL.
KNOWN := $(PIP) --require-hashes --no-deps -r

.PHONY: help env demo test test-fast docs lint format wheel clean
help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

env: .venv/.installed-tests  ## create .venv with everything pinned in constraints.txt, functions compiled

# The package alone, which is what a user installs and all that the demo needs.
.venv/.installed: pyproject.toml constraints.txt hashes/package.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 …"; exit 2; }
	@echo "installing lcdvt and what it needs into .venv (torch is most of it): usually two to five minutes"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(KNOWN) hashes/package.txt
	@$(INSTALL) .
	@touch $@

# What tests, notebooks and ruff need comes on top.
.venv/.installed-tests: .venv/.installed hashes/tests.txt
	@echo "installing what the tests need (notebooks, Dask, LSDB, feets, Avro): usually one or two minutes"
	@$(KNOWN) hashes/tests.txt
	@$(INSTALL) '.[dev,notebooks,dask,lsdb,label,avro]'
	@echo "compiling all functions, once: usually half a minute"
	@$(BIN)/lcdvt doctor --compile > /dev/null || true  # what else is wrong here is no reason to stop
	@touch $@

demo: .venv/.installed  ## simulate surveys, ingest them, and show what came out
	@echo "the demo: the first ingest compiles some functions, once; all of it takes some minutes"
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash demo.sh

# one thread each: the tests themselves run side by side
test: .venv/.installed-tests        ## all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-fast: .venv/.installed-tests   ## the everyday tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

# The documentation's own packages come on top, so that nobody needs them who only runs the tests.
.venv/.installed-docs: .venv/.installed-tests
	$(INSTALL) '.[docs]'
	@touch $@

docs: .venv/.installed-docs  ## the documentation site, in docs/_build/html
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -c docs . docs/_build/html
	@echo "docs/_build/html/index.html"

# mypy does not follow an editable install into cli/ and catalogs/: it looks at the package as it is installed.
lint: .venv/.installed-tests        ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target build/typecheck .
	cd build/typecheck && ../../$(BIN)/python -m mypy --config-file ../../pyproject.toml -p lcdvt

format: .venv/.installed-tests      ## let ruff put everything in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The same commit gives the same bytes, whenever and wherever it is built.
wheel: .venv/.installed  ## the wheel, in dist/
	rm -rf build
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:           ## remove what was built, not what was ingested
	rm -rf .venv build docs/_build docs/api docs/generated dist *.egg-info demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
