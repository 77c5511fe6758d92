#!/usr/bin/env bash
# Processor time per packet of the gateway's thread, including the kernel's part of it, with 10 to 100,000 TCP
# connections that all have data in flight: segments of 1448 octets down, ACKs up, each connection to its own
# host, at a rate below the one at which packets are lost. There are two patterns: one packet per connection,
# one connection after the other (the worst case for caches), and bursts of 8 packets per connection.
#
#   benches/gateway-flows.sh [SECONDS] [ROUNDS]     RATE=50000 packets per second; FLOWS="10 1000 10000 100000"
#                                               THREADS="1 2" threads of the gateway
#                                               LASTHOP=/path/to/another binary; NOBUILD=1 to use the existing build
#                                               PROFILE=yes for a table of where the time goes (needs perf)
#
# With several threads, the processor time is that of all of them. If it equals that of one thread, the threads do not
# slow each other down.
#
# The two ends are TAP devices of one process (crates/gateway/examples/exchange.rs) in the gateway's namespace. A
# packet sent to a TAP device is only queued. The gateway's thread therefore does not pay for another host's
# reception, as it would on veth.
#
# Each round measures every number of connections one after the other, so that a busy machine slows them
# alike; ratios are medians over the rounds. Both processes have real-time priority where the system allows it
# (`chrt`).
set -euo pipefail
cd "$(dirname "$0")/.."
. benches/arguments.sh
seconds=${1:-6} rounds=${2:-3} rate=${RATE:-50000}
whole SECONDS "$seconds" 1; whole ROUNDS "$rounds" 1; whole RATE "$rate" 1
for flows in ${FLOWS:-}; do whole FLOWS "$flows" 1; done
for threads in ${THREADS:-}; do
    whole THREADS "$threads" 1
    [ "$threads" -le 16 ] || complain "THREADS: $threads; expected 1 to 16"
done
command -v ip > /dev/null || { echo "SKIPPED: ip is not installed" >&2; exit 0; }
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
[ -z "${PROFILE:-}" ] || command -v perf > /dev/null || { echo "SKIPPED: perf is not installed" >&2; exit 0; }
target=${CARGO_TARGET_DIR:-target}/release
[ -n "${NOBUILD:-}" ] || cargo build --release --locked --quiet -p lasthop-gateway --example exchange
[ -n "${NOBUILD:-}${LASTHOP:-}" ] || cargo build --release --locked --quiet -p lasthop-cli
lasthop=${LASTHOP:-$target/lasthop}
program "$lasthop" "cargo build --release -p lasthop-cli builds it"
program "$target/examples/exchange" "cargo build --release -p lasthop-gateway --example exchange builds it"
alone

g=bench-flows-$$
scratch=$(mktemp -d)
process=
cleanup() {
    [ -z "$process" ] || kill "$process" 2> /dev/null || true
    ip netns delete $g 2> /dev/null || true
    [ -z "${stats:-}" ] || sysctl -qw kernel.bpf_stats_enabled="$stats"
    rm -rf "$scratch"
}
trap cleanup EXIT
ip netns add $g
ip -n $g link set lo up
for end in core radio; do
    ip -n $g tuntap add $end mode tap vnet_hdr
    ip netns exec $g sysctl -qw net.ipv6.conf.$end.disable_ipv6=1
    ip -n $g link set $end address 02:00:00:00:00:01 txqueuelen 10000 up
done
ip -n $g address add 172.31.1.1/24 dev core; ip -n $g address add 172.31.2.1/24 dev radio
ip -n $g neighbour add 172.31.1.2 lladdr 02:00:00:00:00:02 dev core
ip -n $g neighbour add 172.31.2.2 lladdr 02:00:00:00:00:02 dev radio
ip -n $g route add 192.0.2.0/24 via 172.31.1.2; ip -n $g route add 10.0.0.0/8 via 172.31.2.2
ip netns exec $g sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
first=$(chrt -f 1 true 2> /dev/null && echo "chrt -f 1" || true)

