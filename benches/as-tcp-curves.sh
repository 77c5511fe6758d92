#!/usr/bin/env bash
# Plots the throughput of TCP, I-TCP and AS-TCP (as published) by the number of uploading stations, as
# docs/src/figures/as-tcp-curves.svg: three queue lengths at the access point, means of 10 runs. Prints where
# AS-TCP meets the other two. Takes two minutes on two cores. Needs gnuplot. LASTHOP names another binary than
# that of this source; CURVES names the results of an earlier sweep.
#                                                benches/as-tcp-curves.sh [SVG]
set -euo pipefail
cd "$(dirname "$0")/.."
svg=${1:-docs/src/figures/as-tcp-curves.svg}
command -v gnuplot > /dev/null || { echo "SKIPPED: gnuplot is not installed" >&2; exit 0; }
. benches/trial.sh
curves=${CURVES:-$scratch/curves.csv}
[ -n "${CURVES:-}" ] || "$lasthop" sweep scenarios/uploads.sweep.toml --out "$curves"
# Columns by name. The input has one line per flow. Computes the sum of each run and the mean of the runs in
# Mbit/s, and the numbers of stations at which the difference from AS-TCP changes its sign (linear
# interpolation).
awk -F, -v scratch="$scratch" '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        queue = $column["wlans.cell.queue_packets"]; stations = $column["nodes.station.count"]; scheme = $column["scheme"]
        sum[queue, stations, scheme] += $column["goodput_bps"] / 1e6
        if (!((queue, stations, $column["seed"]) in seen)) { seen[queue, stations, $column["seed"]]; seeds[queue, stations]++ }
        if (!(stations in of)) { of[stations]; order[++count] = stations }
        queues[queue]; schemes[scheme]
    }
    END {
        for (queue in queues) for (scheme in schemes) {
            file = scratch "/" queue "-" scheme; met = ""
            for (i = 1; i <= count; i++) {
                stations = order[i]; runs = seeds[queue, stations]
                mean = sum[queue, stations, scheme] / runs; ahead = sum[queue, stations, "as-tcp"] / runs - mean
                print stations, mean > file
                if (i > 1 && ahead <= 0 && before > 0)
                    met = met sprintf(" %.0f", order[i - 1] + (stations - order[i - 1]) * before / (before - ahead))
                before = ahead
            }
            if (scheme != "as-tcp") printf "queue of %s packets: %s meets as-tcp at%s stations\n", queue, scheme, met == "" ? " no number of" : met
        }
    }' "$curves" | sort
mkdir -p "$(dirname "$svg")"
{
    echo "set terminal svg size 1000,360 font 'sans-serif,12' background 'white'; set output '$svg'"
    echo "set multiplot layout 1,3; set logscale x 2; set xrange [5:320]; set xtics (5, 10, 20, 40, 80, 160, 320); set yrange [2.5:5.5]; set grid; set key top right"
    for queue in 1000 500 100; do
        echo "set title 'queue of $queue packets'; set xlabel 'uploading stations'; set ylabel 'total throughput, Mbit/s'"
        echo "set arrow 1 from 80,2.5 to 80,5.5 nohead lc rgb '#999999' dt 3"
        echo "plot '$scratch/$queue-none' with linespoints lc rgb '#c0392b' pt 7 ps 0.4 title 'TCP', \
            '$scratch/$queue-i-tcp' with linespoints lc rgb '#2c7fb8' pt 5 ps 0.4 title 'I-TCP', \
            '$scratch/$queue-as-tcp' with linespoints lc rgb '#2c3e50' pt 9 ps 0.5 title 'AS-TCP'"
    done
    echo "unset multiplot"
} | gnuplot
echo "$svg"
