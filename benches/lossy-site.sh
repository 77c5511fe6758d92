# Real hosts with a gateway in front of a hop that loses packets: server -- core [gateway] radio -- the air --
# client. To be sourced from the project's root, by a script that needs root. Sets `s`, `g`, `a` and `c`, the
# namespaces of the four, the variables of trial.sh, and the functions below. The hosts are removed when the
# script ends.
for needed in ip tc nft python3; do
    command -v $needed > /dev/null || { echo "SKIPPED: $needed is not installed" >&2; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
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
# The air and the interfaces that send into it handle single packets, without offload.
for end in "$g radio" "$a ap" "$a client" "$c eth0"; do ip -n ${end% *} link set ${end#* } gso_max_segs 1; done
ip -n $s route add default via 10.88.1.1; ip -n $c route add default via 10.88.3.1
ip -n $g route add 10.88.3.0/24 via 10.88.2.2; ip -n $a route add default via 10.88.2.1
for host in $g $a; do ip netns exec $host sysctl -qw net.ipv4.ip_forward=1; done
# A host gives up a connection after some seconds instead of a quarter of an hour.
for host in $s $c; do ip netns exec $host sysctl -qw net.ipv4.tcp_retries2=6; done

# Sets the rate of the hop.
hop() {
    for end in ap client; do ip netns exec $a tc qdisc replace dev $end root tbf rate "$1" burst 32k latency 20ms; done
}

# Sets which packets on the air are lost, as an nftables expression.
air() {
    ip netns exec $a nft -f - << END
table ip air
delete table ip air
table ip air {
    chain forward { type filter hook forward priority 0; $1 drop; }
}
END
}

# Writes the configuration file of a gateway with this rule.
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

# Starts a gateway with that file; `gateway` is its process.
start_gateway() {
    ip netns exec $g "$lasthop" gateway "$scratch/gateway.toml" 2> "$scratch/log" &
    gateway=$!
    for _ in $(seq 50); do [ -S "$scratch/gateway.sock" ] && break; sleep 0.1; done
    kill -0 $gateway 2> /dev/null || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.5 # the gateway does not split a connection whose SYN the kernel forwarded before
}

# Ends the gateway with a signal.
end_gateway() {
    kill "-$1" $gateway
    wait $gateway 2> /dev/null || true
    rm -f "$scratch/gateway.sock"
}

# Sends a command to the gateway.
ask_gateway() {
    "$lasthop" gateway "$@" --socket "$scratch/gateway.sock"
}

# Prints the number of connections of which the gateway owes octets, and the octets at risk.
owed() {
    ask_gateway status --json | python3 -c 'import json, sys
engine = json.load(sys.stdin)["report"]["engine"]
print(engine["owed_connections"], engine["octets_at_risk"])'
}

# Starts $1 transfers at once; `transfers` is their process. A transfer is cut off once it receives nothing
# for $2 seconds.
start_transfers() {
    ip netns exec $c python3 benches/checked-transfers.py fetch "$1" "$2" > "$scratch/result" &
    transfers=$!
}

# Waits for the transfers and counts them: `whole` (complete), `cut` (cut off), `wrong` (seemed complete but
# were not).
end_transfers() {
    wait $transfers
    read -r whole cut wrong <<< "$(tail -1 "$scratch/result" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["whole"], r["cut off"], r["wrong"])')"
}
