#!/bin/sh
# Runs every fuzz target for the given number of seconds (default 8). The ordinary tests replay the committed
# corpus; this script looks for new failures.
set -eu
cd "$(dirname "$0")"
seconds=${1:-8}
# Long runs explore further, with the address sanitizer.
sequence="" sanitizer=address
if [ "$seconds" -le 60 ]; then
    # The same random sequence each time, so that a failure is due to a change and not to chance.
    sequence="-seed=1997 -runs=20000"
    # The code under test is safe Rust. Without the sanitizer, the targets build in 4:40 instead of 6:10 minutes.
    sanitizer=none
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
fi
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "left out: fuzzing needs a nightly toolchain and 'cargo install cargo-fuzz'; 'cargo test' replayed the corpus" >&2
    printf 'needs cargo-fuzz and a nightly toolchain\tfuzz\n' >> "${LASTHOP_SKIPPED:-/dev/null}"
    exit 0
fi
for target in $(cargo +nightly fuzz list); do
    # New inputs go to a scratch corpus; the committed corpus is only read. The fuzzer's long output is shown
    # only if it fails.
    scratch=$(mktemp -d)
    if cargo +nightly fuzz run --sanitizer "$sanitizer" "$target" "$scratch" "corpus/$target" -- \
        $sequence -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 >"$scratch.log" 2>&1; then
        echo "$target: $(grep -oE 'Done [0-9]+ runs in [0-9]+ second' "$scratch.log" | tail -1)s, no failure found"
    else
        tail -60 "$scratch.log" >&2
        exit 1
    fi
    rm -rf "$scratch" "$scratch.log"
done
