//! The traces of parameters: files with two columns, time in ms and value, under the thesis's names
//! (appendix B.4).

use std::io;
use std::path::Path;

use lasthop_packet::Instant;
use lasthop_sim::observe::End;
use lasthop_sim::{Interest, LinkId, NodeKind, Observer, TraceEvent};

use super::naming::{Millis, Names};
use super::trace_file::TraceFile;
use lasthop_linux::results::Earlier;
use lasthop_scenario::build::Built;
use lasthop_scenario::model::Scenario;

/// Writes these files for each node or link that has such events:
///
/// | file | value |
/// |---|---|
/// | `NODE-seqno` | sequence number of each segment that the source sends, in octets from 0 |
/// | `NODE-ackno` | acknowledgment number of each ACK that the source receives, likewise |
/// | `NODE-congestion` | cwnd in octets, at each change |
/// | `NODE-threshold` | ssthresh in octets, at each change |
/// | `NODE-swnd_size` | octets that are sent and not acknowledged, at each change |
/// | `NODE-router_pkt_arrival` | sequence number of each data packet that arrives at the router |
/// | `wless_state-NODE1-NODE2` | state of the wireless link, 1 good and 0 bad, at each change |
///
/// Memory is bounded by a small buffer per file. Each file gets its name after the run
/// ([`Observer::finish`]).
#[derive(Debug)]
pub struct ParameterTraces {
    names: Names,
    /// By flow.
    sources: Vec<SourceFiles>,
    /// By node; only for routers.
    arrivals: Vec<Option<TraceFile>>,
    /// By link; only for wireless links.
    states: Vec<Option<StateFile>>,
}

#[derive(Debug)]
struct SourceFiles {
    seqno: TraceFile,
    ackno: TraceFile,
    congestion: Series,
    threshold: Series,
    swnd_size: Series,
}

/// A value that is written when it changes.
#[derive(Debug)]
struct Series {
    file: TraceFile,
    last: Option<u32>,
}

#[derive(Debug)]
struct StateFile {
    link: LinkId,
    file: TraceFile,
    has_begun: bool,
}

impl ParameterTraces {
    /// Traces of a scenario that has just been built, as files in `directory`, which exists.
    pub fn new(scenario: &Scenario, built: &Built, directory: &Path, earlier: Earlier) -> io::Result<Self> {
        let names = Names::new(built);
        let file = |name: String| TraceFile::new(&directory.join(name), &scenario.files, earlier);
        let source = |id: &str| {
            let series = |name: &str| -> io::Result<Series> {
                Ok(Series { file: file(format!("{id}-{name}"))?, last: None })
            };
            Ok(SourceFiles {
                seqno: file(format!("{id}-seqno"))?,
                ackno: file(format!("{id}-ackno"))?,
                congestion: series("congestion")?,
                threshold: series("threshold")?,
                swnd_size: series("swnd_size")?,
            })
        };
        let sources =
            names.flows().iter().map(|flow| source(names.node(flow.from))).collect::<io::Result<_>>()?;
        let arrivals = scenario.nodes.iter().map(|node| {
            let name = || format!("{}-router_pkt_arrival", node.name);
            (node.kind == NodeKind::Router).then(|| file(name())).transpose()
        });
        let states = scenario.links.iter().zip(&built.links).map(|(model, id)| {
            let ends = [model.ends.0, model.ends.1].map(|end| names.nodes()[end].as_str()).join("-");
            let state = |file| StateFile { link: *id, file, has_begun: false };
            model.link.is_wireless().then(|| file(format!("wless_state-{ends}")).map(state)).transpose()
        });
        let arrivals = arrivals.collect::<io::Result<_>>()?;
        let states = states.collect::<io::Result<_>>()?;
        Ok(Self { names, sources, arrivals, states })
    }

    fn files(&mut self) -> impl Iterator<Item = &mut TraceFile> {
        let sources = self.sources.iter_mut().flat_map(|source| {
            let SourceFiles { seqno, ackno, congestion, threshold, swnd_size } = source;
            [seqno, ackno, &mut congestion.file, &mut threshold.file, &mut swnd_size.file]
        });
        let states = self.states.iter_mut().flatten().map(|state| &mut state.file);
        sources.chain(self.arrivals.iter_mut().flatten()).chain(states)
    }
}

impl Observer for ParameterTraces {
    fn interest(&self) -> Interest {
        Interest::SEGMENTS | Interest::WINDOW | Interest::INTERFACES | Interest::CHANNEL
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        let ms = Millis(now);
        match *event {
            TraceEvent::SegmentSent { flow, end: End::Sender, packet, .. } => {
                if let Some(seq) = self.names.seq(packet) {
                    self.sources[flow.index()].seqno.line(format_args!("{ms} {seq}"));
                }
            }
            TraceEvent::SegmentReceived { flow, end: End::Sender, packet } => {
                if let Some(ack) = self.names.ack(packet) {
                    self.sources[flow.index()].ackno.line(format_args!("{ms} {ack}"));
                }
            }
            TraceEvent::Window { flow, sender } => {
                let (source, flight) = (&mut self.sources[flow.index()], sender.flight());
                source.congestion.change(&ms, flight.cwnd);
                source.threshold.change(&ms, flight.ssthresh);
                source.swnd_size.change(&ms, flight.max - flight.una);
            }
            TraceEvent::InterfaceIn { node, packet, .. } => {
                if let Some(file) = &mut self.arrivals[node.index()]
                    && let Some(seq) = self.names.seq(packet)
                {
                    file.line(format_args!("{ms} {seq}"));
                }
            }
            TraceEvent::ChannelState { link, at, good } => {
                if let Some(state) = self.states.iter_mut().flatten().find(|state| state.link == link) {
                    state.change(at, good);
                }
            }
            _ => {}
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.files().map(TraceFile::flush).fold(Ok(()), Result::and)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.files().map(TraceFile::finish).fold(Ok(()), Result::and)
    }
}

impl Series {
    fn change(&mut self, ms: &Millis, value: u32) {
        if self.last.replace(value) != Some(value) {
            self.file.line(format_args!("{ms} {value}"));
        }
    }
}

impl StateFile {
    fn change(&mut self, at: Instant, good: bool) {
        // A link begins good.
        if !std::mem::replace(&mut self.has_begun, true) {
            self.file.line(format_args!("0 1"));
        }
        self.file.line(format_args!("{} {}", Millis(at), u8::from(good)));
    }
}
