# The targets call the scripts that CI calls. make help lists them.
.DEFAULT_GOAL := help
.PHONY: help build test race bench lint fuzz release-check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the command swrun in this folder
	go build -trimpath -o swrun ./cmd/swrun

test: ## install the servers that the tests start, and run all tests
	sh scripts/test.sh

race: ## all tests, and the race detector on all packages (an hour)
	LONG=1 bash .ci/run

bench: ## benchmarks in the form of benchstat, six times each: make bench PACKAGES=./redisstore BENCH=Commit > new.txt
	go test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count 6 $(or $(PACKAGES),./expr ./interpreter ./tasks ./redisstore)

lint: ## gofmt, vet and staticcheck
	sh scripts/lint.sh

fuzz: ## each fuzz target for a minute: make fuzz TIME=10m
	sh scripts/fuzz.sh $(or $(TIME),1m)

release-check: lint race ## all checks before a release, in a clean checkout
	@git diff --quiet HEAD || { echo "the checkout has changes" >&2; exit 1; }
	go mod tidy -diff
	go mod verify
