#!/usr/bin/env bash
# 802.11b here and in ns-2: 1 and 20 stations that upload over TCP. Data packets delivered a simulated second, which should agree, and a
# second of user CPU time (the least of several runs).   benches/compare-ns2-wlan.sh [SECONDS] [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-200}
runs=${2:-5}

if ! command -v ns > /dev/null; then
    echo "SKIPPED: ns-2 (the program \"ns\") is not installed; nothing to compare with" >&2
    exit 0
fi
cargo build --release --quiet -p lasthop-sim --example wlan
ours=${CARGO_TARGET_DIR:-target}/release/examples/wlan
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Prints "user-seconds packets" of the fastest of several runs.
measure() {
    for _ in $(seq "$runs"); do
        /usr/bin/time -f "%U" -o "$scratch/time" "$@" > "$scratch/packets" 2> /dev/null
        echo "$(tail -1 "$scratch/time") $(grep -E '^[0-9]+$' "$scratch/packets" | tail -1)"
    done | sort -n | head -1
}

for stations in 1 20; do
    theirs=$(measure ns benches/ns2/wlan.tcl "$seconds" "$stations")
    # Ten times as long, or there would be nothing to measure.
    mine=$(measure "$ours" "$((10 * seconds))" "$stations")
    echo "$stations $seconds $theirs $mine" | awk '{
        printf "%2d stations: ns-2 %.1f packets a simulated second, lasthop %.1f (%+.2f%%)\n", $1, $4 / $2, $6 / $2 / 10, ($6 / 10 / $4 - 1) * 100
        printf "             ns-2 %.0f packets a second of CPU, lasthop %.0f: %.1f times\n", $4 / $3, $6 / $5, $6 / $5 / ($4 / $3)
    }'
done
