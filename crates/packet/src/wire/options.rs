//! Reading and writing of TCP options.

use crate::header::{Layout, SackBlocks, TcpOptions, Timestamps};
use crate::seq::Seq;

/// Kinds of options (IANA, "TCP Option Kind Numbers").
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Reads the options of a TCP header; `None` if an option's length octet is missing, below two, or
/// exceeds the header. An irregular option of a known kind (a wrong length, a second one of its
/// kind) is kept with the unknown ones. Nothing after an end-of-options octet is read.
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
                if !store(option, &mut options) {
                    unknown.extend_from_slice(option);
                }
                octets = &octets[len..];
            }
        }
    }
    options.unknown = if unknown.is_empty() { None } else { Some(unknown.into()) };
    Some(options)
}

/// Stores an option that is well-formed and the first of its kind in its field; `false` for every
/// other.
fn store(option: &[u8], options: &mut TcpOptions) -> bool {
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

/// Appends the options to `out` in the order of [`Layout`], padded with end-of-options octets.
pub(super) fn write(layout: Layout, options: &TcpOptions, out: &mut Vec<u8>) {
    let end = out.len() + layout.len();
    let nops = |out: &mut Vec<u8>, count: usize| {
        if layout.is_aligned {
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
    if layout.sack_blocks > 0 {
        nops(out, 2);
        out.extend_from_slice(&[SACK, 2 + 8 * layout.sack_blocks as u8]);
        for (left, right) in &options.sack.as_slice()[..layout.sack_blocks] {
            out.extend_from_slice(&left.0.to_be_bytes());
            out.extend_from_slice(&right.0.to_be_bytes());
        }
    }
    if let Some(unknown) = options.unknown.as_ref().filter(|_| layout.has_unknown) {
        out.extend_from_slice(unknown);
    }
    out.resize(end, END);
}
