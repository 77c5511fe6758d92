//! The configuration of each leg's endpoint. The handshake of the two ends decides the segment size
//! and the options.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_tcp::connection::Socket;
use lasthop_tcp::{AckPolicy, Config, Congestion, RackConfig, Recovery, RtoConfig, RtoRule, SlowStart};

/// Maximum retransmission time-out over the hop. Where a host dozes, the minimum round trip
/// includes its sleep, so that an answer to a retransmission counts as one to the original, and the
/// estimate grows with each such answer. A retransmission too early costs a frame; a time-out of
/// minutes costs the connection.
const MAX_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum of the back-off over the hop, so that transmission soon resumes after an outage.
const MAX_BACK_OFF: Duration = Duration::from_secs(1);

/// A single segment off the hop is acknowledged after this time. The mobile host's sender does not
/// wait for the ACK of its last segment, and half as many ACKs leave more of the medium to data.
const MAX_ACK_DELAY: Duration = Duration::from_millis(20);

/// A placeholder for the ends of a connection that is made only to measure its memory.
pub const NO_END: Socket = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The leg over the wire: an endpoint like that of Linux 6.18, with a buffer of `buffer` octets.
pub fn core(buffer: u32) -> Config {
    Config {
        window: buffer.min(65_535),
        window_max: Some(buffer),
        // An ICMP message of a router may take another path than this agent's packets.
        mtu_probing: true,
        ..Config::linux()
    }
}

/// The maximum time for which 4.3BSD delays an ACK.
pub const BSD_ACK_DELAY: Duration = Duration::from_millis(200);

/// A leg like an endpoint of 4.3BSD-Reno, with a buffer of `buffer` octets: Reno's congestion
/// control with an initial window of one segment, unscaled windows, an ACK for every second
/// segment. With `sack` losses are recovered by selective acknowledgments (RFC 6675), otherwise by
/// fast recovery. The retransmission timer is that of RFC 6298: at least 1 s.
pub fn bsd(buffer: u32, sack: bool) -> Config {
    Config {
        window: buffer.min(65_535),
        sack,
        congestion: Congestion::Reno,
        recovery: if sack { Recovery::Sack } else { Recovery::Reno },
        initial_window: 1,
        initial_ssthresh: 65_535,
        ack_policy: AckPolicy::Delayed(BSD_ACK_DELAY),
        // 4.3BSD lets routers fragment its packets. The end in whose name this leg sends may not.
        mtu_probing: true,
        ..Config::default()
    }
}

/// The leg over the hop. Losses there are not due to congestion, and the local window
/// ([`crate::last_hop`]) controls the queue: the congestion window is set from outside. After a
/// loss each segment is acknowledged at once for a while, so that the mobile host's sender loses no
/// time, and each retransmission takes little more than a round trip over the hop.
pub fn radio(buffer: u32, minimum_timeout: Duration) -> Config {
    Config {
        congestion: Congestion::External,
        slow_start: SlowStart::Standard,
        segmentation_offload: false,
        window_validation: false,
        recovery: Recovery::Rack(RackConfig::ALL),
        ack_policy: AckPolicy::EverySegmentAfterLoss(MAX_ACK_DELAY),
        ack_compression: false,
        rto: RtoConfig {
            rule: RtoRule::Linux,
            minimum: minimum_timeout,
            maximum: MAX_TIMEOUT,
            longest_back_off: Some(MAX_BACK_OFF),
            times_copies: true,
            granularity: Duration::ZERO,
            ..RtoConfig::default()
        },
        ..core(buffer)
    }
}
