# Vegas alone on the path of crates/tcp/tests/paths/controls.rs in ns-2: packets that wait for the slow hop, every 7 ms; mean, least and most
# from 60 to 90 s, and the most of all.
# ns benches/ns2/vegas-queue.tcl
set ns [new Simulator]
set n0 [$ns node]; set n1 [$ns node]; set n2 [$ns node]
$ns duplex-link $n0 $n1 8Mb 0.1ms DropTail
$ns duplex-link $n1 $n2 0.8Mb 100ms DropTail
$ns queue-limit $n1 $n2 1000
set tcp [new Agent/TCP/Vegas]
$tcp set packetSize_ 960
$tcp set window_ 1000
set sink [new Agent/TCPSink]
$ns attach-agent $n0 $tcp; $ns attach-agent $n2 $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
set monitor [$ns monitor-queue $n1 $n2 ""]
set sum 0; set count 0; set least 999; set most 0; set peak 0
proc tick {} {
    global ns monitor sum count least most peak
    set waiting [$monitor set pkts_]
    if {$waiting > $peak} { set peak $waiting }
    if {[$ns now] > 60} {
        incr sum $waiting; incr count
        if {$waiting < $least} { set least $waiting }
        if {$waiting > $most} { set most $waiting }
    }
    $ns at [expr [$ns now] + 0.007] tick
}
proc finish {} {
    global sum count least most peak
    puts "mean [expr double($sum) / $count] least $least most $most; peak $peak"
    exit 0
}
$ns at 0.0 "$ftp start"
$ns at 0.001 tick
$ns at 90.0 finish
$ns run
