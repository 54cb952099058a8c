# Two commands do everything: `make demo` and `make test`. `make` alone lists the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WITH_LEVANTER = GRISTMILL_LEVANTER_PYTHON="$$(ls "$(CURDIR)/.cache/levanter/bin/python" 2>/dev/null)"
WITH_ENERGON = GRISTMILL_ENERGON_PYTHON="$$(ls "$(CURDIR)/.cache/energon/bin/python" 2>/dev/null)"
WITH_DOLMA = GRISTMILL_DOLMA_PYTHON="$$(ls "$(CURDIR)/.cache/dolma/bin/python" 2>/dev/null)"
WITH_DATATROVE = GRISTMILL_DATATROVE_PYTHON="$$(ls "$(CURDIR)/.cache/datatrove/bin/python" 2>/dev/null)"
WITH_PEERS = $(WITH_LEVANTER) $(WITH_ENERGON) $(WITH_DOLMA) $(WITH_DATATROVE)
PEERS := .cache/levanter/.done .cache/energon/.done .cache/dolma/.done .cache/datatrove/.done
OF_DAGSTER := tests/test_definitions.py tests/test_upstream.py tests/assets tests/sensors tests/resources
PEER_ENVIRONMENT := tests/support/drivers/peer_environment.py
BESIDE := -n 2 --dist loadfile --no-loadscope-reorder
FAST := pytest -m "not slow and not live and not attack" $(BESIDE)
SCALE := journey s3 sensor many-shards definitions tick hundred engines dedupe-scale
# The lake of this checkout unless GRISTMILL_LAKE names another; Dagster's own files beside it.
export DAGSTER_HOME ?= $(CURDIR)/.dagster
# Else a backfill fails for good if the daemon looks at it while the code is being loaded anew.
export DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR ?= 1
# Else each of the hundreds of processes that tests start compiles the code anew.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))

.PHONY: help dagster-home demo tour ui test test-fast coverage lint types proofs sample samples record live verify faults attack mutants bench scale audit screenshots lock clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(VENV)/.app: requirements/app.txt
	@$(PYTHON) -c 'import sys; sys.exit("Gristmill needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing what requirements/app.txt pins (about a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/app.txt
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.app
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/test.txt
	@touch $@

# No target of its name: make cannot tell a space in a path from one between two paths.
dagster-home:
	@mkdir -p "$$DAGSTER_HOME"
	@test "$$DAGSTER_HOME/dagster.yaml" -nt dagster.yaml || cp dagster.yaml "$$DAGSTER_HOME"

demo: $(VENV)/.app dagster-home  ## the main job on real input: raw to tokens, through Dagster
	@$(BIN)/python -m scripts.demo $(DEMO)

tour: $(VENV)/.app dagster-home  ## on the demo's lake: one changed file, a failing check, tokens traced
	@$(BIN)/python -m scripts.tour

ui: $(VENV)/.app dagster-home  ## Dagster's UI on http://127.0.0.1:3000, sensors included
	@$(BIN)/python -m gristmill ui -p $${PORT:-3000}

verify: $(VENV)/.app  ## proves the whole lake from its bytes
	@$(BIN)/python -m gristmill verify "$${GRISTMILL_LAKE:-lake}"

test: $(VENV)/.test  ## lint, types, and the tests that take minutes, not hours: all at once, for tests wait now and then
	@$(MAKE) --no-print-directory -j3 lint types test-fast

test-fast: $(VENV)/.test  ## the tests alone
	@$(BIN)/python -m $(FAST) $(ARGS)

coverage: $(VENV)/.test  ## the fast tests, and the share of lines that they run, also in processes that they start; fails below its floor
	@mkdir -p .cache/coverage && $(BIN)/coverage erase
	@$(BIN)/coverage run -m $(FAST) $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --skip-covered --sort=miss

lint: $(VENV)/.test  ## ruff, format and rules
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .

types: $(VENV)/.test  ## mypy, strict
	@$(BIN)/mypy --no-error-summary

proofs: $(VENV)/.test $(PEERS) .cache/lowest/.done  ## all slow tests: real Levanter, Energon and Dolma, kills, S3, clusters, lowest versions
	@test ! -e .cache/lowest/.done || .cache/lowest/bin/python -m pytest -m "not slow and not live and not attack" $(OF_DAGSTER)
	@GRISTMILL_DRAWS=5 $(WITH_PEERS) $(BIN)/python -m pytest -m "(slow or hypothesis) and not live and not attack" -rs $(BESIDE) $(ARGS)

sample: $(VENV)/.test $(PEERS)  ## the slow tests that CI runs: one comparison of each kind, some of the kills
	@$(WITH_PEERS) $(BIN)/python -m pytest -m "slow and not live and not exhaustive and not attack" -rs $(BESIDE) $(ARGS)

samples: $(VENV)/.app  ## the sample data, if they are there: v0 of every source format, and a table of documents, reasons and MB/s
	@$(BIN)/python -m scripts.samples $(ARGS)

