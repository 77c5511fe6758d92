# 802.11b at 11 Mbit/s for ns-2.35: so many stations within range of each other upload without end to one more, by Reno with 1460-octet
# segments, window 40, one ACK a segment, queues of 50 packets. Prints the number of data packets delivered. No trace.
#
#     ns wlan.tcl SECONDS STATIONS [stripped]
set seconds [expr {$argc > 0 ? [lindex $argv 0] : 100}]
set stations [expr {$argc > 1 ? [lindex $argv 1] : 1}]

if {[lindex $argv 2] == "stripped"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags Common LL Mac ARP
}

Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 2Mb
Mac/802_11 set PLCPDataRate_ 1Mb
Mac/802_11 set RTSThreshold_ 65535
Mac/802_11 set CWMin_ 31
Mac/802_11 set CWMax_ 1023
Mac/802_11 set SlotTime_ 0.000020
Mac/802_11 set SIFS_ 0.000010
Mac/802_11 set PreambleLength_ 144

set ns [new Simulator]
# Mobile nodes insist on a trace file; nothing is written to it.
$ns trace-all [open /dev/null w]
set topo [new Topography]
$topo load_flatgrid 100 100
create-god [expr {$stations + 1}]
set channel [new Channel/WirelessChannel]
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy -channel $channel \
    -topoInstance $topo -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF

proc place {node x} {
    $node set X_ $x
    $node set Y_ 1.0
    $node set Z_ 0.0
}
set sink [$ns node]
place $sink 1.0
set senders {}
for {set i 0} {$i < $stations} {incr i} {
    set node [$ns node]
    place $node [expr {2.0 + $i}]
    set tcp [new Agent/TCP/Reno]
    $tcp set packetSize_ 1460
    $tcp set window_ 40
    $tcp set maxcwnd_ 40
    set receiver [new Agent/TCPSink]
    $ns attach-agent $node $tcp
    $ns attach-agent $sink $receiver
    $ns connect $tcp $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [expr {0.01 * $i}] "$ftp start"
    lappend senders $tcp
}

proc finish {} {
    global senders
    set sum 0
    foreach tcp $senders {
        if {[$tcp set ack_] > 0} { incr sum [$tcp set ack_] }
    }
    puts $sum
    exit 0
}
$ns at $seconds "finish"
$ns run
