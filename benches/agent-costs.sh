#!/usr/bin/env bash
# The cost of each agent at the edge, as the tables of docs/src/validation/agent-costs.md: instructions and time per
# packet, and octets per connection, with 1, 1,000 and 100,000 connections that send one after the other
# (crates/schemes/examples/agents.rs).
#
#   benches/agent-costs.sh [instructions|time|state|all]     ROUNDS=3 of time; ONLY=snoop for one scheme
#
# Instructions are those of the agent alone, in 5,000 turns of 8 segments and their ACKs. They are the same on
# every run and on a busy machine. Time is the user time between two run lengths, minus that of the same
# exchange without an agent; the tables have medians over the rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:-all} rounds=${ROUNDS:-3}
[[ $part =~ ^(instructions|time|state|all)$ ]] || { echo "$part: expected instructions, time, state or all" >&2; exit 2; }
cargo build --release --locked --quiet -p lasthop-schemes --example agents
agents=${CARGO_TARGET_DIR:-target}/release/examples/agents
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Title, scheme, settings, direction of the data.
rows() {
    cat << 'ROWS' | grep "|${ONLY:-[^|]*}|"
simple-icmp|simple-icmp||down
refined-icmp|refined-icmp||down
ebsn|ebsn||down
dda at the base station|dda|seat = "edge"|down
snoop|snoop||down
snoop, published|snoop|preset = "published"|down
snoop with uplink, download|snoop|uplink = "nack"|down
snoop with uplink, upload|snoop|uplink = "nack"|up
wtcp|wtcp||down
lle-tcp|lle-tcp||down
lle-tcp, published|lle-tcp|preset = "published"|down
packet-control, aside|packet-control||down
packet-control, at work|packet-control|steps-aside = false|down
packet-control, published|packet-control|preset = "published"|down
eln, download|eln||down
eln (timestamp), upload|eln||up
eln (dsack), upload|eln|undo = "dsack"|up
eln, published, upload|eln|preset = "published"|up
ROWS
}

# instructions SCHEME SETTINGS WAY LOST FLOWS: per packet, and allocations per 1,000 packets.
instructions() {
    local said
    said=$(valgrind --tool=callgrind --toggle-collect='*counted_call*' --callgrind-out-file=/dev/null --log-file="$log" \
        "$agents" "$@" work 5000)
    awk -v packets="${said% *}" -v allocations="${said#* }" \
        '/Collected/ { printf "%.0f %.0f\n", $NF / packets, 1000 * allocations / packets }' "$log"
}

# took SCHEME SETTINGS WAY FLOWS: nanoseconds per packet, the exchange included.
took() {
    local TIMEFORMAT=%U few less many more
    few=$({ time "$agents" "$1" "$2" "$3" 0 "$4" work 50000 > "$log"; } 2>&1); read -r less _ < "$log"
    many=$({ time "$agents" "$1" "$2" "$3" 0 "$4" work 150000 > "$log"; } 2>&1); read -r more _ < "$log"
    awk -v few="$few" -v less="$less" -v many="$many" -v more="$more" 'BEGIN { print 1e9 * (many - few) / (more - less) }'
}

median() { sort -g | awk '{ all[NR] = $1 } END { printf "%.0f", all[int((NR + 1) / 2)] }'; }

if [[ $part =~ ^(instructions|all)$ ]]; then
    command -v valgrind > /dev/null || { echo "valgrind is not installed" >&2; exit 1; }
    echo "| agent | instructions per packet, 1 connection | 1,000 | 100,000 | 1,000, 1% of segments lost | allocations per 1,000 packets | with 1% lost |"
    echo "|---|---:|---:|---:|---:|---:|---:|"
    while IFS='|' read -r title scheme settings way; do
        read -r one _ < <(instructions "$scheme" "$settings" "$way" 0 1)
        read -r many allocations < <(instructions "$scheme" "$settings" "$way" 0 1000)
        read -r lossy allocations_of_lossy < <(instructions "$scheme" "$settings" "$way" 100 1000)
        read -r most _ < <(instructions "$scheme" "$settings" "$way" 0 100000)
        echo "| $title | $one | $many | $most | $lossy | $allocations | $allocations_of_lossy |"
    done < <(rows)
fi

if [[ $part =~ ^(time|all)$ ]]; then
    echo "| agent | ns per packet, 1 connection | 1,000 | 100,000 |"
    echo "|---|---:|---:|---:|"
    scratch=$(mktemp -d)
    trap 'rm -rf "$log" "$scratch"' EXIT
    for round in $(seq "$rounds"); do
        for flows in 1 1000 100000; do
            for way in down up; do took none "" $way $flows > "$scratch/none"; cp "$scratch/none" "$scratch/none.$way"; done
            cat "$scratch/none.down" >> "$scratch/0.$flows"
            number=0
            while IFS='|' read -r title scheme settings way; do
                number=$((number + 1))
                took "$scheme" "$settings" "$way" $flows | awk -v none="$(cat "$scratch/none.$way")" '{ print $1 - none }' >> "$scratch/$number.$flows"
            done < <(rows)
        done
        echo "round $round of $rounds" >&2
    done
    number=0
    while IFS='|' read -r title _; do
        echo "| $title | $(median < "$scratch/$number.1") | $(median < "$scratch/$number.1000") | $(median < "$scratch/$number.100000") |"
        number=$((number + 1))
    done < <(echo "the exchange without an agent|"; rows)
fi

if [[ $part =~ ^(state|all)$ ]]; then
    echo "| agent | idle, 1 connection | 1,000 | 100,000 | with 8 segments in flight, 1,000 |"
    echo "|---|---:|---:|---:|---:|"
    while IFS='|' read -r title scheme settings way; do
        read -r one _ < <("$agents" "$scheme" "$settings" "$way" 0 1 state 0)
        read -r many _ loaded _ < <("$agents" "$scheme" "$settings" "$way" 0 1000 state 0)
        read -r most _ < <("$agents" "$scheme" "$settings" "$way" 0 100000 state 0)
        echo "| $title | $one | $((many / 1000)) | $((most / 100000)) | $((loaded / 1000)) |"
    done < <(rows)
fi
