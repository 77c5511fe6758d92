//! The columns of each series. A test compares them with the files.

/// The columns of each series.
pub const TABLES: &[(&str, &[(&str, &str)])] = &[
    (
        "window.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("flow", "the flow's name"),
            ("cwnd_octets", "congestion window, in octets"),
            ("ssthresh_octets", "slow start threshold, in octets"),
            ("in_flight_octets", "sequence space that the sender considers in flight, in octets"),
        ],
    ),
    (
        "rtt.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("flow", "the flow's name"),
            ("rtt_s", "a measured round-trip time, in seconds"),
            ("srtt_s", "the smoothed round-trip time, in seconds"),
            ("rto_s", "the retransmission time-out, in seconds"),
        ],
    ),
    (
        "sequence.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("flow", "the flow's name"),
            ("end", "`sender` or `receiver`"),
            ("event", "`sent`, `sent again` (a retransmission) or `received`"),
            ("seq", "sequence number of the data, in octets from the first one; empty if there is none"),
            ("ack", "acknowledgment number, in octets from the first one; empty if there is none"),
            ("octets", "octets of data"),
        ],
    ),
    (
        "queue.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("link", "the link or cell"),
            ("node", "the node whose queue it is"),
            ("packets", "packets in the queue"),
            ("octets", "octets in the queue"),
        ],
    ),
    (
        "channel.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("link", "the link"),
            (
                "good",
                "1 if the channel enters the good state at this time, 0 if it enters the bad one; it begins in the good one",
            ),
        ],
    ),
    (
        "drops.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("link", "the link on which the packet was to go; empty if it had not come so far"),
            ("node", "the node that was to send it, or where it ended"),
            ("cause", "why, as in the counters of drops: `queue full`, `wired loss`, ..."),
            ("protocol", "`tcp`, `udp`, `icmp` or `other`"),
            ("source", "the sender's address, with its port if there is one"),
            ("destination", "the receiver's address, with its port if there is one"),
            ("seq", "TCP's sequence number, as in the header; otherwise empty"),
            ("octets", "the packet's octets"),
        ],
    ),
    (
        "frames.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("link", "the link or cell"),
            ("from", "the node that transmits"),
            ("to", "the node that receives"),
            ("frame", "the frame's number"),
            ("transmission", "1 for the first transmission of the frame, 2 for the next, and so on"),
            ("event", "what happened to this transmission"),
            ("octets", "octets of the IP packet in the frame"),
        ],
    ),
    (
        "try",
        &[
            ("flow", "the flow's name"),
            ("congestion", "the sender's congestion control"),
            ("scheme", "the scheme's label"),
            ("seed", "the seed"),
            ("source", "`real`, or `predicted` by the simulator"),
            ("time_s", "seconds since the flow's start"),
            ("cwnd_octets", "congestion window, in octets"),
            ("ssthresh_octets", "slow start threshold, in octets; empty as long as nothing has set it"),
            ("srtt_s", "the smoothed round-trip time, in seconds; empty as long as nothing was measured"),
            ("rto_s", "the retransmission time-out, in seconds"),
            ("retransmits", "segments retransmitted since the flow's start"),
        ],
    ),
];
