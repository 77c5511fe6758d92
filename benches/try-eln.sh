#!/usr/bin/env bash
# Uploads of unmodified real hosts over a lossy hop, with ELN: scenarios/try-eln.toml with 0, 1, 3 and 5% loss
# in both directions. Prints a Markdown table of medians over the seeds, from the saved runs
# (benches/results/try-eln.json); this needs no root.
#
#   sudo benches/try-eln.sh --measure SEEDS [JOBS]     first repeats all runs: 36 runs per seed, 25 s per run
#
# LASTHOP names another binary than that of this source.           benches/try-eln.sh [--measure SEEDS [JOBS]]
set -euo pipefail
cd "$(dirname "$0")/.."
command -v jq > /dev/null || { echo "SKIPPED: jq is not installed" >&2; exit 0; }
saved=benches/results/try-eln.json
if [ "${1:-}" = --measure ]; then
    [ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
    . benches/trial.sh
    for loss in 0 1 3 5; do
        "${first[@]}" "$lasthop" try scenarios/try-eln.toml --set "links.air.loss=$loss%" --seeds "$2" --jobs "${3:-1}" --json > "$scratch/$loss"
        jq --argjson loss $loss '[.runs[] | select(.trusted and .intact) | {loss: $loss, congestion, scheme, seed, goodput_bps, predicted_goodput_bps,
            retransmits, latency_median_ms, latency_p95_ms}]' "$scratch/$loss" > "$scratch/$loss.runs"
    done
    jq -rs --arg date "$(date -u +%F)" --arg kernel "Linux $(uname -r)" '"{",
        ({scenario: "scenarios/try-eln.toml", date: $date, kernel: $kernel} | to_entries[] | "\(.key | tojson): \(.value | tojson),"), "\"runs\": [",
        (add | map(tojson) | join(",\n")), "]}"' "$scratch"/*.runs > "$scratch/saved"
    cp "$scratch/saved" "$saved"
fi
jq -r '
def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def mbit: . / 1e4 | round | tostring | if length < 3 then ("000" + .)[-3:] else . end | .[:-2] + "." + .[-2:];
"| loss | TCP | scheme | Mbit/s | predicted | runs | retransmits | latency ms |", "|---|---|---|---|---|---|---|---|",
(.runs | group_by([.loss, .congestion, .scheme])[] | map(.goodput_bps) as $all
    | "| \(.[0].loss)% | \(.[0].congestion) | \(.[0].scheme) | \($all | median | mbit) (\($all | min | mbit) to \($all | max | mbit)) "
    + "| \(map(.predicted_goodput_bps) | median | mbit) | \(length) | \(map(.retransmits) | median | round) | \(map(.latency_median_ms) | median | . * 10 | round / 10) |")' "$saved"
