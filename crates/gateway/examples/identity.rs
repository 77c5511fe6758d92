//! A gateway that changes nothing, to measure the cost of a backend: `identity tc|tun|edit CORE
//! RADIO`. `edit` is `tc` with every packet parsed and emitted again; only `tun` uses CORE.
#![allow(clippy::print_stderr, reason = "it is run by hand")]

use std::error::Error;

use lasthop_agent::Side;
use lasthop_gateway::frame::Frame;
use lasthop_gateway::io::divert::Divert;
use lasthop_gateway::io::policy::Policy;
use lasthop_gateway::io::{PacketIo, Port, Selection, Sent};
use lasthop_linux::clock;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [backend, core, radio] = &arguments[..] else {
        return Err("usage: identity tc|tun|edit CORE RADIO".into());
    };
    let selection = Selection::default();
    let mut io: Box<dyn PacketIo> = if backend == "tun" {
        let port = |name: &String, side| Port { name: name.clone(), side, ethernet: true, copies_of: None };
        let ports = vec![port(core, Side::Core), port(radio, Side::Radio)];
        Box::new(Policy::open(ports, &selection)?)
    } else {
        Box::new(Divert::open(std::slice::from_ref(radio), &selection)?)
    };
    eprintln!("ready");
    let edits = backend == "edit";
    let mut frames = Vec::new();
    loop {
        io.heartbeat(clock::now());
        io.wait(None)?;
        io.receive(&mut frames)?;
        io.heartbeat(clock::now());
        for (port, frame) in frames.drain(..) {
            let frame = if edits { edited(&frame) } else { frame };
            let (Sent::Whole | Sent::Lost) = io.send(port, &frame)?;
        }
    }
}

/// The same packet, emitted again.
fn edited(frame: &Frame) -> Frame {
    let Ok((link, mut packet)) = frame.parse(true) else { return frame.clone() };
    let _ = packet.tcp_mut();
    Frame::from_packet(&packet, &link, Some(frame)).unwrap_or_else(|_| frame.clone())
}
