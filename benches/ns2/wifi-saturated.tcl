# Saturated stations over 802.11b (cell.tcl) for ns-2.35: datagrams of 1500 octets (the environment's OCTETS), more than there is room for, to one node. Prints the
# throughput in Mbit/s, without the first tenth of the time.
#
#     ns wifi-saturated.tcl SECONDS STATIONS [stripped] [capture]
source [file join [file dirname [info script]] cell.tcl]

set octets [expr {[info exists env(OCTETS)] ? $env(OCTETS) : 1500}]
for {set i 1} {$i <= $stations} {incr i} {
    set udp($i) [new Agent/UDP]
    $udp($i) set packetSize_ $octets
    set receiver($i) [new Agent/LossMonitor]
    $ns attach-agent $node($i) $udp($i)
    $ns attach-agent $node(0) $receiver($i)
    $ns connect $udp($i) $receiver($i)
    set source($i) [new Application/Traffic/CBR]
    $source($i) set packetSize_ $octets
    $source($i) set random_ 1
    $source($i) attach-agent $udp($i)
    # Slowly at first: who knows no address yet would fill the cell with requests.
    $ns at [expr {0.1 + 0.05 * $i}] "$source($i) set rate_ 20000; $source($i) start"
    $ns at [expr {$seconds * 0.05}] "$source($i) set rate_ [expr {12e6 / $stations}]"
}

proc received {} {
    global receiver stations
    set packets 0
    for {set i 1} {$i <= $stations} {incr i} {
        incr packets [$receiver($i) set npkts_]
    }
    return $packets
}
proc finish {} {
    global before octets seconds
    puts [format %.4f [expr {([received] - $before) * $octets * 8 / (0.9e6 * $seconds)}]]
    exit 0
}
$ns at [expr {$seconds * 0.1}] "set before \[received\]"
$ns at $seconds "finish"
$ns run
