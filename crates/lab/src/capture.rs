//! A run as a pcapng file: the packets that `tcpdump` would see at each interface of each link.

use std::collections::BTreeMap;
use std::io;

use lasthop_linux::results::ResultFile;
use lasthop_packet::pcapng::{Crossing, PcapngWriter};
use lasthop_packet::{Instant, Packet};
use lasthop_scenario::Built;
use lasthop_sim::{DropCause, Interest, LinkId, NodeId, Observer, TraceEvent};

/// Writes each packet that leaves through an interface or arrives at one, with real octets and
/// checksums. A dropped or lost packet leaves and does not arrive; it is written again at an
/// interface named `dropped`, at the time of the drop, with a comment such as
/// `base:air: queue full`. A packet that a link has made arrives with a comment.
pub struct Capture {
    /// `None` after the run.
    writer: Option<PcapngWriter<ResultFile>>,
    /// The complete file, after the run.
    complete: Option<ResultFile>,
    interfaces: BTreeMap<(NodeId, LinkId), u32>,
    /// The names of the interfaces.
    names: Vec<String>,
    /// The names of the nodes, for packets that are dropped at no interface.
    nodes: BTreeMap<NodeId, String>,
    /// Packets that links have made and that have not arrived yet.
    made_by_links: Vec<((NodeId, LinkId), Packet)>,
    failed: Option<io::Error>,
}

/// The comment on a reset that comes out of a link.
const MADE_BY_LINK: &str = "made by the link: its connection is cut";

/// Maximum length of `made_by_links`: a packet that is lost in an emulation never arrives.
const MAX_MADE_BY_LINKS: usize = 1000;

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
        let as_written: Vec<&str> = names.iter().map(String::as_str).collect();
        let writer = PcapngWriter::new(writer, &as_written)?;
        let nodes = built.nodes.iter().map(|node| (*node, built.world.node_name(*node).to_owned())).collect();
        Ok(Self {
            writer: Some(writer),
            complete: None,
            interfaces,
            names,
            nodes,
            made_by_links: Vec::new(),
            failed: None,
        })
    }

    fn write(
        &mut self,
        at: (NodeId, LinkId),
        now: Instant,
        crossing: Crossing,
        packet: &Packet,
    ) -> io::Result<()> {
        match (&mut self.writer, self.interfaces.get(&at)) {
            (Some(writer), Some(interface)) => writer.write(*interface, now, crossing, packet),
            _ => Ok(()),
        }
    }

    /// Writes a packet that arrives, with a comment if a link has made it: no host has sent it.
    fn write_in(&mut self, at: (NodeId, LinkId), now: Instant, packet: &Packet) -> io::Result<()> {
        let is_it = |(place, made): &((NodeId, LinkId), Packet)| *place == at && made == packet;
        let Some(made) = self.made_by_links.iter().position(is_it) else {
            return self.write(at, now, Crossing::In, packet);
        };
        self.made_by_links.remove(made);
        match (&mut self.writer, self.interfaces.get(&at)) {
            (Some(writer), Some(interface)) => {
                writer.write_commented(*interface, now, Crossing::In, packet, MADE_BY_LINK)
            }
            _ => Ok(()),
        }
    }

    /// The place and the cause of a drop.
    fn comment(&self, (node, link): (NodeId, Option<LinkId>), cause: DropCause) -> String {
        let interface = link.and_then(|link| self.interfaces.get(&(node, link)));
        let place = match interface.and_then(|number| self.names.get(*number as usize)) {
            Some(interface) => interface.as_str(),
            None => self.nodes.get(&node).map_or("", String::as_str),
        };
        format!("{place}: {}", cause.name())
    }
}

impl Observer for Capture {
    fn interest(&self) -> Interest {
        Interest::INTERFACES.union(Interest::DROPS)
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        let written = match event {
            TraceEvent::InterfaceOut { node, link, packet } => {
                self.write((*node, *link), now, Crossing::Out, packet)
            }
            TraceEvent::InterfaceIn { node, link, packet } => self.write_in((*node, *link), now, packet),
            TraceEvent::MadeByLink { node, link, packet } => {
                if self.made_by_links.len() == MAX_MADE_BY_LINKS {
                    self.made_by_links.remove(0);
                }
                self.made_by_links.push(((*node, *link), (*packet).clone()));
                Ok(())
            }
            TraceEvent::Dropped { node, link, cause, packet } => {
                let comment = self.comment((*node, *link), *cause);
                self.writer.as_mut().map_or(Ok(()), |writer| writer.write_dropped(now, packet, &comment))
            }
            _ => Ok(()),
        };
        if let Err(error) = written {
            // The first failure is reported; nothing more is written.
            self.failed = Some(error);
            self.writer = None;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if let Some(writer) = self.writer.take() {
            self.complete = Some(writer.finish()?);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        self.complete.take().map_or(Ok(()), ResultFile::finish)
    }
}
