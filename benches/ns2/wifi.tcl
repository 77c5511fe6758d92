# Stations that upload over 802.11b at 11 Mbit/s for ns-2.35: NewReno flows of 1460-octet segments, window 40 segments, one ACK a segment,
# to one node; everybody hears everybody, no RTS, interface queues of 50 packets, no routing protocol. Prints the number of data packets
# delivered. No trace but of drops, to nowhere; no monitor.
#
#     ns wifi.tcl SECONDS STATIONS [stripped] [capture]
#
# The environment's SEED is that of its random numbers. Without "capture" no frame survives a collision: ns-2's own threshold is 10 dB,
# and the stations here are 10 cm to 10 m from the receiver. "stripped" leaves the headers that are not used out of its packets, a trick from the ns-2 manual that most scripts do without.
set seconds [expr {$argc > 0 ? [lindex $argv 0] : 100}]
set stations [expr {$argc > 1 ? [lindex $argv 1] : 1}]

if {[lsearch $argv "stripped"] >= 0} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags LL ARP Mac
}

Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set PLCPDataRate_ 1Mb
Mac/802_11 set PreambleLength_ 144
Mac/802_11 set RTSThreshold_ 3000
Mac/802_11 set CWMin_ 31
Mac/802_11 set CWMax_ 1023

if {[lsearch $argv "capture"] < 0} {
    Phy/WirelessPhy set CPThresh_ 1e30
}
if {[info exists env(SEED)]} {
    $defaultRNG seed $env(SEED)
}

set ns [new Simulator]
# Wireless nodes want a trace to exist, if only for what is dropped.
$ns trace-all [open /dev/null w]
set topography [new Topography]
$topography load_flatgrid 100 100
create-god [expr {$stations + 1}]
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topography \
    -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF

for {set i 0} {$i <= $stations} {incr i} {
    set node($i) [$ns node]
    $node($i) random-motion 0
    $node($i) set X_ [expr {50 + 5 * cos($i)}]
    $node($i) set Y_ [expr {50 + 5 * sin($i)}]
    $node($i) set Z_ 0
}
for {set i 1} {$i <= $stations} {incr i} {
    set tcp($i) [new Agent/TCP/Newreno]
    $tcp($i) set packetSize_ 1460
    $tcp($i) set window_ 40
    $tcp($i) set maxcwnd_ 40
    set receiver [new Agent/TCPSink]
    $ns attach-agent $node($i) $tcp($i)
    $ns attach-agent $node(0) $receiver
    $ns connect $tcp($i) $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at 0.0 "$ftp start"
}

proc finish {} {
    global tcp stations
    set packets 0
    for {set i 1} {$i <= $stations} {incr i} {
        incr packets [expr {[$tcp($i) set ack_] + 1}]
    }
    puts $packets
    exit 0
}
$ns at $seconds "finish"
$ns run
