//! A connection that one end asks for: the leg onward to the other end opens first, and its fate is
//! the answer.

use lasthop_agent::{Context, FlowState, ImportError, Side};
use lasthop_packet::{FlowKey, Instant, Packet, PacketRecord, Seq, TcpFlags};
use lasthop_tcp::{Config, Connection, Snapshot, State};
use serde::{Deserialize, Serialize};

use crate::split::pair::Pair;
use crate::transfer::{export, import, segment};

/// The scheme's name.
pub(super) const NAME: &str = "i-tcp";

/// The form of [`SavedOpening`], told from that of a pair by its version.
const VERSION: u8 = 101;

/// A SYN, and the leg onward that it has called for.
pub(super) struct Opening {
    /// Where the SYN came from.
    pub(super) opener: Side,
    pub(super) onward: Connection,
    syn: Packet,
}

/// What is exported of it.
#[derive(Debug, Serialize, Deserialize)]
struct SavedOpening {
    is_from_core: bool,
    onward: Snapshot,
    syn: PacketRecord,
}

/// What has become of the leg onward.
pub(super) enum Outcome {
    /// Nothing yet.
    Waits,
    /// It is there: the other leg opens, too.
    Opened(Box<Pair>),
    /// It was refused, or not answered: so is the end that asked.
    Refused(Box<Connection>),
}

impl Opening {
    /// An end wants a connection. `iss` is our initial sequence number towards the other one.
    pub(super) fn new(key: FlowKey, syn: Packet, opener: Side, config: Config, iss: Seq) -> Self {
        let (local, remote) = match opener {
            Side::Radio => (key.destination, key.source),
            Side::Core => (key.source, key.destination),
        };
        Self { opener, onward: Connection::connect(config, local, remote, iss), syn }
    }

    /// Whether a packet is the SYN once more.
    pub(super) fn is_repeated_by(&self, packet: &Packet) -> bool {
        let number = |packet: &Packet| packet.tcp().map(|tcp| (tcp.seq, tcp.flags.has(TcpFlags::SYN)));
        number(packet) == number(&self.syn)
    }

    /// What has become of it. `iss` is our initial sequence number towards the end that asked. Not to
    /// be asked again once it has an outcome.
    pub(super) fn outcome(&mut self, config: Config, iss: Seq, now: Instant) -> Outcome {
        let (local, remote) = (self.onward.remote(), self.onward.local());
        match self.onward.state() {
            State::SynSent | State::SynReceived => Outcome::Waits,
            State::Closed => {
                let mut back = Connection::closed(config, local, remote);
                back.on_segment(&self.syn, now);
                Outcome::Refused(Box::new(back))
            }
            _ => {
                let mut back = Connection::listen(config.clone(), local, iss);
                back.on_segment(&self.syn, now);
                let onward = std::mem::replace(&mut self.onward, Connection::closed(config, remote, local));
                let (core, radio) = match self.opener {
                    Side::Radio => (onward, back),
                    Side::Core => (back, onward),
                };
                Outcome::Opened(Box::new(Pair::in_own_numbers(core, radio)))
            }
        }
    }

    /// It as a value.
    pub(super) fn save(&self, key: FlowKey, cx: &Context<'_>) -> Option<FlowState> {
        let onward = self.onward.snapshot(cx.now())?;
        let saved = SavedOpening {
            is_from_core: self.opener == Side::Core,
            onward,
            syn: PacketRecord::from(&self.syn),
        };
        export(NAME, VERSION, key, &saved)
    }

    /// Goes on from a value; `None` if it is that of something else.
    pub(super) fn restore(
        state: &FlowState,
        config: Config,
        now: Instant,
    ) -> Option<Result<Self, ImportError>> {
        if state.octets.first() != Some(&VERSION) {
            return None;
        }
        Some(import(state, NAME, VERSION).and_then(|saved: SavedOpening| {
            let opener = if saved.is_from_core { Side::Core } else { Side::Radio };
            let flow = opener.connection(state.connection);
            let syn = segment(saved.syn, flow)?;
            let is_syn = syn.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN));
            let is_onward = saved.onward.local() == flow.source && saved.onward.remote() == flow.destination;
            if !is_syn || !is_onward {
                return Err(ImportError::Malformed("it is no connection that opens"));
            }
            let onward = Connection::restore(config, saved.onward, now)
                .map_err(|_| ImportError::Malformed("no connection can have been in that state"))?;
            Ok(Self { opener, onward, syn })
        }))
    }
}
