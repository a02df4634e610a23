# `make help` lists what there is. Every target sets the machine up first: see scripts/setup.

CARGO ?= cargo
# The program that `make run` compares, its arguments, and the runs of each contender.
PROGRAM ?= bench/application/netsim.erl
ARGS ?= all 20 100
RUNS ?= 5
# Options of `make bench`: --only NAME, --runs N, --heaps NAMES (see README.md).
BENCH ?=
# Options of `make conformance`: --only TEXT, --heaps NAMES, --stock, --record (see docs/conformance.md).
CONFORMANCE ?=
# Arguments of `make soak`: heap, seconds, workers.
SOAK ?= hybrid 600 16
# Arguments of `make pauses`: seconds, megabytes, numbers of processes.
PAUSES ?= 3 500 1000 100000
# Debian's suites for `make newer-otp`.
SUITES ?= trixie sid
# Arguments of `make mutants`: how many changes of each crate, and which crates.
MUTANTS ?= 30
# Machines of `make rabbitmq` and `make ejabberd`: stock, or heaps.
MACHINES ?= stock private shared unified hybrid
# How long `make fuzz` runs, in seconds.
SECONDS_OF_FUZZING ?= 60

.PHONY: help run test bench pauses area library natives distribution simulate simulate-programs generated orders compiler conformance newer-otp rabbitmq ejabberd native-packages asan tsan miri mutants fuzz soak clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Compare a real program on every heap architecture and on stock erl; a table and a plot
	@scripts/setup run
	@scripts/run $(PROGRAM) $(RUNS) $(ARGS)

test: ## Run every check and test; the last line is "N passed, N failed"
	@scripts/setup test
	@scripts/test

bench: ## Measure the benchmarks beside stock erl (about half an hour; BENCH="--only ring --runs 3")
	@scripts/setup run
	@scripts/bench $(BENCH)

library: ## What functions of the libraries cost, beside stock (HEAPS="private hybrid")
	@scripts/setup run
	@scripts/library $(HEAPS)

natives: ## What native libraries cost, beside stock: calls, crypto, TLS, JSON (HEAPS="private hybrid")
	@scripts/setup test
	@scripts/natives $(HEAPS)

distribution: ## What two connected nodes take for messages, processes and calls, beside stock (HEAPS="private hybrid")
	@scripts/setup run
	@scripts/distribution $(HEAPS)

area: ## What hybrid builds in its message area for each --area, how much of it is sent, and what is copied
	@scripts/setup run
	@scripts/area

pauses: ## Pauses of hybrid with 500 MB of messages live, beside stock erl's and the machine's own (PAUSES="3 500 1000 100000")
	@scripts/setup run
	@scripts/pauses $(PAUSES)

simulate: ## Find bugs that depend on an order of events, in examples/simulate (see docs/simulate.md)
	@scripts/setup run
	@scripts/simulate

simulate-programs: ## Generated concurrent programs under several seeds on every heap; PROGRAMS=10000, SEEDS=0 more for each, from FIRST=1
	@scripts/setup run
	@scripts/simulate-programs $(or $(PROGRAMS),10000) $(or $(SEEDS),0) $(or $(FIRST),1)

generated: ## A million generated programs on stock, interpreted and as native code (half an hour; PROGRAMS=10000, from FIRST=1)
	@scripts/setup run
	@scripts/generated-programs $(or $(PROGRAMS),1000000) $(or $(FIRST),1)

orders: ## Which programs of the tests print something else under another order of events (SEEDS=1..12)
	@scripts/setup test
	@scripts/orders $(or $(SEEDS),1..12)

compiler: ## OTP's compiler on every heap and on stock erl: a table for one large module, then stdlib, kernel and compiler byte for byte
	@scripts/setup compiler
	@scripts/compiler $(RUNS)

conformance: ## Run OTP's own test suites on every heap and on stock erl (hours; CONFORMANCE="--only lists --heaps private")
	@scripts/setup test
	@scripts/conformance $(CONFORMANCE)

native-packages: ## Try native libraries of others on every heap: one in Rust (rustler), and Debian's packages
	@scripts/setup test
	@scripts/native-packages

newer-otp: ## Try Atoll on the libraries of OTP 27 and 29, from Debian's packages (SUITES="trixie sid"; chroot needs root)
	@scripts/setup run
	@scripts/newer-otp $(SUITES)

rabbitmq: ## RabbitMQ (Debian's package) on stock erl and on every heap: figures, restarts, kills, clusters (MACHINES="stock private")
	@scripts/setup run
	@scripts/rabbitmq $(MACHINES)

ejabberd: ## ejabberd (Debian's package) on stock erl and on every heap: two users talk, restarts, kills, clusters (MACHINES)
	@scripts/setup run
	@scripts/ejabberd $(MACHINES)

asan: ## Run the tests of the crates with raw memory under AddressSanitizer (needs a nightly toolchain)
	@scripts/setup test
	@scripts/asan

tsan: ## Run tests and programs whose threads share memory under ThreadSanitizer (nightly with rust-src)
	@scripts/setup test
	@scripts/tsan

miri: ## Run the tests that Miri can run, to find undefined behaviour (nightly with miri and rust-src; see docs/checks.md)
	@scripts/setup test
	@scripts/miri

mutants: ## Change a sample of the code in small ways and see whether tests notice (needs cargo-mutants; MUTANTS="30 term ets")
	@scripts/setup test
	@scripts/mutants $(MUTANTS)

fuzz: export ATOLL_SEED := $(shell date +%s)
fuzz: export ATOLL_FUZZ_SEED := $(shell date +%s)
fuzz: export ATOLL_FUZZ_SECONDS := $(SECONDS_OF_FUZZING)
fuzz: ## Choose other random programs, terms and damaged files than make test, each for a minute (SECONDS_OF_FUZZING=600)
	@scripts/setup test
	$(CARGO) test --release -p atoll-loader --test mutation -- --nocapture
	$(CARGO) test --release -p atoll-cli --test hand_made -- --nocapture damaged
	ATOLL_PROGRAMS=$(SECONDS_OF_FUZZING) $(CARGO) test --release -p atoll-cli --test generated
	$(CARGO) test --release -p atoll-term

soak: ## Run a mixed load under the verifier for ten minutes (SOAK="private 60 8": heap, seconds, workers)
	@scripts/setup run
	@scripts/soak $(SOAK)

clean: ## Remove what was built and measured
	$(CARGO) clean
	rm -rf out
