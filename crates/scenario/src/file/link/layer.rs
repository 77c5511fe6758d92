//! The link layer of a wireless link: retransmission of lost frames.

use std::time::Duration;

use crate::file::named::{NameOrTable, Named};
use crate::file::quantity::{Octets, Text, Whole};
use crate::file::reader::{Key, Reader};
use lasthop_config::FileError;
use lasthop_packet::units::cut_to_ticks;
use lasthop_sim::{Arq, Capacity, Direction, Feedback, LinkLayer, Order};
use schemars::JsonSchema;
use serde::Deserialize;

/// The default time that a sender waits in addition to the time of an acknowledgment, as in the
/// trace in appendix B.4 of the thesis.
const GUARD: Duration = Duration::from_millis(1);

/// A link layer.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct LinkLayerTable {
    /// The kind of link layer.
    kind: LinkLayerKind,
    /// How often a frame is retransmitted before it is given up, 0 to 1,000; default 8.
    retransmission_attempts: Option<Whole<0, 1_000>>,
    /// With "stop-and-wait" and "selective-repeat": time from the end of a transmission until the
    /// sender stops waiting for the acknowledgment, "1 us" to "10 s". Default: twice the
    /// propagation delay, plus the transmission time of the acknowledgment, plus 1 ms.
    ack_timeout: Option<Text<Duration>>,
    /// With "stop-and-wait" and "selective-repeat": length of an acknowledgment, at most "1500 B";
    /// default "14 B".
    ack_size: Option<Text<Octets>>,
    /// With "selective-repeat": the largest number of frames from the oldest unfinished frame to
    /// the newest, 1 to 64; default 64.
    window: Option<Whole<1, 64>>,
}

/// The kind of link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum LinkLayerKind {
    /// Lost frames are neither detected nor retransmitted.
    #[default]
    None,
    /// Each frame is acknowledged over the air before the next is sent.
    StopAndWait,
    /// The sender continues to send while it waits for acknowledgments. It retransmits only lost
    /// frames, before those that wait. The receiver delivers frames as they arrive: out of order.
    SelectiveRepeat,
    /// The sender knows the fate of each frame at the end of its transmission, at no cost.
    Immediate,
}

impl Named for LinkLayerTable {
    type Name = LinkLayerKind;
    const SCHEMA: &'static str = "LinkLayer";
    const EXPECTED: &'static str = "\"none\", \"stop-and-wait\", \"selective-repeat\", \"immediate\", or a table with one of them as \"kind\"";

    fn named(kind: LinkLayerKind) -> Self {
        Self { kind, ..Self::default() }
    }
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    NameOrTable(table): &NameOrTable<LinkLayerTable>,
    directions: (&Direction, &Direction),
    clock: Duration,
) -> Result<LinkLayer, FileError> {
    let key = |key| ["links", name, "link-layer", key];
    let acknowledges = matches!(table.kind, LinkLayerKind::StopAndWait | LinkLayerKind::SelectiveRepeat);
    let meaningless = [
        (
            "retransmission-attempts",
            table.retransmission_attempts.is_some(),
            table.kind == LinkLayerKind::None,
        ),
        ("ack-timeout", table.ack_timeout.is_some(), !acknowledges),
        ("ack-size", table.ack_size.is_some(), !acknowledges),
        ("window", table.window.is_some(), table.kind != LinkLayerKind::SelectiveRepeat),
    ];
    if let Some((wrong, ..)) = meaningless.into_iter().find(|(_, given, senseless)| *given && *senseless) {
        return Err(reader.fail(&key(wrong), "has no effect with this kind of link layer; leave it out"));
    }
    let retransmission_attempts = table.retransmission_attempts.map_or(8, |Whole(attempts)| attempts);
    let arq = match table.kind {
        LinkLayerKind::None => return Ok(LinkLayer::UNRELIABLE),
        LinkLayerKind::Immediate => {
            return Ok(LinkLayer { feedback: Feedback::Immediate, retransmission_attempts });
        }
        LinkLayerKind::StopAndWait => Arq::StopAndWait,
        LinkLayerKind::SelectiveRepeat => {
            let window = table.window.map_or(Arq::LARGEST_WINDOW, |Whole(window)| window);
            Arq::SelectiveRepeat { window }
        }
    };
    let ack_octets = table.ack_size.map_or(14, |Text(Octets(octets))| octets);
    if !(1..=1500).contains(&ack_octets) {
        return Err(reader.fail(&key("ack-size"), "expected \"1 B\" to \"1500 B\""));
    }
    let delay = constant_delay(reader, name, directions)?;
    let ack_time = acknowledgment_time(directions, ack_octets, delay, clock);
    if table.ack_timeout.is_none() && ack_time.is_none() {
        let problem =
            "ack-timeout is missing; expected one where the rate follows a trace, such as \"20 ms\"";
        return Err(reader.fail(&["links", name, "link-layer"], problem));
    }
    // A sender that stops waiting before an acknowledgment can arrive repeats every frame.
    let least = ack_time.unwrap_or(delay * 2).max(Duration::from_micros(1));
    let default = ack_time.unwrap_or_default() + GUARD;
    let most = Duration::from_secs(10).max(default);
    let timeout = reader.duration_in(&key("ack-timeout"), table.ack_timeout, default, least, most)?;
    let feedback = Feedback::Acknowledged { timeout, ack_octets: ack_octets as u32, arq };
    Ok(LinkLayer { feedback, retransmission_attempts })
}

/// The constant delay that a link layer with acknowledgments requires.
fn constant_delay(
    reader: &Reader<'_>,
    name: &str,
    (forward, backward): (&Direction, &Direction),
) -> Result<Duration, FileError> {
    let problem = match forward.delay.constant() {
        _ if forward.delay.order == Order::Overtake || backward.delay.order == Order::Overtake => {
            "requires that frames stay in order; order = \"overtake\" and reorder are not allowed with it"
        }
        Some(delay) if backward.delay.constant() == Some(delay) => return Ok(delay),
        _ => {
            "requires a constant acknowledgment time; expected no jitter, and the same delay in both directions"
        }
    };
    let keys: [&Key<'_>; 6] = [
        &["links", name, "reorder"],
        &["links", name, "order"],
        &["links", name, "jitter"],
        &["links", name, "forward", "delay"],
        &["links", name, "backward", "delay"],
        &["links", name, "delay"],
    ];
    let written = keys.into_iter().find(|key| reader.document.get(key).is_some());
    Err(reader
        .fail(written.unwrap_or(&["links", name]), format!("a link layer with acknowledgments {problem}")))
}

/// The time from the end of a frame's transmission to the end of its acknowledgment's arrival;
/// `None` if a rate follows a trace.
fn acknowledgment_time(
    (forward, backward): (&Direction, &Direction),
    ack_octets: u64,
    delay: Duration,
    clock: Duration,
) -> Option<Duration> {
    let transmission = |direction: &Direction| match direction.capacity {
        Capacity::Fixed(rate) => Some(rate.transmission_time(ack_octets)),
        // It is added when the link gets a rate.
        Capacity::Stalled => Some(Duration::ZERO),
        Capacity::Trace(_) => None,
    };
    let longest = transmission(forward)?.max(transmission(backward)?);
    Some(delay * 2 + cut_to_ticks(longest, clock))
}
