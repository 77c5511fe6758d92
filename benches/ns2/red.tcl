# RED in ns-2: flows of SACK TCP (1000-octet segments, an ACK for each, windows without a limit) from one host to another
# through 1 Gbit/s and 10 Mbit/s, 10 ms each, the second behind RED of 5 to 15 packets.
#   ns benches/ns2/red.tcl FLOWS [GENTLE=1] [SECONDS=120]
# Prints, from 20 s on: goodput in Mbit/s, the mean queue that packets found, and drops in per cent of arrivals.
set flows [lindex $argv 0]
set gentle [expr {[llength $argv] > 1 ? [lindex $argv 1] : 1}]
set seconds [expr {[llength $argv] > 2 ? [lindex $argv 2] : 120}]
set ns [new Simulator]
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set linterm_ 10
Queue/RED set q_weight_ 0.002
Queue/RED set gentle_ $gentle
Queue/RED set mean_pktsize_ 500
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set wait_ false
Queue/RED set setbit_ false
Queue/RED set adaptive_ 0
Queue/RED set drop_tail_ true
set source [$ns node]; set router [$ns node]; set sink [$ns node]
$ns duplex-link $source $router 1000Mb 10ms DropTail
$ns queue-limit $source $router 10000
$ns simplex-link $router $sink 10Mb 10ms RED
$ns simplex-link $sink $router 10Mb 10ms DropTail
$ns queue-limit $router $sink 1000
$ns queue-limit $sink $router 10000
set queue [[$ns link $router $sink] queue]
set trace [open "|awk -v flows=$flows {
    \$1 == \"+\" || \$1 == \"d\" { if (\$1 == \"+\") { if (\$2 >= 20) { n++; sum += q } q++ } else { q--; if (\$2 >= 20) drops++ } }
    \$1 == \"-\" { q--; if (\$2 >= 20) octets += \$6 - 40 }
    END { printf \"%d flows: %.2f Mbit/s, %.2f packets, %.3f%% dropped\\n\", flows, octets * 8e-6 / ($seconds - 20), sum / n, 100 * drops / n }
}" w]
$ns trace-queue $router $sink $trace
for {set i 0} {$i < $flows} {incr i} {
    set tcp [new Agent/TCP/Sack1]
    $tcp set packetSize_ 1000
    $tcp set window_ 100000
    $tcp set windowInit_ 2
    $tcp set ssthresh_ 100000
    $tcp set tcpTick_ 0.001
    $tcp set minrto_ 1
    set end [new Agent/TCPSink/Sack1]
    $ns attach-agent $source $tcp
    $ns attach-agent $sink $end
    $ns connect $tcp $end
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0.0 "$ftp start"
}
$ns at $seconds "finish"
proc finish {} { global ns trace; $ns flush-trace; close $trace; exit 0 }
$ns run
