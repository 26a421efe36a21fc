# One target per verb. Each creates .venv and installs into it what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.ready-bench
NODE := $(VENV)/node
NODE_PACKAGES := typescript@5.9.3 axe-core@4.14.0 uplot@1.6.32

DEMO_READY := $(VENV)/.ready-demo
REPORT_READY := $(VENV)/.ready-report
DOCS_READY := $(VENV)/.ready-docs

.PHONY: demo reproduce docs wheel check test lint types contract fast pytest coverage minimum lock bench format audit clean browser node \
postgresql nginx java inspect

# The main job: a live campaign of 200 subject lines with delayed opens, its log judged, a picture and the page.
demo: $(DEMO_READY)
	$(BIN)/python examples/demo.py demo
	@echo "The same with visitors who keep coming: $(BIN)/goodarm serve --demo"

# The paper's table and figures, quickly: a page in reproduction/.
reproduce: $(REPORT_READY)
	$(BIN)/goodarm reproduce --quick --out reproduction

docs: $(DOCS_READY)
	$(BIN)/python docs/refresh_commands.py
	$(BIN)/zensical build --clean --strict
	@echo "Look at it, with its search: $(BIN)/python -m http.server --directory site, then http://localhost:8000"

wheel: | $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# What to run before a pull request: nothing but Python packages is installed. The tests start while mypy still runs.
check: $(READY)
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) lint types contract fast

# Everything, and the slowest tests at the end. As root it installs Chromium, PostgreSQL, nginx and Java by apt-get.
test: lint types contract pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contract: $(READY)
	$(BIN)/lint-imports

fast: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" --durations=20

pytest: $(READY) browser node postgresql nginx java inspect
	$(BIN)/pytest -n 2 --dist worksteal --durations=20

# Which lines the fast tests execute: a summary here, the lines in coverage/index.html. Compiled rules are not traced.
coverage: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered --cov-report=html

# What the dashboard's tests need beyond Python; where it can't be had they are skipped, and say so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update && \
	DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends chromium >/dev/null; } || \
	echo "no chromium, and no way to install it: tests in a browser are skipped"

postgresql: | $(BIN)/python
	@sh tests/install_postgresql.sh $(BIN)/python

nginx:
	@command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends nginx-light \
	>/dev/null; } || echo "no nginx, and no way to install it: the tests behind a proxy are skipped"

java:
	@sh tests/install_java.sh

# Inspect has many packages of its own, some of them in other versions than ours: it gets an environment of its own.
inspect: | $(BIN)/python
	@[ -x $(VENV)/inspect/bin/inspect ] || { $(PYTHON) -m venv $(VENV)/inspect && \
	$(VENV)/inspect/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[inspect]'; } || \
	{ rm -rf $(VENV)/inspect; echo "inspect-ai could not be installed: its tests are skipped"; }

node: | $(BIN)/python
	@command -v npm >/dev/null || { echo "no npm: types of the dashboard and axe are not checked"; exit 0; }; \
	[ -x $(NODE)/node_modules/.bin/tsc ] || npm install --silent --no-fund --no-audit --prefix $(NODE) $(NODE_PACKAGES) || \
	echo "npm could not install $(NODE_PACKAGES): types of the dashboard and axe are not checked"

# The fast tests with the oldest allowed version of every direct dependency, in an environment of its own. Needs uv.
minimum: | $(BIN)/python
	uv venv --quiet --clear --python $(BIN)/python $(VENV)/minimum
	uv pip install --quiet --python $(VENV)/minimum/bin/python --resolution lowest-direct --editable '.[test]'
	$(VENV)/minimum/bin/pytest -n 2 --dist worksteal -m "not slow"

# The packages of the container image, with hashes. Needs uv.
lock:
	{ echo "# Everything that the image installs, with hashes. Written anew by \`make lock\`."; echo hatchling | \
	uv pip compile --quiet pyproject.toml - --extra service --extra postgresql --extra report --generate-hashes \
	--python-version 3.12 --python-platform linux --no-annotate --no-header --no-emit-index-url; } > container/requirements.lock

bench: $(BENCH_READY)
	$(BIN)/python -m benchmarks

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A report, not a gate: known holes in the packages that are installed, and their versions, in audit/. It asks a
# database on the internet; where that can't be reached, the report's first line says that nothing was checked.
audit: $(READY)
	@mkdir -p audit
	$(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python -m pip freeze --disable-pip-version-check --exclude-editable > audit/packages.txt
	@rm -f audit/report.md audit/ran
	-$(VENV)/audit/bin/pip-audit --path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	--skip-editable --format markdown --output audit/report.md; found=$$?; \
	if [ $$found = 0 ] || { [ $$found = 1 ] && [ -s audit/report.md ]; }; then touch audit/ran; fi
	@sh tests/audit_report.sh audit
	@cat audit/report.md

clean:
	rm -rf $(VENV) demo reproduction site dist audit coverage .coverage

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "goodarm needs Python 3.11 or newer; call: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

# No test tools here: what a user needs.
$(DEMO_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[logs,report,service]'
	@touch $@

$(REPORT_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report]'
	@touch $@

$(DOCS_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(BENCH_READY): pyproject.toml $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,bench]'
	@touch $@
