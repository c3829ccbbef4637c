# The two commands are `make demo` and `make test`. Each makes .venv if there is none and installs what it needs; a second run
# installs nothing. PYTHON chooses the interpreter, PIP_FLAGS goes to pip, WORKERS is the number of test processes.

PYTHON ?=
PIP_FLAGS ?=
WORKERS ?= 2
PYTEST_FLAGS ?=

VENV := .venv
RUN := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help demo test lint types format docs docs-check benchmark fuzz wheel clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(VENV)/.demo-installed  ## trace, lower, run and check one fused kernel; show its PTO IR and AscendC
	@$(RUN) examples/demo.py

test: $(VENV)/.dev-installed  ## run the tests
	$(RUN) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_FLAGS)

lint: $(VENV)/.dev-installed  ## check style
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

format: $(VENV)/.dev-installed  ## repair style
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

types: $(VENV)/.dev-installed  ## check types
	$(RUN) -m mypy

docs: $(VENV)/.dev-installed  ## write the parts of the documentation that are generated
	$(RUN) scripts/operation_list.py --write
	$(RUN) scripts/function_list.py --write
	$(RUN) scripts/page_output.py

docs-check: $(VENV)/.dev-installed  ## check the documentation: generated parts, links, code of the README
	$(RUN) -m pytest tests/test_docs.py tests/test_readme.py

benchmark: $(VENV)/.dev-installed  ## compare the CPU target with NumPy, torch eager and torch.compile (quick rows)
	$(RUN) benchmarks/cpu.py --quick

fuzz: $(VENV)/.dev-installed  ## compare targets on 5000 random kernels
	$(RUN) -m pytest tests/fuzz -n $(WORKERS) --fuzz-kernels 5000

wheel: $(VENV)/.dev-installed  ## build wheel and sdist into dist/
	$(RUN) -m build

clean:  ## remove what building and testing left behind; .venv stays
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

# The interpreter is looked for only when .venv has to be made.
$(RUN):
	@chosen="$(PYTHON)"; \
	if [ -z "$$chosen" ]; then \
	  for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	    if $$name -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then chosen=$$name; break; fi; \
	  done; \
	fi; \
	if [ -z "$$chosen" ] || ! $$chosen -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then \
	  echo "pypto needs Python 3.10 or newer; found: $$($${chosen:-python3} --version 2>&1 | head -n 1)." >&2; \
	  echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	echo "making $(VENV) with $$($$chosen --version)"; \
	$$chosen -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python's venv module does not work here; on Debian and Ubuntu install the package python3-venv." >&2; exit 1; }

$(VENV)/.demo-installed: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet $(PIP_FLAGS) --editable .
	@touch $@

# torch comes first and exactly, so that no other version is ever resolved; an unchanged one is kept.
$(VENV)/.dev-installed: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet $(PIP_FLAGS) torch==2.13.0
	$(RUN) -m pip install --quiet $(PIP_FLAGS) --editable '.[dev]'
	@touch $@ $(VENV)/.demo-installed
