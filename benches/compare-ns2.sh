#!/usr/bin/env bash
# The wired case here and in ns-2, side by side: user CPU time (the least of several runs), data packets delivered a second of it,
# and resident memory; then our memory at ten times the simulated time.   benches/compare-ns2.sh [SECONDS] [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-1000}
runs=${2:-7}

if ! command -v ns > /dev/null; then
    echo "SKIPPED: ns-2 (the program \"ns\") is not installed; nothing to compare with" >&2
    exit 0
fi
cargo build --release --quiet -p lasthop-sim --example wired
ours=${CARGO_TARGET_DIR:-target}/release/examples/wired

# Prints "user-seconds packets kilobytes" of the fastest of several runs.
measure() {
    for _ in $(seq "$runs"); do
        /usr/bin/time -f "%U %M" -o /tmp/compare-ns2.$$ "$@" > /tmp/compare-ns2-packets.$$
        read -r user kilobytes < /tmp/compare-ns2.$$
        echo "$user $(cat /tmp/compare-ns2-packets.$$) $kilobytes"
    done | sort -n | head -1
    rm -f /tmp/compare-ns2.$$ /tmp/compare-ns2-packets.$$
}

show() {
    awk -v name="$1" '{ printf "%-28s %6.2f s user  %9d packets  %9.0f packets/s  %6.1f MB resident\n", name, $1, $2, $2 / $1, $3 / 1024 }'
}

theirs=$(measure ns benches/ns2/wired.tcl "$seconds")
stripped=$(measure ns benches/ns2/wired.tcl "$seconds" stripped)
mine=$(measure "$ours" "$seconds")
long=$(runs=1 measure "$ours" "$((10 * seconds))")
show "ns-2" <<< "$theirs"
show "ns-2, unused headers removed" <<< "$stripped"
show "lasthop" <<< "$mine"
show "lasthop, 10 x the time" <<< "$long"
echo "$theirs $stripped $mine" | awk '{ r = $8 / $7; printf "lasthop delivers %.2f times the packets a second of CPU that ns-2 does (%.2f times with its unused headers removed)\n", r / ($2 / $1), r / ($5 / $4) }'
