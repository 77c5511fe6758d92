#!/usr/bin/env bash
# Fails if a case takes over 2% more instructions per delivered packet than recorded here. Instructions are
# the same on every run and on a busy machine. They are counted between two run lengths, so that start-up does
# not count. Record the new number after a gain, or after a change that is worth its cost.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v valgrind > /dev/null; then
    echo "left out: valgrind is not installed; instructions are not counted" >&2
    printf 'needs valgrind\tinstructions\n' >> "${LASTHOP_SKIPPED:-/dev/null}"
    exit 0
fi
cargo build --release --quiet -p lasthop-sim --example wired --example cell --example queues
examples=${CARGO_TARGET_DIR:-target}/release/examples

# Prints the instructions and the packets of a run.
count() {
    local log packets
    log=$(mktemp)
    packets=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" "$@")
    awk -v packets="$packets" '/Collected/ { print $NF, packets }' "$log"
    rm -f "$log"
}

# guard RECORDED SHORT LONG COMMAND...: the command takes a number of seconds as its last argument.
guard() {
    local recorded=$1 short=$2 long=$3 few less many more each
    shift 3
    read -r few less < <(count "$examples/$1" "${@:2}" "$short")
    read -r many more < <(count "$examples/$1" "${@:2}" "$long")
    each=$(((many - few) / (more - less)))
    echo "$*: $each instructions per delivered packet; recorded: $recorded"
    if ((each * 100 > recorded * 102)); then
        echo "FAILED: over 2% more than recorded" >&2
        return 1
    fi
}

guard 3626 10 40 wired
guard 4597 10 40 wired linux
guard 5649 10 40 wired bbr
guard 5775 10 40 wired bbr3
guard 6979 2 6 cell 1
guard 5945 2 6 cell 20
guard 7228 2 6 cell 20 per-flow
guard 16044 2 6 cell 50 dozing
guard 8548 100 400 queues wireless drop-tail
guard 5407 10 40 queues wired red
guard 5285 10 40 queues wired codel
guard 5913 10 40 queues wired fq-codel
guard 9185 100 400 queues wireless red
guard 9076 100 400 queues wireless codel
guard 9686 100 400 queues wireless fq-codel
