# Everything a user, a developer or CI does starts here. `make` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help packages packages-metal packages-dev build metal mlx-metal model model-gemma3 demo test conformance \
        conformance-metal conformance-all test-asan test-tsan test-tsan-metal test-arm fuzz format check-format check-includes \
        bench bench-kernels clean

RELEASE := build/release
INGOT   := $(RELEASE)/bin/ingot
VENV    := build/conformance-venv
FUZZ_SECONDS ?= 60
# Extra arguments of every build, e.g. JOBS=-j1.
JOBS ?=

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

packages: ## Install the Debian packages that build and tests need
	@tools/install_packages.sh build

packages-metal: ## Install what compiling Metal kernels needs on top (LLVM 19; SQLite for tuning)
	@tools/install_packages.sh build metal
	@# A build folder configured without LLVM or SQLite has to look again.
	@for found in LLVM_DIR:PATH SQLite3_LIBRARY:FILEPATH; do \
	    grep -qs "^$$found=/" $(RELEASE)/CMakeCache.txt || rm -f $(RELEASE)/build.ninja; \
	done

packages-dev: ## Install what checks, sanitizers, fuzzing and benchmarks need on top
	@tools/install_packages.sh build metal dev

build: packages ## Build the program: build/release/bin/ingot
	@tools/build.sh release $(JOBS) ingot

metal: packages-metal ## Build the program with the compiler of `ingot metal`
	@tools/build.sh release $(JOBS) ingot ingot_metal_jit

mlx-metal: ## Fetch MLX's compiled kernels, which the tests of the Metal device run (118 MiB)
	@python3 tools/fetch.py mlx-metal-26
	@python3 tools/fetch.py mlx-metal-14

model: ## Fetch the demo model (SmolLM2-135M-Instruct, 94 MiB)
	@python3 tools/fetch.py smollm2

model-gemma3: ## Fetch the second test model (Gemma 3 270M, 242 MiB, Gemma licence)
	@python3 tools/fetch.py gemma3

demo: build model ## Answer a prompt with the demo model
	@echo "demo: $(INGOT) run -p 'The capital of France is' -n 48 --seed 1"
	@$(INGOT) run -p 'The capital of France is' -n 48 --seed 1

test: packages-metal model model-gemma3 mlx-metal ## Build and run every test
	@# A build without LLVM has no such target: tests of Metal kernels must not go missing unnoticed.
	@tools/build.sh release $(JOBS) all ingot_metal_jit
	@python3 tools/run_tests.py $(RELEASE)

conformance: build $(VENV)/ready ## Compare tokenizers and chat templates with independent implementations
	@tools/build.sh release $(JOBS) render_template
	@python3 tools/fetch.py llama-cpp-python
	@python3 tools/run_conformance.py --python $(VENV)/bin/python --program $(INGOT)

conformance-metal: packages-metal mlx-metal ## Check the Metal device on a sample of kernels that others wrote
	@tools/build.sh release $(JOBS) ingot ingot_metal_jit metal_conformance
	@python3 tools/fetch.py llama-cpp-python
	@python3 tools/metal_conformance.py --program $(INGOT) --tests $(RELEASE)/bin/metal_conformance $(CONFORMANCE_FLAGS)

conformance-all: ## The same on all of them, PyTorch's too (132 MiB more, hours)
	@python3 tools/fetch.py torch-metal
	@tools/build.sh release $(JOBS) metal_tests
	@$(MAKE) --no-print-directory conformance-metal CONFORMANCE_FLAGS=--all

$(VENV)/ready: tools/conformance/requirements.txt
	@echo "conformance: installing $$(grep -v '^#' $< | xargs) into $(VENV)"
	@python3 -m venv $(VENV) && $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@

# Built by clang, which fuzzing needs, so that one build serves both. Real models would take too long; docs/metal.md says
# why kernels of the Metal device are left out.
test-asan: packages-dev ## Run the tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/build.sh asan $(JOBS) ingot base_tests llm_tests cli_tests error_tests tile_tests
	@python3 tools/run_tests.py build/asan --label 'unit|error'

test-tsan: packages-dev ## Run the tests of the thread pool and the engine with ThreadSanitizer
	@tools/build.sh tsan $(JOBS) base_tests llm_tests
	@python3 tools/run_tests.py build/tsan --of tests/base tests/llm/backend tests/llm/engine tests/llm/graph tests/llm/model

# No child processes: those that compile have less memory than ThreadSanitizer asks for.
test-tsan-metal: packages-metal packages-dev mlx-metal ## Run the tests of the Metal device's threads with ThreadSanitizer
	@tools/build.sh tsan $(JOBS) metal_tests
	@INGOT_METAL_TRUST=1 build/tsan/bin/metal_tests --gtest_brief=1 \
	   --gtest_filter='Api.*:Surface.*:Capturing.*:ObjectCache.*:VectorExecutor.*-*Child*:*BreaksTheReader*'

test-arm: packages-dev ## Cross-compile the CPU kernels for Arm and run their tests under qemu-user
	@cmake -S tests/arm -B build/arm -G Ninja -DCMAKE_TOOLCHAIN_FILE=toolchain.cmake
	@cmake --build build/arm $(JOBS) --target arm_tests
	@qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu build/arm/arm_tests --gtest_brief=1

fuzz: packages-dev ## Run each fuzz target for FUZZ_SECONDS (60)
	@tools/build.sh asan $(JOBS) fuzz_targets
	@tools/run_fuzz.sh build/asan $(FUZZ_SECONDS)

format: packages-dev ## Format every C++ file
	@tools/check_format.sh --fix

check-format: packages-dev ## Check that every C++ file is formatted
	@tools/check_format.sh

check-includes: ## Check the include direction of the libraries
	@python3 tools/check_includes.py

bench: build model ## Measure the demo model: prompt and generation tokens/s
	@echo "bench: $(INGOT) bench SmolLM2-135M-Instruct.Q4_1.gguf"
	@$(INGOT) bench SmolLM2-135M-Instruct.Q4_1.gguf

bench-kernels: build packages-dev ## Measure the CPU kernels: the Google Benchmark programs of bench/
	@cmake -B $(RELEASE) -DINGOT_BENCH=ON >$(RELEASE)/configure.log
	@tools/build.sh release $(JOBS) bench_programs
	@for program in $(RELEASE)/bin/bench_*; do echo "bench: $$program"; $$program || exit 1; done

clean: ## Remove every build
	rm -rf build
