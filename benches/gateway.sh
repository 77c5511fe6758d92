#!/usr/bin/env bash
# The gateway compared with plain kernel routing and PEPsal, over veth: Gbit/s of bulk TCP (CUBIC), processor
# time of the process, and the ratios. Each round of a case measures all of them one after the other, so that
# a busy machine slows them alike. Ratios are medians over the rounds, with the lowest and the highest. The
# last part measures the engine alone: processor time per packet.
#
#   benches/gateway.sh [SECONDS] [ROUNDS]
#
#   CASES="one many many-up mtu lossy"   one: one download in super-packets; many: 50; many-up: 50 uploads; mtu: one
#                                        download in packets of MTU size, without offload; lossy: 100 of
#                                        those, with 1% of the packets lost
#   PEPSAL=/path/to/pepsal               to compare with PEPsal
#   SCHEME=cicada, BACKEND=tun           instead of snoop, tc-bpf
#   LASTHOP="/path/to/old ..."           other builds, in addition to this one
#   ENGINE=no, NOBUILD=1                 without the engine alone; with the existing build
#
# To exclude the other load of the machine from the measurement:
# - both ends, the gateway and PEPsal have real-time priority (`chrt`; a round takes some seconds), so that other
#   processes yield to them;
# - each veth end distributes frames to processors by flow (RPS), as network cards do. Otherwise, veth uses the
#   processor on which the sender runs, and frames of one flow overtake each other whenever a process moves, in
#   kernel routing as well.
set -euo pipefail
cd "$(dirname "$0")/.."
. benches/arguments.sh
seconds=${1:-2} rounds=${2:-5}
cases=${CASES:-one many many-up mtu lossy} scheme=${SCHEME:-snoop} backend=${BACKEND:-tc-bpf}
pepsal=${PEPSAL:-$(command -v pepsal || true)}
whole SECONDS "$seconds" 1; whole ROUNDS "$rounds" 1
for case in $cases; do
    case $case in one | many | many-up | mtu | lossy) ;; *) complain "CASES: $case; expected one, many, many-up, mtu or lossy" ;; esac
done
for needed in ip iperf3 ethtool nft; do
    command -v $needed > /dev/null || { echo "SKIPPED: $needed is not installed" >&2; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
[ -n "$pepsal" ] || echo "PEPsal was not found (PEPSAL=/path/to/pepsal); measuring without it" >&2
[ -n "${NOBUILD:-}" ] || cargo build --release --locked --quiet -p lasthop-cli
this_build=${CARGO_TARGET_DIR:-target}/release/lasthop
builds="$this_build ${LASTHOP:-}"
for build in $builds; do program "$build" "cargo build --release -p lasthop-cli builds $this_build"; done
[ -z "$pepsal" ] || program "$pepsal" "unset PEPSAL to measure without it"
"$this_build" schemes "$scheme" > /dev/null || exit 2
alone

s=bench-s-$$ g=bench-g-$$ c=bench-c-$$
ends=("$s eth0" "$g core" "$g radio" "$c eth0")
scratch=$(mktemp -d)
cleanup() {
    kill $(jobs -p) 2> /dev/null || true
    for host in $s $g $c; do
        ip netns pids $host 2> /dev/null | xargs -r kill 2> /dev/null || true
        ip netns delete $host 2> /dev/null || true
    done
    rm -rf "$scratch"
}
trap cleanup EXIT
for host in $s $g $c; do ip netns add $host; ip -n $host link set lo up; done
ip link add core netns $g type veth peer name eth0 netns $s
ip link add radio netns $g type veth peer name eth0 netns $c
ip -n $s address add 10.88.1.2/24 dev eth0; ip -n $g address add 10.88.1.1/24 dev core
ip -n $c address add 10.88.2.2/24 dev eth0; ip -n $g address add 10.88.2.1/24 dev radio
for end in "${ends[@]}"; do
    set -- $end
    ip -n $1 link set $2 up
    ip netns exec $1 sh -c "printf '%x' $(((1 << $(nproc)) - 1)) > /sys/class/net/$2/queues/rx-0/rps_cpus"
done
ip -n $s route add default via 10.88.1.1; ip -n $c route add default via 10.88.2.1
ip netns exec $g sysctl -qw net.ipv4.ip_forward=1
first=$(chrt -f 1 true 2> /dev/null && echo "chrt -f 1" || true)
ip netns exec $s $first iperf3 -s -D -I "$scratch/iperf3.pid" > /dev/null
sleep 0.3

cat > "$scratch/gateway.toml" << END
backend = "$backend"
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
scheme = "$scheme"
END

set_case() { # CASE: sets offloads, losses, and `flows`, the arguments of iperf3
    local offload=on loss=0
    case $1 in
        one) flows=(-P 1 -R) ;;
        many) flows=(-P 50 -R) ;;
        many-up) flows=(-P 50) ;;
        mtu) flows=(-P 1 -R) offload=off ;;
        lossy) flows=(-P 100 -R) offload=off loss=1 ;;
    esac
    for end in "${ends[@]}"; do
        set -- $end
        ip netns exec $1 ethtool -K $2 tso $offload gso $offload > /dev/null
    done
    ip netns exec $c nft flush ruleset
    [ $loss = 0 ] || ip netns exec $c nft -f - << END
