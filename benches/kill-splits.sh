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
for needed in ip tc nft python3; do
    command -v $needed > /dev/null || { echo "SKIPPED: $needed is not installed" >&2; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces take root" >&2; exit 0; }
. benches/trial.sh

s=kill-s-$$ g=kill-g-$$ a=kill-a-$$ c=kill-c-$$
cleanup() {
    kill $(jobs -p) 2> /dev/null || true
    for host in $s $g $a $c; do
        ip netns pids $host 2> /dev/null | xargs -r kill -9 2> /dev/null || true
        ip netns delete $host 2> /dev/null || true
    done
    rm -rf "$scratch"
}
trap cleanup EXIT
# Server, gateway, the air, client: what is on the air passes a router that drops some of it.
for host in $s $g $a $c; do ip netns add $host; ip -n $host link set lo up; done
ip link add core netns $g type veth peer name eth0 netns $s
ip link add radio netns $g type veth peer name ap netns $a
ip link add client netns $a type veth peer name eth0 netns $c
ip -n $s address add 10.88.1.2/24 dev eth0; ip -n $g address add 10.88.1.1/24 dev core
ip -n $g address add 10.88.2.1/24 dev radio; ip -n $a address add 10.88.2.2/24 dev ap
ip -n $a address add 10.88.3.1/24 dev client; ip -n $c address add 10.88.3.2/24 dev eth0
for end in "$s eth0" "$g core" "$g radio" "$a ap" "$a client" "$c eth0"; do
    set -- $end
    ip -n $1 link set $2 up
    # The air takes packets one by one.
    [ "$1" != $a ] && [ "$2" != radio ] && [ "$1" != $c ] || ip netns exec $1 ethtool -K $2 tso off gso off gro off 2> /dev/null || true
done
ip -n $s route add default via 10.88.1.1; ip -n $c route add default via 10.88.3.1
ip -n $g route add 10.88.3.0/24 via 10.88.2.2; ip -n $a route add default via 10.88.2.1
for host in $g $a; do ip netns exec $host sysctl -qw net.ipv4.ip_forward=1; done
# A host gives a connection up after some seconds in place of a quarter of an hour.
for host in $s $c; do ip netns exec $host sysctl -qw net.ipv4.tcp_retries2=6; done
ip netns exec $a tc qdisc add dev client root tbf rate 100mbit burst 32k latency 20ms
ip netns exec $a tc qdisc add dev ap root tbf rate 100mbit burst 32k latency 20ms
# Which packets on the air are lost.
air() {
    ip netns exec $a nft -f - << END
table ip air
delete table ip air
table ip air {
    chain forward { type filter hook forward priority 0; $1 drop; }
}
END
}
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
air "numgen random mod 100 < 2"
wire accept
cat > "$scratch/gateway.toml" << END
backend = "tc-bpf"
[ports]
core = ["core"]
radio = ["radio"]
[stepping-aside]
unresponsive = false
[control]
socket = "$scratch/gateway.sock"
[metrics]
listen = "off"
[[rule]]
scheme = "${SCHEME:-cicada}"
END
ip netns exec $s python3 benches/kill-splits.py serve &
bad=0
sum_owed=0 sum_cut=0 sum_whole=0
for round in $(seq "$rounds"); do
    ip netns exec $g "$lasthop" gateway "$scratch/gateway.toml" 2> "$scratch/log" &
    gateway=$!
    for _ in $(seq 50); do [ -S "$scratch/gateway.sock" ] && break; sleep 0.1; done
    kill -0 $gateway 2> /dev/null || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.5 # a connection whose SYN the kernel has passed meanwhile is not split
    ip netns exec $c python3 benches/kill-splits.py fetch $each 40 > "$scratch/result" &
    fetch=$!
    # Somewhere in the middle: 20 MB each way take about 2 s.
    sleep "$(awk -v r=$round -v n="$rounds" 'BEGIN { printf "%.2f", 0.2 + 1.4 * r / n }')"
    air ""
    sleep 0.4
    wire drop
    sleep 0.1
    read -r owed octets <<< "$("$lasthop" gateway status --json --socket "$scratch/gateway.sock" | python3 -c 'import json, sys
engine = json.load(sys.stdin)["report"]["engine"]
print(engine["owed_connections"], engine["octets_at_risk"])')"
    kill -9 $gateway; wait $gateway 2> /dev/null || true
    rm -f "$scratch/gateway.sock"
    air "numgen random mod 100 < 2"
    wire accept
    wait $fetch
    read -r whole cut wrong <<< "$(tail -1 "$scratch/result" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["whole"], r["cut off"], r["wrong"])')"
    echo "round $round: at risk $owed connections, $octets octets; whole $whole, cut off $cut, wrong $wrong"
    sum_owed=$((sum_owed + owed)) sum_cut=$((sum_cut + cut)) sum_whole=$((sum_whole + whole))
    [ "$wrong" = 0 ] && [ "$cut" -le "$owed" ] || bad=1
done
echo "in $((rounds * each)) transfers: at risk $sum_owed, cut off $sum_cut, whole $sum_whole"
exit $bad
