#!/usr/bin/env bash
# Drains, reloads, restarts or stops a gateway that splits connections, in the middle of transfers between
# real hosts, and counts the transfers that survive. Each round has 100 transfers of 400 kB, half of them
# uploads, over a hop of 100 Mbit/s that loses 2% both ways.
#
#   sudo benches/drain-splits.sh [ROUNDS] [SCHEME...]          default 3 of each, cicada and i-tcp
#
# EVENTS="drained stopped" selects some of these events:
#
# drained     `lasthop gateway drain`, then SIGTERM once the gateway owes nothing
# settings    a reload with another setting of the scheme, then the same stop
# other       a reload with another scheme, then the same stop
# removed     a reload without a scheme, then the same stop
# restarted   SIGTERM, and an immediate restart
# paused      SIGSTOP for 300 ms; meanwhile all packets bypass the gateway
# stopped     SIGTERM alone: the octets at risk are lost
#
# Each round prints the connections and octets owed just before the event, the time until nothing was owed and
# the gateway ended, the transfers that were still open then, and how many transfers were complete, were cut
# off, or seemed complete but had wrong octets. The exit code is 1 if a transfer was wrong, or was cut off
# other than by a stop alone. A stop alone may cut off the transfers that the gateway reported as owed at its
# end.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3}
shift || true
schemes=("$@")
[ $# -gt 0 ] || schemes=(cicada i-tcp)
each=100
. benches/lossy-site.sh

hop 100mbit
air "numgen random mod 100 < 2"
ip netns exec $s python3 benches/checked-transfers.py serve &
now() { date +%s%N; }
# Stops the gateway once nothing is owed.
stop_when_free() {
    local owed
    for _ in $(seq 400); do
        read -r owed _ <<< "$(owed)"
        [ "$owed" = 0 ] && break
        sleep 0.1
    done
    [ "$owed" = 0 ] || echo "after 40 s the gateway still owes octets of $owed connections" >&2
    end_gateway TERM
}
reload_to() {
    write_gateway "$1"
    ask_gateway reload > /dev/null
}
bad=0
for scheme in "${schemes[@]}"; do
    case $scheme in
        cicada) other=i-tcp setting='vcache = "100 kB"' ;;
        i-tcp) other=cicada setting='buffer = "100 kB"' ;;
        *) echo "$scheme: expected cicada or i-tcp" >&2; exit 2 ;;
    esac
    for event in ${EVENTS:-drained settings other removed restarted paused stopped}; do
        sum_whole=0 sum_cut=0 sum_wrong=0
        for round in $(seq "$rounds"); do
            write_gateway "scheme = \"$scheme\""
            start_gateway
            start_transfers $each 40
            # In the middle of the transfers: 20 MB each way take about 2 s.
            sleep "$(awk -v r=$round -v n="$rounds" 'BEGIN { printf "%.2f", 0.3 + 1.2 * (r - 1) / n }')"
            read -r owed octets <<< "$(owed)"
            began=$(now)
            case $event in
                drained) ask_gateway drain > /dev/null ;;
                settings) reload_to "$(printf 'scheme = "%s"\nsettings = { %s }' "$scheme" "$setting")" ;;
                other) reload_to "scheme = \"$other\"" ;;
                removed) reload_to 'scheme = "none"' ;;
            esac
            case $event in
                restarted) end_gateway TERM; start_gateway ;;
                paused) kill -STOP $gateway; sleep 0.3; kill -CONT $gateway ;;
                stopped) end_gateway TERM ;;
                *) stop_when_free ;;
            esac
            ended=$(now)
            open=$(ip netns exec $c ss -Htn state established | wc -l)
            end_transfers
            case $event in restarted | paused) stop_when_free ;; esac
            rm -f "$scratch/gateway.sock.state"
            echo "$scheme, $event, round $round: owed $owed connections, $octets octets; ended after $(((ended - began) / 1000000)) ms, $open open;" \
                "whole $whole, cut off $cut, wrong $wrong"
            sum_whole=$((sum_whole + whole)) sum_cut=$((sum_cut + cut)) sum_wrong=$((sum_wrong + wrong))
            allowed=0
            [ $event != stopped ] || allowed=$(sed -n 's/.* drained .*owed_connections=\([0-9]*\).*/\1/p' "$scratch/log")
            [ "$wrong" = 0 ] && [ "$cut" -le "$allowed" ] || { bad=1; tail -5 "$scratch/log" >&2; }
        done
        echo "$scheme, $event, in $((rounds * each)) transfers: whole $sum_whole, cut off $sum_cut, wrong $sum_wrong"
    done
done
exit $bad