table ip air {
    chain in { type filter hook prerouting priority -300; numgen random mod 100 < $loss drop; }
}
END
}
transfer() { # Gbit/s, retransmissions
    timeout $((seconds + 10)) ip netns exec $c $first iperf3 -c 10.88.1.2 "${flows[@]}" -C cubic -t "$seconds" -O 1 -J |
        python3 -c 'import json, sys
end = json.load(sys.stdin)["end"]
print("%.3f %d" % (end["sum_received"]["bits_per_second"] / 1e9, end["sum_sent"].get("retransmits", 0)))'
}
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
# NAME PROCESS: measures a transfer and the share of a core that the process took; writes a line of results. A failed
# transfer counts in no ratio.
measure() {
    local before=0 after=0 gbits
    [ "$2" = 0 ] || before=$(ticks "$2")
    gbits=$(transfer 2> "$scratch/complaint") || { echo "$case $1: iperf3 failed: $(tail -1 "$scratch/complaint")" >&2; return 0; }
    [ "$2" = 0 ] || after=$(ticks "$2")
    echo "$case $round $1 $gbits $(awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s=$((seconds + 1)) 'BEGIN { printf "%.2f", t / hz / s }')" |
        tee -a "$scratch/results" >&2
}
with_gateway() { # NAME BINARY
    ip netns exec $g $first "$2" gateway "$scratch/gateway.toml" 2> "$scratch/log" &
    local process=$!
    for _ in $(seq 50); do [ -S "$scratch/gateway.sock" ] && break; sleep 0.1; done
    kill -0 $process 2> /dev/null || { cat "$scratch/log" >&2; return; }
    sleep 0.5 # the gateway does not split a connection whose SYN the kernel forwarded before
    measure "$1" $process
    "$2" gateway status --json --socket "$scratch/gateway.sock" |
        python3 -c 'import json, sys
report = json.load(sys.stdin)["report"]
counters = report["engine"]["counters"]
print("    frames in", counters["received"], "copies", counters["copies"], "out", report["sent"], "lost", report["lost"],
      "stepped out", report["punctuality"].get("steps_out"), "longest turn", "%.1f ms;" % (1e3 * report["longest_turn_s"]), "rules:",
      *(f"{key} {value}" for rule in report["engine"]["rules"] for key, value in rule["counters"].items() if value))' >&2 || true
    kill $process; wait $process || true
}
# PEPsal raises the hard limit of open files to 2^20 and exits silently if it may not. It needs only some tens here.
shim=
if [ -n "$pepsal" ] && [ "$(ulimit -Hn)" != 1048576 ] && command -v cc > /dev/null; then
    echo 'int setrlimit(int resource, const void *limit) { return 0; }' |
        cc -w -shared -fPIC -x c - -o "$scratch/shim.so" && shim=$scratch/shim.so
fi
with_pepsal() {
    ip -n $g rule add fwmark 1 lookup 100; ip -n $g route add local default dev lo table 100
    ip netns exec $g iptables -t mangle -A PREROUTING -i radio -p tcp -j TPROXY --on-port 5000 --tproxy-mark 1
    LD_PRELOAD=$shim ip netns exec $g $first "$pepsal" -p 5000 > "$scratch/pepsal" 2>&1 &
    local process=$!
    sleep 0.5
    if kill -0 $process 2> /dev/null; then measure pepsal $process
    else echo "PEPsal did not start: $(cat "$scratch/pepsal")" >&2; fi
    kill $process 2> /dev/null || true; wait $process 2> /dev/null || true
    ip netns exec $g iptables -t mangle -F
    ip -n $g rule del fwmark 1 lookup 100; ip -n $g route flush table 100
}
for case in $cases; do
    set_case "$case"
    for round in $(seq "$rounds"); do
        measure kernel 0
        for build in $builds; do
            case $build in "$this_build") with_gateway lasthop "$build" ;; *) with_gateway "$build" "$build" ;; esac
        done
        [ -z "$pepsal" ] || with_pepsal
    done
done
python3 - "$scratch/results" << 'END'
import statistics, sys
cases = {}
for line in open(sys.argv[1]):
    case, of_round, name, gbits, lost, cores = line.split()
    cases.setdefault(case, {}).setdefault(name, {})[of_round] = float(gbits), float(cores), int(lost)
def ratio(runs, others):
    ratios = [run[0] / others[of_round][0] for of_round, run in runs.items() if of_round in others]
    if not ratios:
        return "-"
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
print("| | | Gbit/s | cores of the process | retransmissions | ratio to kernel routing | ratio to PEPsal |\n|---|---|---:|---:|---:|---:|---:|")
for case, rows in cases.items():
    for name, runs in rows.items():
        middle = lambda index: statistics.median(run[index] for run in runs.values())
        print(f"| {case} | {name} | {middle(0):.2f} | {middle(1):.2f} | {middle(2):.0f} |",
              ratio(runs, rows.get("kernel", {})), "|", ratio(runs, rows.get("pepsal", {})), "|")
END
[ "${ENGINE:-yes}" = no ] && exit
echo "the engine alone, ns per packet (64 segments of 1448 octets and their 64 ACKs at a time):"
cargo bench --locked --quiet -p lasthop-gateway --bench gateway 2> /dev/null |
    python3 -c 'import re, sys
unit = {"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6}
name = ""
for line in sys.stdin:
    name = (re.match(r"engine, [^/]*", line) or [name])[0]
    # Skips the line about the change since the last run, which has percentages.
    if (found := re.search(r"time: +\[\S+ \S+ (\S+) (\S+)", line)) and found[2] in unit:
        print(f"    {name:32}{float(found[1]) * unit[found[2]] / 128:8.0f}")'
