//! Taking the place of one end of a connection: that end made the handshake itself, and an observer
//! on the path goes on in its name.

use lasthop_packet::{Instant, Tcp, TcpFlags};
use thiserror::Error;

use super::{Connection, Socket};
use crate::config::Config;
use crate::negotiation::LARGEST_SHIFT;
use crate::receive::expressible;
use crate::state::State;

/// The two SYNs of a handshake, as they were seen on the path.
#[derive(Clone, Copy, Debug)]
pub struct Handshake<'a> {
    /// Of the end whose place is taken.
    pub ours: &'a Tcp,
    /// When that was seen; none if it was seen more than once, so that the other's answer times
    /// nothing.
    pub sent: Option<Instant>,
    /// Of the other end.
    pub peers: &'a Tcp,
}

/// What was given as a handshake is none: no SYN and SYN-ACK that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no SYN and SYN-ACK that belong together")]
pub struct NotAHandshake;

impl Connection {
    /// Takes the place of one end, with the sequence numbers, options and timestamp clock of its
    /// SYN. The end that sent the SYN is established by the other's SYN-ACK, and owes an ACK; the
    /// end that sent the SYN-ACK waits for that ACK, and sends the SYN-ACK again if need be.
    ///
    /// What `config` offers in a SYN (segment size, scaling, timestamps, SACK, ECN) gives way to what
    /// the SYNs say; its windows are cut to what can be advertised with the shift that was offered. The
    /// window of a SYN was promised to the peer, 65,535 octets at most, and stays so, even if
    /// `config` has less.
    ///
    /// # Errors
    ///
    /// If the two segments are no SYN and SYN-ACK of one handshake, the latter acknowledging the
    /// former and nothing else.
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

/// The configuration with what its SYN would have offered replaced by what `ours` offered.
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
