#!/usr/bin/env bash
# A scheme between real hosts, by default Snoop: scenarios/try.toml with 0, 1, 3 and 5% loss in both
# directions; CUBIC, Reno and BBR; download and upload; without an agent and with the scheme. Prints a
# Markdown table of medians over the seeds, and the cells that miss a target:
#
# - with Snoop and WTCP, a download of CUBIC or Reno has 18 Mbit/s at 1% and 17 Mbit/s at 5%;
# - no cell is more than 3% below no agent;
# - latency is no worse than without an agent where TCP alone fills the hop as well.
#
# Runs in real time, 8 s per run: 192 runs for 4 seeds. It uses real-time priority where the system allows it;
# otherwise a busy machine keeps the gateway from its packets.
#
#   sudo benches/try-matrix.sh [SEEDS] [JOBS] [SCHEME]
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-4}
jobs=${2:-2}
scheme=${3:-snoop}
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
for needed in jq chrt; do
    command -v $needed > /dev/null || { echo "SKIPPED: $needed is not installed" >&2; exit 0; }
done
. benches/trial.sh

for loss in 0 1 3 5; do
    "${first[@]}" "$lasthop" try scenarios/try.toml --schemes "none,$scheme" --congestion cubic,reno,bbr --set "links.air.loss=$loss%" \
        --seeds "$seeds" --jobs "$jobs" --json | jq --argjson loss $loss '
        [.runs as $runs | .rows[] | . + {loss: $loss, doubtful: (. as $row | [$runs[] | select(.flow == $row.flow
            and .congestion == $row.congestion and .scheme == $row.scheme and (.emulator.trusted | not))] | length)}]' > "$scratch/$loss"
done

jq -rs --arg scheme "$scheme" '
def fixed($places): . * pow(10; $places) | round | tostring
    | if $places == 0 then . else (("0" * $places) + .)[-([length, $places + 1] | max):] | .[:-$places] + "." + .[-$places:] end;
def mbit: . / 1e6 | fixed(2);
def goodput: "\(.goodput_bps | mbit) (\(.goodput_min_bps | mbit) to \(.goodput_max_bps | mbit))";
add | group_by([.flow, .loss, .congestion]) | map({none: map(select(.scheme == "none"))[0], agent: map(select(.scheme != "none"))[0]}) as $cells
| "| flow | loss | TCP | none, Mbit/s | \($scheme), Mbit/s | % | retransmits | latency ms | 95% ms | doubtful runs |",
  "|---|---|---|---|---|---|---|---|---|---|",
  ($cells[] | "| \(.none.flow) | \(.none.loss)% | \(.none.congestion) | \(.none | goodput) | \(.agent | goodput) "
    + "| \(if .agent.improvement_percent < 0 then "-" else "+" end)\(.agent.improvement_percent | fabs | fixed(1)) "
    + "| \(.none.retransmits | fixed(0)), \(.agent.retransmits | fixed(0)) "
    + "| \(.none.latency_median_ms | fixed(1)), \(.agent.latency_median_ms | fixed(1)) "
    + "| \(.none.latency_p95_ms | fixed(1)), \(.agent.latency_p95_ms | fixed(1)) | \(.none.doubtful), \(.agent.doubtful) |"),
  "",
  ([$cells[] | (.none, .agent) |= . + {cell: "\(.flow), \(.loss)%, \(.congestion)"}
    | (select(.agent.improvement_percent < -3) | "- \(.agent.cell): \(.agent.improvement_percent | fabs | fixed(1))% below no agent"),
      (select(($scheme | IN("snoop", "wtcp")) and .agent.flow == "download" and .agent.congestion != "bbr" and
          .agent.goodput_bps < ({"1": 18e6, "5": 17e6}["\(.agent.loss)"] // 0)) | "- \(.agent.cell): \(.agent.goodput_bps | mbit) Mbit/s"),
      (select(.none.goodput_bps > 0.9 * .agent.goodput_bps and (.agent.latency_median_ms > .none.latency_median_ms + 1
          or .agent.latency_p95_ms > .none.latency_p95_ms + 2))
          | "- \(.agent.cell): latency \(.agent.latency_median_ms | fixed(1)) ms (95% \(.agent.latency_p95_ms | fixed(1))), without an agent \(.none.latency_median_ms | fixed(1)) (\(.none.latency_p95_ms | fixed(1)))")]
   | if length == 0 then "No cell misses a target." else "Cells that miss a target:", "", .[] end)' "$scratch"/[0-9]