where=benches/where-it-goes-gateway.py
profile() { # PROCESS: samples it once all connections exist
    sleep 3
    local before after
    before=$(python3 $where programs "$1")
    perf record --quiet -F 2500 -g -e cpu-clock -p "$1" -o "$scratch/perf" -- sleep $((seconds - 3)) > /dev/null 2>&1
    after=$(python3 $where programs "$1")
    python3 - "$before" "$after" "$(python3 $where samples "$scratch/perf")" >> "$scratch/rooms" << 'END'
import json, sys
before, after, rooms = map(json.loads, sys.argv[1:])
runs = after["runs"] - before["runs"]
print(json.dumps({"rooms": rooms, "bpf_ns_a_run": (after["ns"] - before["ns"]) / max(runs, 1)}))
END
}
if [ -n "${PROFILE:-}" ]; then
    stats=$(sysctl -n kernel.bpf_stats_enabled)
    sysctl -qw kernel.bpf_stats_enabled=1
    seconds=$((seconds + 3))
fi
measure() { # FLOWS BURST THREADS
    cat > "$scratch/gateway.toml" << CONFIG
backend = "tc-bpf"
[ports]
radio = ["radio"]
[bounds]
flows = $(($1 + 1000))
octets-in-all = "1 GiB"
[control]
socket = "$scratch/gateway.sock"
[metrics]
listen = "off"
$([ "$3" = 1 ] || printf '[process]\nthreads = %s' "$3")
[[rule]]
scheme = "snoop"
CONFIG
    ip netns exec $g $first "$lasthop" gateway "$scratch/gateway.toml" 2> "$scratch/log" &
    process=$!
    for _ in $(seq 50); do [ -S "$scratch/gateway.sock" ] && break; sleep 0.1; done
    [ -z "${PROFILE:-}" ] || profile "$process" &
    local profiler=$!
    ip netns exec $g $first "$target/examples/exchange" "$scratch/gateway.sock" "$1" "$2" "$rate" "$seconds" |
        tee -a "$scratch/results" >&2 || cat "$scratch/log" >&2
    [ -z "${PROFILE:-}" ] || wait $profiler
    echo "$3 $(awk '/^VmRSS/ { print $2 }' "/proc/$process/status")" >> "$scratch/resident"
    kill $process; wait $process || true
    process=
}
for _ in $(seq "$rounds"); do
    for burst in 1 8; do
        for flows in ${FLOWS:-10 1000 10000 100000}; do
            for threads in ${THREADS:-1}; do measure "$flows" "$burst" "$threads"; done
        done
    done
done
python3 - "$scratch/results" "$scratch/resident" << 'END'
import json, statistics, sys
rows = {}
for line, gateway in zip(open(sys.argv[1]), open(sys.argv[2])):
    run = json.loads(line)
    threads, resident = map(int, gateway.split())
    run["resident"] = 1024 * resident
    run["us"] = 1e6 * run["cpu_s"] / max(run["frames"], 1)
    rows.setdefault((run["burst"], run["flows"], threads), []).append(run)
least, fewest = (min(key[index] for key in rows) for index in (1, 2))
print(f"{'burst':>8}{'connections':>13}{'threads':>9}{'us/packet':>13}{'vs ' + str(least):>8}{'vs ' + str(fewest) + ' thread':>13}{'packets/s':>11}{'/turn':>8}{'lost':>7}{'resident, MB':>14}{'octets/connection':>21}")
for (burst, flows, threads), runs in rows.items():
    middle = lambda value: statistics.median(map(value, runs))
    ratio = lambda others: statistics.median(a["us"] / b["us"] for a, b in zip(runs, others))
    few = rows[burst, least, threads]
    print(f"{burst:8}{flows:13}{threads:9}{middle(lambda r: r['us']):13.2f}{ratio(few):8.2f}{ratio(rows[burst, flows, fewest]):13.2f}"
          f"{middle(lambda r: r['frames'] / r['seconds']):11.0f}{middle(lambda r: r['frames'] / r['turns']):8.1f}{sum(r['missing'] for r in runs):7}"
          f"{middle(lambda r: r['resident'] / 1e6):14.1f}"
          + (f"{statistics.median((a['resident'] - b['resident']) / (flows - least) for a, b in zip(runs, few)):21.0f}"
             if flows > least else ""))
END
[ -z "${PROFILE:-}" ] || python3 $where table "$scratch/results" "$scratch/rooms"
