# Stations that upload over 802.11b (cell.tcl) for ns-2.35: NewReno flows of 1460-octet segments, window 40 segments, one ACK a segment, to one
# node. Prints the number of data packets delivered.
#
#     ns wifi.tcl SECONDS STATIONS [stripped] [capture]
source [file join [file dirname [info script]] cell.tcl]

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
