//! How a connection begins: with an active or a passive open (RFC 9293, section 3.10.1), in the established
//! state, or in the place of one end after that end made the handshake itself.

use std::net::IpAddr;

use lasthop_packet::{Instant, Seq, Tcp, TcpFlags};
use thiserror::Error;

use super::{Connection, Ecn, IpTemplate, Refusals, Socket};
use crate::config::Config;
use crate::negotiation::{LARGEST_SHIFT, Negotiated, shift};
use crate::receive::{ReceiveSide, expressible};
use crate::send::SendSide;
use crate::state::State;

/// The two SYNs of a handshake, as seen on the path.
#[derive(Clone, Copy, Debug)]
pub struct Handshake<'a> {
    /// The SYN of the end whose place is taken.
    pub ours: &'a Tcp,
    /// When that was seen; none if it was seen more than once, so that the answer does not measure a round
    /// trip.
    pub sent: Option<Instant>,
    /// The SYN of the other end.
    pub peers: &'a Tcp,
}

/// The two segments are not the SYN and SYN-ACK of one handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no SYN and SYN-ACK that belong together")]
pub struct NotAHandshake;

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
        connection.receive.record_fin();
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

    /// Takes the place of one end, with the sequence numbers, options and timestamp clock of its
    /// SYN. The end that sent the SYN is established by the SYN-ACK, and owes an ACK; the end that
    /// sent the SYN-ACK waits for that ACK, and retransmits the SYN-ACK if necessary.
    ///
    /// The options in the SYNs (segment size, scaling, timestamps, SACK, ECN) take precedence over
    /// `config`, whose windows are cut to those that can be advertised with the offered shift. The window
    /// of a SYN, at most 65,535 octets, remains promised to the peer, even if that of `config` is
    /// smaller.
    ///
    /// # Errors
    ///
    /// If the two segments are not a SYN and a SYN-ACK that acknowledges exactly this SYN.
    pub fn adopt(
        config: Config,
        local: Socket,
        remote: Socket,
        handshake: Handshake<'_>,
        now: Instant,
    ) -> Result<Self, NotAHandshake> {
        let Handshake { ours, sent, peers } = handshake;
        let is_answer = |of: &Tcp, to: &Tcp| {
            to.flags.has(TcpFlags::SYN)
                && of.flags.has(TcpFlags::SYN)
                && of.flags.has(TcpFlags::ACK)
                && !to.flags.has(TcpFlags::ACK)
                && of.ack == to.seq + 1
        };
        let is_passive = is_answer(ours, peers);
        if !is_passive && !is_answer(peers, ours) {
            return Err(NotAHandshake);
        }
        let mut connection = Self::new(as_in_syn(config, ours), local, remote, ours.seq);
        connection.state = if is_passive { State::SynReceived } else { State::SynSent };
        connection.send.on_syn_sent_elsewhere(sent);
        if let Some(timestamps) = ours.options.timestamps {
            connection.send.continue_clock(timestamps.value, sent.unwrap_or(now));
        }
        connection.negotiate(peers, ours.options.window_scale.map(|shift| shift.min(LARGEST_SHIFT)), now);
        connection.receive.synchronize(peers.seq, u32::from(ours.window));
        if is_passive {
            connection.send.start_timer(now);
        } else {
            connection.establish(peers, now);
            connection.receive.owe_ack_now();
        }
        Ok(connection)
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

/// The configuration with the options offered in `ours`.
fn as_in_syn(mut config: Config, ours: &Tcp) -> Config {
    let options = &ours.options;
    //= RFC 9293, section 3.7.1: without the option 536.
    config.mss = config.mss.min(options.maximum_segment_size.map_or(536, u32::from));
    config.timestamps = options.timestamps.is_some();
    config.sack = options.sack_permitted;
    config.dsack &= config.sack;
    //= RFC 3168, section 6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK ECE alone.
    config.ecn =
        ours.flags.has(TcpFlags::ECE) && ours.flags.has(TcpFlags::CWR) != ours.flags.has(TcpFlags::ACK);
    let shift = options.window_scale.map_or(0, |shift| shift.min(LARGEST_SHIFT));
    config.window = expressible(config.window, shift);
    config.window_max = config.window_max.map(|window| expressible(window, shift));
    config
}
