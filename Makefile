# What people type. Everything is done by cargo; this file only names it.

.DEFAULT_GOAL := help
.PHONY: help demo test check bench setup lint clean
CARGO ?= cargo
# What is built lives in the cache folder, too: a second clone builds only its own crates.
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airlane
export CARGO_TARGET_DIR ?= $(CACHE)/target
AIRLANE = $(CARGO) run --release -p airlane --

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: setup ## two VMs on one card, each in its own WPA2 network
	$(AIRLANE) run scenarios/two-networks.toml --out out/demo

test: lint ## all tests: units, stories in virtual time, guests
	@xtask/bootstrap
	$(CARGO) xtask setup --with-tshark --kernel all
	$(CARGO) test --workspace
	$(CARGO) test --release -p airlane --test guests -- --ignored --test-threads=1 --nocapture

check: lint ## the quick subset for daily work: format, lints, units, stories
	$(CARGO) test --workspace

bench: ## ticks and allocations per frame from doorbell to NIC and back
	$(CARGO) bench

setup: ## private QEMU, guest kernels and images in the cache folder
	@xtask/bootstrap
	$(CARGO) xtask setup

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

clean: ## what this checkout has built (the cache folder stays)
	$(CARGO) clean
	rm -rf out
