# A flow over uniform loss of data packets on the second link, as scenarios/snoop-uniform-loss.toml and scenarios/bench/uniform-loss.toml
# have it. Prints goodput in Mbit/s, time-outs, and packets sent again.
#
#     ns benches/ns2/uniform-loss.tcl Newreno 0.05 [SECONDS] [SEED] [NAME VALUE]...
#
# Agents: Reno, Newreno, Sack1. The loss is a probability, or a file with the numbers of the data packets that the link loses, counted from
# 0 as they come to it. Names are those of the agent's variables: `singledup_ 0` is without limited transmit, `newreno_changes1_ 0`
# restarts the timer with every partial ACK, `bugFix_ false` lets Reno retransmit fast twice in a window.
lassign $argv flavour loss seconds seed
if {$seconds == ""} { set seconds 500 }
if {$seed != ""} { $defaultRNG seed $seed }
foreach {name value} [lrange $argv 4 end] { Agent/TCP/$flavour set $name $value }

set ns [new Simulator]
set n0 [$ns node]; set n1 [$ns node]; set n2 [$ns node]
$ns duplex-link $n0 $n1 10Mb 50ms DropTail
$ns duplex-link $n1 $n2 2Mb 2ms DropTail
$ns queue-limit $n0 $n1 100
$ns queue-limit $n1 $n2 100
if {[file exists $loss]} {
    # Packet 0 is the SYN here.
    set em [new ErrorModel/List]
    $em droplist [lmap number [read [open $loss]] {expr {$number + 1}}]
} else {
    set em [new ErrorModel]
    $em unit pkt
    $em set rate_ $loss
    $em ranvar [new RandomVariable/Uniform]
}
$em drop-target [new Agent/Null]
# What is lost has occupied the link; with `lossmodel` it would not have, which is 0.1% of goodput at 5 to 10%.
$ns link-lossmodel $em $n1 $n2
set tcp [new Agent/TCP/$flavour]
$tcp set packetSize_ 1460
$tcp set window_ 42
set sink [new Agent/TCPSink[expr {$flavour == "Sack1" ? "/Sack1" : ""}]]
$ns attach-agent $n0 $tcp; $ns attach-agent $n2 $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
$ns at $seconds "finish"
proc finish {} {
    global tcp seconds
    puts "[expr {[$tcp set ack_] * 1460.0 * 8 / $seconds / 1e6}] [$tcp set nrexmit_] [$tcp set nrexmitpack_]"
    exit 0
}
$ns run
