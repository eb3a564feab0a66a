# What a person runs, and what each takes on two cores.
#   make demo        build, then the whole path on real effects; under a minute after the build
#                    (DIR=demo-out keeps what it made)
#   make test        every test a change needs; under ten minutes, nothing but Go
#   make test-heavy  long crash and mutation tests; under forty minutes
#   make check       vet, gofmt, staticcheck, the race detector on what is concurrent, every binary
#   make bench       figures of this very run and their ratios, into bench/out
#   make bench-peers the same job by Rekor and Tessera in one run; builds them first
#   make load        ten million leaves: growth, memory, restart; 15 GB of disk, half an hour

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
BUILDFLAGS = -trimpath -ldflags=-s
CONCURRENT = ./internal/durable/... ./internal/index/... ./internal/rlog/... ./internal/server/... ./client/... ./gate/... ./cmd/gate/... ./cmd/logd/... ./witness/... ./cmd/monitor/...
PROGRAMS = gate logd monitor verify

.PHONY: all build demo test test-heavy check reproducible lint race vectors bench bench-peers load clean

all: build

build: $(PROGRAMS:%=bin/%)

bin/%: FORCE
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -o $@ ./cmd/$*

.PHONY: FORCE
FORCE:

demo: build
	@$(GO) run ./internal/demo --bin bin $(if $(DIR),--dir $(DIR))

# internal/interop is a module of its own, so that what it needs of other people's
# logs stays out of this one.
INTEROP = internal/interop

test:
	$(GO) test ./...
	cd $(INTEROP) && $(GO) test ./...
	@$(MAKE) --no-print-directory vectors

# Cases of other people, counted by area. It says so where there are none.
vectors:
	@$(GO) test -count=1 -v -run '^(TestVectors|TestEveryCaseFileIsRead)' $$($(GO) list ./... | grep -v /internal/demo) \
		| awk '/vectors: /{sub(/^.*vectors: /,"vectors: ");print} /^--- FAIL|^FAIL|no test cases/{print; if(/FAIL/)bad=1} END{exit bad}'

# What does more with OBSTAT_HEAVY: every bit of a bundle and of the corpora, every fault of
# the disk, every mutant of the engine, two hundred kills, a gate killed at every step.
HEAVY = ./audit ./bundle ./client ./cmd/verify ./corpus ./internal/corpusgen ./internal/rlog ./cmd/logd ./gate ./cmd/gate

test-heavy: SHELL = bash
test-heavy: .SHELLFLAGS = -o pipefail -c
test-heavy:
	OBSTAT_HEAVY=1 $(GO) test -count=1 -timeout 40m -v $(HEAVY) | grep -vE '^ *(=== |--- PASS)'
	cd $(INTEROP) && OBSTAT_HEAVY=1 $(GO) test -count=1 -timeout 20m -v -run 'Heavy' ./...

check: lint race build reproducible
	$(GO) vet ./...
	cd $(INTEROP) && $(GO) vet ./...
	@for os in darwin windows; do echo "build for $$os"; GOOS=$$os GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/logd && GOOS=$$os GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/monitor && GOOS=$$os GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/verify; done
	@echo "build the verifier for js/wasm"; GOOS=js GOARCH=wasm $(GO) build -o /dev/null ./cmd/verify

# The same commit gives the same verifier, wherever it lies; static, and small.
reproducible:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && for at in one another/place; do \
		git clone -q . $$dir/$$at && (cd $$dir/$$at && CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -o verify ./cmd/verify); done && \
	cmp $$dir/one/verify $$dir/another/place/verify && \
	size=$$(wc -c < $$dir/one/verify) && test $$size -lt 10000000 && ! grep -q ld-linux $$dir/one/verify && \
	echo "verify builds to the same $$size bytes in two places, static"

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) run $(STATICCHECK) ./...
	cd $(INTEROP) && $(GO) run $(STATICCHECK) ./...

race:
	$(GO) test -race -short $(CONCURRENT)
	$(GO) test -race -short -run '^Test(Tar|Site|Sorter|TextAndJSON|Resume)' ./cmd/verify ./audit

bench: build
	@$(GO) test -run '^$$' -bench '^Benchmark(Encode|Decode|Identity|Laws|Verify|ParseLeaf)$$' -benchmem ./receipt ./receipt/laws ./dsse | grep '^Benchmark'
	@$(GO) run ./internal/loadgen --bin bin --out bench/out

bench-peers:
	cd $(INTEROP) && $(GO) run ./peers

# LEAVES=1000000 for less; OBSTAT_LOAD_DIR names a disk with room.
load:
	OBSTAT_LOAD=$(or $(LEAVES),10000000) $(GO) test -tags load -count=1 -timeout 0 -v -run '^TestLoad$$' ./internal/rlog

clean:
	rm -rf bin bench/out
