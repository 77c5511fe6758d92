#!/bin/sh
# Runs every fuzz target for so many seconds each. The committed corpus is replayed by the ordinary tests; this looks for more.
set -eu
cd "$(dirname "$0")"
seconds=${1:-8}
# A short run draws the same sequence each time, so that a check fails for what was changed and not by chance. Long runs look further.
sequence=""
[ "$seconds" -gt 60 ] || sequence="-seed=1997 -runs=20000"
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "left out: fuzzing needs a nightly toolchain and 'cargo install cargo-fuzz'; the corpus was replayed by 'cargo test'" >&2
    printf 'needs cargo-fuzz and a nightly toolchain\tfuzz\n' >> "${LASTHOP_SKIPPED:-/dev/null}"
    exit 0
fi
for target in $(cargo +nightly fuzz list); do
    # What is found along the way goes to a scratch corpus; the committed one is only read. The fuzzer talks a lot: its words are
    # shown where it fails.
    scratch=$(mktemp -d)
    if cargo +nightly fuzz run "$target" "$scratch" "corpus/$target" -- \
        $sequence -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 >"$scratch.log" 2>&1; then
        echo "$target: $(grep -oE 'Done [0-9]+ runs in [0-9]+ second' "$scratch.log" | tail -1)s, nothing found"
    else
        tail -60 "$scratch.log" >&2
        exit 1
    fi
    rm -rf "$scratch" "$scratch.log"
done
