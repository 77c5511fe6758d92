#!/usr/bin/env bash
# The simulator's TCP compared with the kernel's: 48 cells per path (CUBIC, Reno and BBR; 0, 1, 4 and 8% loss
# both ways; download and upload; no agent and Snoop). Prints a Markdown table: the median of the trusted real
# runs, the median of the predictions, and the difference.
#
#   benches/try-prediction.sh                      predictions, with the saved real results: seconds, no root
#   benches/try-prediction.sh --path fast          for one path: try (scenarios/try.toml) or fast
#                                                  (scenarios/try-fast.toml)
#   sudo benches/try-prediction.sh --measure 5 2   first the real runs of 5 seeds that are not yet saved, 2 at a
#                                                  time, 8 s each
#
#   benches/try-prediction.sh --measure --kernel 6.12 9 2
#                                                  the same with a kernel in simulated time (lasthop kernel build), without
#                                                  root; results are in benches/results/simulated
#
# Real results are in benches/results/try-PATH.json, or in the directory that --results names. A file that is
# removed is measured again. --set KEY=VALUE, of the scenario, applies to predictions only. A run that cannot
# be trusted is repeated, at most five times. LASTHOP names another binary than that of this source.
#
#   benches/try-prediction.sh [--path NAME] [--kernel VERSION] [--results DIR] [--measure] [--predicted-seeds N]
#       [--set KEY=VALUE] [SEEDS] [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
paths=(try fast)
results=benches/results
measure=
clock=()
kernel=$(uname -sr)
predicted_seeds=25
settings=()
while [ $# -gt 0 ]; do
    case $1 in
        --path) paths=("$2"); shift 2 ;;
        --results) results=$2; shift 2 ;;
        --measure) measure=yes; shift ;;
        --kernel) clock=(--time simulated --kernel "$2") kernel="Linux $2 in simulated time" results=benches/results/simulated; shift 2 ;;
        --predicted-seeds) predicted_seeds=$2; shift 2 ;;
        --set) settings+=(--set "$2"); shift 2 ;;
        -*) echo "$1: expected --path, --kernel, --results, --measure, --predicted-seeds or --set" >&2; exit 2 ;;
        *) break ;;
    esac
done
seeds=${1:-5}
jobs=${2:-2}
controls=(cubic reno bbr)
losses=(0 1 4 8)
command -v jq > /dev/null || { echo "SKIPPED: jq is not installed" >&2; exit 0; }
. benches/trial.sh
# Simulated time does not depend on who else uses the machine.
[ ${#clock[@]} -eq 0 ] || first=()

scenario_of() {
    case $1 in
        try) echo scenarios/try.toml ;;
        fast) echo scenarios/try-fast.toml ;;
        *) echo "$1: expected the path try or fast" >&2; exit 2 ;;
    esac
}

