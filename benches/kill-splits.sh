#!/usr/bin/env bash
# Kills a gateway that splits connections with kill -9, in the middle of transfers between real hosts, and
# counts the transfers that are lost. Each round has 100 transfers of 400 kB, half of them uploads, over a hop
# of 100 Mbit/s that loses 2% both ways. Just before the kill, both sides fall silent, so that the octets that
# the gateway reports as at risk are those at risk when it dies.
#
#   sudo benches/kill-splits.sh [ROUNDS]          default 10; SCHEME=i-tcp instead of cicada
#
# Each round prints the connections and octets at risk, and how many transfers were complete, were cut off, or
# seemed complete but had wrong octets. The last number must always be 0. No transfer may be cut off that was
# not at risk. A transfer at risk may be complete, if all its octets had arrived but not their
# acknowledgments. The exit code is 1 if one of these rules is violated. With i-tcp, all open transfers are
# cut off.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-10}
each=100
. benches/lossy-site.sh

# Lets the server's packets leave it, or not.
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
    # In the middle of the transfers: 20 MB each way take about 2 s.
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
