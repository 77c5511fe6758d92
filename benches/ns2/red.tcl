# RED of 5 to 15 packets in ns-2 under datagrams of 1,040 octets, at a mean rate, through 10 Mbit/s.
#   ns benches/ns2/red.tcl RATE [GENTLE=1] [SECONDS=1000]        for instance 11Mb
# Prints, from 20 s on: the mean queue that packets found, and drops in per cent of arrivals. The same here: scenarios/bench/red.toml.
set rate [lindex $argv 0]
set gentle [expr {[llength $argv] > 1 ? [lindex $argv 1] : 1}]
set seconds [expr {[llength $argv] > 2 ? [lindex $argv 2] : 1000}]
set ns [new Simulator]
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set linterm_ 10
Queue/RED set q_weight_ 0.002
Queue/RED set gentle_ $gentle
Queue/RED set mean_pktsize_ 500
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
# By itself ns-2 leaves at least 1/p packets between two drops, twice the paper's mean.
Queue/RED set wait_ false
Queue/RED set setbit_ false
Queue/RED set adaptive_ 0
set source [$ns node]; set router [$ns node]; set sink [$ns node]
$ns duplex-link $source $router 1000Mb 10ms DropTail
$ns queue-limit $source $router 10000
$ns simplex-link $router $sink 10Mb 10ms RED
$ns queue-limit $router $sink 1000
set trace [open "|awk {
    \$1 == \"+\" { if (\$2 >= 20) { n++; sum += q } q++ }
    \$1 == \"d\" { q--; if (\$2 >= 20) drops++ }
    \$1 == \"-\" { q-- }
    END { printf \"%.2f packets, %.3f%% dropped\\n\", sum / n, 100 * drops / n }
}" w]
$ns trace-queue $router $sink $trace
set udp [new Agent/UDP]
$udp set packetSize_ 1040
set null [new Agent/Null]
$ns attach-agent $source $udp
$ns attach-agent $sink $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1040
$cbr set rate_ $rate
$cbr set random_ 1
$cbr attach-agent $udp
$ns at 0.0 "$cbr start"
$ns at $seconds finish
proc finish {} { global ns trace; $ns flush-trace; close $trace; exit 0 }
$ns run
