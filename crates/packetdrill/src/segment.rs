//! Conversion and comparison of segments on the wire and in a script.

use std::fmt::Write as _;
use std::time::Duration;

use lasthop_packet::{Packet, Payload, SackBlocks, Seq, Tcp, TcpFlags, TcpOptions, Timestamps};

use crate::numbers::{Numbers, OURS};
use crate::script::{Options, Segment};

const FLAGS: [(char, u8); 7] = [('S', 2), ('F', 1), ('R', 4), ('P', 8), ('E', 64), ('W', 128), ('.', 16)];

/// The TCP header of a script's segment. Its numbers are relative to `seq` and `ack`; `echo_of`
/// translates the timestamp's echo reply.
pub fn header(what: &Segment, seq: Seq, ack: Seq, echo_of: impl Fn(u32) -> u32) -> Tcp {
    let bits = FLAGS.iter().filter(|(flag, _)| what.flags.contains(*flag)).map(|(_, bit)| bit);
    let options = what.options.clone().unwrap_or_default();
    let mut sack = SackBlocks::NONE;
    for (left, right) in &options.sack {
        sack.push(ack + *left, ack + *right);
    }
    Tcp {
        seq: seq + what.from,
        ack: if what.flags.contains('.') { ack + what.ack } else { Seq(0) },
        flags: TcpFlags(bits.sum()),
        window: what.window.unwrap_or(0),
        options: TcpOptions {
            maximum_segment_size: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options
                .timestamps
                .map(|(value, echo)| Timestamps { value, echo_reply: echo_of(echo) }),
            sack,
            ..TcpOptions::default()
        },
        ..Tcp::default()
    }
}

/// Whether a packet of the endpoint matches a script's segment, or its start. `clock` is the
/// difference between the endpoint's timestamp clock and the script's. Without a tolerance the
/// values of timestamps are not compared.
pub fn is_start_of(
    packet: &Packet,
    wanted: &Segment,
    Numbers { iss, irs }: Numbers,
    clock: Option<u32>,
    tolerance: Option<Duration>,
) -> bool {
    let Some(tcp) = packet.tcp() else { return false };
    let seq = tcp.seq - iss;
    let len = packet.payload().len() as u32;
    let stream = Payload::Stream { stream: OURS, offset: u64::from(seq.wrapping_sub(1)), len };
    let compared = |flags: &str| flags.replace(['P', 'F'], "");
    let wanted_flags: String =
        FLAGS.iter().map(|(flag, _)| *flag).filter(|flag| wanted.flags.contains(*flag)).collect();
    compared(&flags(tcp.flags)) == compared(&wanted_flags)
        && wanted.from == seq
        && wanted.len >= len
        && (len > 0 || wanted.len == 0)
        && (!wanted.flags.contains('.') || wanted.ack == tcp.ack - irs)
        && wanted.window.is_none_or(|window| window == tcp.window)
        && wanted.ecn.is_none_or(|ecn| ecn == packet.ip().ecn())
        && wanted.bits.is_none_or(|bits| bits == packet.tcp_reserved_bits())
        && wanted
            .options
            .as_ref()
            .is_none_or(|wanted| are_equal(wanted, &options(&tcp.options, irs, clock), tolerance))
        && (len == 0 || *packet.payload() == stream)
}

/// Whether options are equal. The values of timestamps may differ by `tolerance`; without one they
/// are not compared.
fn are_equal(wanted: &Options, got: &Options, tolerance: Option<Duration>) -> bool {
    let timestamps = match (wanted.timestamps, got.timestamps) {
        (Some((value, echo)), Some((other, other_echo))) => {
            let distance = value.wrapping_sub(other).min(other.wrapping_sub(value));
            echo == other_echo && tolerance.is_none_or(|limit| u128::from(distance) <= limit.as_millis())
        }
        (None, None) => true,
        _ => false,
    };
    timestamps
        && Options { timestamps: None, ..wanted.clone() } == Options { timestamps: None, ..got.clone() }
}

/// Whether a packet has the FIN flag.
pub fn has_fin(packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::FIN))
}

fn options(options: &TcpOptions, irs: Seq, clock: Option<u32>) -> Options {
    let clock = clock.unwrap_or(0);
    Options {
        mss: options.maximum_segment_size,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        timestamps: options.timestamps.map(|ts| (ts.value.wrapping_sub(clock), ts.echo_reply)),
        sack: options.sack.as_slice().iter().map(|(left, right)| (*left - irs, *right - irs)).collect(),
    }
}

fn flags(flags: TcpFlags) -> String {
    FLAGS.iter().filter(|(_, bit)| flags.0 & bit != 0).map(|(flag, _)| *flag).collect()
}

/// A packet of the endpoint in the syntax of a script.
pub fn show(packet: &Packet, Numbers { iss, irs }: Numbers, clock: Option<u32>) -> String {
    let Some(tcp) = packet.tcp() else { return format!("{packet:?}") };
    describe(&Segment {
        ecn: None,
        flags: flags(tcp.flags),
        from: tcp.seq - iss,
        len: packet.payload().len() as u32,
        ack: if tcp.flags.has(TcpFlags::ACK) { tcp.ack - irs } else { 0 },
        window: Some(tcp.window),
        bits: Some(packet.tcp_reserved_bits()).filter(|bits| *bits != 0),
        options: Some(options(&tcp.options, irs, clock)),
    })
}

/// A segment in the syntax of a script.
pub fn describe(what: &Segment) -> String {
    let mut text = format!("{} {}:{}({})", what.flags, what.from, what.from.wrapping_add(what.len), what.len);
    // Writing to a string cannot fail.
    if what.flags.contains('.') {
        let _ = write!(text, " ack {}", what.ack);
    }
    if let Some(window) = what.window {
        let _ = write!(text, " win {window}");
    }
    if let Some(bits) = what.bits {
        let _ = write!(text, " bits {bits}");
    }
    let Some(options) = &what.options else { return text + " <...>" };
    let mut parts = Vec::new();
    parts.extend(options.mss.map(|mss| format!("mss {mss}")));
    parts.extend(options.sack_permitted.then(|| "sackOK".to_owned()));
    parts.extend(options.timestamps.map(|(value, echo)| format!("TS val {value} ecr {echo}")));
    parts.extend(options.window_scale.map(|shift| format!("wscale {shift}")));
    if !options.sack.is_empty() {
        let blocks: Vec<_> = options.sack.iter().map(|(left, right)| format!("{left}:{right}")).collect();
        parts.push(format!("sack {}", blocks.join(" ")));
    }
    if !parts.is_empty() {
        let _ = write!(text, " <{}>", parts.join(","));
    }
    text
}
