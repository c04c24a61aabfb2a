# Everything runs from .venv; uv is used when present and otherwise installed there. Modules are
# compiled once, at the installation: where Python may not write bytecode (PYTHONDONTWRITEBYTECODE,
# usual in containers) every process would compile all of them anew.
PY ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# Folders of real Skills for `make layout` and `make sources`, outside the project.
DIRS ?=
CHECK ?=

.PHONY: help demo harbor test hidden check slow docker live newest oracle bench layout sources revisions drift same rooms labels ablate docs site notebooks reports clean

help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(STAMP): requirements.txt pyproject.toml
	@test -x $(BIN)/python || $(PY) -m venv .venv
	@command -v uv >/dev/null 2>&1 || test -x $(BIN)/uv || $(BIN)/python -m pip install -q --disable-pip-version-check uv
	@UV=$$(command -v uv || echo $(BIN)/uv); \
	  $$UV pip install -q --compile-bytecode --python $(BIN)/python -r requirements.txt && \
	  $$UV pip install -q --python $(BIN)/python --no-deps -e .
	@$(BIN)/python -m compileall -q skilljuror
	@touch $@

demo: $(STAMP) ## run a whole study offline and write its report
	$(BIN)/skilljuror demo --out out/demo

check: $(STAMP) ## format, lint, types
	$(BIN)/ruff format --check -q skilljuror tests
	$(BIN)/ruff check -q skilljuror tests
	$(BIN)/mypy

harbor: $(STAMP) ## the real Harbor for the tests, in an environment of its own where one can be had
	@test -x .venv-harbor/bin/harbor || $(BIN)/python -m tests.support.harbor_venv

test: $(STAMP) check harbor ## all checks and the fast tests
	@$(BIN)/python -m tests.support.missing_programs
	$(BIN)/pytest -q -n 2 --dist worksteal

