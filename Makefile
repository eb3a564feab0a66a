# What a person runs, and what each takes on two cores.
#   make demo        build, then the whole path on real effects; under a minute after the build
#                    (DIR=demo-out keeps what it made)
#   make test        every test a change needs; under ten minutes, nothing but Go
#   make test-heavy  long crash and mutation tests; under forty minutes
#   make check       vet, gofmt, staticcheck, the race detector on what is concurrent, every binary
#   make bench       figures of this very run and their ratios, into bench/out

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
BUILDFLAGS = -trimpath -ldflags=-s
CONCURRENT = ./internal/durable/... ./internal/rlog/... ./internal/server/... ./client/... ./gate/... ./cmd/logd/...
PROGRAMS = logd verify

.PHONY: all build demo test test-heavy check lint race vectors bench clean

all: build

build: $(PROGRAMS:%=bin/%)

bin/%: FORCE
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -o $@ ./cmd/$*

.PHONY: FORCE
FORCE:

demo: build
	@$(GO) run ./internal/demo --bin bin $(if $(DIR),--dir $(DIR))

test:
	$(GO) test ./...
	@$(MAKE) --no-print-directory vectors

# Cases of other people, counted by area. It says so where there are none.
vectors:
	@$(GO) test -count=1 -v -run '^(TestVectors|TestEveryCaseFileIsRead)' $$($(GO) list ./... | grep -v /internal/demo) \
		| awk '/vectors: /{sub(/^.*vectors: /,"vectors: ");print} /^--- FAIL|^FAIL|no test cases/{print; if(/FAIL/)bad=1} END{exit bad}'

test-heavy:
	OBSTAT_HEAVY=1 $(GO) test -count=1 -timeout 40m -v -run 'Heavy' ./...

check: lint race build
	$(GO) vet ./...
	@for os in darwin windows; do echo "build for $$os"; GOOS=$$os GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/logd && GOOS=$$os GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/verify; done
	@echo "build the verifier for js/wasm"; GOOS=js GOARCH=wasm $(GO) build -o /dev/null ./cmd/verify

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) run $(STATICCHECK) ./...

race:
	$(GO) test -race -short $(CONCURRENT)

bench: build
	@$(GO) run ./internal/loadgen --bin bin --out bench/out

clean:
	rm -rf bin bench/out
