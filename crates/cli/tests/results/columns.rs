//! The columns of each CSV file. A test compares them with the files.

/// The columns of each CSV file.
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
    (
        "sweep",
        &[
            ("scheme", "the scheme's label"),
            ("seed", "the seed"),
            ("flow", "the flow's name"),
            ("from", "the sending node"),
            ("to", "the receiving node"),
            ("goodput_bps", "goodput of the flow, in bits per second"),
            ("bytes", "octets delivered to the application"),
            ("completion_s", "seconds from the flow's start to its last octet; empty if there is none"),
            ("retransmits", "retransmitted segments; empty over UDP"),
            ("timeouts", "expiries of the retransmission timer; empty over UDP"),
            ("fast_retransmits", "fast retransmits; empty over UDP"),
            ("duplicate_acks", "duplicate ACKs that the sender received; empty over UDP"),
            ("rtt_mean_s", "mean measured round-trip time, in seconds; empty over UDP"),
            ("frames_sent", "transmissions of frames, in the measured time, for all flows"),
            ("frames_given_up", "frames that link layers gave up, in the measured time, for all flows"),
            ("control_messages", "control messages of agents, in the measured time, for all flows"),
            ("local_retransmits", "segments that agents retransmitted, in the measured time, for all flows"),
            ("transport", "`tcp` or `udp`"),
            ("datagrams_sent", "datagrams sent; empty over TCP, like all columns up to `jitter_s`"),
            ("datagrams_received", "datagrams that arrived, each counted once"),
            ("datagrams_lost", "datagrams that were lost"),
            ("datagrams_out_of_order", "datagrams that arrived after one sent later"),
            ("delay_mean_s", "mean one-way delay, in seconds"),
            ("delay_p95_s", "95th percentile of the one-way delay, in seconds"),
            ("jitter_s", "interarrival jitter (RFC 3550), in seconds"),
            (
                "jain_fairness",
                "Jain's fairness index, as `aggregate.jain_fairness` of `run --json`; empty if nothing arrived",
            ),
            (
                "air_time_share",
                "share of the measured time for which stations of 802.11 cells transmitted; empty without a cell",
            ),
            (
                "awake_share",
                "share of the measured time for which a station in power-save mode was awake, as the mean over all such stations; empty without one",
            ),
        ],
    ),
];
