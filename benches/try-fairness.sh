#!/usr/bin/env bash
# The first flow's share of a queue that two flows fill, measured and predicted, for each pair of CUBIC, Reno and BBR.
# Prints a Markdown table of medians and ranges. Predictions are over 15 start times of the second flow, because they
# determine which flow loses a packet first.
#
#   benches/try-fairness.sh                predictions, with the saved real shares
#                                          (benches/results/try-fairness.json): no root
#   sudo benches/try-fairness.sh 950 1050  first a real run of each pair with these starts of the second flow,
#                                          in ms; 27 s per run
#
# --set KEY=VALUE, of the scenario, applies to predictions only. LASTHOP names another binary than that of
# this source.
#                                                benches/try-fairness.sh [--set KEY=VALUE] [START...]
set -euo pipefail
cd "$(dirname "$0")/.."
settings=()
while [ "${1:-}" = --set ]; do settings+=(--set "$2"); shift 2; done
command -v jq > /dev/null || { echo "SKIPPED: jq is not installed" >&2; exit 0; }
. benches/trial.sh
scenario=scenarios/try-fairness.toml
saved=benches/results/try-fairness.json
pairs=(cubic,cubic cubic,reno cubic,bbr reno,reno reno,bbr bbr,bbr)

[ $# -eq 0 ] || [ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
for start in "$@"; do for pair in "${pairs[@]}"; do
    "${first[@]}" "$lasthop" try "$scenario" --congestion "$pair" --set "flows.second.start=$start ms" --json > "$scratch/run"
    jq -r --slurpfile run "$scratch/run" --arg pair "$pair" --argjson start "$start" '
        .runs += [$run[0].runs[0] | select(.trusted and .intact) | {controls: $pair, start_ms: $start, seed: .seed, share: (.goodput_share * 1e4 | round / 1e4)}]
        | "{", (to_entries[] | select(.key != "runs") | "\(.key | tojson): \(.value | tojson),"), "\"runs\": [",
            ([.runs | sort_by(.controls, .start_ms, .seed)[] | tojson] | join(",\n")), "]}"' "$saved" > "$scratch/saved"
    cp "$scratch/saved" "$saved"
done; done

echo "| first, second | real | predicted | difference |"
echo "|---|---|---|---|"
for pair in "${pairs[@]}"; do
    for start in 900 925 950 960 970 980 990 1000 1010 1020 1030 1040 1050 1075 1100; do
        "$lasthop" try "$scenario" --predict --congestion "$pair" --set "flows.second.start=$start ms" "${settings[@]}" --json | jq '.rows[0].predicted_goodput_share'
    done | jq -rs --slurpfile saved "$saved" --arg pair "$pair" '
        def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
        def fixed: . * 100 | round | tostring | "0.\(("0" + .)[-2:])";
        [$saved[0].runs[] | select(.controls == $pair) | .share] as $real
        | "| \($pair) | \($real | median | fixed) (\($real | min | fixed) to \($real | max | fixed), \($real | length) runs) "
            + "| \(median | fixed) (\(min | fixed) to \(max | fixed)) | \((median / ($real | median) - 1) * 100 | round)% |"'
done
