# make demo   the main job on a broken config, and on a launch of two broken files: check, fix, and prove it by training before and after
# make test   every test
# make docs   the documentation as a static site in build/site; a broken link fails
# All first make the environment .venv (once), from any Python 3.10 or newer.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
DEMO := build/demo
export OMP_NUM_THREADS ?= 1

.PHONY: demo test docs clean

demo: $(READY)
	@rm -rf $(DEMO) && mkdir -p build && cp -r examples/broken $(DEMO)
	@echo '$$ dslint check ds_config.json'
	@cd $(DEMO) && ../../$(VENV)/bin/dslint check ds_config.json || test $$? -eq 1
	@echo
	@echo '$$ dslint check --fix --unsafe-fixes --verify ds_config.json'
	@cd $(DEMO) && ../../$(VENV)/bin/dslint check --fix --unsafe-fixes --verify ds_config.json
	@echo
	@echo '$$ dslint check launch/train.yaml launch/ds.json'
	@cd $(DEMO) && ../../$(VENV)/bin/dslint check launch/train.yaml launch/ds.json || test $$? -eq 1
	@echo
	@echo '$$ dslint check --fix --unsafe-fixes --verify launch/train.yaml launch/ds.json'
	@cd $(DEMO) && ../../$(VENV)/bin/dslint check --fix --unsafe-fixes --verify launch/train.yaml launch/ds.json

test: $(READY)
	$(VENV)/bin/python -m pytest

docs: $(READY)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints/ci.txt --group docs
	$(VENV)/bin/python -m tools.site build/pages
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --quiet --strict

$(READY): pyproject.toml constraints/ci.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "dslint needs Python 3.10 or newer: make PYTHON=/path/to/python3 …")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet 'pip>=25.1'
	$(VENV)/bin/python -m pip install --quiet --constraint constraints/ci.txt --editable '.[verify]' --group dev
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist
