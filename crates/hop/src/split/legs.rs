//! How the endpoint of each leg is set. What a handshake decides (segment size, options) is the
//! ends' business.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_tcp::connection::Endpoint;
use lasthop_tcp::{AckPolicy, Config, Congestion, RackConfig, Recovery, RtoConfig, RtoRule, SlowStart};

/// The longest retransmission time-out over the hop. Where a host dozes the shortest round trip includes
/// its sleep, so that an answer to a copy is taken for one to the original, and the estimate grows with
/// each such answer. A copy too early costs a frame; a time-out of minutes costs the connection.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Back-off over the hop goes no further: what follows an outage is to begin soon.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// A segment off the hop that comes alone is acknowledged after this time: the mobile host's sender
/// waits for no ACK of its last segment, and half as many ACKs leave more of the medium to data.
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(20);

/// A placeholder for the ends of a connection that is made only to see how much memory one takes.
pub const NO_END: Endpoint = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The leg over the wire: an endpoint as Linux 6.18 has it, with a buffer of `buffer` octets.
pub fn core(buffer: u32) -> Config {
    Config {
        window: buffer.min(65_535),
        window_max: Some(buffer),
        // A router's message may take another way than this agent's packets.
        mtu_probing: true,
        ..Config::linux()
    }
}

/// The longest time for which 4.3BSD delays an ACK.
pub const BSD_ACK_DELAY: Duration = Duration::from_millis(200);

/// A leg as an endpoint of 4.3BSD-Reno, with a buffer of `buffer` octets: Reno's congestion control from one
/// segment on, windows that are not scaled, an ACK for every second segment. With `sack` losses are
/// recovered by selective acknowledgments (RFC 6675), else by fast recovery. The retransmission timer is
/// that of RFC 6298: at least 1 s.
pub fn bsd(buffer: u32, sack: bool) -> Config {
    Config {
        window: buffer.min(65_535),
        sack,
        congestion: Congestion::Reno,
        recovery: if sack { Recovery::Sack } else { Recovery::Reno },
        initial_window: 1,
        initial_ssthresh: 65_535,
        ack_policy: AckPolicy::Delayed(BSD_ACK_DELAY),
        // 4.3BSD lets routers fragment its packets; those of an end that does not are sent here.
        mtu_probing: true,
        ..Config::default()
    }
}

/// The leg over the hop. Losses there are not congestion, and the queue is the local window's
/// business ([`crate::last_hop`]): the congestion window is set from outside. After a loss
/// each segment is acknowledged at once for a while, so that the mobile host's sender loses no time; and
/// each repair takes little more than a round trip over the hop.
pub fn radio(buffer: u32, minimum_timeout: Duration) -> Config {
    Config {
        congestion: Congestion::Outside,
        slow_start: SlowStart::Standard,
        segmentation_offload: false,
        window_validation: false,
        recovery: Recovery::Rack(RackConfig::ALL),
        ack_policy: AckPolicy::EverySegmentAfterLoss(LONGEST_ACK_DELAY),
        ack_compression: false,
        rto: RtoConfig {
            rule: RtoRule::Linux,
            minimum: minimum_timeout,
            maximum: LONGEST_TIMEOUT,
            longest_back_off: Some(LONGEST_BACK_OFF),
            times_copies: true,
            granularity: Duration::ZERO,
            ..RtoConfig::default()
        },
        ..core(buffer)
    }
}
