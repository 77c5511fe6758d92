#!/usr/bin/env bash
# The cost of each scheme in a simulation in which it has nothing to repair, as a table: instructions per delivered
# segment (1000 octets), compared with none. Instructions are the same on every run and on a busy machine. They are
# counted between two run lengths, so that start-up does not count.
#
#   benches/agents-in-simulator.sh [TITLE...]      all schemes, or only the rows with these titles and none
#   LASTHOP=PROGRAM benches/agents-in-simulator.sh the same for another build
#   benches/where-it-goes.py SCENARIO SCHEME       the instructions by component
#
# The hop has 100 Mbit/s. Schemes that need the information of a cell use an 802.11g access point, where a
# segment costs more.
set -euo pipefail
cd "$(dirname "$0")/.."
. benches/arguments.sh
command -v valgrind > /dev/null || { echo "valgrind is not installed" >&2; exit 1; }
[[ -n ${LASTHOP:-} ]] || cargo build --release --locked --quiet -p lasthop-cli
lasthop=${LASTHOP:-${CARGO_TARGET_DIR:-target}/release/lasthop}
wired=scenarios/bench/lossless.toml cell=scenarios/bench/lossless-cell.toml
log=$(mktemp)
trap 'rm -f "$log"' EXIT
chosen=("$@")

# count SCENARIO SCHEME SECONDS SET...: instructions of a run, and octets delivered.
count() {
    local sets=(--set "duration=$3 s") set octets
    for set in "${@:4}"; do sets+=(--set "$set"); done
    octets=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" "$lasthop" run "$1" --scheme "$2" --json "${sets[@]}" |
        awk -F'[:,]' '/"bytes"/ { sum += $2 } END { print sum }')
    awk -v octets="$octets" '/Collected/ { print $NF, octets }' "$log"
}

# each SCENARIO SCHEME SET...: instructions per segment.
each() {
    local few less many more
    read -r few less < <(count "$1" "$2" 2 "${@:3}")
    read -r many more < <(count "$1" "$2" 6 "${@:3}")
    echo $(((many - few) * 1000 / (more - less)))
}

# table TITLE SCENARIO SET... -- SCHEME...: one row per scheme; the first scheme is none.
table() {
    local title=$1 scenario=$2 sets=() scheme none='' taken
    shift 2
    while [[ $1 != -- ]]; do sets+=("$1"); shift; done
    shift
    echo "| $title | instructions per segment | ratio to none |"
    echo "|---|---:|---:|"
    for scheme in "$@"; do
        [[ $scheme == none || ${#chosen[@]} -eq 0 ]] || [[ " ${chosen[*]} " == *" $scheme "* ]] || continue
        taken=$(each "$scenario" "$scheme" "${sets[@]}")
        [[ -n $none ]] || none=$taken
        echo "| $scheme | $taken | $(awk -v taken="$taken" -v none="$none" 'BEGIN { printf "%.2f", taken / none }') |"
    done
    echo
}

downloads=(none snoop "snoop as published" "snoop with uplink" wtcp eln dda packet-control i-tcp cicada)
uploads=(none "snoop with uplink" eln i-tcp cicada)
over_a_cell=(none snoop simple-icmp refined-icmp ebsn lle-tcp "lle-tcp as published" as-tcp c3tcp)
for title in "${chosen[@]}"; do
    printf '%s\n' "${downloads[@]}" "${uploads[@]}" "${over_a_cell[@]}" | grep -qxF -- "$title" ||
        complain "\"$title\"; expected some of: $(printf '%s\n' "${downloads[@]}" "${uploads[@]}" "${over_a_cell[@]}" | sort -u | paste -sd, | sed 's/,/, /g')"
done
upload=(flows.download.from=client flows.download.to=server)
table "download over 100 Mbit/s" $wired -- "${downloads[@]}"
table "upload over 100 Mbit/s" $wired "${upload[@]}" -- "${uploads[@]}"
table "download over 802.11g" $cell -- "${over_a_cell[@]}"
