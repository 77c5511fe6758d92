# Figures 2 to 5 of Fall and Floyd (1996) in ns-2: what is sent again, and how many seconds after the first of it; for comparison with
# crates/tcp/tests/paths/fall_floyd.rs.
# ns benches/ns2/fall-floyd.tcl Reno "14 26 28"      Agents: "" (Tahoe), Reno, Newreno, Sack1
set flavour [lindex $argv 0]
set ns [new Simulator]
set file [open "|awk {\$1 == \"+\" && \$3 == 0 && \$5 == \"tcp\" { if (\$11 in seen) { if (!first) first = \$2; print \$11 - 1, \$2 - first } seen\[\$11\] = 1 }}" w]
$ns trace-all $file
set n0 [$ns node]; set n1 [$ns node]; set n2 [$ns node]
$ns duplex-link $n0 $n1 8Mb 0.1ms DropTail
$ns duplex-link $n1 $n2 0.8Mb 100ms DropTail
$ns queue-limit $n1 $n2 100
set em [new ErrorModel/List]
# ns-2.35 begins with a SYN, its packet 0, whose ACK does not open the window: numbers are one higher than in the paper.
$em droplist [lmap number [lindex $argv 1] {expr {$number + 1}}]
$em drop-target [new Agent/Null]
$ns lossmodel $em $n1 $n2
set tcp [new Agent/TCP[expr {$flavour == "" ? "" : "/$flavour"}]]
$tcp set packetSize_ 960
$tcp set window_ 28
$tcp set windowInit_ 1
# As in 1996: no limited transmit, and Reno may retransmit fast twice.
$tcp set singledup_ 0
$tcp set bugFix_ [expr {$flavour == "Newreno" ? "true" : "false"}]
$tcp set minrto_ 1
$tcp set tcpTick_ 0.001
set sink [new Agent/TCPSink[expr {$flavour == "Sack1" ? "/Sack1" : ""}]]
$ns attach-agent $n0 $tcp; $ns attach-agent $n2 $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
$ns at 6.0 "finish"
proc finish {} { global ns file; $ns flush-trace; close $file; exit 0 }
$ns run
