//! The scenario of a measured hop.

use std::fmt::Write as _;

use lasthop_packet::units::Bitrate;

use super::hop::{Direction, Hop};

/// The maximum octets of a simulated transfer. The goodput of larger ones hardly depends on their
/// size, but the duration of a run does.
pub const LARGEST_TRANSFER: u64 = 20_000_000;
/// The minimum octets of a simulated transfer; smaller ones are requests or answers.
const SMALLEST_TRANSFER: u64 = 10_000;
/// The queue before the hop, in seconds at its rate, and the minimum in octets.
const QUEUE: (f64, u64) = (0.1, 64_000);

/// The text of a scenario with a transfer over a measured hop with this rate, under these schemes.
pub fn scenario(hop: &Hop, rate: Bitrate, schemes: &[String], seeds: u64, congestion: &str) -> String {
    let direction = hop.direction();
    let (from, to, way, back) = match direction {
        Direction::Download => ("server", "client", "forward", "backward"),
        Direction::Upload => ("client", "server", "backward", "forward"),
    };
    let bps = rate.as_bps();
    let wire = Bitrate::from_bps(bps.saturating_mul(10)).unwrap_or(rate).max(Bitrate::mbps(1000));
    let queue = ((QUEUE.0 * bps as f64 / 8.0) as u64).max(QUEUE.1);
    let half_millis = |rtt: f64| 500.0 * rtt;
    let mut text =
        String::from("# Written by `lasthop gateway gain` from what a gateway measured of its hop.\n\n");
    let mut add = |line: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    add(format_args!("duration = \"600 s\"        # at the most: it ends with the transfer"));
    add(format_args!("seeds = {seeds}"));
    add(format_args!("schemes = {schemes:?}"));
    for (node, kind) in [("server", "host"), ("gateway", "router"), ("client", "host")] {
        add(format_args!("\n[nodes.{node}]\nkind = {kind:?}"));
    }
    add(format_args!("\n[links.wire]\nbetween = [\"server\", \"gateway\"]"));
    add(format_args!("rate = \"{wire}\"        # assumed"));
    add(format_args!(
        "delay = \"{:.3} ms\"         # measured: half of the round trip",
        half_millis(hop.rtt_wire_s)
    ));
    add(format_args!("queue = \"1000 packets\"     # assumed"));
    if let Some(loss) = hop.loss_before_percent {
        add(format_args!("{way} = {{ loss = \"{loss:.4}%\" }}         # measured: lost before the gateway"));
    }
    add(format_args!("\n[links.air]\nkind = \"wireless\"\nbetween = [\"gateway\", \"client\"]"));
    add(format_args!("rate = \"{rate}\"        # not measured"));
    add(format_args!(
        "delay = \"{:.3} ms\"         # measured: half of the least round trip",
        half_millis(hop.rtt_min_hop_s)
    ));
    add(format_args!("queue = \"{queue} B\"         # assumed"));
    add(format_args!("{way} = {{ loss = \"{:.4}%\" }}        # measured", hop.loss_percent));
    let (loss_back, known) = match hop.loss_back_percent {
        Some(loss) => (loss, "measured"),
        None => (hop.loss_percent, "assumed: as in the other direction"),
    };
    add(format_args!("{back} = {{ loss = \"{loss_back:.4}%\" }}        # {known}"));
    add(format_args!("\n[flows.{}]\nfrom = {from:?}\nto = {to:?}", direction.name()));
    add(format_args!("size = \"{} B\"         # measured", transfer(hop)));
    add(format_args!("\n[tcp]\npreset = \"linux\"          # assumed\ncongestion = {congestion:?}"));
    text
}

/// The octets of the simulated transfer.
pub fn transfer(hop: &Hop) -> u64 {
    hop.transfer_octets.clamp(SMALLEST_TRANSFER, LARGEST_TRANSFER)
}
