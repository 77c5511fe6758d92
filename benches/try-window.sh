#!/usr/bin/env bash
# Plots the congestion window over time, real and predicted, as docs/src/figures/window.svg: CUBIC, Reno and
# BBR, one download of 20 s each on the path of scenarios/try.toml, without loss and with one packet lost in a
# thousand. Needs root and gnuplot. LASTHOP names another binary than that of this source.
#                                                sudo benches/try-window.sh [SVG]
set -euo pipefail
cd "$(dirname "$0")/.."
svg=${1:-docs/src/figures/window.svg}
for tool in gnuplot jq; do
    command -v $tool > /dev/null || { echo "SKIPPED: $tool is not installed" >&2; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED: network namespaces need root" >&2; exit 0; }
. benches/trial.sh
controls=(cubic reno bbr)
losses=(0 0.1)
for loss in "${losses[@]}"; do for control in "${controls[@]}"; do
    for attempt in 1 2 3 4 5; do
        "${first[@]}" "$lasthop" try scenarios/try.toml --set "links.air.loss=$loss%" --set 'try.duration="20 s"' --set 'duration="20 s"' --flows download \
            --schemes none --congestion "$control" --series "$scratch/series" --overwrite --json > "$scratch/run"
        jq -e 'all(.runs[]; .trusted)' "$scratch/run" > /dev/null && break
        [ "$attempt" -lt 5 ] || { echo "$control at $loss%: no run can be trusted; see the verdict of lasthop try" >&2; exit 1; }
    done
    for source in real predicted; do
        # The points at which the window changes, and the last one.
        awk -F, -v source=$source '$5 == source { if ($7 != before) print $6, $7 / 1448; before = $7; last = $6 } END { print last, before / 1448 }' \
            "$scratch/series" > "$scratch/$control-$loss-$source"
    done
done; done
mkdir -p "$(dirname "$svg")"
{
    echo "set terminal svg size 1000,640 font 'sans-serif,12' background 'white'; set output '$svg'"
    echo "set multiplot layout ${#losses[@]},${#controls[@]}; set xrange [0:20]; set yrange [0:*]; set offsets 0, 0, graph 0.2, 0; set grid; set key top right"
    for loss in "${losses[@]}"; do for control in "${controls[@]}"; do
        echo "set title '$control, $loss% loss'; set xlabel 's'; set ylabel 'cwnd, segments'"
        echo "plot '$scratch/$control-$loss-real' with steps lc rgb '#c0392b' lw 1.5 title 'Linux', \
            '$scratch/$control-$loss-predicted' with steps lc rgb '#2c3e50' dt 2 lw 1.5 title 'predicted'"
    done; done
    echo "unset multiplot"
} | gnuplot
echo "$svg"
