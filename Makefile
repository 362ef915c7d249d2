# Every target does its own set-up; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OUT := out

.PHONY: help setup demo demo-158 test test-fast lint bench bench-anywhere bench-random bench-forecast bench-live bench-reliability bench-ray prior clean

help:
	@echo "make demo   train for real in 8 processes with stragglers: plain DDP, backup workers, bayes; a page with plots"
	@echo "make demo-158  compare all policies on a simulated cluster of 158 workers; a page with plots"
	@echo "make test   lint, types, import directions and all tests"
	@echo "make test-fast  the same without the tests that start processes"
	@echo "make bench  speed and quality claims, side by side in one run"
	@echo "make bench-forecast  what bayes claims: shares, censoring, drift, membership, cost, coverage (25 minutes on two idle cores)"
	@echo "make bench-anywhere  is bayes ever regretted: odd laws, few and many workers, shocks, exact optima, every cluster (forty minutes on two idle cores)"
	@echo "make bench-random  is bayes ever regretted on 100 clusters that nobody chose, by rounds and by the clock; a page with plots (an hour on two idle cores)"
	@echo "make bench-live  live training against DDP and torchft, stragglers of every kind, the controller (half an hour on two idle cores)"
	@echo "make bench-reliability  real training, killed, stopped and cut off in every phase; a checker (an hour on two idle cores)"
	@echo "make bench-ray  training on Ray: what a round costs, shards, stragglers, deaths (forty minutes on two idle cores)"
	@echo "make lint   lint, types and import directions only"
	@echo "make setup  the environment in $(VENV), which the others make themselves"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[report,train,live,ray,gym,images,tensorboard,dev]'
	@touch $@

# Ten per cent of the mini-batches take nine times as long. c=5 is the best fixed cutoff in a simulation of these
# delays, hardly ahead of c=4; live the two were level.
demo: $(READY)
	@mkdir -p $(OUT)
	$(BIN)/tailcut train --workers 8 --task digits --policy ddp,backup,backup:c=5,bayes,bayes+until-closed \
		--slow demo8 --unit 0.1 --slow-by sleep --target 0.95 --every 2 --batch 32 --optimiser momentum --lr 0.2 \
		--report $(OUT)/demo.html

demo-158: $(READY)
	@mkdir -p $(OUT)
	$(BIN)/tailcut compare xeon158 --seeds 2 --rounds 300 --report $(OUT)/demo-158.html

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.plain_words src tests benchmarks examples tools

# One test runner more than the two cores of a small machine: tests of live training wait for most of their time.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

test: lint
	$(PYTEST)

test-fast: lint
	$(PYTEST) -m "not processes"

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-forecast: $(READY)
	$(BIN)/python -m benchmarks.forecast

# Fourteen laws at three sizes in three modes, and six further sections, three seeds each; forty minutes on two idle
# cores, more with the traces of TAILCUT_DATA. One section, law or seed alone: see benchmarks/anywhere/__main__.py.
bench-anywhere: $(READY)
	$(BIN)/python -m benchmarks.anywhere

# One hundred random clusters that nothing was tuned on; to develop, take others: python -m benchmarks.random --seeds 0-9
bench-random: $(READY)
	@mkdir -p $(OUT)
	$(BIN)/python -m benchmarks.random --report $(OUT)/bench-random.html

# Against DDP and torchft, which is installed for this alone and beside the environment; half an hour on two idle cores.
bench-live: $(READY) $(VENV)/rivals/torchft
	$(BIN)/python -m benchmarks.live

bench-reliability: $(READY) $(VENV)/rivals/torchft
	$(BIN)/python -m benchmarks.reliability

bench-ray: $(READY)
	$(BIN)/python -m benchmarks.servers

$(VENV)/rivals/torchft:
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/rivals --no-deps torchft==0.2.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/rivals opentelemetry-exporter-otlp-proto-http

# The deep part of bayes that comes with the package, from simulated clusters; a quarter of an hour.
prior: $(READY)
	$(BIN)/tailcut pretrain -o src/tailcut/fitting/prior.safetensors

clean:
	rm -rf $(VENV) $(OUT)
