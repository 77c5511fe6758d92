#!/usr/bin/env bash
# Transfers of 10 MB between real hosts over a hop that loses packets both ways (scenarios/try-upload.toml),
# 0, 1, 4, 6 and 8%: with a split at the gateway, and with PEPsal in its place (PEPSAL=/path/to/pepsal).
# Prints a Markdown table of medians over the seeds, each with its share of the goodput without an agent at
# 0%, and the cells that miss a target. Runs in real time, at least 9 s per run: 80 runs per seed.
#
#   sudo PEPSAL=/path/to/pepsal benches/try-upload.sh [SEEDS] [JOBS] [SCHEME]
#
# LASTHOP names another binary than that of this source.
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-10}
jobs=${2:-1}
scheme=${3:-cicada}
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
for needed in jq chrt; do
    command -v $needed > /dev/null || { echo "SKIPPED: $needed is not installed" >&2; exit 0; }
done
. benches/trial.sh
beside=()
if [ -n "${PEPSAL:-}" ]; then beside=(--beside pepsal=benches/pepsal.sh); else echo "PEPSAL is not set; measuring without PEPsal" >&2; fi

for loss in 0 1 4 6 8; do
    # The goodput without an agent is needed at 0% only: at 8% a transfer takes minutes.
    schemes=$scheme
    [ $loss != 0 ] || schemes=none,$scheme
    "${first[@]}" "$lasthop" try scenarios/try-upload.toml --schemes "$schemes" "${beside[@]}" --set "links.air.loss=$loss%" \
        --seeds "$seeds" --jobs "$jobs" --json | jq --argjson loss $loss '[.runs as $runs | .rows[] | . + {loss: $loss,
            doubtful: (. as $row | [$runs[] | select(.flow == $row.flow and .congestion == $row.congestion
                and .scheme == $row.scheme and (.emulator.trusted | not))] | length)}]' > "$scratch/$loss"
done

jq -rs --arg scheme "$scheme" '
{download: {"0": 98, "1": 98, "4": 97, "6": 96, "8": 94}, upload: {"0": 98, "1": 98, "4": 95, "6": 90, "8": 70}} as $targets
| add as $rows
| [$rows[] | select(.scheme != "none") | . as $row | . + {share: (.goodput_bps / ($rows[] | select(.loss == 0 and .scheme == "none"
    and .flow == $row.flow and .congestion == $row.congestion) | .goodput_bps) * 1000 | round / 10)}]
| group_by([.flow, .congestion, .loss]) as $cells
| "| flow | TCP | loss | \($scheme), Mbit/s (share of none at 0%) | PEPsal | target | doubtful runs |", "|---|---|---|---|---|---|---|",
  ($cells[] | (map(select(.scheme == $scheme))[0]) as $ours | (map(select(.scheme == "pepsal"))[0]) as $pepsal
    | "| \($ours.flow) | \($ours.congestion) | \($ours.loss)% | \($ours.goodput_bps / 1e4 | round / 100) (\($ours.share)%) | \(
        if $pepsal then "\($pepsal.goodput_bps / 1e4 | round / 100) (\($pepsal.share)%)" else "" end) | \($targets[$ours.flow]["\($ours.loss)"])% | \(
        map(.doubtful) | add) |"),
  "",
  ([$cells[][] | select(.scheme == $scheme and .share < $targets[.flow]["\(.loss)"]) | "- \(.flow), \(.congestion), \(.loss)%: \(.share)%"]
    | if length == 0 then "No cell misses a target." else "Cells that miss a target:", "", .[] end)' "$scratch"/[0-9]
