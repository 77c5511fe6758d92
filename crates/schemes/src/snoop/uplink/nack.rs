//! The option of a negative acknowledgment: kind 253, for experiments (RFC 4727), with an experiment
//! identifier (RFC 6994), and the holes in the form of SACK blocks: left edge, right edge.

use lasthop_packet::Seq;

/// Experimental option (RFC 4727, section 6).
const KIND: u8 = 253;
/// The experiment identifier: "lh".
const EXPERIMENT: [u8; 2] = *b"lh";
/// Holes that fit next to timestamps.
const MAX_HOLES: usize = 3;

/// The holes listed by a negative acknowledgment, at most three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    len: usize,
    holes: [(Seq, Seq); MAX_HOLES],
}

impl Nack {
    /// Adds a hole, if there is room.
    pub fn push(&mut self, left: Seq, right: Seq) {
        if let Some(slot) = self.holes.get_mut(self.len) {
            *slot = (left, right);
            self.len += 1;
        }
    }

    /// The holes.
    pub fn holes(&self) -> &[(Seq, Seq)] {
        &self.holes[..self.len]
    }

    /// The end of the last hole.
    pub fn end(&self) -> Option<Seq> {
        self.holes().last().map(|(_, right)| *right)
    }

    /// The encoded option.
    pub fn to_option(self) -> Box<[u8]> {
        let mut octets = vec![KIND, (4 + 8 * self.len) as u8, EXPERIMENT[0], EXPERIMENT[1]];
        for (left, right) in self.holes() {
            octets.extend(left.0.to_be_bytes());
            octets.extend(right.0.to_be_bytes());
        }
        octets.into_boxed_slice()
    }

    /// The first NACK option among `options`, each of which has kind and length.
    pub fn among(mut options: &[u8]) -> Option<Self> {
        while let [kind, len, ..] = *options {
            let (option, rest) = options.split_at_checked(usize::from(len.max(2)))?;
            if kind == KIND && option.get(2..4) == Some(&EXPERIMENT) {
                let mut nack = Self::default();
                for hole in option[4..].chunks_exact(8) {
                    let number =
                        |octets: &[u8]| octets.try_into().map(|octets| Seq(u32::from_be_bytes(octets)));
                    nack.push(number(&hole[..4]).ok()?, number(&hole[4..]).ok()?);
                }
                return Some(nack);
            }
            options = rest;
        }
        None
    }
}
