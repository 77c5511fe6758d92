# A cell of 802.11b at 11 Mbit/s for ns-2.35: everybody hears everybody, no RTS, interface queues of 50 packets, no routing protocol; no
# trace but of drops, to nowhere. For other scripts to `source`; their arguments are SECONDS STATIONS [stripped] [capture], and what there
# is then are $ns, $seconds, $stations and $node(0) to $node($stations).
#
# The environment's SEED is that of its random numbers, RTS its RTSThreshold_ in octets, ERRORS the probability that a receiver loses a
# frame, whatever frame it is, and ERRORS_AT the number of the only node that does. Without "capture" no frame survives a collision: ns-2's own threshold is 10 dB,
# and the stations here are 10 cm to 10 m from the receiver. "stripped" leaves the headers that are not used out of its packets, a trick
# from the ns-2 manual that most scripts do without.
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
if {[info exists env(RTS)]} {
    Mac/802_11 set RTSThreshold_ $env(RTS)
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
if {[info exists env(ERRORS)]} {
    proc errors {} {
        global env i
        set model [new ErrorModel]
        $model unit pkt
        $model set rate_ [expr {[info exists env(ERRORS_AT)] && $env(ERRORS_AT) != $i ? 0 : $env(ERRORS)}]
        $model ranvar [new RandomVariable/Uniform]
        return $model
    }
    $ns node-config -IncomingErrProc errors
}

for {set i 0} {$i <= $stations} {incr i} {
    set node($i) [$ns node]
    $node($i) random-motion 0
    $node($i) set X_ [expr {50 + 5 * cos($i)}]
    $node($i) set Y_ [expr {50 + 5 * sin($i)}]
    $node($i) set Z_ 0
}