record: $(VENV)/.test .cache/levanter/.done  ## asks real Levanter anew for the answers that the fast tests compare with
	@rm -f tests/real_levanter/recorded/*.json.gz
	@$(WITH_LEVANTER) GRISTMILL_RECORD=1 $(BIN)/python -m pytest -m slow tests/real_levanter $(ARGS)

live: $(VENV)/.test  ## a running Dagster: automation, backfills, cancelling, Postgres (half an hour; quiet machine)
	@$(BIN)/python -m scripts.live $(ARGS)

.cache/levanter/.done: requirements/levanter.txt
	@mkdir -p .cache/levanter
	@$(PYTHON) $(PEER_ENVIRONMENT) levanter .cache/levanter >/dev/null && touch $@ || \
	  echo "the proofs against real Levanter are skipped: they need a Python 3.12 (GRISTMILL_PYTHON312)"

.cache/energon/.done: requirements/energon.txt requirements/torch.txt
	@mkdir -p .cache/energon
	@$(PYTHON) $(PEER_ENVIRONMENT) energon .cache/energon >/dev/null && touch $@ || \
	  echo "the proofs against real Energon are skipped: they need a Python 3.11 (GRISTMILL_PYTHON311) and PyTorch for the CPU (PIP_FIND_LINKS)"

.cache/dolma/.done: bench/harness/requirements-dolma.txt
	@mkdir -p .cache/dolma
	@$(PYTHON) $(PEER_ENVIRONMENT) dolma .cache/dolma >/dev/null && touch $@ || \
	  echo "the comparisons with real Dolma are skipped: they need a Python 3.11 (GRISTMILL_PYTHON311)"

.cache/datatrove/.done: bench/harness/requirements-datatrove.txt
	@mkdir -p .cache/datatrove
	@$(PYTHON) $(PEER_ENVIRONMENT) datatrove .cache/datatrove >/dev/null && touch $@ || \
	  echo "the comparisons with real datatrove are skipped: they need a Python 3.11 (GRISTMILL_PYTHON311)"

.cache/lowest/.done: requirements/lowest.txt
	@rm -rf .cache/lowest && mkdir -p .cache/lowest
	@$(PYTHON) $(PEER_ENVIRONMENT) lowest .cache/lowest >/dev/null && touch $@ || \
	  echo "the tests with the lowest versions are skipped: they need a Python 3.11 (GRISTMILL_PYTHON311)"

faults: $(VENV)/.test  ## 200 kills, whole nights and other mishaps, at most an hour; SEED=n repeats, BUDGET=minutes, ONLY=words
	@PYTHONPATH="$(PYTHONPATH):$(CURDIR)/tests/support/drivers:$(CURDIR)/tests/support/lakes:$(CURDIR)/tests/support/servers:$(CURDIR)/tests/support/shelves" $(BIN)/python -m mishaps.suite

attack: $(VENV)/.test  ## corruption and hostile input by whole classes, at most 15 minutes; SEED=n repeats, BUDGET=minutes
	@SEED=$${SEED:-$$(date +%s)} $(BIN)/python -m pytest tests/attack -m attack -rs $(BESIDE) $(ARGS)

mutants: $(VENV)/.test  ## takes 400 guards out of the code, one at a time: do tests notice? ONLY=words, ARGS=--resume
	@$(BIN)/python -m scripts.mutants $(ARGS) $(ONLY)

bench: $(VENV)/.test  ## us and the peers on the same files; BENCH=name for one
	@$(BIN)/python -m bench.run $(BENCH)

scale: $(VENV)/.test  ## what a terabyte lake asks for: overhead, S3, a million objects, 100,000 shards, engines
	@$(BIN)/python -m bench.run $(or $(BENCH),$(SCALE))

audit: $(VENV)/.test  ## pinned packages against the published advisories
	@$(BIN)/python -m scripts.audit

screenshots: $(VENV)/.test dagster-home  ## what people see of the demo's lake, by a real browser
	@$(BIN)/python -m scripts.screenshots

lock:  ## resolves the requirement files anew (needs uv)
	uv pip compile pyproject.toml --extra dg --extra all --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --quiet -o requirements/app.txt
	uv pip compile pyproject.toml --all-extras -c requirements/app.txt --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet -o requirements/extras.txt
	uv pip compile tests/real_levanter/levanter.in --python-version 3.12 --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --quiet -o requirements/levanter.txt
	uv pip compile tests/real_energon/energon.in --config-file tests/real_energon/uv.toml --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-package torch \
	  --quiet -o requirements/energon.txt
	uv pip compile pyproject.toml tests/lowest/lowest.in --extra all --resolution lowest-direct --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet -o requirements/lowest.txt
	uv pip compile --group test pyproject.toml --extra all -c requirements/app.txt --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet -o requirements/test.txt

clean:  ## removes what make made, but for the lake
	rm -rf $(VENV) .dagster .cache .mypy_cache .ruff_cache .hypothesis
