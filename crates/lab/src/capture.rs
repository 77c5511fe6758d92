//! A run as a pcapng file: what `tcpdump` would see at every interface of every link.

use std::collections::BTreeMap;
use std::io;

use lasthop_packet::Instant;
use lasthop_packet::pcapng::{Crossing, PcapngWriter};
use lasthop_scenario::Built;
use lasthop_scenario::results::ResultFile;
use lasthop_sim::{Interest, LinkId, NodeId, Observer, TraceEvent};

/// Writes each packet as it leaves through or comes in at an interface, with real octets and
/// checksums. What a full queue drops is seen leaving and not coming in.
pub struct Capture {
    /// Until the run is over.
    writer: Option<PcapngWriter<ResultFile>>,
    /// From then on.
    whole: Option<ResultFile>,
    interfaces: BTreeMap<(NodeId, LinkId), u32>,
    failed: Option<io::Error>,
}

impl Capture {
    /// Captures at both ends of each link of a world; interfaces are named `NODE:LINK`.
    pub fn new(writer: ResultFile, built: &Built) -> io::Result<Self> {
        let mut interfaces = BTreeMap::new();
        let mut names = Vec::new();
        for link in &built.links {
            let (first, second) = built.world.link_ends(*link);
            for node in [first, second] {
                interfaces.insert((node, *link), names.len() as u32);
                names.push(format!("{}:{}", built.world.node_name(node), built.world.link_name(*link)));
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let writer = PcapngWriter::new(writer, &names)?;
        Ok(Self { writer: Some(writer), whole: None, interfaces, failed: None })
    }
}

impl Observer for Capture {
    fn interest(&self) -> Interest {
        Interest::INTERFACES
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        let (crossing, node, link, packet) = match event {
            TraceEvent::InterfaceOut { node, link, packet } => (Crossing::Out, node, link, packet),
            TraceEvent::InterfaceIn { node, link, packet } => (Crossing::In, node, link, packet),
            _ => return,
        };
        let (Some(writer), Some(interface)) = (&mut self.writer, self.interfaces.get(&(*node, *link))) else {
            return;
        };
        if let Err(error) = writer.write(*interface, now, crossing, packet) {
            // The first failure is the one to report; there is no use in going on.
            self.failed = Some(error);
            self.writer = None;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if let Some(writer) = self.writer.take() {
            self.whole = Some(writer.finish()?);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        self.whole.take().map_or(Ok(()), ResultFile::finish)
    }
}
