#!/usr/bin/env bash
# Measures what schemes gain in cells of 802.11b and 802.11g in simulated time, over Linux's Wi-Fi stack (mac80211,
# hostapd, wpa_supplicant) with the gateway at the access point and, for schemes with an agent at the client, on
# its Wi-Fi adapter: one station, CUBIC, without errors and with 30% of frames damaged. Prints the goodput over
# that without a scheme, and the same in the simulator.
#
#   benches/wifi-schemes.sh --measure [KERNEL [SEEDS [SYSCTL]]]
#
# SYSCTL is a table of settings of the hosts, by default empty.
# Needs the release build, jq, hostapd, wpa_supplicant, iw, and a kernel (`lasthop kernel build 6.12`).
set -euo pipefail
[ "${1:-}" = --measure ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
kernel=${2:-6.12}
seeds=${3:-3}
sysctl=${4:-\{\}}
here=$(cd "$(dirname "$0")" && pwd)
lasthop=${LASTHOP:-$here/../target/release/lasthop}
controlled='{scheme="lle-tcp", label="lle-tcp-cc", sender-buffer="64 KiB"}'
echo "standard, frames damaged, direction, scheme: gain over Linux's Wi-Fi, in the simulator, ratio"
for standard in 802.11b 802.11g; do
    for errors in 0% 30%; do
        for ends in "server near" "near server"; do
            read -r from to <<< "$ends"
            if [ "$from" = server ]; then
                direction=down schemes='["none", "lle-tcp", "as-tcp", "snoop", "cicada", "i-tcp"]'
            else
                direction=up schemes="[\"none\", $controlled, \"as-tcp\"]"
            fi
            "$lasthop" try "$here/wifi-cells.toml" --time simulated --kernel "$kernel" --jobs 2 --seeds "$seeds" --json \
                --set "wlans.cell.standard=$standard" --set "wlans.cell.errors={packet-error-rate=\"$errors\"}" \
                --set "flows.f.from=$from" --set "flows.f.to=$to" --set "schemes=$schemes" --set "try.sysctl=$sysctl" 2>/dev/null |
                jq -r --arg cell "$standard, $errors, $direction" '
                    def median: sort | .[(length / 2 | floor)];
                    [.runs | group_by(.scheme)[] | {scheme: .[0].scheme,
                        linux: (map(.goodput_bps) | median), model: (map(.predicted_goodput_bps) | median)}]
                    | (.[] | select(.scheme == "none")) as $none | .[] | select(.scheme != "none")
                    | [.linux / $none.linux, .model / $none.model] as [$linux, $model]
                    | "\($cell), \(.scheme): \($linux * 1000 | round / 1000), \($model * 1000 | round / 1000), \($linux / $model * 1000 | round / 1000)"'
        done
    done
done
