# Reno over uniform loss of data packets on the second link, as scenarios/snoop-uniform-loss.toml has it: goodput in Mbit/s.
# ns benches/ns2/reno-uniform-loss.tcl 0.01
set ns [new Simulator]
set p [lindex $argv 0]
set n0 [$ns node]; set n1 [$ns node]; set n2 [$ns node]
$ns duplex-link $n0 $n1 10Mb 50ms DropTail
$ns duplex-link $n1 $n2 2Mb 2ms DropTail
$ns queue-limit $n0 $n1 100
$ns queue-limit $n1 $n2 100
set em [new ErrorModel]
$em unit pkt
$em set rate_ $p
$em ranvar [new RandomVariable/Uniform]
$em drop-target [new Agent/Null]
$ns lossmodel $em $n1 $n2
set tcp [new Agent/TCP/Reno]
$tcp set packetSize_ 1460
$tcp set window_ 42
set sink [new Agent/TCPSink]
$ns attach-agent $n0 $tcp; $ns attach-agent $n2 $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
$ns at 500.0 "finish"
proc finish {} { global tcp; puts [expr [$tcp set ack_] * 1460.0 * 8 / 500.0 / 1e6]; exit 0 }
$ns run
