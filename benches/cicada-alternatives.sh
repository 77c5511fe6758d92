#!/usr/bin/env bash
# Tables 1 to 3 of CICADA's paper under other assumptions about the network than those of
# scenarios/cicada/one-wlan.toml: I-TCP and CICADA in two corners of the tables, as the table of
# docs/src/validation/cicada.md. Needs python3. LASTHOP names another binary than that of this source.
#
#   benches/cicada-alternatives.sh [SEEDS]        default 5
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 > /dev/null || { echo "SKIPPED: python3 is not installed" >&2; exit 0; }
seeds=${1:-5}
. benches/trial.sh

# A corner of the tables: calls, load in kbit/s, then the scenario and its settings.
corner() {
    local calls=$1 load=$2 scenario=$3 one; shift 3
    local -a set=()
    for one in web mail ftp; do set+=(--set "sessions.$one.load=$load kbit/s"); done
    if ((calls >= 20)); then set+=(--set "sessions.call-2={ kind = 'voice', between = ['mailer', 'lan'] }"); fi
    if ((calls >= 30)); then set+=(--set "sessions.call-3={ kind = 'voice', between = ['mover', 'lan'] }"); fi
    for one in "$@"; do
        # A key of every call.
        if [[ $one == call.* ]]; then
            for number in $(seq $((calls / 10))); do set+=(--set "sessions.call-$number.${one#call.}"); done
        else
            set+=(--set "$one")
        fi
    done
    "$lasthop" compare "scenarios/cicada/$scenario.toml" --json --seeds "$seeds" "${set[@]}" | python3 -c '
import json, sys
rows = {row["scheme"]: row["sessions"] for row in json.load(sys.stdin)["rows"]}
def figures(sessions):
    voice = sessions["voice"]
    goodput = sum(of["goodput_bps"]["mean"] for of in sessions.values() if of) / 1e6
    return goodput, voice["delay_mean_s"]["mean"] * 1e3, voice["delay_variance_s2"]["mean"] * 1e6, voice["lost_percent"]["mean"]
def short(number):
    return f"{number:.3g}" if number < 1000 else f"{round(number, -1):.0f}"
pairs = zip(figures(rows["i-tcp"]), figures(rows["cicada"]), (short, short, short, "{:.2f}".format))
print(" | ".join(f"{show(one)}, {show(other)}" for one, other, show in pairs), end="")'
}

# A row: the assumption, the scenario, its settings.
row() {
    local title=$1; shift
    echo "| $title | $(corner 10 50 "$@") | $(corner 30 200 "$@") |"
}

echo "| assumed | 10 calls, 50 kbit/s: Mbit/s | voice delay ms | variance ms² | lost % | 30 calls, 200 kbit/s: Mbit/s | voice delay ms | variance ms² | lost % |"
echo "|---|---|---|---|---|---|---|---|---|"
echo "| *published* | 2.42, 2.76 | 2.28, 1.11 | 0.679, 0.0714 | | 9.43, 9.77 | 16.7, 5.80 | 58140, ? | |"
row "as in \`one-wlan.toml\`" one-wlan
row "802.11b" one-wlan wlans.air.standard=802.11b
row "802.11g with 802.11b stations in range" one-wlan wlans.air.cts-to-self=true
row "four WLANs of 802.11b" four-wlans
row "G.729" one-wlan call.codec=g729
row "silence suppressed (P.59)" one-wlan call.talk-spurts=p59
row "T1 to the servers" one-wlan "links.site.rate=1.536 Mbit/s"
row "T1 to the other ends of the calls" one-wlan "links.building.rate=1.536 Mbit/s"
row "no bit errors" one-wlan wlans.air.errors.bit-error-rate=0%
row "five times the bit errors" one-wlan wlans.air.errors.bit-error-rate=0.005%
row "outages of 0.3 s in each 10 s" one-wlan "wlans.air.errors={ channel = { good = { mean = '10 s' }, bad = { mean = '0.3 s', loss = '100%' } } }"
row "the same, with unlimited queues" one-wlan "wlans.air.errors={ channel = { good = { mean = '10 s' }, bad = { mean = '0.3 s', loss = '100%' } } }" wlans.air.queue=unlimited
row "unlimited queues" one-wlan wlans.air.queue=unlimited
row "Linux hosts" one-wlan "tcp={ preset = 'linux' }"
row "almost no load except calls" one-wlan "sessions.web.load=1 kbit/s" "sessions.mail.load=1 kbit/s" "sessions.ftp.load=1 kbit/s"
