//! The parameters of section 10.

use std::time::Duration;

/// The choice between several routes to a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The first of those with the fewest hops (RFC 3561).
    #[default]
    Hops,
    /// Of those with the fewest hops, the one with the largest bandwidth-delay product (`metric`).
    BandwidthDelay,
}

/// The parameters of a node of an ad hoc network. All nodes of a network should have the same
/// (section 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvConfig {
    /// `ACTIVE_ROUTE_TIMEOUT`: how long a route is valid after its last use.
    pub active_route_timeout: Duration,
    /// `MY_ROUTE_TIMEOUT`: the lifetime that a destination gives its own RREPs; twice
    /// `ACTIVE_ROUTE_TIMEOUT` if `None`.
    pub my_route_timeout: Option<Duration>,
    /// `DELETE_PERIOD`: how long an invalid route is kept; five times the larger of
    /// `ACTIVE_ROUTE_TIMEOUT` and `HELLO_INTERVAL` if `None`.
    pub delete_period: Option<Duration>,
    /// `NODE_TRAVERSAL_TIME`: a conservative estimate of a packet's time from node to node,
    /// including queueing.
    pub node_traversal_time: Duration,
    /// `NET_DIAMETER`: maximum number of hops between two nodes.
    pub net_diameter: u8,
    /// `RREQ_RETRIES`: further attempts over the whole network before a search is given up.
    pub rreq_retries: u32,
    /// `RREQ_RATELIMIT`: maximum number of RREQs that a node originates per second; further ones
    /// wait.
    pub rreq_rate_limit: u32,
    /// `RERR_RATELIMIT`: maximum number of RERRs that a node sends per second; further ones are
    /// omitted.
    pub rerr_rate_limit: u32,
    /// `TTL_START`: the TTL of the first RREQ of a search.
    pub ttl_start: u8,
    /// `TTL_INCREMENT`: the increment of the TTL for the next one.
    pub ttl_increment: u8,
    /// `TTL_THRESHOLD`: above this a RREQ has a TTL of `NET_DIAMETER`.
    pub ttl_threshold: u8,
    /// `TIMEOUT_BUFFER`: additional hops to wait for in an expanding ring search.
    pub timeout_buffer: u8,
    /// Whether only the destination itself may reply: the flag D.
    pub destination_only: bool,
    /// Whether a node that replies in the destination's place notifies the destination of the
    /// reverse route: the flag G.
    pub gratuitous_replies: bool,
    /// `HELLO_INTERVAL`, if nodes on active routes send Hellos. `None`: they do not, and only the
    /// link layer detects broken links.
    pub hello_interval: Option<Duration>,
    /// `ALLOWED_HELLO_LOSS`: intervals of silence after which a neighbor counts as gone.
    pub allowed_hello_loss: u32,
    /// Whether the link layer reports frames that it gave up (section 6.10).
    pub link_layer_feedback: bool,
    /// Maximum random delay of broadcasts that a broadcast triggers, so that neighbors do not all
    /// respond at once (RFC 5148). It is not in RFC 3561; ns-2 has 10 ms.
    pub broadcast_jitter: Duration,
    /// The choice between several routes.
    pub metric: Metric,
    /// Maximum number of data packets that wait for routes at a node; the oldest makes room. RFC
    /// 3561 gives no number; ns-2 has 64.
    pub buffer: usize,
}

impl Default for AodvConfig {
    fn default() -> Self {
        Self {
            active_route_timeout: Duration::from_secs(3),
            my_route_timeout: None,
            delete_period: None,
            node_traversal_time: Duration::from_millis(40),
            net_diameter: 35,
            rreq_retries: 2,
            rreq_rate_limit: 10,
            rerr_rate_limit: 10,
            ttl_start: 1,
            ttl_increment: 2,
            ttl_threshold: 7,
            timeout_buffer: 2,
            destination_only: false,
            gratuitous_replies: false,
            hello_interval: None,
            allowed_hello_loss: 2,
            link_layer_feedback: true,
            broadcast_jitter: Duration::from_millis(10),
            metric: Metric::Hops,
            buffer: 64,
        }
    }
}

impl AodvConfig {
    /// `MY_ROUTE_TIMEOUT`.
    pub fn my_route_timeout(&self) -> Duration {
        self.my_route_timeout.unwrap_or(self.active_route_timeout * 2)
    }

    /// `DELETE_PERIOD`, with K = 5.
    pub fn delete_period(&self) -> Duration {
        let hello = self.hello_interval.unwrap_or(Duration::ZERO);
        self.delete_period.unwrap_or(self.active_route_timeout.max(hello) * 5)
    }

    /// `NET_TRAVERSAL_TIME`.
    pub fn net_traversal_time(&self) -> Duration {
        self.node_traversal_time * (2 * u32::from(self.net_diameter))
    }

    /// `PATH_DISCOVERY_TIME`: how long a request is recorded.
    pub fn path_discovery_time(&self) -> Duration {
        self.net_traversal_time() * 2
    }

    /// `RING_TRAVERSAL_TIME` of a request with this TTL.
    pub fn ring_traversal_time(&self, ttl: u8) -> Duration {
        self.node_traversal_time * (2 * (u32::from(ttl) + u32::from(self.timeout_buffer)))
    }

    /// `BLACKLIST_TIMEOUT`: how long RREQs of a neighbor that a RREP did not reach are ignored.
    pub fn blacklist_timeout(&self) -> Duration {
        self.net_traversal_time() * self.rreq_retries
    }

    /// Maximum time of silence of a neighbor that sends Hellos.
    pub(super) fn hello_lifetime(&self) -> Option<Duration> {
        self.hello_interval.map(|interval| interval * self.allowed_hello_loss)
    }
}
