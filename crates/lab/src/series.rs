//! A run's time series as CSV: one file for each measure that the scenario names.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use lasthop_linux::results::{Earlier, ResultFile};
use lasthop_packet::{Instant, Packet, Transport};
use lasthop_scenario::{Built, Measure, Scenario};
use lasthop_sim::observe::End;
use lasthop_sim::{DropCause, Interest, LinkId, NodeId, Observer, TraceEvent};

/// The observers that write a scenario's measures into an existing directory.
pub fn observers(
    scenario: &Scenario,
    built: &Built,
    directory: &Path,
    earlier: Earlier,
) -> io::Result<Vec<Box<dyn Observer>>> {
    let names = Names::new(scenario, built);
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    for measure in &scenario.measure {
        let open = |file: &str| ResultFile::create(&directory.join(file), &scenario.files, earlier);
        observers.push(Box::new(Series::create(*measure, names.clone(), open)?));
    }
    Ok(observers)
}

/// Names by index: a world's ids are in the scenario's order.
#[derive(Clone)]
struct Names {
    nodes: Vec<String>,
    links: Vec<String>,
    flows: Vec<String>,
}

impl Names {
    fn new(scenario: &Scenario, built: &Built) -> Self {
        Self {
            nodes: built.nodes.iter().map(|node| built.world.node_name(*node).to_owned()).collect(),
            links: built.links.iter().map(|link| built.world.link_name(*link).to_owned()).collect(),
            flows: scenario.flows.iter().map(|flow| flow.name.clone()).collect(),
        }
    }
}

/// One measure and its file. Rows are in order of time, except the changes of a channel, which are
/// computed when the channel is next used.
struct Series {
    measure: Measure,
    names: Names,
    /// `None` once it is finished.
    out: Option<csv::Writer<ResultFile>>,
    failed: Option<csv::Error>,
    /// The sequence number of the first octet of data in each direction, by flow; rows count from
    /// it.
    first: Vec<[Option<u32>; 2]>,
    /// The last row, by flow: only changes are written.
    last_window: Vec<Option<[u32; 3]>>,
    /// Number of round-trip times written, by flow.
    rtt_samples: Vec<u32>,
}

impl Series {
    fn create(
        measure: Measure,
        names: Names,
        open: impl FnOnce(&str) -> io::Result<ResultFile>,
    ) -> io::Result<Self> {
        let (file, header): (&str, &[&str]) = match measure {
            Measure::Window => {
                ("window.csv", &["time_s", "flow", "cwnd_octets", "ssthresh_octets", "in_flight_octets"])
            }
            Measure::Rtt => ("rtt.csv", &["time_s", "flow", "rtt_s", "srtt_s", "rto_s"]),
            Measure::Sequence => {
                ("sequence.csv", &["time_s", "flow", "end", "event", "seq", "ack", "octets"])
            }
            Measure::Queue => ("queue.csv", &["time_s", "link", "node", "packets", "octets"]),
            Measure::Channel => ("channel.csv", &["time_s", "link", "good"]),
            Measure::Frames => {
                ("frames.csv", &["time_s", "link", "from", "to", "frame", "transmission", "event", "octets"])
            }
            Measure::Drops => (
                "drops.csv",
                &["time_s", "link", "node", "cause", "protocol", "source", "destination", "seq", "octets"],
            ),
        };
        let mut out = csv::Writer::from_writer(open(file)?);
        out.write_record(header)?;
        let flows = names.flows.len();
        Ok(Self {
            measure,
            names,
            out: Some(out),
            failed: None,
            first: vec![[None; 2]; flows],
            last_window: vec![None; flows],
            rtt_samples: vec![0; flows],
        })
    }

    fn row<const N: usize>(&mut self, fields: [String; N]) {
        if let (Some(out), None) = (&mut self.out, &self.failed) {
            self.failed = out.write_record(fields).err();
        }
    }

    fn segment(&mut self, now: Instant, flow: usize, end: End, event: &str, packet: &Packet) {
        let Some(tcp) = packet.tcp() else { return };
        // A segment's sequence number belongs to the direction of its sender, its acknowledgment
        // number to the other.
        let sent_by_sender = (end == End::Sender) == event.starts_with("sent");
        let (own, other) = if sent_by_sender { (0, 1) } else { (1, 0) };
        let first = &mut self.first[flow];
        let syn = tcp.flags.has(lasthop_packet::TcpFlags::SYN);
        let own_first = *first[own].get_or_insert(tcp.seq.0.wrapping_add(u32::from(syn)));
        let ack = match first[other] {
            Some(first) if tcp.flags.has(lasthop_packet::TcpFlags::ACK) => {
                tcp.ack.0.wrapping_sub(first).to_string()
            }
            _ => String::new(),
        };
        let seq = if syn { String::new() } else { tcp.seq.0.wrapping_sub(own_first).to_string() };
        let end = if end == End::Sender { "sender" } else { "receiver" };
        let octets = packet.payload().len().to_string();
        let flow = self.names.flows[flow].clone();
        self.row([seconds(now), flow, end.to_owned(), event.to_owned(), seq, ack, octets]);
    }
}

