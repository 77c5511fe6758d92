#!/usr/bin/env bash
# Plots the gain of packet control as published, by the rate of the hop and the threshold, as
# docs/src/figures/packet-control-map.svg: 0% and 1% loss, windows of 20 and 100 segments, means of 100 runs. Needs
# gnuplot. LASTHOP names another binary than that of this source.
#                                                benches/packet-control-map.sh [SVG]
set -euo pipefail
cd "$(dirname "$0")/.."
svg=${1:-docs/src/figures/packet-control-map.svg}
command -v gnuplot > /dev/null || { echo "SKIPPED: gnuplot is not installed" >&2; exit 0; }
. benches/trial.sh
"$lasthop" sweep scenarios/packet-control/map.sweep.toml --out "$scratch/map.csv"
# Columns by name: the improvement of a cell over none in percent, by loss, window, rate and threshold.
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        cell = $column["links.air.loss_percent"] "," $column["tcp.window_segments"] "," $column["links.air.rate_bps"]
        sum[cell "," $column["scheme"]] += $column["goodput_bps"]; cells[cell]; schemes[$column["scheme"]]
    }
    END {
        for (cell in cells) for (scheme in schemes) if (scheme != "none")
            printf "%s,%s,%.0f\n", cell, scheme, 100 * (sum[cell "," scheme] / sum[cell ",none"] - 1)
    }' "$scratch/map.csv" > "$scratch/gains"
rates=(153600 384000 1000000 2000000 5000000 11000000)
names=("153.6 kbit/s" "384 kbit/s" "1 Mbit/s" "2 Mbit/s" "5 Mbit/s" "11 Mbit/s")
mkdir -p "$(dirname "$svg")"
{
    echo "set terminal svg size 1000,680 font 'sans-serif,12' background 'white'; set output '$svg'"
    echo "set multiplot layout 2,2; unset key; unset colorbox; set palette defined (-50 '#c0392b', 0 '#ffffff', 200 '#2c7fb8'); set cbrange [-50:200]"
    echo "set xtics ('3' 0, '6' 1, '9' 2, '12' 3, '15' 4, '18' 5); set xlabel 'threshold'; set xrange [-0.5:5.5]; set yrange [-0.5:5.5]"
    tics=""
    for i in "${!rates[@]}"; do tics+="${tics:+, }'${names[$i]}' $i"; done
    echo "set ytics ($tics)"
    for loss in 0 1; do for window in 20 100; do
        echo "\$cells << EOD"
        for i in "${!rates[@]}"; do
            j=0
            for threshold in 3 6 9 12 15 18; do
                awk -F, -v key="$loss,$window,${rates[$i]},$threshold" -v x=$j -v y="$i" \
                    '$1 "," $2 "," $3 "," $4 == key { printf "%d %d %d\n", x, y, $5 }' "$scratch/gains"
                j=$((j + 1))
            done
        done
        echo EOD
        echo "set title '$loss% loss, window of $window segments: goodput gained, %'"
        echo "plot \$cells using 1:2:3 with image, \$cells using 1:2:(sprintf('%+d', \$3)) with labels"
    done; done
    echo "unset multiplot"
} | gnuplot
echo "$svg"
