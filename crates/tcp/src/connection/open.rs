//! Opening a connection: actively, passively, or in the established state (RFC 9293, section 3.10.1).

use std::net::IpAddr;

use lasthop_packet::Seq;

use super::{Connection, Ecn, IpTemplate, Refusals, Socket};
use crate::config::Config;
use crate::negotiation::{Negotiated, shift};
use crate::receive::{ReceiveSide, expressible};
use crate::send::SendSide;
use crate::state::State;

impl Connection {
    /// An active open: the SYN is the first packet to send.
    pub fn connect(config: Config, local: Socket, remote: Socket, iss: Seq) -> Self {
        let mut connection = Self::new(config, local, remote, iss);
        connection.state = State::SynSent;
        connection
    }

    /// A passive open: waits for a SYN from any host to `local`.
    pub fn listen(config: Config, local: Socket, iss: Seq) -> Self {
        let unspecified = (if local.0.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) }, 0);
        let mut connection = Self::new(config, local, unspecified, iss);
        connection.state = State::Listen;
        connection
    }

    /// A connection that has ended.
    pub fn closed(config: Config, local: Socket, remote: Socket) -> Self {
        Self::new(config, local, remote, Seq(0))
    }

    /// A connection that both ends have closed, with both FINs acknowledged.
    pub fn ended(config: Config, local: Socket, remote: Socket) -> Self {
        let mut connection = Self::closed(config, local, remote);
        connection.send.end_elsewhere();
        connection.receive.note_end();
        connection
    }

    /// An established connection without a handshake, as in the thesis: both ends know each other's options
    /// and initial window. Windows above 65,535 octets are scaled in both directions.
    pub fn established(
        config: Config,
        peer: &Config,
        local: Socket,
        remote: Socket,
        iss: Seq,
        irs: Seq,
    ) -> Self {
        let negotiated = Negotiated::from_configs(&config, peer);
        let is_ecn = config.ecn && peer.ecn;
        let mss = config.mss.min(peer.mss);
        let peer_window = expressible(peer.window, negotiated.peer_shift);
        let window = expressible(config.window, negotiated.our_shift);
        let mut connection = Self::new(config, local, remote, iss);
        connection.state = State::Established;
        connection.negotiated = negotiated;
        connection.ecn = is_ecn.then(Ecn::default);
        connection.receive.synchronize(irs, window);
        connection.send.skip_syn();
        connection.send.set_peer_window(peer_window, irs + 1);
        connection.begin_transfer(mss);
        connection.send.begin_model();
        connection
    }

    pub(super) fn new(mut config: Config, local: Socket, remote: Socket, iss: Seq) -> Self {
        config.mss = config.mss.clamp(1, 65_495);
        config.window = config.window.max(1);
        config.send_window = config.send_window.map(|octets| octets.max(1));
        let buffer = expressible(config.window, shift(&config));
        Self {
            state: State::Closed,
            was_reset: false,
            time_wait: None,
            negotiated: Negotiated::default(),
            ip: IpTemplate::new(local, remote),
            send: SendSide::new(&config, iss, local.0.is_ipv4()),
            receive: ReceiveSide::new(buffer, &config),
            receiver_extension: None,
            ecn: None,
            refusals: Refusals::default(),
            reset: None,
            config,
        }
    }

    /// Begins the transfer with the negotiated maximum segment size.
    pub(super) fn begin_transfer(&mut self, mss: u32) {
        self.send.begin(&self.config, mss, self.negotiated);
        self.receive.begin(self.send.flight().mss, self.negotiated.sack);
    }
}
