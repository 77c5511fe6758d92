# The entry point for developers; CI calls the same targets.
.PHONY: help build test checks lint unit quiet fuzz soak-brief soak bench bench-gateway bench-flows instructions compare-ns2 first-look docs book words deb test-deb tarball router clean

help:            ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

build:           ## the lasthop command
	cargo build --release --locked

test:            ## all checks; the last line lists what was left out and why
	@list=$$(mktemp) && LASTHOP_SKIPPED=$$list $(MAKE) --no-print-directory checks && .ci/skipped $$list; \
	    result=$$?; rm -f $$list; exit $$result

checks:
	@for check in lint docs words book unit first-look instructions soak-brief; do \
	    .ci/timed $$check $(MAKE) --no-print-directory $$check || exit; done

lint:            ## formatting, and clippy with warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features lasthop-cli/router --locked -- -D warnings
	cargo clippy -p lasthop-cli --no-default-features --locked -- -D warnings

unit:            ## unit, script, property and integration tests
	cargo test --workspace --locked

docs:            ## API documentation; broken links are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

book:            ## the documents as a book, docs/book/index.html; a warning is an error (needs mdbook)
	@if command -v mdbook > /dev/null; then log=$$(mdbook build docs 2>&1); result=$$?; echo "$$log"; \
	    [ $$result = 0 ] && ! echo "$$log" | grep -qE 'WARN|ERROR'; \
	elif [ -n "$$CI" ]; then echo "mdbook is not installed" >&2; exit 1; \
	elif [ -n "$$LASTHOP_SKIPPED" ]; then printf 'needs mdbook\tbook\n' >> "$$LASTHOP_SKIPPED"; fi

words:           ## spelling (needs codespell); crates/cli/tests/words.rs has the words that are not used
	@if command -v codespell > /dev/null; then codespell *.md docs scenarios packaging crates benches Makefile .ci; \
	elif [ -n "$$CI" ]; then echo "codespell is not installed" >&2; exit 1; \
	elif [ -n "$$LASTHOP_SKIPPED" ]; then printf 'needs codespell\tspelling\n' >> "$$LASTHOP_SKIPPED"; fi

first-look:      ## the README's first command
	cargo run --release --locked --quiet -- compare scenarios/first-look.toml

instructions:    ## instructions per packet, compared with the recorded bound (needs valgrind)
	benches/instructions.sh

quiet:           ## the tests that assert times and rates, on a machine that does nothing else (needs root)
	LASTHOP_QUIET=yes cargo test --workspace --locked --test emulator --test divert --test policy --test drills --test beside_real_hosts
	LASTHOP_QUIET=yes cargo test --locked -p lasthop-gateway --lib

fuzz:            ## each fuzz target for ten minutes (needs cargo-fuzz and a nightly toolchain)
	fuzz/run.sh 600

soak-brief:      ## kills, stops and reloads the gateway under 1,000 connections, for half a minute (needs root)
	LASTHOP_SOAK_SECONDS=30 LASTHOP_SOAK_CONNECTIONS=1000 cargo test --workspace --test soak --locked -- --nocapture

soak:            ## the same for ten minutes
	LASTHOP_SOAK_SECONDS=600 LASTHOP_SOAK_CONNECTIONS=1000 cargo test --workspace --test soak --locked -- --nocapture

bench:           ## criterion benchmarks
	cargo bench --workspace

bench-gateway:   ## the gateway's speed compared with kernel routing and PEPsal, five cases (needs root; PEPSAL=/path/to/pepsal)
	benches/gateway.sh

bench-flows:     ## the gateway's processor time per packet with 10 to 100,000 connections (needs root)
	benches/gateway-flows.sh

compare-ns2:     ## the simulator's speed compared with ns-2 and ns-3, wired and 802.11 (needs ns2, or libns3-dev)
	benches/compare-ns.py

deb:             ## the Debian package, in target/debian (needs dpkg and cargo-deb)
	packaging/deb.sh

test-deb:        ## installs, upgrades and removes the Debian package in a private root, during a transfer (needs root)
	packaging/test-deb.sh

tarball:         ## an archive with a static binary, in target/tarball (needs the target of Rust for musl)
	packaging/tarball.sh

router:          ## the command for routers with little flash, and its size (needs the target of Rust for musl)
	packaging/router.sh

clean:
	cargo clean