# A test that names one of these may depend on bubblewrap or a browser.
MAY_NEED := bwrap|unsealed|chromium|make_study\(|run_study|isolation
hidden: $(STAMP) ## the tests that may need bubblewrap or a browser, on a machine that seems to have neither
	@$(BIN)/python -m tests.support.missing_programs out/programs
	PATH="$(CURDIR)/out/programs" $(BIN)/pytest -q -n 2 --dist worksteal $$(grep -rlE '$(MAY_NEED)' tests --include='test_*.py')

slow: $(STAMP) harbor ## the slow tiers
	$(BIN)/pytest -q -n 2 --dist worksteal -m "slow and not live and not docker" --timeout=900

# Trials in containers: the engine of this machine, else one of its own below .docker, removed at the end.
ONLY ?=
docker: $(STAMP) harbor ## trials in real Docker, up to 40 minutes; SKILLSBENCH=checkout adds three of its tasks
	@env=$$($(BIN)/python -m tests.support.docker_engine start .docker python:3.12-slim ubuntu:24.04) || { test $$? = 3; exit; }; \
	  eval "$$env"; $(BIN)/pytest -m docker -rA --no-header -p no:cacheprovider $(if $(ONLY),-k "$(ONLY)"); told=$$?; \
	  docker system df; $(BIN)/python -m tests.support.docker_engine stop .docker; exit $$told

# Real agents at pinned versions, which must pass.
.live/.installed: $(STAMP) skilljuror/harness/agents.yaml
	$(BIN)/python -m tests.support.live_install pinned
	@touch $@

live: $(STAMP) harbor .live/.installed ## real agents (2 GB, once) in studies, against a scripted model on this machine
	$(BIN)/pytest -m live -rA --no-header

newest: $(STAMP) harbor ## the same at the newest versions, of which failures are only shown
	@$(BIN)/python -m tests.support.live_install newest
	@LIVE_AGENTS=.live-newest timeout 900 $(BIN)/pytest -m live -rA --no-header --tb=short || \
	  echo "not fatal: the newest versions failed where FAILED names an agent and its version"

# Large libraries that one formula is held against, in an environment of their own: one of them installs a
# package `tests` that hides ours from commands.
.venv-oracle/.installed: requirements.txt pyproject.toml $(STAMP)
	@test -x .venv-oracle/bin/python || $(PY) -m venv .venv-oracle
	@UV=$$(command -v uv || echo $(BIN)/uv); $$UV pip install -q --python .venv-oracle/bin/python -e '.[dev,oracle]'
	@touch $@

oracle: .venv-oracle/.installed ## our prediction-powered inference against the libraries of others
	.venv-oracle/bin/python -m pytest -q -rs tests/measures/test_prediction_powered.py

bench: $(STAMP) ## how fast logs are read, against a bare JSON decoder, and a model is asked, against its own speed
	@$(BIN)/python -m compileall -q skilljuror benchmarks
	$(BIN)/python -m benchmarks.ingest; told=$$?; $(BIN)/python -m benchmarks.model_calls && exit $$told

layout: $(STAMP) ## how good pd is over real sources: make layout DIRS="skills …"
	$(BIN)/python -m benchmarks.layout -j 2 $(DIRS)

drift: $(STAMP) ## how much planted drift the audit sees in real Skills: make drift DIRS="skills …" PAIRS=splits
	$(BIN)/python -m benchmarks.drift -j 2 --slips $(if $(PAIRS),--pairs $(PAIRS)) $(DIRS)

revisions: $(STAMP) ## what the audit says of real edits that people read: make revisions REPOS=dir SPLITS=dir
	$(BIN)/python -m benchmarks.revisions $(if $(REPOS),--repos $(REPOS)) $(if $(SPLITS),--splits $(SPLITS))

sources: $(STAMP) ## what the gates say of real sources: make sources DIRS="skills …"; is the page stale: make sources CHECK=1
	$(BIN)/python -m benchmarks.sources $(if $(CHECK),--check,-j 2 $(DIRS))

docs: $(STAMP) ## regenerate the generated pages
	$(BIN)/python docs/generate.py

# MkDocs in an environment of its own: nobody needs it to use or test the package.
.venv-site/.installed: Makefile
	@test -x .venv-site/bin/python || $(PY) -m venv .venv-site
	.venv-site/bin/python -m pip install -q --disable-pip-version-check 'mkdocs-material>=9.6,<10'
	@touch $@

site: .venv-site/.installed ## the documentation as a site in out/site, offline, every link checked
	NO_MKDOCS_2_WARNING=1 .venv-site/bin/mkdocs build -q

rooms: $(STAMP) ## the house in figures: rooms, their size, the imports between them
	@$(BIN)/python -m benchmarks.rooms; $(BIN)/python -m benchmarks.rooms --mermaid

# The answers of BASE are kept by its commit; out/same/inputs holds the trials that both are asked about.
BASE ?= HEAD
same: $(STAMP) ## is every answer as at a commit: make same BASE=commit DIRS="skills …"
	@base=out/same/$$(git rev-parse --short $(BASE)); rm -rf out/same/now; \
	  if [ ! -e $$base/done ]; then \
	    rm -rf $$base; git worktree add -q --detach out/same/tree $(BASE) && \
	    $(BIN)/python -m benchmarks.same write $$base --tree out/same/tree --dirs $(DIRS) && touch $$base/done; told=$$?; \
	    git worktree remove --force out/same/tree; [ $$told = 0 ] || exit $$told; \
	  fi; \
	  $(BIN)/python -m benchmarks.same write out/same/now --dirs $(DIRS) && $(BIN)/python -m benchmarks.same compare $$base out/same/now

labels: $(STAMP) ## precision and recall of attribution against reference labels
	$(BIN)/python -m benchmarks.labels

ablate: $(STAMP) ## what each rule of attribution changes, switched off in turn
	$(BIN)/python -m benchmarks.ablate

notebooks: $(STAMP) ## run every notebook into out/notebooks
	@mkdir -p out/notebooks
	@for book in notebooks/*.ipynb; do \
	  PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter execute $$book --output ../out/notebooks/$$(basename $$book .ipynb) || exit 1; done

reports: $(STAMP) ## write the report of the demo, with its pictures, into reports/demo
	rm -rf out/demo reports/demo
	$(BIN)/skilljuror demo --out out/demo
	$(BIN)/skilljuror report out/demo --out reports/demo --no-quotes

clean:
	rm -rf out build dist .live .live-newest .pytest_cache .mypy_cache .ruff_cache
