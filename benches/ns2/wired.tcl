# The wired case for ns-2.35: one Reno flow of 1460-octet segments, window 64 segments, one ACK a segment, through 100 Mbit/s
# 20 ms and 10 Mbit/s 5 ms with queues of 50 packets. Prints the number of data packets delivered. No trace, no monitor.
#
#     ns wired.tcl SECONDS [stripped]
#
# "stripped" leaves the headers that are not used out of its packets, a trick from the ns-2 manual that most scripts do without.
set seconds [expr {$argc > 0 ? [lindex $argv 0] : 1000}]

if {[lindex $argv 1] == "stripped"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}

set ns [new Simulator]
set source [$ns node]
set router [$ns node]
set sink [$ns node]
$ns duplex-link $source $router 100Mb 20ms DropTail
$ns duplex-link $router $sink 10Mb 5ms DropTail
foreach {a b} [list $source $router $router $source $router $sink $sink $router] {
    $ns queue-limit $a $b 50
}

set tcp [new Agent/TCP/Reno]
$tcp set packetSize_ 1460
$tcp set window_ 64
$tcp set maxcwnd_ 64
set receiver [new Agent/TCPSink]
$ns attach-agent $source $tcp
$ns attach-agent $sink $receiver
$ns connect $tcp $receiver
set ftp [new Application/FTP]
$ftp attach-agent $tcp

proc finish {} {
    global tcp
    puts [$tcp set ack_]
    exit 0
}
$ns at 0.0 "$ftp start"
$ns at $seconds "finish"
$ns run
