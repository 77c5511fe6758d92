#!/usr/bin/env bash
# The cost per packet at the edge of plain forwarding, Snoop, packet control, I-TCP and CICADA, between ends
# that answer (crates/lab/examples/edge_costs.rs). CICADA's table 4 asks the same question, but its numbers
# are lost. The output is in the form of the tables of docs/src/validation/agent-costs.md.
#
#   benches/edge-costs.sh [instructions|time|all]     ROUNDS=3 of time; ONLY=snoop for one scheme
#
# Instructions are those of the agent alone, in 5,000 turns of 8 segments and their ACKs. They are the same on
# every run and on a busy machine. The tables have them per packet that arrives at the edge and per segment
# that the receiver gets (a split makes ACKs of its own, and so sees more packets). Time is the user time
# between two run lengths, minus that of the same exchange without an agent; the tables have medians over the
# rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:-all} rounds=${ROUNDS:-3}
[[ $part =~ ^(instructions|time|all)$ ]] || { echo "$part: expected instructions, time or all" >&2; exit 2; }
cargo build --release --locked --quiet -p lasthop-lab --example edge_costs
edge=${CARGO_TARGET_DIR:-target}/release/examples/edge_costs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Title, scheme, settings.
rows() {
    cat << 'ROWS' | grep "|${ONLY:-[^|]*}|"
snoop|snoop|
packet control|packet-control|
I-TCP|i-tcp|
I-TCP with SACK|i-tcp|sack = true
CICADA|cicada|
CICADA without notification|cicada|notification = false
ROWS
}

# instructions SCHEME SETTINGS WAY LOST FLOWS: per packet at the edge, and per segment delivered.
instructions() {
    local said
    said=$(valgrind --tool=callgrind --toggle-collect='*counted_call*' --callgrind-out-file=/dev/null --log-file="$scratch/log" \
        "$edge" "$@" 5000)
    awk -v packets="${said% *}" -v segments="${said#* }" '/Collected/ { printf "%.0f %.0f\n", $NF / packets, $NF / segments }' "$scratch/log"
}

# took SCHEME SETTINGS WAY FLOWS: nanoseconds per segment delivered, the exchange included.
took() {
    local TIMEFORMAT=%U few less many more
    few=$({ time "$edge" "$1" "$2" "$3" 0 "$4" 50000 > "$scratch/few"; } 2>&1); read -r _ less < "$scratch/few"
    many=$({ time "$edge" "$1" "$2" "$3" 0 "$4" 150000 > "$scratch/many"; } 2>&1); read -r _ more < "$scratch/many"
    awk -v few="$few" -v less="$less" -v many="$many" -v more="$more" 'BEGIN { print 1e9 * (many - few) / (more - less) }'
}

median() { sort -g | awk '{ all[NR] = $1 } END { printf "%.0f", all[int((NR + 1) / 2)] }'; }

if [[ $part =~ ^(instructions|all)$ ]]; then
    command -v valgrind > /dev/null || { echo "valgrind is not installed" >&2; exit 1; }
    for way in down up; do
        echo "| $way | instructions per packet at the edge, 1 connection | 1,000 | 1,000, 1% of segments lost | per segment delivered, 1 connection | 1,000 | 1,000, 1% lost |"
        echo "|---|---:|---:|---:|---:|---:|---:|"
        echo "| plain forwarding | 0 | 0 | 0 | 0 | 0 | 0 |"
        while IFS='|' read -r title scheme settings; do
            read -r one each_of_one < <(instructions "$scheme" "$settings" "$way" 0 1)
            read -r many each_of_many < <(instructions "$scheme" "$settings" "$way" 0 1000)
            read -r lossy each_of_lossy < <(instructions "$scheme" "$settings" "$way" 100 1000)
            echo "| $title | $one | $many | $lossy | $each_of_one | $each_of_many | $each_of_lossy |"
        done < <(rows)
        echo
    done
fi

if [[ $part =~ ^(time|all)$ ]]; then
    echo "| agent | ns per segment delivered, down, 1 connection | 1,000 | up, 1 connection | 1,000 |"
    echo "|---|---:|---:|---:|---:|"
    columns() { for way in down up; do for flows in 1 1000; do echo "$way $flows"; done; done; }
    for round in $(seq "$rounds"); do
        while read -r way flows; do
            took none "" "$way" "$flows" > "$scratch/none"
            cat "$scratch/none" >> "$scratch/0.$way.$flows"
            number=0
            while IFS='|' read -r _ scheme settings; do
                number=$((number + 1))
                took "$scheme" "$settings" "$way" "$flows" | awk -v none="$(cat "$scratch/none")" '{ print $1 - none }' >> "$scratch/$number.$way.$flows"
            done < <(rows)
        done < <(columns)
        echo "round $round of $rounds" >&2
    done
    number=0
    while IFS='|' read -r title _; do
        echo "| $title | $(median < "$scratch/$number.down.1") | $(median < "$scratch/$number.down.1000") | $(median < "$scratch/$number.up.1") | $(median < "$scratch/$number.up.1000") |"
        number=$((number + 1))
    done < <(echo "the exchange, both ends included, without an agent|"; rows)
fi
