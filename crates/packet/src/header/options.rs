//! TCP options, and their length in a header.

use crate::seq::Seq;

/// Maximum octets of options in a TCP header (RFC 9293, section 3.1: a data offset of at most 15
/// words).
const ROOM: usize = 40;

/// The timestamps option (RFC 7323).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// `TSval`.
    pub value: u32,
    /// `TSecr`.
    pub echo_reply: u32,
}

/// The blocks of a SACK option (RFC 2018): at most four, each `[left, right)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    len: u8,
    blocks: [(Seq, Seq); 4],
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: Self = Self { len: 0, blocks: [(Seq(0), Seq(0)); 4] };

    /// Adds a block unless there are four already.
    pub fn push(&mut self, left: Seq, right: Seq) {
        if let Some(slot) = self.blocks.get_mut(self.len as usize) {
            *slot = (left, right);
            self.len += 1;
        }
    }

    /// The blocks, in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[(Seq, Seq)] {
        &self.blocks[..self.len as usize]
    }

    /// Whether there are no blocks.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The known TCP options; others are kept as octets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293, section 3.7.1).
    pub maximum_segment_size: Option<u16>,
    /// Window scale shift (RFC 7323, section 2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323, section 3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018, section 3).
    pub sack: SackBlocks,
    /// Unknown options, unchanged, including kind and length octets, one after the other; no
    /// padding.
    pub unknown: Option<Box<[u8]>>,
}

impl TcpOptions {
    /// Octets of the options on the wire with their padding: a multiple of four, at most 40.
    /// [`crate::wire::emit`] documents the layout, and which options are omitted if they do not
    /// fit.
    #[inline]
    pub fn len(&self) -> usize {
        // The options of nearly every segment.
        let has_timestamps_at_most = self.sack.is_empty()
            && self.unknown.is_none()
            && !self.sack_permitted
            && self.maximum_segment_size.is_none()
            && self.window_scale.is_none();
        if has_timestamps_at_most {
            return if self.timestamps.is_some() { 12 } else { 0 };
        }
        self.len_of_others()
    }

    // A separate function, so that the length of most segments takes little code.
    #[inline(never)]
    fn len_of_others(&self) -> usize {
        let aligned = self.aligned_len();
        if aligned <= ROOM { aligned } else { Layout::from_options(self).len() }
    }

    /// The same with each option aligned so that its fields start at words.
    #[inline]
    fn aligned_len(&self) -> usize {
        let agreed = match (self.sack_permitted, self.timestamps.is_some()) {
            (false, false) => 0,
            (true, false) => 4,
            (_, true) => 12,
        };
        let one_word = |is_there: bool| 4 * usize::from(is_there);
        let handshake = one_word(self.maximum_segment_size.is_some()) + one_word(self.window_scale.is_some());
        let blocks = if self.sack.is_empty() { 0 } else { 4 + 8 * usize::from(self.sack.len) };
        let unknown = self.unknown.as_ref().map_or(0, |octets| octets.len().next_multiple_of(4));
        agreed + handshake + blocks + unknown
    }

    /// Whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Which options are written and how; the basis of both [`TcpOptions::len`] and emission.
///
/// The order is that of Linux: maximum segment size, SACK permitted, timestamps, window scale,
/// SACK, then the unknown ones. Each is aligned with NOPs so that its fields start at words, as RFC
/// 7323, appendix A recommends (receivers have a fast path for exactly that). If they do not fit in
/// 40 octets, they are packed without NOPs. If they still do not fit, the unknown ones are omitted,
/// then SACK blocks from the last: RFC 2018, section 4 puts the most important block first. Options
/// that fit into the received header fit again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Each option is aligned with NOPs so that its fields start at words.
    pub(crate) is_aligned: bool,
    /// The unknown options are written.
    pub(crate) has_unknown: bool,
    /// Number of SACK blocks that are written, from the first.
    pub(crate) sack_blocks: usize,
    len: usize,
}

impl Layout {
    /// The layout of these options.
    pub(crate) fn from_options(options: &TcpOptions) -> Self {
        let whole = Self::with(options, true, true, options.sack.as_slice().len());
        if whole.len <= ROOM { whole } else { Self::compressed(options) }
    }

    /// The layout that omits the fewest options, if they do not fit aligned.
    #[cold]
    fn compressed(options: &TcpOptions) -> Self {
        let blocks = options.sack.as_slice().len();
        let packed = Self::with(options, false, true, blocks);
        let without_unknown = (0..=blocks).rev().flat_map(|blocks| {
            [true, false].map(|is_aligned| Self::with(options, is_aligned, false, blocks))
        });
        std::iter::once(packed)
            .chain(without_unknown)
            .find(|layout| layout.len <= ROOM)
            // Never reached: the other options take at most 20 octets.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_options_is_that_of_their_layout() {
        let choices = (0..16_u8).flat_map(|known| (0..5).map(move |blocks| (known, blocks)));
        for ((known, blocks), unknown) in choices.flat_map(|choice| (0..42).map(move |len| (choice, len))) {
            let has = |bit: u8| known & 1 << bit != 0;
            let mut options = TcpOptions {
                maximum_segment_size: has(0).then_some(1460),
                window_scale: has(1).then_some(7),
                sack_permitted: has(2),
                timestamps: has(3).then_some(Timestamps { value: 1, echo_reply: 2 }),
                unknown: (unknown > 0).then(|| vec![1; unknown].into()),
                ..TcpOptions::default()
            };
            (0..blocks).for_each(|block| options.sack.push(Seq(block), Seq(block + 1)));
            assert_eq!(options.len(), Layout::from_options(&options).len(), "{options:?}");
        }
    }
}
