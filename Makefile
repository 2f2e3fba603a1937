# What people type. Everything is done by cargo; this file only names it.

.DEFAULT_GOAL := help
.PHONY: help demo test check test-own-vm bench loom setup bootstrap components lint clean
CARGO ?= cargo
# Where rustup puts a toolchain, for shells that do not say so.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# The cache folder also keeps the program, by what it is made of, and notes which set-up is complete:
# so a second clone of the same sources starts at once.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airlane
key = $(shell { rustc -V; find Cargo.toml Cargo.lock $(1) -type f | LC_ALL=C sort | xargs sha256sum; } 2>&1 | sha256sum | cut -c1-10)
PROGRAM = $(CACHE)/program-$(call key,crates bench)/airlane
READY = $(CACHE)/ready-$(call key,xtask guest)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

demo: bootstrap ## two VMs on one card, each in its own WPA2 network
	@test -e $(READY) || $(MAKE) --no-print-directory setup
	@test -x $(PROGRAM) || $(MAKE) --no-print-directory $(PROGRAM)
	$(PROGRAM) run scenarios/two-networks.toml --out out/demo

test: bootstrap components ## all tests: units, stories in virtual time, guests
	@$(CARGO) xtask test $(if $(CI),--keep-going)

test-own-vm: bootstrap ## as root: a Debian 13 VM with NetworkManager under libvirt, attached to a run
	@$(CARGO) xtask test own-vm

check: components ## the quick subset for daily work: format, lints, units, stories
	@$(CARGO) xtask test format lints units

bench: ## ticks and allocations per frame from doorbell to NIC and back
	$(CARGO) bench

loom: ## the wake-up protocol under every order of its steps
	@$(CARGO) xtask test loom

setup: bootstrap ## private QEMU, guest kernel and guest image in the cache folder
	$(CARGO) xtask setup
	@touch $(READY)

bootstrap:
	@xtask/bootstrap

# Moved into place whole: an interrupted build leaves nothing that looks like the program.
$(PROGRAM):
	@echo "compiling airlane first, some minutes; the next demo of the same sources starts at once"
	$(CARGO) build --release -p airlane
	@mkdir -p $(@D) && cp $${CARGO_TARGET_DIR:-target}/release/airlane $@.new && mv $@.new $@

lint: components
	@$(CARGO) xtask test format lints

components:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy

clean: ## what this checkout has built (the cache folder stays)
	$(CARGO) clean
	rm -rf out
