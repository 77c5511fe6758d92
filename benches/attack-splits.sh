#!/usr/bin/env bash
# The goodput that honest transfers lose under attack, with CICADA in the gateway and without an agent: 8
# transfers, half of them uploads, between real hosts over a hop of 20 Mbit/s that loses 1% both ways,
# together with 500 packets per second of one kind of attack (benches/attack-splits.py lists the kinds).
#
#   sudo benches/attack-splits.sh [ROUNDS] [KIND...]          default 3 of each
#
# Goodput is in Mbit/s, medians. The attacker's own octets take capacity from all transfers. The column "falls
# by more" therefore compares the relative fall with that without an agent. The last column counts the
# transfers that were cut off in all rounds, with CICADA and without an agent. The exit code is 1 if
# "falls by more" exceeds 5%, or if more transfers are cut off with CICADA than without an agent.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3}
shift || true
kinds=("$@")
[ $# -gt 0 ] || kinds=(syn reset exact tiny sack rtp)
. benches/lossy-site.sh

seconds=6
hop 20mbit
air "numgen random mod 100 < 1"
ip netns exec $s python3 benches/attack-splits.py serve &
sleep 0.5
# Measures goodput under a kind of attack, or without an attack (`quiet`), with a scheme; writes a line of results.
measure() {
    local kind=$1 scheme=$2 from=$s
    case $kind in sack | tiny) from=$c ;; esac
    write_gateway "scheme = \"$scheme\""
    start_gateway
    if [ "$kind" != quiet ]; then
        ip netns exec $from python3 benches/attack-splits.py attack "$kind" 500 $((seconds + 3)) &
        attacker=$!
    fi
    echo "$kind $scheme $(ip netns exec $c python3 benches/attack-splits.py bulk 8 $seconds)" | tee -a "$scratch/results" >&2
    [ "$kind" = quiet ] || wait $attacker
    end_gateway TERM
    rm -f "$scratch/gateway.sock.state"
}
for _ in $(seq "$rounds"); do
    for kind in quiet "${kinds[@]}"; do
        for scheme in none cicada; do measure "$kind" $scheme; done
    done
done
python3 - "$scratch/results" << 'END'
import statistics
import sys

goodput, cut = {}, {}
for line in open(sys.argv[1]):
    kind, scheme, mbits, ended = line.split()
    goodput.setdefault((kind, scheme), []).append(float(mbits))
    cut[kind, scheme] = cut.get((kind, scheme), 0) + int(ended)
median = {key: statistics.median(values) for key, values in goodput.items()}
print("| attack | none, quiet | none, attacked | CICADA, quiet | CICADA, attacked | falls by more | cut off |")
print("|---|---|---|---|---|---|---|")
bad = False
for kind in dict.fromkeys(kind for kind, _ in median if kind != "quiet"):
    cells = [median[key] for scheme in ("none", "cicada") for key in (("quiet", scheme), (kind, scheme))]
    more = 1 - (cells[3] / cells[2]) / (cells[1] / cells[0])
    bad |= more > 0.05 or cut[kind, "cicada"] > cut[kind, "none"]
    figures = " | ".join(f"{cell:.2f}" for cell in cells)
    print(f"| {kind} | {figures} | {more:+.1%} | {cut[kind, 'cicada']}, none {cut[kind, 'none']} |")
sys.exit(bad)
END
