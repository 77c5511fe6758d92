# Saturated stations over 802.11b at 11 Mbit/s for ns-2.35: datagrams of 1500 octets, more than there is room for, to one node; otherwise
# as in wifi.tcl. Prints the throughput in Mbit/s, without the first tenth of the time.
#
#     ns wifi-saturated.tcl SECONDS STATIONS
set seconds [expr {$argc > 0 ? [lindex $argv 0] : 100}]
set stations [expr {$argc > 1 ? [lindex $argv 1] : 1}]

if {[lsearch $argv "stripped"] >= 0} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags LL ARP Mac RTP
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
    set udp($i) [new Agent/UDP]
    $udp($i) set packetSize_ 1500
    set receiver($i) [new Agent/LossMonitor]
    $ns attach-agent $node($i) $udp($i)
    $ns attach-agent $node(0) $receiver($i)
    $ns connect $udp($i) $receiver($i)
    set source($i) [new Application/Traffic/CBR]
    $source($i) set packetSize_ 1500
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
    global before seconds
    puts [format %.4f [expr {([received] - $before) * 1500 * 8 / (0.9e6 * $seconds)}]]
    exit 0
}
$ns at [expr {$seconds * 0.1}] "set before \[received\]"
$ns at $seconds "finish"
$ns run
