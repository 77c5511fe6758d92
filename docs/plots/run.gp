# Draws the congestion window and the round-trip time of a run: what `lasthop run --out DIR` wrote for a
# scenario with measure = ["window", "rtt"].
#
#     gnuplot -c docs/plots/run.gp DIR PICTURE.svg
#
# The run must have one flow.

directory = ARG1
set terminal svg size 900,480 font 'sans-serif,12' background 'white'
set output ARG2
set datafile separator ','
set multiplot layout 2,1
set grid
set xlabel 'time, s'
set ylabel 'cwnd, kB'
plot directory.'/window.csv' using 1:($3 / 1000) every ::1 with steps lw 1.5 lc rgb '#2c3e50' notitle
set ylabel 'round-trip time, ms'
set yrange [0:*]
plot directory.'/rtt.csv' using 1:($3 * 1000) every ::1 with points pt 7 ps 0.2 lc rgb '#c0392b' notitle
unset multiplot
