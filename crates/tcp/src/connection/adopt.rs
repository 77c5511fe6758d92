//! Taking the place of one end of a connection, after that end made the handshake itself.

use lasthop_packet::{Instant, Tcp, TcpFlags};
use thiserror::Error;

use super::{Connection, Socket};
use crate::config::Config;
use crate::negotiation::LARGEST_SHIFT;
use crate::receive::expressible;
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
