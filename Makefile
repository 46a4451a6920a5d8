SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

BUF := tools/node_modules/.bin/buf
GOLANGCI := go tool -modfile=tools/golangci/go.mod golangci-lint
NODE_MODULES := tools/node_modules/.package-lock.json
VALIDATE_PROTO := .build/protovalidate/buf/validate/validate.proto

# How long each fuzz target runs.
FUZZTIME ?= 5s
# The packages whose tests have the flag -update, of their own or of prototest.
GOLDEN = $(sort $(dir $(shell grep -rl 'flag.Bool.*"update"\|/internal/prototest"$$' --include='*_test.go' bridge cmd internal protocol)))
# How often each benchmark runs, and the packages that have any.
BENCHCOUNT ?= 6
BENCHMARKS = $(sort $(dir $(shell grep -rl '^func Benchmark' --include='*_test.go' bridge internal protocol)))
CONFORMANCE := ./internal/conformance/... ./internal/peers/...

.PHONY: help
help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: all
all: build lint unit ## Build, lint and test

.PHONY: build
build: ## Build all packages, and the command as .build/mcp-bridge
	@echo "== build"
	go build ./...
	go build -o .build/ ./cmd/mcp-bridge

.PHONY: test
test: check-generate lint unit fuzz ## Run everything that CI runs

.PHONY: unit
unit: $(NODE_MODULES) $(VALIDATE_PROTO) ## Run the Go tests with the race detector
	@echo "== go test"
	go test -race -timeout 15m ./...

.PHONY: lint
lint: $(NODE_MODULES) $(VALIDATE_PROTO) ## Lint Go and .proto files, and look for breaking changes
	@echo "== buf lint, format, breaking"
	$(BUF) lint proto
	$(BUF) format -d --exit-code proto
	tools/breaking.sh
	@echo "== go vet, golangci-lint"
	go vet ./...
	$(GOLANGCI) run

.PHONY: lint-fix
lint-fix: $(NODE_MODULES) $(VALIDATE_PROTO) ## Format, and mend what linters can mend
	$(BUF) format -w proto
	$(GOLANGCI) run --fix

.PHONY: generate
generate: $(NODE_MODULES) $(VALIDATE_PROTO) ## Write gen/ and the descriptor sets anew
	tools/generate.sh .

.PHONY: check-generate
check-generate: $(NODE_MODULES) $(VALIDATE_PROTO) ## Fail if generated files are out of date
	@echo "== generated files"
	tools/check-generate.sh

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (5s)
	@echo "== fuzz, $(FUZZTIME) each"
	tools/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run every benchmark BENCHCOUNT (6) times, for benchstat
	go test -run '^$$' -bench . -benchmem -count $(BENCHCOUNT) $(addprefix ./,$(BENCHMARKS))

.PHONY: bench-e2e
bench-e2e: ## Measure the bridge against a hand-written one: docs/performance.md
	go run ./internal/bench -markdown

.PHONY: eval
eval: ## Let the model behind MCP_EVAL_URL do tasks with tools: docs/eval.md
	go run ./internal/eval

.PHONY: golden
golden: ## Rewrite the golden files
	go test $(addprefix ./,$(GOLDEN)) -update

.PHONY: conformance
conformance: $(NODE_MODULES) ## Run the official conformance suite and the official clients
	go test -count=1 -v $(CONFORMANCE)

.PHONY: languages
languages: $(VALIDATE_PROTO) ## Generate code of exports in Java, Python, C++ and C#, with protoc
	tools/languages.sh

.PHONY: ci
ci: ## Run what CI runs, as CI runs it
	.ci/run

.PHONY: tools
tools: $(NODE_MODULES) $(VALIDATE_PROTO) ## Install the tools that make uses, at pinned versions
	@echo "== tools"
	$(BUF) --version
	$(GOLANGCI) version
	go tool -modfile=tools/gen/go.mod protoc-gen-go --version

.PHONY: clean
clean: ## Remove what make builds and downloads
	rm -rf .build tools/node_modules

$(NODE_MODULES): tools/package.json tools/package-lock.json tools/.npmrc
	@echo "== npm ci"
	cd tools && npm ci
	@touch $@

$(VALIDATE_PROTO): tools/protovalidate.sh
	tools/protovalidate.sh .build/protovalidate
	@touch $@
