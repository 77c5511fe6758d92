#!/usr/bin/env bash
# What a gateway that splits connections takes with it when it is killed with kill -9, in the middle of transfers between real hosts: in each
# round 100 transfers of 400 kB, half of them uploads, over a hop of 100 Mbit/s that loses 2% both ways. Just before it is killed both sides
# fall silent, so that what the gateway says of octets at risk is what is at risk when it dies.
#
#   sudo benches/kill-splits.sh [ROUNDS]          default 10; SCHEME=i-tcp in place of cicada
#
# Printed for each round: connections of which something was at risk, octets, and how many transfers came whole, were cut off, or seemed whole and
# were not. The last is to be 0 always. Nothing is to be cut off that was not at risk; what was may come whole, if all of it had arrived and its
# acknowledgments had not. Exit code 1 if not so. With i-tcp all that is open is cut off.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-10}
each=100
. benches/lossy-site.sh

# Whether the server's packets leave it.
wire() {
    ip netns exec $s nft -f - << END
table ip wire
delete table ip wire
table ip wire {
    chain output { type filter hook output priority 0; $1; }
}
END
}
hop 100mbit
air "numgen random mod 100 < 2"
wire accept
write_gateway "scheme = \"${SCHEME:-cicada}\""
ip netns exec $s python3 benches/checked-transfers.py serve &
bad=0
sum_owed=0 sum_cut=0 sum_whole=0
for round in $(seq "$rounds"); do
    start_gateway
    start_transfers $each 40
    # Somewhere in the middle: 20 MB each way take about 2 s.
    sleep "$(awk -v r=$round -v n="$rounds" 'BEGIN { printf "%.2f", 0.2 + 1.4 * r / n }')"
    air ""
    sleep 0.4
    wire drop
    sleep 0.1
    read -r owed octets <<< "$(owed)"
    end_gateway KILL
    air "numgen random mod 100 < 2"
    wire accept
    end_transfers
    echo "round $round: at risk $owed connections, $octets octets; whole $whole, cut off $cut, wrong $wrong"
    sum_owed=$((sum_owed + owed)) sum_cut=$((sum_cut + cut)) sum_whole=$((sum_whole + whole))
    [ "$wrong" = 0 ] && [ "$cut" -le "$owed" ] || bad=1
done
echo "in $((rounds * each)) transfers: at risk $sum_owed, cut off $sum_cut, whole $sum_whole"
exit $bad
