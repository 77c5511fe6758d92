# Real hosts with a gateway before a hop that loses packets: server -- core [gateway] radio -- the air -- client. To be sourced from the project's
# root, by a script that takes root. Sets `s`, `g`, `a` and `c`, the namespaces of the four, what trial.sh sets, and the functions below; the
# hosts go with the script.
for needed in ip tc nft python3; do
    command -v $needed > /dev/null || { echo "SKIPPED: $needed is not installed" >&2; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces take root" >&2; exit 0; }
. benches/trial.sh

s=site-s-$$ g=site-g-$$ a=site-a-$$ c=site-c-$$
leave_site() {
    kill $(jobs -p) 2> /dev/null || true
    for host in $s $g $a $c; do
        ip netns pids $host 2> /dev/null | xargs -r kill -9 2> /dev/null || true
        ip netns delete $host 2> /dev/null || true
    done
    rm -rf "$scratch"
}
trap leave_site EXIT
for host in $s $g $a $c; do ip netns add $host; ip -n $host link set lo up; done
ip link add core netns $g type veth peer name eth0 netns $s
ip link add radio netns $g type veth peer name ap netns $a
ip link add client netns $a type veth peer name eth0 netns $c
ip -n $s address add 10.88.1.2/24 dev eth0; ip -n $g address add 10.88.1.1/24 dev core
ip -n $g address add 10.88.2.1/24 dev radio; ip -n $a address add 10.88.2.2/24 dev ap
ip -n $a address add 10.88.3.1/24 dev client; ip -n $c address add 10.88.3.2/24 dev eth0
for end in "$s eth0" "$g core" "$g radio" "$a ap" "$a client" "$c eth0"; do
    ip -n ${end% *} link set ${end#* } up
done
# The air takes packets one by one, as do those who send into it.
for end in "$g radio" "$a ap" "$a client" "$c eth0"; do ip -n ${end% *} link set ${end#* } gso_max_segs 1; done
ip -n $s route add default via 10.88.1.1; ip -n $c route add default via 10.88.3.1
ip -n $g route add 10.88.3.0/24 via 10.88.2.2; ip -n $a route add default via 10.88.2.1
for host in $g $a; do ip netns exec $host sysctl -qw net.ipv4.ip_forward=1; done
# A host gives a connection up after some seconds in place of a quarter of an hour.
for host in $s $c; do ip netns exec $host sysctl -qw net.ipv4.tcp_retries2=6; done

# The hop's rate.
hop() {
    for end in ap client; do ip netns exec $a tc qdisc replace dev $end root tbf rate "$1" burst 32k latency 20ms; done
}

# Which packets on the air are lost, in nftables' words.
air() {
    ip netns exec $a nft -f - << END
table ip air
delete table ip air
table ip air {
    chain forward { type filter hook forward priority 0; $1 drop; }
}
END
}

# The file of a gateway with this rule.
write_gateway() {
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
$1
END
}

# Starts a gateway with that file; its process is `gateway`.
start_gateway() {
    ip netns exec $g "$lasthop" gateway "$scratch/gateway.toml" 2> "$scratch/log" &
    gateway=$!
    for _ in $(seq 50); do [ -S "$scratch/gateway.sock" ] && break; sleep 0.1; done
    kill -0 $gateway 2> /dev/null || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.5 # a connection whose SYN the kernel has passed meanwhile is not split
}

# Ends it by a signal.
end_gateway() {
    kill "-$1" $gateway
    wait $gateway 2> /dev/null || true
    rm -f "$scratch/gateway.sock"
}

# Has a gateway do something.
ask_gateway() {
    "$lasthop" gateway "$@" --socket "$scratch/gateway.sock"
}

# Connections of which it owes something, and octets at risk.
owed() {
    ask_gateway status --json | python3 -c 'import json, sys
engine = json.load(sys.stdin)["report"]["engine"]
print(engine["owed_connections"], engine["octets_at_risk"])'
}

# Starts that many transfers at once, each of which is cut off once it hears nothing for the number of seconds; the process is `transfers`.
start_transfers() {
    ip netns exec $c python3 benches/checked-transfers.py fetch "$1" "$2" > "$scratch/result" &
    transfers=$!
}

# Waits for them, and says how many came whole, were cut off, or seemed whole and were not: `whole`, `cut` and `wrong`.
end_transfers() {
    wait $transfers
    read -r whole cut wrong <<< "$(tail -1 "$scratch/result" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["whole"], r["cut off"], r["wrong"])')"
}
