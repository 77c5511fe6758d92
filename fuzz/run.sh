#!/bin/sh
# Runs every fuzz target for so many seconds each. The committed corpus is replayed by the ordinary tests; this looks for more.
set -eu
cd "$(dirname "$0")"
seconds=${1:-8}
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "SKIPPED: fuzzing needs a nightly toolchain and 'cargo install cargo-fuzz'; the corpus was replayed by 'cargo test'" >&2
    exit 0
fi
for target in $(cargo +nightly fuzz list); do
    echo "fuzzing $target for $seconds s"
    # What is found along the way goes to a scratch corpus; the committed one is only read.
    scratch=$(mktemp -d)
    cargo +nightly fuzz run "$target" "$scratch" "corpus/$target" -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0
    rm -rf "$scratch"
done