impl Observer for Series {
    fn interest(&self) -> Interest {
        match self.measure {
            Measure::Window | Measure::Rtt => Interest::WINDOW,
            Measure::Sequence => Interest::SEGMENTS,
            Measure::Queue => Interest::QUEUES,
            Measure::Channel => Interest::CHANNEL,
            Measure::Frames => Interest::FRAMES,
            Measure::Drops => Interest::DROPS,
        }
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        match *event {
            TraceEvent::Window { flow, sender } if self.measure == Measure::Window => {
                let flight = sender.flight();
                let window = [flight.cwnd, flight.ssthresh, flight.in_flight()];
                if self.last_window[flow.index()].replace(window) != Some(window) {
                    let flow = self.names.flows[flow.index()].clone();
                    let [cwnd, ssthresh, in_flight] = window.map(|octets| octets.to_string());
                    self.row([seconds(now), flow, cwnd, ssthresh, in_flight]);
                }
            }
            TraceEvent::Window { flow, sender } => {
                let rtt = sender.rtt();
                let Some(latest) = rtt.latest() else { return };
                let number = rtt.samples().number();
                if std::mem::replace(&mut self.rtt_samples[flow.index()], number) != number {
                    let flow = self.names.flows[flow.index()].clone();
                    let srtt = rtt.srtt().unwrap_or_default();
                    let [latest, srtt, rto] =
                        [latest, srtt, rtt.rto()].map(|time| time.as_secs_f64().to_string());
                    self.row([seconds(now), flow, latest, srtt, rto]);
                }
            }
            TraceEvent::SegmentSent { flow, end, packet, again } => {
                let event = if again { "sent again" } else { "sent" };
                self.segment(now, flow.index(), end, event, packet);
            }
            TraceEvent::SegmentReceived { flow, end, packet } => {
                self.segment(now, flow.index(), end, "received", packet);
            }
            TraceEvent::Queue { node, link, packets, octets } => {
                let (link, node) =
                    (self.names.links[link.index()].clone(), self.names.nodes[node.index()].clone());
                self.row([seconds(now), link, node, packets.to_string(), octets.to_string()]);
            }
            TraceEvent::Dropped { node, link, cause, packet } => {
                self.dropped(now, (link, node), cause, packet);
            }
            TraceEvent::ChannelState { link, at, good } => {
                let link = self.names.links[link.index()].clone();
                self.row([seconds(at), link, u8::from(good).to_string()]);
            }
            TraceEvent::Frame { link, from, to, number, transmission, packet, lost } => {
                let event = if lost { "lost" } else { "sent" };
                self.frame(
                    now,
                    (link.index(), from.index(), to.index()),
                    number,
                    transmission,
                    event,
                    packet,
                );
            }
            TraceEvent::FrameGivenUp { link, from, to, number, transmissions, packet } => {
                let ends = (link.index(), from.index(), to.index());
                self.frame(now, ends, number, transmissions, "given up", packet);
            }
            _ => {}
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match (self.failed.take(), &mut self.out) {
            (Some(error), _) => Err(error.into()),
            (None, Some(out)) => out.flush(),
            (None, None) => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        out.into_inner().map_err(csv::IntoInnerError::into_error)?.finish()
    }
}

impl Series {
    fn dropped(
        &mut self,
        now: Instant,
        (link, node): (Option<LinkId>, NodeId),
        cause: DropCause,
        packet: &Packet,
    ) {
        let link = link.map_or_else(String::new, |link| self.names.links[link.index()].clone());
        let node = self.names.nodes[node.index()].clone();
        let (protocol, ports, seq) = match packet.transport() {
            Transport::Tcp(tcp) => {
                ("tcp", Some((tcp.source_port, tcp.destination_port)), tcp.seq.0.to_string())
            }
            Transport::Udp(udp) => ("udp", Some((udp.source_port, udp.destination_port)), String::new()),
            Transport::Icmp(_) => ("icmp", None, String::new()),
            Transport::Opaque { .. } => ("other", None, String::new()),
        };
        let (source, destination) = (packet.ip().source, packet.ip().destination);
        let [source, destination] = match ports {
            Some((from, to)) => {
                [SocketAddr::new(source, from).to_string(), SocketAddr::new(destination, to).to_string()]
            }
            None => [source.to_string(), destination.to_string()],
        };
        let octets = packet.len().to_string();
        let (cause, protocol) = (cause.name().to_owned(), protocol.to_owned());
        self.row([seconds(now), link, node, cause, protocol, source, destination, seq, octets]);
    }

    fn frame(
        &mut self,
        now: Instant,
        (link, from, to): (usize, usize, usize),
        number: u32,
        transmission: u32,
        event: &str,
        packet: &Packet,
    ) {
        let names =
            [&self.names.links[link], &self.names.nodes[from], &self.names.nodes[to]].map(String::clone);
        let [link, from, to] = names;
        let (number, transmission, octets) =
            (number.to_string(), transmission.to_string(), packet.len().to_string());
        self.row([seconds(now), link, from, to, number, transmission, event.to_owned(), octets]);
    }
}

/// Seconds as a decimal number, with nanoseconds.
fn seconds(at: Instant) -> String {
    format!("{}.{:09}", at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000)
}
