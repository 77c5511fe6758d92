//! The form in which agents export the state of a connection: a version, followed by the fields of
//! a struct of the scheme, encoded with postcard.
//!
//! Times are written relative to now, so that they hold on another machine's clock.

use std::borrow::Cow;

use lasthop_agent::{Context, FlowState, ImportError};
use lasthop_packet::{FlowKey, Instant, Packet, PacketRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Exports the state of a connection in a version of a scheme's form.
pub fn export<T: Serialize>(
    scheme: &'static str,
    version: u8,
    connection: FlowKey,
    state: &T,
) -> Option<FlowState> {
    // Writing plain structs to memory does not fail. A state that cannot be written is not
    // exported.
    let octets = postcard::to_extend(state, vec![version]).ok()?;
    Some(FlowState::new(Cow::Borrowed(scheme), connection, octets))
}

/// Octets of simulated payloads among these packets.
pub fn simulated<'a>(packets: impl Iterator<Item = &'a Packet>) -> u64 {
    let payloads = packets.map(Packet::payload).filter(|payload| payload.is_simulated());
    payloads.map(|payload| payload.len() as u64).sum()
}

/// Octets of a state in addition to the budget: the fixed part of any scheme's state is far
/// smaller.
const FIXED: usize = 64 << 10;

/// Reads a state that [`export`] wrote. A state larger than a connection may take here is refused
/// unread: decoding it would take at least as much memory.
pub fn import<T: DeserializeOwned>(
    state: &FlowState,
    scheme: &str,
    version: u8,
    cx: &Context<'_>,
) -> Result<T, ImportError> {
    if state.scheme != scheme {
        return Err(ImportError::OtherScheme(state.scheme.to_string()));
    }
    let (&found, octets) = state.octets.split_first().ok_or(ImportError::Malformed("it is empty"))?;
    if found != version {
        return Err(ImportError::Version { found, known: version });
    }
    if octets.len() > cx.budget().octets_per_flow.saturating_add(FIXED) {
        return Err(ImportError::NoRoom("memory of a connection"));
    }
    postcard::from_bytes(octets).map_err(|_| ImportError::Malformed("fields are missing or out of range"))
}

/// The error for a state with simulated payloads among real hosts.
pub const SIMULATED: ImportError = ImportError::Malformed("its octets are simulated");

/// Reads a packet that occupies sequence space in this direction of a connection.
pub fn segment(record: PacketRecord, connection: FlowKey, cx: &Context<'_>) -> Result<Packet, ImportError> {
    let packet = Packet::try_from(record).map_err(|_| ImportError::Malformed("a packet does not parse"))?;
    if cx.is_real() && packet.payload().is_simulated() {
        return Err(SIMULATED);
    }
    if packet.flow_key() != Some(connection) || packet.segment_len() == 0 {
        return Err(ImportError::Malformed("a packet is not data of the connection"));
    }
    Ok(packet)
}

/// A time relative to now, in nanoseconds; negative if it is in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Away(i64);

impl Away {
    /// The distance of `at` from `now`.
    pub fn from(at: Instant, now: Instant) -> Self {
        let away = i128::from(at.as_nanos()) - i128::from(now.as_nanos());
        Self(away.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// The time at this distance from `now`, by another clock.
    pub fn to(self, now: Instant) -> Instant {
        Instant::from_nanos(now.as_nanos().saturating_add_signed(self.0))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use lasthop_agent::{Budget, Outbox};
    use lasthop_packet::{Ip, Payload, Rng, Tcp};

    use super::*;

    /// Runs `call` with a context of this budget.
    fn within<T>(octets_per_flow: usize, call: impl FnOnce(Context<'_>) -> T) -> T {
        let (mut rng, mut outbox) = (Rng::named(1, "transfer"), Outbox::default());
        let budget = Budget { octets_per_flow, ..Budget::default() };
        call(Context::new(Instant::ZERO, &mut rng, &mut outbox).within(budget))
    }

    fn import<T: DeserializeOwned>(state: &FlowState, scheme: &str, version: u8) -> Result<T, ImportError> {
        within(0, |cx| super::import(state, scheme, version, &cx))
    }

    fn state(octets: Vec<u8>) -> FlowState {
        let end = (Ipv4Addr::LOCALHOST.into(), 1);
        let connection = FlowKey::tcp(end, end);
        FlowState::new(Cow::Borrowed("a"), connection, octets)
    }

    #[test]
    fn a_state_of_another_scheme_or_version_is_refused_with_the_reason() {
        let good = export("a", 3, state(Vec::new()).connection, &(7_u32, true)).expect("plain values");
        assert_eq!(import::<(u32, bool)>(&good, "a", 3), Ok((7, true)));
        assert_eq!(import::<(u32, bool)>(&good, "b", 3), Err(ImportError::OtherScheme("a".to_owned())));
        assert_eq!(import::<(u32, bool)>(&good, "a", 4), Err(ImportError::Version { found: 3, known: 4 }));
        for octets in [vec![], vec![3], vec![3, 7]] {
            let error = import::<(u32, bool)>(&state(octets), "a", 3).expect_err("there is too little");
            assert!(matches!(error, ImportError::Malformed(_)));
        }
    }

    #[test]
    fn a_state_larger_than_the_limit_of_a_connection_is_refused_unread() {
        let many: Vec<()> = Vec::new();
        let mut large = export("a", 3, state(Vec::new()).connection, &many).expect("plain values");
        large.octets.resize(FIXED + 102, 0);
        let import = |octets| within(octets, |cx| super::import::<Vec<()>>(&large, "a", 3, &cx));
        assert_eq!(import(100), Err(ImportError::NoRoom("memory of a connection")));
        assert_eq!(import(101), Ok(many.clone()), "postcard leaves the rest");
    }

    #[test]
    fn simulated_octets_stay_among_simulated_hosts() {
        let host = Ipv4Addr::LOCALHOST.into();
        let payload = Payload::Stream { stream: 1, offset: 2, len: 3 };
        let packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), payload.clone());
        let connection = packet.flow_key().expect("it has ports");
        let record = || PacketRecord::from(&packet);
        assert!(within(0, |cx| segment(record(), connection, &cx)).is_ok());
        assert_eq!(
            within(0, |cx| segment(record(), connection, &cx.among_real_hosts())).err(),
            Some(SIMULATED)
        );
        assert!(payload.is_simulated() && !Payload::EMPTY.is_simulated());
        assert!(!Payload::Bytes(payload.octets()).is_simulated());
    }

    #[test]
    fn a_time_is_as_far_away_by_another_clock() {
        let (here, there) = (Instant::from_secs(10), Instant::from_secs(1000));
        for at in [here, Instant::from_secs(9), Instant::from_secs(12)] {
            let moved = Away::from(at, here).to(there);
            assert_eq!(moved.as_nanos() - 990_000_000_000, at.as_nanos());
        }
        assert_eq!(Away::from(here, Instant::MAX).to(Instant::ZERO), Instant::ZERO, "and no further");
    }
}
