#!/usr/bin/env bash
# Fails when the wired case takes over 10% more instructions a delivered packet than recorded here. Instructions, because they are
# the same on every run and on a busy machine; counted between two run lengths, so that start-up does not count. After a change
# that is worth it, or a gain, record the new number.
set -euo pipefail
cd "$(dirname "$0")/.."
recorded=3470

if ! command -v valgrind > /dev/null; then
    echo "left out: valgrind is not installed; instructions are not counted" >&2
    printf 'needs valgrind\tinstructions\n' >> "${LASTHOP_SKIPPED:-/dev/null}"
    exit 0
fi
cargo build --release --quiet -p lasthop-sim --example wired
wired=${CARGO_TARGET_DIR:-target}/release/examples/wired

# Prints "instructions packets" of a run.
count() {
    local log
    log=$(mktemp)
    packets=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" "$wired" "$1")
    awk -v packets="$packets" '/Collected/ { print $NF, packets }' "$log"
    rm -f "$log"
}

read -r short_instructions short_packets < <(count 10)
read -r long_instructions long_packets < <(count 40)
each=$(((long_instructions - short_instructions) / (long_packets - short_packets)))
echo "$each instructions a delivered packet; recorded: $recorded"
if ((each * 100 > recorded * 110)); then
    echo "FAILED: over 10% more than recorded" >&2
    exit 1
fi
