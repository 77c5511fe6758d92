//! TCP options, read and laid out.

use crate::header::{SackBlocks, TcpOptions, Timestamps};
use crate::seq::Seq;

/// Kinds of options (IANA, "TCP Option Kind Numbers").
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Octets of options that a TCP header has room for (RFC 9293, section 3.1: a data offset of at
/// most 15 words).
const ROOM: usize = 40;

/// Reads the options of a TCP header; `None` if an option's length octet is missing, below two, or
/// beyond the header. An option of a known kind that is odd (a wrong length, a second of its kind)
/// is kept with the unknown ones. Nothing behind an end-of-options octet is read.
pub(super) fn read(mut octets: &[u8]) -> Option<TcpOptions> {
    let mut options = TcpOptions::default();
    let mut unknown = Vec::new();
    while let Some(&kind) = octets.first() {
        match kind {
            END => break,
            NO_OPERATION => octets = &octets[1..],
            _ => {
                let len = usize::from(*octets.get(1)?);
                let option = octets.get(..len).filter(|_| len >= 2)?;
                if !understand(option, &mut options) {
                    unknown.extend_from_slice(option);
                }
                octets = &octets[len..];
            }
        }
    }
    options.unknown = if unknown.is_empty() { None } else { Some(unknown.into()) };
    Some(options)
}

/// Puts a well-formed, first option of its kind in its field; `false` for every other.
fn understand(option: &[u8], options: &mut TcpOptions) -> bool {
    match *option {
        [MAXIMUM_SEGMENT_SIZE, 4, a, b] if options.maximum_segment_size.is_none() => {
            options.maximum_segment_size = Some(u16::from_be_bytes([a, b]));
        }
        [WINDOW_SCALE, 3, shift] if options.window_scale.is_none() => options.window_scale = Some(shift),
        [SACK_PERMITTED, 2] if !options.sack_permitted => options.sack_permitted = true,
        [SACK, _, ref blocks @ ..] if options.sack.is_empty() && is_one_to_four_blocks(blocks) => {
            options.sack = SackBlocks::NONE;
            for block in blocks.chunks_exact(8) {
                options.sack.push(Seq(word(block)), Seq(word(&block[4..])));
            }
        }
        [TIMESTAMPS, 10, ref values @ ..] if options.timestamps.is_none() => {
            options.timestamps = Some(Timestamps { value: word(values), echo_reply: word(&values[4..]) });
        }
        _ => return false,
    }
    true
}

fn is_one_to_four_blocks(blocks: &[u8]) -> bool {
    blocks.len().is_multiple_of(8) && (1..=4).contains(&(blocks.len() / 8))
}

/// The first four octets, in network order.
fn word(octets: &[u8]) -> u32 {
    octets.first_chunk().map_or(0, |&word| u32::from_be_bytes(word))
}

/// Which options are written and how; [`TcpOptions::len`] and [`Layout::write`] both follow it.
///
/// The order is that of Linux: maximum segment size, SACK permitted, timestamps, window scale,
/// SACK, then the unknown ones. Each starts so that its fields lie on words, with NOPs before it,
/// as RFC 7323, appendix A recommends (receivers have a fast path for exactly that). If they do not
/// fit in 40 octets so, they are packed without NOPs; if not even so, the unknown ones are left
/// out, then SACK blocks from the last: RFC 2018, section 4 puts the block that matters most first.
/// What a header had room for when it came, it has room for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    is_aligned: bool,
    has_unknown: bool,
    sack_blocks: usize,
    len: usize,
}

impl Layout {
    /// The layout of these options.
    #[inline]
    pub(crate) fn of(options: &TcpOptions) -> Self {
        // The usual case, asked for at every packet's every length.
        let whole = Self::with(options, true, true, options.sack.as_slice().len());
        if whole.len <= ROOM { whole } else { Self::squeezed(options) }
    }

    /// The layout that leaves out least of options that do not fit aligned.
    #[cold]
    fn squeezed(options: &TcpOptions) -> Self {
        let blocks = options.sack.as_slice().len();
        let packed = Self::with(options, false, true, blocks);
        let without_unknown = (0..=blocks).rev().flat_map(|blocks| {
            [true, false].map(|is_aligned| Self::with(options, is_aligned, false, blocks))
        });
        std::iter::once(packed)
            .chain(without_unknown)
            .find(|layout| layout.len <= ROOM)
            // Never needed: the other options take at most 20 octets.
            .unwrap_or(Self { is_aligned: true, has_unknown: false, sack_blocks: 0, len: 0 })
    }

    fn with(options: &TcpOptions, is_aligned: bool, has_unknown: bool, sack_blocks: usize) -> Self {
        let nops = |count: usize| if is_aligned { count } else { 0 };
        let mut len = 0;
        if options.maximum_segment_size.is_some() {
            len += 4;
        }
        match (options.sack_permitted, options.timestamps.is_some()) {
            (true, true) => len += 12,
            (true, false) => len += 2 + nops(2),
            (false, true) => len += 10 + nops(2),
            (false, false) => {}
        }
        if options.window_scale.is_some() {
            len += 3 + nops(1);
        }
        if sack_blocks > 0 {
            len += 2 + 8 * sack_blocks + nops(2);
        }
        if has_unknown {
            len += options.unknown.as_ref().map_or(0, |octets| octets.len());
        }
        Self { is_aligned, has_unknown, sack_blocks, len: len.next_multiple_of(4) }
    }

    /// Octets of the options with their padding.
    pub(crate) const fn len(self) -> usize {
        self.len
    }

    /// Appends the options to `out`, padded with end-of-options octets.
    pub(super) fn write(self, options: &TcpOptions, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        let nops = |out: &mut Vec<u8>, count: usize| {
            if self.is_aligned {
                out.extend_from_slice(&[NO_OPERATION; 3][..count]);
            }
        };
        if let Some(size) = options.maximum_segment_size {
            out.extend_from_slice(&[MAXIMUM_SEGMENT_SIZE, 4]);
            out.extend_from_slice(&size.to_be_bytes());
        }
        // SACK permitted takes the place of the two NOPs before the timestamps.
        if options.sack_permitted {
            if options.timestamps.is_none() {
                nops(out, 2);
            }
            out.extend_from_slice(&[SACK_PERMITTED, 2]);
        }
        if let Some(timestamps) = options.timestamps {
            if !options.sack_permitted {
                nops(out, 2);
            }
            out.extend_from_slice(&[TIMESTAMPS, 10]);
            out.extend_from_slice(&timestamps.value.to_be_bytes());
            out.extend_from_slice(&timestamps.echo_reply.to_be_bytes());
        }
        if let Some(shift) = options.window_scale {
            nops(out, 1);
            out.extend_from_slice(&[WINDOW_SCALE, 3, shift]);
        }
        if self.sack_blocks > 0 {
            nops(out, 2);
            out.extend_from_slice(&[SACK, 2 + 8 * self.sack_blocks as u8]);
            for (left, right) in &options.sack.as_slice()[..self.sack_blocks] {
                out.extend_from_slice(&left.0.to_be_bytes());
                out.extend_from_slice(&right.0.to_be_bytes());
            }
        }
        if let Some(unknown) = options.unknown.as_ref().filter(|_| self.has_unknown) {
            out.extend_from_slice(unknown);
        }
        out.resize(end, END);
    }
}