# Adds the trusted runs of one seed, congestion control and loss to a file of results.
run() {
    local scenario=$1 file=$2 seed=$3 control=$4 loss=$5 flows schemes missing
    missing=$(jq -r --argjson seed "$seed" --arg control "$control" --argjson loss "$loss" '
        [.runs[] | select(.seed == $seed and .congestion == $control and .loss == $loss) | [.flow, .scheme]] as $have
        | [["download", "upload"][] as $flow | ["none", "snoop"][] as $scheme | [$flow, $scheme]] - $have
        | [map(.[0]), map(.[1])] | map(unique | join(",")) | join(" ")' "$file")
    read -r flows schemes <<< "$missing" || true
    [ -n "$flows" ] || return 0
    "${first[@]}" "$lasthop" try "$scenario" --set "links.air.loss=$loss%" --set "seeds=[$seed]" --flows "$flows" --schemes "$schemes" \
        --congestion "$control" --jobs "$jobs" "${clock[@]}" --json > "$scratch/run"
    jq --slurpfile run "$scratch/run" --argjson loss "$loss" --arg date "$(date -u +%FT%TZ)" '
        [.runs[] | [.flow, .scheme, .congestion, .loss, .seed]] as $have
        | .runs += [$run[0].runs[] | select(.trusted and .intact)
            | select([.flow, .scheme, .congestion, $loss, .seed] as $key | all($have[]; . != $key))
            | {flow, loss: $loss, congestion, scheme, seed, goodput_bps, retransmits, latency_median_ms, latency_p95_ms, date: $date}]' \
        "$file" > "$scratch/added"
    lines "$scratch/added" > "$file"
}

# Formats a file of results with one line per run.
lines() {
    jq -r '"{", (to_entries[] | select(.key != "runs") | "\(.key | tojson): \(.value | tojson),"), "\"runs\": [",
        ([.runs | sort_by(.flow, .loss, .congestion, .scheme, .seed)[] | tojson] | join(",\n")), "]}"' "$1"
}

if [ -n "$measure" ]; then
    [ "$(id -u)" = 0 ] || [ ${#clock[@]} -gt 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
    mkdir -p "$results"
    for path in "${paths[@]}"; do
        scenario=$(scenario_of "$path") file=$results/try-$path.json
        [ -e "$file" ] || jq -n --arg scenario "$scenario" --arg date "$(date -u +%F)" --arg kernel "$kernel" \
            --arg machine "$(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" \
            '{scenario: $scenario, date: $date, kernel: $kernel, machine: $machine, runs: []}' > "$file"
        for _ in 1 2 3 4 5; do
            for seed in $(seq "$seeds"); do for control in "${controls[@]}"; do for loss in "${losses[@]}"; do
                run "$scenario" "$file" "$seed" "$control" "$loss"
            done; done; done
        done
    done
fi

for path in "${paths[@]}"; do
    scenario=$(scenario_of "$path") file=$results/try-$path.json
    [ -e "$file" ] || { echo "$file does not exist; --measure creates it" >&2; exit 1; }
    for loss in "${losses[@]}"; do
        "$lasthop" try "$scenario" --predict --set "links.air.loss=$loss%" "${settings[@]}" --schemes none,snoop --congestion "$(IFS=,; echo "${controls[*]}")" \
            --seeds "$predicted_seeds" --jobs "$jobs" --json > "$scratch/run"
        jq --argjson loss "$loss" '[.rows[] | . + {loss: $loss}]' "$scratch/run" > "$scratch/predicted-$loss"
        jq --argjson loss "$loss" '[.runs[] | . + {loss: $loss}]' "$scratch/run" > "$scratch/runs-$loss"
    done
    jq -s add "$scratch"/runs-* > "$scratch/runs"
    jq -rs --slurpfile runs "$scratch/runs" --slurpfile real "$file" --argjson seeds "$predicted_seeds" --arg path "$path" '
    def fixed($places): . * pow(10; $places) | round | tostring
        | if $places == 0 then . else (("0" * $places) + .)[-([length, $places + 1] | max):] | .[:-$places] + "." + .[-$places:] end;
    def mbit: . / 1e6 | fixed(2);
    def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
    def signed: (if . < 0 then "-" else "+" end) + (fabs | fixed(1));
    def key: [.flow, .loss, .congestion, .scheme];
    def mean: add / length;
    def percent: fixed(1) + "%";
    (add | map({(key | tojson): .predicted_goodput_bps}) | add) as $predicted
    # Per run, with the same seed on both sides: the logarithm of predicted over real.
    | ($runs[0] | map({(key + [.seed] | tojson): .predicted_goodput_bps}) | add) as $by_seed
    | [$real[0].runs[] | select(.scheme == "none" and .loss > 0 and .congestion != "bbr")
        | . + {ratio: (($by_seed[key + [.seed] | tojson] // empty | log) - (.goodput_bps | log))}] as $paired
    | [$real[0].runs | group_by(key)[] | {name: .[0], goodputs: map(.goodput_bps), predicted: $predicted[.[0] | key | tojson]}
        | .real = (.goodputs | median)
        | .deviation = (if .predicted then (.predicted / .real - 1) * 100 else null end)] as $cells
    | "Path \($path) (\($real[0].scenario)); real: \($real[0].kernel), \($real[0].machine), \($real[0].date); predicted: medians of \($seeds) seeds.",
      "",
      "Mbit/s: real, predicted, difference of the prediction; by loss rate:",
      "",
      "| flow | TCP | scheme | \([$cells[].name.loss] | unique | map("\(.)%") | join(" | ")) |",
      "|---|---|---|\([$cells[].name.loss] | unique | map("---|") | join(""))",
      ($cells | group_by([.name.flow, .name.congestion, .name.scheme])[]
        | "| \(.[0].name.flow) | \(.[0].name.congestion) | \(.[0].name.scheme) | "
        + (map("\(.real | mbit), \(if .predicted then .predicted | mbit else "-" end), "
            + (if .deviation == null then "-" else (.deviation | signed) + "%" + (if .deviation | fabs > 10 then " !" else "" end) end))
            | join(" | ")) + " |"),
      "",
      "\([$cells[] | select(.deviation != null and (.deviation | fabs) <= 10)] | length) of \($cells | length) cells are within 10%; \(
        [$cells[] | select(.deviation == null)] | length) have no prediction. Real runs per cell: \([$cells[].goodputs | length] | min) to \([$cells[].goodputs | length] | max).",
      "",
      "Per run, with the same seed on both sides, CUBIC and Reno with losses and without an agent, \($paired | length) runs: \(
        ($paired | map(.ratio) | mean | exp - 1) * 100 | signed)% mean difference, \($paired | map(.ratio | fabs) | median | exp - 1 | . * 100 | percent) median absolute difference. Mean and standard deviation per cell:",
      "",
      ($paired | group_by(key)[] | map(.ratio) as $ratios | ($ratios | mean) as $mean
        | "- \(.[0].flow), \(.[0].loss)%, \(.[0].congestion): \(($mean | exp - 1) * 100 | signed)%, \(($ratios | map(. - $mean | . * .) | add / (length - 1) | sqrt) * 100 | percent)"),
      ""' "$scratch"/predicted-*
done
