#!/usr/bin/env bash
# Measures cells of 802.11b and 802.11g with one, two and five stations in simulated time, uploads and downloads of TCP:
# with Linux's Wi-Fi stack (mac80211, hostapd, wpa_supplicant) over the model's medium, and with the model's stack.
# Prints the sums of the goodputs in Mbit/s and their ratio.
#
#   benches/wifi-cells.sh --measure [KERNEL]
#
# Needs the release build, jq, hostapd, wpa_supplicant, iw, and a kernel (`lasthop kernel build 6.12`).
set -euo pipefail
[ "${1:-}" = --measure ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
kernel=${2:-6.12}
here=$(cd "$(dirname "$0")" && pwd)
lasthop=$here/../target/release/lasthop
sum() { # STANDARD STATIONS FROM TO STACK
    "$lasthop" try "$here/wifi-cells.toml" --time simulated --kernel "$kernel" --wifi "$5" --jobs 2 --json \
        --set "wlans.cell.standard=$1" --set "nodes.near.count=$2" --set "flows.f.from=$3" --set "flows.f.to=$4" 2>/dev/null |
        jq '[.rows[].goodput_bps] | add / 1e6'
}
echo "standard, stations, direction: Linux, model, ratio"
for standard in 802.11b 802.11g; do
    for stations in 1 2 5; do
        for ends in "server near" "near server"; do
            read -r from to <<< "$ends"
            linux=$(sum "$standard" "$stations" "$from" "$to" kernel)
            model=$(sum "$standard" "$stations" "$from" "$to" model)
            direction=$([ "$from" = server ] && echo down || echo up)
            awk -v w="$standard, $stations, $direction" -v l="$linux" -v m="$model" \
                'BEGIN { printf "%s: %.2f, %.2f, %.3f\n", w, l, m, l / m }'
        done
    done
done
