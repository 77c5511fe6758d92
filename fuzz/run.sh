#!/bin/sh
# run.sh [SECONDS [TARGET...]]: runs fuzz targets for the given number of seconds each (default: all of them, for 600), from
# random seeds and with the address sanitizer. Needs a nightly toolchain and `cargo install cargo-fuzz`. An input that fails is
# in artifacts/TARGET: commit it as corpus/TARGET/NAME, and the ordinary tests run it, too.
set -eu
cd "$(dirname "$0")"
seconds=${1:-600}
[ $# -eq 0 ] || shift
for target in ${*:-$(cargo +nightly fuzz list)}; do
    # New inputs go to a scratch corpus; the committed corpus is only read. The fuzzer's long output is shown only if it fails.
    scratch=$(mktemp -d)
    if cargo +nightly fuzz run "$target" "$scratch" "corpus/$target" -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 >"$scratch.log" 2>&1; then
        echo "$target: $(grep -oE 'Done [0-9]+ runs in [0-9]+ second' "$scratch.log" | tail -1)s, no failure found"
    else
        tail -60 "$scratch.log" >&2
        exit 1
    fi
    rm -rf "$scratch" "$scratch.log"
done
