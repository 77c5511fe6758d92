#!/usr/bin/env bash
# CoDel and FQ-CoDel here and in Linux, side by side: datagrams of three senders through 10 Mbit/s for 20 s, two of which send more than
# their share. Prints each second's drops so far, and what of each sender arrived. Needs root and the program tc; changes nothing outside of
# two network namespaces of its own.
#   sudo benches/linux-codel.sh codel|fq_codel
set -euo pipefail
cd "$(dirname "$0")/.."
discipline=${1:-codel}
cargo build --release --quiet -p lasthop-cli
lasthop=${CARGO_TARGET_DIR:-target}/release/lasthop
here=lasthop-codel-$$
there=$here-sink
scratch=$(mktemp -d)
finish() { ip netns del "$here"; ip netns del "$there"; rm -r "$scratch"; }
trap finish EXIT

ip netns add "$here"
ip netns add "$there"
ip link add out netns "$here" type veth peer name in netns "$there"
ip -n "$here" address add 10.9.0.1/24 dev out
ip -n "$there" address add 10.9.0.2/24 dev in
ip -n "$here" link set out up
ip -n "$there" link set in up
# The rate counts Ethernet's header, which it has to be told to leave out.
ip netns exec "$here" tc qdisc add dev out root handle 1: stab overhead -14 tbf rate 10mbit burst 3000 limit 100mb
ip netns exec "$here" tc qdisc add dev out parent 1:1 handle 2: "$discipline" limit 10000 $([ "$discipline" = codel ] && echo noecn)
ip netns exec "$there" python3 benches/linux-codel.py receive > "$scratch/received" &
receiver=$!
sleep 1
ip netns exec "$here" python3 benches/linux-codel.py send &
for _ in $(seq 20); do
    sleep 1
    ip netns exec "$here" tc -s qdisc show dev out parent 1:1 | grep -o 'dropped [0-9]*' | cut -d' ' -f2
done > "$scratch/drops"
wait "$receiver"
echo "Linux: drops at the end of each second:" $(cat "$scratch/drops")
cat "$scratch/received"
"$lasthop" run scenarios/bench/codel.toml --set "links.slow.forward.queue.discipline=${discipline/_/-}"
for seconds in $(seq 20); do
    "$lasthop" run scenarios/bench/codel.toml --set "links.slow.forward.queue.discipline=${discipline/_/-}" --set "duration=$seconds s" --json \
        | awk -F'[:,]' '/dropped_queue/ { drops += $2 } END { print drops + 0 }'
done > "$scratch/ours"
echo "lasthop: drops at the end of each second:" $(cat "$scratch/ours")
