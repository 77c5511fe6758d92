//! The data of a pair that follows its state to another agent.
//!
//! A pair that moves continues at the other agent as soon as that has its legs. The data in the stores of the two directions,
//! which may be far more, follows in further states, in pieces: for each direction first what its leg has outstanding, and
//! then what waits behind that. A leg acknowledges, and is acknowledged, while its outstanding data is absent; it sends again
//! when that has come. Until all has come, nothing passes through the store of the direction: data that arrives meanwhile
//! belongs behind it. If it does not come, the connection is reset, because it is owed.

use std::time::Duration;

use bytes::BytesMut;
use lasthop_agent::{Context, ImportError, Side};
use lasthop_packet::{Instant, Payload};
use lasthop_tcp::Snapshot;
use serde::{Deserialize, Serialize};

use crate::transfer::SIMULATED;

/// How long a pair waits for the next piece of its data.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Fewer octets of a direction do not follow, but are in the state: a piece has about as many itself.
const MIN_OCTETS: u64 = 256;

/// Octets of a piece at most.
const PIECE: usize = 64 << 10;

/// Octets of a piece at least, unless it is the last one: shorter ones would take more memory than was declared.
const MIN_PIECE: u64 = 1024;

/// Octets that follow behind what is outstanding, towards the core side and the radio side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedAwaited([u64; 2]);

/// A piece of the data that follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    /// 0 towards the core side, 1 towards the radio side.
    to: u8,
    /// Octets of this direction that are to come, with those of this piece.
    to_come: u64,
    payload: Payload,
}

/// What a pair waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    octets: SavedAwaited,
    since: Instant,
}

impl SavedAwaited {
    /// Whether nothing follows.
    pub(super) fn is_nothing(self) -> bool {
        self.0 == [0; 2]
    }

    /// Both together.
    pub(super) const fn plus(self, other: Self) -> Self {
        let ([core, radio], [more_core, more_radio]) = (self.0, other.0);
        Self([core.saturating_add(more_core), radio.saturating_add(more_radio)])
    }

    /// Octets of memory that what follows will take, with its records.
    pub(super) const fn memory(self) -> usize {
        let [core, radio] = self.0;
        let octets = core.saturating_add(radio);
        octets.saturating_add(octets / 2) as usize
    }

    pub(super) const fn restore(self, now: Instant) -> Awaited {
        Awaited { octets: self, since: now }
    }
}

impl Default for Awaited {
    fn default() -> Self {
        SavedAwaited::default().restore(Instant::ZERO)
    }
}

impl Awaited {
    /// Octets that follow in this direction.
    pub(super) const fn towards(self, side: Side) -> u64 {
        self.octets.0[side as usize]
    }

    pub(super) const fn save(self) -> SavedAwaited {
        self.octets
    }

    /// Records that a piece has come. `octets` are those that wait behind what the leg has outstanding.
    pub(super) fn arrived(&mut self, side: Side, octets: u64, now: Instant) {
        self.octets.0[side as usize] -= octets;
        self.since = now;
    }

    /// When the wait ends.
    pub(super) fn until(self) -> Instant {
        self.since + LONGEST_WAIT
    }
}

impl Piece {
    /// Takes from the legs, towards the core side and the radio side, what can follow later, in order. Nothing is taken from
    /// a connection of which a leg has ended.
    pub(super) fn take(core: &mut Option<Snapshot>, radio: &mut Option<Snapshot>) -> Vec<Self> {
        let (Some(core), Some(radio)) = (core, radio) else { return Vec::new() };
        let towards_core = take_store(radio, core);
        let towards_radio = take_store(core, radio);
        let of = |to, payloads| {
            let payloads = cut(payloads);
            let mut to_come: u64 = payloads.iter().map(|payload| payload.len() as u64).sum();
            payloads.into_iter().map(move |payload| {
                let piece = Self { to, to_come, payload };
                to_come -= piece.payload.len() as u64;
                piece
            })
        };
        of(Side::Core as u8, towards_core).chain(of(Side::Radio as u8, towards_radio)).collect()
    }

    /// Octets of each direction that wait behind what its leg has outstanding; `outstanding` of them are the latter.
    pub(super) fn octets(pieces: &[Self], outstanding: [u64; 2]) -> SavedAwaited {
        let of = |to: usize| {
            let pieces = pieces.iter().filter(|piece| usize::from(piece.to) == to);
            pieces.map(|piece| piece.payload.len() as u64).sum::<u64>()
        };
        SavedAwaited([0, 1].map(|to| of(to).saturating_sub(outstanding[to])))
    }

