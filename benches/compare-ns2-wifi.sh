#!/usr/bin/env bash
# 802.11b here and in ns-2, side by side, with 1, 20 and 50 uploading stations: user CPU time (the least of several runs), data packets
# delivered a second of it, goodput, and resident memory. Ours runs for ten times as long, for the clock of user time is coarse; its goodput
# is that of the same time.
#   benches/compare-ns2-wifi.sh [RUNS] [SECONDS OF 1] [SECONDS OF 20 AND 50]
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-5}
alone=${2:-1000}
many=${3:-200}

if ! command -v ns > /dev/null; then
    echo "SKIPPED: ns-2 (the program \"ns\") is not installed; nothing to compare with" >&2
    exit 0
fi
cargo build --release --quiet -p lasthop-cli
lasthop=${CARGO_TARGET_DIR:-target}/release/lasthop
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

theirs() { ns benches/ns2/wifi.tcl "$2" "$1" ${3:-} 2> "$scratch/complaints" | grep -x '[0-9]*'; }
# Octets delivered, as packets of 1460.
ours() {
    "$lasthop" run "scenarios/bench/wifi-$1.toml" --set "duration=$2 s" --json \
        | awk -F'[:,]' '/"bytes"/ { octets += $2 } END { printf "%d\n", octets / 1460 }'
}
export -f theirs ours
export lasthop scratch

# Prints "user-seconds packets kilobytes" of the fastest of several runs.
measure() {
    for _ in $(seq "$runs"); do
        /usr/bin/time -f "%U %M" -o "$scratch/time" bash -c '"$@"' measured "$@" > "$scratch/packets"
        read -r user kilobytes < "$scratch/time"
        echo "$user $(cat "$scratch/packets") $kilobytes"
    done | sort -n | head -1
}

# NAME SECONDS [PACKETS OF THAT TIME]
show() {
    awk -v name="$1" -v seconds="$2" -v packets="${3:-0}" '{
        if (!packets) packets = $2
        printf "%-44s %7.2f s user  %8d packets  %9.0f packets/s  %6.3f Mbit/s  %6.1f MB resident\n",
            name, $1, $2, $2 / $1, packets * 1460 * 8 / seconds / 1e6, $3 / 1024
    }'
}

for stations in 1 20 50; do
    seconds=$([ "$stations" = 1 ] && echo "$alone" || echo "$many")
    plain=$(measure theirs "$stations" "$seconds")
    stripped=$(measure theirs "$stations" "$seconds" stripped)
    mine=$(measure ours "$stations" "$((10 * seconds))")
    show "$stations uploading, ns-2" "$seconds" <<< "$plain"
    show "$stations uploading, ns-2, unused headers removed" "$seconds" <<< "$stripped"
    show "$stations uploading, lasthop" "$seconds" "$(ours "$stations" "$seconds")" <<< "$mine"
    echo "$plain $stripped $mine" | awk '{
        r = $8 / $7
        printf "  lasthop delivers %.1f times the packets a second of CPU that ns-2 does (%.1f with its unused headers removed)\n",
            r / ($2 / $1), r / ($5 / $4)
    }'
done
