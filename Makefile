# The one entry point: `make help` lists the targets. Which part may import which is in .golangci.yml and internal/layout.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BUILD := $(CURDIR)/build
TOOLS := $(BUILD)/tools
BIN := $(BUILD)/bin
RESULTS := $(BUILD)/test
# An empty MISSTEP_HOME counts as unset.
export MISSTEP_HOME := $(or $(MISSTEP_HOME),$(BUILD)/home)
export CGO_ENABLED := 0
export PATH := $(BIN):$(TOOLS)/go/bin:$(TOOLS):$(TOOLS)/node_modules/.bin:$(PATH)
# The JDK that builds; the JDKs under test come from the catalogue.
export JAVA_HOME ?= $(shell for d in /usr/lib/jvm/java-17-openjdk-* /usr/lib/jvm/*17*; do [ -x $$d/bin/javac ] && echo $$d && break; done)
MVN := mvn -q -B -ntp
# Where ccache is installed the agent is compiled through it, and clones on one machine share what it keeps.
export CMAKE_CXX_COMPILER_LAUNCHER := $(shell command -v ccache)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
VERSION := $(shell cat VERSION)
TALLY = go run ./internal/tally
C_SOURCES = $$(git ls-files 'agent/*.cpp' 'agent/*.h' 'bundle/*.cpp' 'bpf/*.c' 'bpf/*.h' 'schedule/*.c' 'schedule/*.h' 'schedule/*.cpp' 'workloads/races/*.c' 'deploy/vm/clock/*.c')
HUNT_DIR ?= $(BUILD)/hunt
CAMPAIGN ?= campaigns/hunt.yaml

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-zA-Z0-9_-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

# --- building -------------------------------------------------------------------------------------------------------------

# A step of the set-up says what it does and how long it takes; build/setup.json has the times, build/setup/STEP.log what it printed.
STEP := deploy/setup/step.sh
# steps: runs the targets $(1) side by side.
steps = $(MAKE) --no-print-directory -j6 $(1)

.PHONY: setup
setup: ## install what building and hunting need
	@$(STEP) packages deploy/setup/install.sh build

.PHONY: compilers
compilers:
	@$(STEP) compilers deploy/setup/install.sh compilers

.PHONY: setup-test
setup-test: packages-test ## install what the tests and linters need, too
	@$(STEP) tools deploy/setup/install.sh test

# One apt-get at a time.
.PHONY: packages-test
packages-test: compilers
	@$(STEP) packages deploy/setup/install.sh packages
	@$(STEP) vm deploy/vm/install.sh
	@$(STEP) bpf bpf/install.sh

.PHONY: build
build: compilers ## build everything: agent, workloads, misstep, what reads recordings
	@$(call steps,setup misstep agent-native java recordings)

# What make hunt needs; a campaign of one's own may need what reads recordings, too.
.PHONY: build-hunt
build-hunt: compilers
	@$(call steps,setup misstep agent-native java $(if $(filter-out campaigns/hunt.yaml,$(CAMPAIGN)),recordings))

.PHONY: misstep
misstep: ## build the binary build/bin/misstep
	@mkdir -p $(BIN)
	@$(STEP) misstep deploy/setup/misstep.sh $(BIN)/misstep $(VERSION)

.PHONY: agent
agent: agent-native agent-java ## build the validation agent into build/agent

.PHONY: agent-native
agent-native:
	@$(STEP) agent deploy/setup/agent.sh $(BUILD)/agent-native 'misstep misstep_injector misstep_early' -DCMAKE_BUILD_TYPE=RelWithDebInfo

.PHONY: agent-java
agent-java:
	@$(call newer,$(BUILD)/agent/misstep-agent.jar,agent/java) || $(STEP) agent-java $(MVN) -f agent/java/pom.xml -DskipTests package

# One Maven at a time: what two download at once, one waits for.
.PHONY: java recordings
java:
	@$(MAKE) --no-print-directory agent-java
	@$(MAKE) --no-print-directory workloads
recordings: java
	@$(MAKE) --no-print-directory recording
	@$(MAKE) --no-print-directory profilers

.PHONY: agent-assert
agent-assert: ## build the agent's library with assertions of its rules, and UBSan's, into build/agent-assert
	@$(STEP) agent-assert deploy/setup/agent.sh $(BUILD)/agent-assert-native misstep -DMISSTEP_ASSERT=ON -DMISSTEP_OUTPUT=$(BUILD)/agent-assert

.PHONY: workloads
workloads: ## build the workloads into build/workloads
	@$(call newer,$(BUILD)/workloads/.built,workloads) || \
	  { $(STEP) workloads $(MVN) -f workloads/pom.xml -DskipTests package && touch $(BUILD)/workloads/.built; }

.PHONY: recording
recording: ## build the helper that reads JFR recordings into build/recording
	@$(call newer,$(BUILD)/recording/misstep-recording.jar,runner/recording/java) || \
	  $(STEP) recording $(MVN) -f runner/recording/java/pom.xml -DskipTests package

.PHONY: profilers
profilers: ## fetch the profilers that JDKs do not contain into build/profilers
	@$(STEP) profilers deploy/setup/profilers.sh

# Says at once what VERSION and CHANGELOG.md do not say, before minutes of compiling.
.PHONY: dist-check
dist-check: compilers
	@cd deploy/dist && go run . -check -version '$(VERSION)'

.PHONY: dist
dist: dist-check build ## pack a release into build/dist: archive, Debian package, image, checksums (KEY=FILE signs, BASE=FILE.tar is below the image)
	@$(STEP) dist deploy/dist/dist.sh $(VERSION) '$(BASE)' '$(KEY)'

.PHONY: test-dist
test-dist: ## test what packs a release
	@mkdir -p $(RESULTS)/go
	@cd deploy/dist && gotestsum --format pkgname-and-test-fails --junitfile $(RESULTS)/go/dist.xml -- -vet=off .

# newer: succeeds if file $(1) is newer than every source below $(2).
newer = test -e $(1) && test -z "$$(find $(2) -newer $(1) -type f -not -path '*/target/*' -print -quit)"

# --- hunting --------------------------------------------------------------------------------------------------------------

.PHONY: catalogue
catalogue: build ## put at least two JDK builds and all workloads into the catalogue
	@$(STEP) catalogue deploy/setup/catalogue.sh

.PHONY: hunt
hunt: build-hunt ## hunt for about three minutes on this machine and write a bundle per finding
	@$(STEP) catalogue deploy/setup/catalogue.sh
	@misstep hunt $(CAMPAIGN) --dir $(HUNT_DIR)

.PHONY: screenshot
screenshot: build ## take pictures of the pages of what make hunt left, in Chromium, into build/screens
	@deploy/setup/screenshot.sh $(HUNT_DIR) $(BUILD)/screens

.PHONY: fleet
fleet: as-root catalogue ## show a fleet on Nomad: three nodes, PostgreSQL, S3, a hunt, its findings, everything down again (root)
	@deploy/setup/install.sh fleet
	@go run ./deploy/nomad/demo

.PHONY: as-root
as-root:
	@[ "$$(id -u)" = 0 ] || { echo "make fleet makes network namespaces and control groups: run it as root" >&2; exit 1; }

.PHONY: hunt-recordings
hunt-recordings: build ## hunt for five minutes in the recordings of JFR and async-profiler, on 17, 21, 25 and 28
	@deploy/setup/catalogue.sh all
	@misstep hunt campaigns/recordings.yaml --dir $(BUILD)/hunt-recordings

# --- testing --------------------------------------------------------------------------------------------------------------

.PHONY: test
test: compilers ## run every test and linter; ends with "N passed, N failed, N skipped"
	@rm -rf $(RESULTS) && mkdir -p $(RESULTS)
	@$(call steps,setup-test agent-native agent-assert recordings catalogue-all)
	@$(call steps,-Otarget $(LINTERS:%=tally-%) tally-test-java)
	@$(MAKE) --no-print-directory tally-test-native # alone: its threads measure each other
	@$(TALLY) run test-go $(RESULTS)/go/step.xml -- $(MAKE) --no-print-directory test-go
	@$(TALLY) sum $(RESULTS)

.PHONY: catalogue-all
catalogue-all: packages-test misstep java
	@$(STEP) catalogue deploy/setup/catalogue.sh all

# tally-STEP: runs a linter or a kind of tests, whose success counts as a test.
tally-%:
	@MAKEFLAGS= $(TALLY) run $* $(RESULTS)/$*/step.xml -- $(MAKE) --no-print-directory $*

.PHONY: test-fast
test-fast: setup-test ## run what a change touches: its packages, and without JVMs and machines those that import them (BASE=main)
	@go run ./internal/touched $(or $(BASE),main) >$(BUILD)/touched.txt
	@MISSTEP_TEST_NETWORK=1 gotestsum --format pkgname-and-test-fails -- -timeout 30m -vet=off $$(sed -n 's/^changed //p' $(BUILD)/touched.txt) ./internal/touched
	@gotestsum --format pkgname-and-test-fails -- -short -timeout 30m -vet=off $$(sed -n 's/^imports //p' $(BUILD)/touched.txt) ./internal/touched

# The packages that take longest begin first, so that none of them is left for the end, when it would run alone. lint-go vets.
LONGEST = ./cmd/misstep ./agent ./runner/jvm ./app/fleet ./internal/testenv/vmtest ./internal/doctest

.PHONY: test-go
test-go: ## run the Go tests (with real JVMs; build and catalogue first)
	@$(MAKE) --no-print-directory test-dist
	@MISSTEP_TEST_NETWORK=1 gotestsum --format pkgname-and-test-fails --junitfile $(RESULTS)/go/go.xml -- \
	  -timeout 60m -vet=off $(GOTESTFLAGS) $(LONGEST) ./...

.PHONY: test-native
test-native: ## run the agent's native unit tests with assertions under ASan and UBSan, what threads share under TSan
	@mkdir -p $(RESULTS)/native
	@$(call native,sanitized,address$(COMMA)undefined,misstep_test misstep_protocol_test)
	@$(call native,tsan,thread,misstep_protocol_test)

# native: builds the targets $(3) with assertions and the sanitizers $(2) in build/agent-$(1) and runs them. TSan needs address
# randomisation to be off.
COMMA := ,
native = cmake -S agent/native -B $(BUILD)/agent-$(1) -DCMAKE_BUILD_TYPE=Debug -DMISSTEP_ASSERT=ON -DMISSTEP_SANITIZE=$(2) >$(BUILD)/agent-$(1).log || { cat $(BUILD)/agent-$(1).log; exit 1; }; \
	cmake --build $(BUILD)/agent-$(1) -j2 --target $(3) >$(BUILD)/agent-$(1).log || { tail -n 40 $(BUILD)/agent-$(1).log; exit 1; }; \
	setarch -R ctest --test-dir $(BUILD)/agent-$(1) -E NOT_BUILT --output-junit $(RESULTS)/native/ctest-$(1).xml --output-on-failure >$(BUILD)/ctest-$(1).log || { cat $(BUILD)/ctest-$(1).log; exit 1; }

.PHONY: test-java
test-java: ## run the instrumentation's and the workloads' Java tests
	@mkdir -p $(RESULTS)/java
	@$(MVN) -f agent/java/pom.xml verify -Dsurefire.reportsDirectory=$(RESULTS)/java

.PHONY: test-vm
test-vm: setup-test misstep ## boot machines with a sched_ext kernel and test the scheduler in them (part of test-go)
	@gotestsum --format testname -- -timeout 60m ./deploy/vm/... ./internal/testenv/vmtest/...

.PHONY: test-jdks
test-jdks: setup-test build ## run small campaigns, with profilers too, on every JDK from 8 to 28 that can be obtained (part of test-go)
	@deploy/setup/catalogue.sh all
	@gotestsum --format testname -- -timeout 60m -run 'TestJDKs|TestRecordingsOfJDKs|TestPresetsStart' ./cmd/misstep

.PHONY: quiet
quiet: catalogue ## thirty minutes of real workloads under all checks: no mismatch may be a false positive
	@misstep hunt campaigns/quiet.yaml --dir $(BUILD)/quiet

# --- measuring ------------------------------------------------------------------------------------------------------------

# Each benchmark is a program; its folder gives the target its name. BUDGET=15m bounds it.
BENCHES := $(patsubst bench/%/main.go,bench-%,$(wildcard bench/*/main.go))
.PHONY: bench $(BENCHES)
bench: $(BENCHES) ## run every benchmark, bench-NAME one of them: tables here, figures and goals in build/bench/NAME.json
$(BENCHES): bench-%: catalogue
	@go run ./bench/$*

.PHONY: chaos
chaos: bench-chaos ## campaigns while coordinators, runners, database, network, clock and disks fail (BUDGET, SEED); see bench-NAME

.PHONY: reports
reports: setup-test ## run the tests of the bugs in reports/, which need no Misstep, on JDKs with each bug and without
	@gotestsum --format testname -- -count=1 ./reports

# --- linting --------------------------------------------------------------------------------------------------------------

LINTERS := lint-go lint-cpp lint-proto lint-java lint-shell lint-prose
.PHONY: lint
lint: setup-test $(LINTERS) ## run all linters

.PHONY: lint-proto
lint-proto: ## buf lint, breaking changes against proto/released.binpb, generated code up to date
	@buf lint
	@buf breaking --against proto/released.binpb
	@rm -rf $(BUILD)/.proto-check && mkdir -p $(BUILD)/.proto-check
	@buf generate -o $(BUILD)/.proto-check
	@for f in proto/misstep/v1/*.pb.go; do diff -q $$f $(BUILD)/.proto-check/$$f || { echo "$$f is stale: run make proto"; exit 1; }; done

.PHONY: proto
proto: ## generate the Go code of the .proto files
	@buf generate

.PHONY: reference
reference: ## generate docs/reference from the command line, the messages and the catalogue of checks
	@go test ./internal/reference ./internal/doctest ./coordinator/access ./triage ./app/observe ./cmd/misstep -run TestReferenceOf -count 1 -update

.PHONY: proto-release
proto-release: ## record the messages as released: later changes must stay compatible with them
	@buf build -o proto/released.binpb

.PHONY: lint-go
lint-go: ## golangci-lint, and that go.mod is tidy, here and in deploy/dist
	@golangci-lint run ./...
	@go mod tidy -diff
	@cd deploy/dist && golangci-lint run ./... && go mod tidy -diff

.PHONY: lint-cpp
lint-cpp: ## clang-format on C and C++, clang-tidy and thread safety analysis on the agent
	@clang-format-19 --dry-run --Werror $(C_SOURCES)
	@cmake -S agent/native -B $(BUILD)/agent-tidy -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DMISSTEP_UNITY=OFF >/dev/null
	@deploy/setup/tidy.sh $(BUILD)/agent-tidy 2>$(BUILD)/clang-tidy.log || { cat $(BUILD)/clang-tidy.log; exit 1; }

.PHONY: lint-java
lint-java: ## google-java-format on all Java sources
	@deploy/setup/java-format.sh --check

.PHONY: lint-shell
lint-shell: ## shellcheck and shfmt
	@shellcheck .ci/run $$(git ls-files '*.sh' ':!*/testdata/*')
	@shfmt -d -i 2 .ci/run $$(git ls-files '*.sh' ':!*/testdata/*')

# What vale reads: the texts, and the comments of what is written here.
PROSE = $$(git ls-files '*.md' ':!docs/figures/0*' ':!*/testdata/*')
PROSE_COMMENTS = $$(git ls-files '*.go' '*.proto' '*.cpp' '*.h' ':!*.pb.go' ':!bpf/*_bpfel.go' ':!*/testdata/*')

# The files whose lines are at most as wide as .editorconfig says; lll checks Go.
NARROW = $$(git ls-files '*.md' '*.sh' '*.proto' '*.cpp' '*.h' '*.c' 'campaigns/*.yaml' ':!*/testdata/*')

.PHONY: lint-prose
lint-prose: ## vale on the texts, and the width of their lines
	@vale --no-global $(PROSE) $(PROSE_COMMENTS)
	@deploy/setup/width.sh $(NARROW)

.PHONY: format
format: ## format everything
	@golangci-lint fmt ./...
	@clang-format-19 -i $(C_SOURCES)
	@deploy/setup/java-format.sh --fix
	@shfmt -w -i 2 .ci/run $$(git ls-files '*.sh' ':!*/testdata/*')

.PHONY: clean
clean: ## remove what was built, but not the development tools
	@find $(BUILD) -mindepth 1 -maxdepth 1 -not -name tools -exec rm -rf {} +