    /// The side that it goes to, and its data. `to_come`: octets that the pair still expects for a side. Memory for them was
    /// counted when the pair came, because its state says how many follow.
    pub(super) fn take_for(
        self,
        to_come: impl Fn(Side) -> u64,
        cx: &Context<'_>,
    ) -> Result<(Side, Payload), ImportError> {
        let Self { to, to_come: expected, payload } = self;
        let side = match to {
            0 => Side::Core,
            1 => Side::Radio,
            _ => return Err(ImportError::Malformed("unknown side")),
        };
        let (octets, to_come) = (payload.len() as u64, to_come(side));
        if octets == 0 || octets > to_come || to_come != expected {
            return Err(ImportError::Malformed("it is not data that this connection waits for"));
        }
        if cx.is_real() && payload.is_simulated() {
            return Err(SIMULATED);
        }
        if cx.is_real() && octets < MIN_PIECE && octets < to_come {
            return Err(ImportError::Malformed("a piece is shorter than it need be"));
        }
        Ok((side, payload))
    }

    /// Octets of simulated streams.
    pub(super) fn simulated(&self) -> u64 {
        if self.payload.is_simulated() { self.payload.len() as u64 } else { 0 }
    }
}

/// The same data in pieces of [`PIECE`] octets; a piece is shorter only if it is the last one, or simulated data begins or
/// ends there.
fn cut(payloads: Vec<Payload>) -> Vec<Payload> {
    let mut pieces: Vec<Payload> = Vec::new();
    let mut octets = BytesMut::new();
    for payload in payloads {
        if let Payload::Bytes(whole) = &payload {
            let mut rest = &whole[..];
            while !rest.is_empty() {
                let (fits, behind) = rest.split_at(rest.len().min(PIECE - octets.len()));
                octets.extend_from_slice(fits);
                rest = behind;
                if octets.len() == PIECE {
                    pieces.push(Payload::Bytes(octets.split().freeze()));
                }
            }
            continue;
        }
        if !octets.is_empty() {
            pieces.push(Payload::Bytes(octets.split().freeze()));
        }
        for start in (0..payload.len()).step_by(PIECE) {
            let piece = payload.slice(start, (start + PIECE).min(payload.len()));
            match pieces.last_mut() {
                Some(last) if continues(last, &piece) => *last = last.join(&piece),
                _ => pieces.push(piece),
            }
        }
    }
    if !octets.is_empty() {
        pieces.push(Payload::Bytes(octets.freeze()));
    }
    pieces
}

/// Whether two pieces of simulated data are one.
fn continues(last: &Payload, piece: &Payload) -> bool {
    let (Payload::Stream { stream, offset, len }, Payload::Stream { stream: next, offset: from, len: more }) =
        (last, piece)
    else {
        return false;
    };
    stream == next && offset + u64::from(*len) == *from && (len + more) as usize <= PIECE
}

/// The data between two legs that the second one has not delivered yet, in order.
fn take_store(from: &mut Snapshot, to: &mut Snapshot) -> Vec<Payload> {
    if u64::from(to.outstanding()) + to.unsent() + from.unread() < MIN_OCTETS {
        return Vec::new();
    }
    let mut rest = to.take_outstanding();
    rest.extend(to.take_unsent());
    rest.extend(from.take_unread());
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_any_length_is_cut_into_pieces_that_are_the_same_data() {
        let run = |offset, len| Payload::Stream { stream: 1, offset, len };
        let octets = |len| Payload::Bytes(vec![7; len].into());
        // A run of 3 MiB, contiguous packets, packets of one octet, and a large one.
        let mut all = vec![run(0, 3 << 20)];
        all.extend((0..100).map(|packet| run((3 << 20) + 1000 * packet, 1000)));
        all.extend((0..1000).map(|_| octets(1)));
        all.push(octets(200_000));
        let before: usize = all.iter().map(Payload::len).sum();
        let join = |payloads: &[Payload]| {
            payloads.iter().flat_map(|payload| payload.octets().to_vec()).collect::<Vec<u8>>()
        };
        let (whole, pieces) = (join(&all), cut(all));
        assert!(pieces.iter().all(|piece| (1..=PIECE).contains(&piece.len())));
        assert_eq!((join(&pieces), pieces.iter().map(Payload::len).sum::<usize>()), (whole, before));
        assert!(pieces.len() <= before / PIECE + 4, "{}", pieces.len());
    }

    #[test]
    fn of_real_octets_only_the_last_piece_is_short() {
        for chunks in [[600, 65_000], [1, 65_536], [1023, 64_600], [200_000, 1], [65_536, 65_536]] {
            let pieces = cut(chunks.map(|len| Payload::Bytes(vec![7; len].into())).to_vec());
            let (last, others) = pieces.split_last().expect("there is data");
            assert!(others.iter().all(|piece| piece.len() == PIECE), "{chunks:?}");
            assert!((1..=PIECE).contains(&last.len()), "{chunks:?}");
            assert_eq!(pieces.iter().map(Payload::len).sum::<usize>(), chunks.iter().sum::<usize>());
        }
    }
}
