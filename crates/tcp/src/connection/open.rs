//! How a connection begins: actively, passively, or established already (RFC 9293, section 3.10.1).

use std::net::IpAddr;

use lasthop_packet::Seq;

use super::ecn::Ecn;
use super::window_scale::{tellable, window_shift};
use super::{
    Connection, Endpoint, Negotiated, Pacer, PathMtu, ReceiveSide, Silence, State, Stats, SuperPacket,
    Timers, TimestampClock, Validation,
};
use crate::config::{Config, PacingRule};
use crate::flight::Flight;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

impl Connection {
    /// A connection that opens actively: its SYN is the first thing to transmit.
    pub fn connect(config: Config, local: Endpoint, remote: Endpoint, iss: Seq) -> Self {
        let mut connection = Self::new(config, local, remote, iss);
        connection.state = State::SynSent;
        connection
    }

    /// A connection that waits for a SYN from anybody; `local` is where.
    pub fn listen(config: Config, local: Endpoint, iss: Seq) -> Self {
        let nobody = (if local.0.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) }, 0);
        let mut connection = Self::new(config, local, nobody, iss);
        connection.state = State::Listen;
        connection
    }

    /// A connection that has ended.
    pub fn closed(config: Config, local: Endpoint, remote: Endpoint) -> Self {
        Self::new(config, local, remote, Seq(0))
    }

    /// A connection that has ended as both ends wanted: each has closed, and heard that the other knows.
    pub fn ended(config: Config, local: Endpoint, remote: Endpoint) -> Self {
        let mut connection = Self::closed(config, local, remote);
        connection.is_fin_acknowledged = true;
        connection.receive.note_end();
        connection
    }

    /// A connection that is established already, as the thesis starts it: no handshake, and both
    /// sides know each other's options and initial window. Windows above 65,535 octets are scaled
    /// in either direction.
    pub fn established(
        config: Config,
        peer: &Config,
        local: Endpoint,
        remote: Endpoint,
        iss: Seq,
        irs: Seq,
    ) -> Self {
        let (peer_shift, our_shift) =
            (window_shift(peer.largest_window()), window_shift(config.largest_window()));
        let negotiated = Negotiated {
            peer_shift,
            our_shift,
            scaling: true,
            timestamps: config.timestamps && peer.timestamps,
            sack: config.sack && peer.sack,
        };
        let is_ecn = config.ecn && peer.ecn;
        let mss = config.mss.min(peer.mss);
        let (peer_window, window) = (tellable(peer.window, peer_shift), tellable(config.window, our_shift));
        let mut connection = Self::new(config, local, remote, iss);
        connection.state = State::Established;
        connection.negotiated = negotiated;
        connection.ecn = is_ecn.then(Ecn::default);
        connection.receive.synchronize(irs, window);
        connection.flight.una = iss + 1;
        connection.flight.nxt = iss + 1;
        connection.flight.max = iss + 1;
        connection.take_window(peer_window, irs + 1);
        connection.begin_transfer(mss);
        connection.begin_model();
        connection
    }

    pub(super) fn new(mut config: Config, local: Endpoint, remote: Endpoint, iss: Seq) -> Self {
        config.mss = config.mss.clamp(1, 65_495);
        config.window = config.window.max(1);
        config.send_window = config.send_window.map(|octets| octets.max(1));
        let buffer = tellable(config.window, window_shift(config.largest_window()));
        let flight = Flight {
            una: iss,
            nxt: iss,
            max: iss,
            peer_window: 0,
            mss: config.mss,
            cwnd: config.mss,
            ssthresh: config.initial_ssthresh,
        };
        Self {
            state: State::Closed,
            local,
            remote,
            negotiated: Negotiated::default(),
            timestamp_clock: TimestampClock::Running { offset: 1 },
            flight,
            buffer: SendBuffer::default(),
            close_requested: false,
            expects_more: false,
            peer_has_pushed: true,
            is_fin_acknowledged: false,
            iss,
            duplicate_acks: 0,
            window_told_at: Seq(0),
            largest_peer_window: 0,
            silence: Silence::default(),
            path_mtu: PathMtu::new(config.mss),
            challenged_at: None,
            was_reset: false,
            urgent: Vec::new(),
            dscp: 0,
            hop_limit: None,
            congestion: config.slow_start.before(config.congestion.begin(config.slow_start_limit)),
            recovery: config.recovery.begin(false),
            is_recovering: false,
            queue: RetransmissionQueue::default(),
            goes_by_segments: false,
            goes_by_model: false,
            pacer: None,
            super_packet: None,
            most_segments: 1,
            ecn: None,
            validation: config.window_validation.then(Validation::default),
            sender_extension: None,
            retransmit: Vec::new(),
            retransmission_goes_alone: false,
            suspicious_acks: 0,
            receive: ReceiveSide::new(buffer, &config),
            receiver_extension: None,
            rtt: RttEstimator::new(config.rto),
            timers: Timers::default(),
            reset: None,
            probe_window: false,
            identification: 0,
            stats: Stats::default(),
            config,
        }
    }

    /// Both sides know each other's maximum segment size: sets what depends on it.
    pub(super) fn begin_transfer(&mut self, mss: u32) {
        // RFC 6691: options come out of the segment's payload.
        self.flight.mss = if self.negotiated.timestamps { mss.saturating_sub(12).max(1) } else { mss.max(1) };
        self.path_mtu = PathMtu::new(self.flight.mss);
        self.receive.begin(self.flight.mss, self.negotiated.sack);
        self.recovery = self.config.recovery.begin(self.negotiated.sack);
        self.goes_by_segments = self.recovery.goes_by_segments() || self.congestion.goes_by_segments();
        // No larger than the largest window that TCP can advertise (RFC 7323, section 2.3).
        let segments = self.config.initial_window.max(1);
        self.flight.cwnd = self.flight.mss.saturating_mul(segments).min(1 << 30);
        self.goes_by_model = self.congestion.rules_recovery();
        if self.goes_by_model {
            self.queue.note_in_network();
        }
        let is_paced = self.congestion.is_paced() || self.config.pacing == PacingRule::Fq;
        self.pacer = is_paced.then(Pacer::default);
        let is_offloaded = self.config.segmentation_offload && self.recovery.goes_by_segments() && !is_paced;
        self.super_packet = is_offloaded.then(SuperPacket::default);
    }
}
