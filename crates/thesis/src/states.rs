//! `read_from_trace`: link states that are read from a trace or recorded in one, and packets to
//! lose (appendix B.3.1).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lasthop_config::{FileError, Files};
use lasthop_packet::Instant;
use lasthop_sim::wireless::{ForcedLoss, StateTrace, parse_state_trace, state_trace_line};
use lasthop_sim::{Interest, LinkId, Observer, StateSource, TraceEvent};

use super::draft::Draft;
use super::error::{Problem, quoted};
use super::syntax::{as_text, read_octets};
use super::trace_file::TraceFile;
use lasthop_linux::results::Earlier;
use lasthop_scenario::model::Link;

/// The file of link states.
pub(super) const STATES: &str = "trace.dat";
/// The file of packets to lose.
const DROPS: &str = "drops.dat";

/// The beginning of the first line of a trace from a run, and its last line, without which the
/// trace is truncated.
const BEGIN: &str = "# lasthop: link states, ms and 1 (good) or 0 (bad)";
const END: &str = "# end";

/// The maximum number of packets to lose: each packet is compared with all of them.
const MAX_DROPS: usize = 10_000;

/// The results of `read_from_trace`.
#[derive(Debug, Default)]
pub(super) struct LinkStates {
    /// Index of the link whose states the run records.
    pub(super) recorded_link: Option<usize>,
    /// Notes on requests that cannot be met.
    pub(super) notes: Vec<String>,
}

/// Carries out `read_from_trace`.
pub(super) fn read(
    files: &dyn Files,
    draft: &mut Draft,
    name: &str,
    directory: &Path,
) -> Result<LinkStates, FileError> {
    let problem = |line, key: &str, problem: String| Err(Problem::new(line, key, problem).in_file(name));
    let Draft { scenario, read_from_trace: mode, bad_means, .. } = draft;
    let LinkStates { mut recorded_link, mut notes } = LinkStates::default();
    let mut wireless = bad_means.iter();
    match (mode.value, wireless.next(), wireless.next()) {
        (0, Some((&link, _)), None) => {
            set_source(&mut scenario.links[link].link, StateSource::Trace(Arc::new(read_states(files, directory)?)));
            scenario.files.push(directory.join(STATES));
        }
        (1, Some((&link, _)), None) => recorded_link = Some(link),
        (2, Some((&link, bad)), None) if bad.value == 0.0 => {
            set_source(&mut scenario.links[link].link, StateSource::Forced(read_drops(files, directory)?));
            scenario.files.push(directory.join(DROPS));
            recorded_link = Some(link);
        }
        (2, Some((_, bad)), None) => {
            let found = format!("{}: expected 0, because read_from_trace is 2 (in line {})", bad.value, mode.line);
            return problem(bad.line, "wireless_link.mean_exp_distrib_bad_state", found);
        }
        (1, ..) => notes.push(format!(
            "{name}:{}: read_from_trace = 1 produces no {STATES} in a network with {} wireless links; with --out, each has its own file wless_state-...",
            mode.line,
            bad_means.len()
        )),
        _ => {
            let found = format!(
                "{} requires exactly one wireless link; found {}",
                mode.value,
                bad_means.len()
            );
            return problem(mode.line, "simulator.read_from_trace", found);
        }
    }
    Ok(LinkStates { recorded_link, notes })
}

fn set_source(link: &mut Link, source: StateSource) {
    let channel = match link {
        Link::Wireless { config, .. } => Some(&mut config.channel),
        Link::Radio { config, .. } => config.channel.as_mut(),
        Link::Wired(_) => None,
    };
    if let Some(channel) = channel {
        channel.source = source;
    }
}

fn read_states(files: &dyn Files, directory: &Path) -> Result<StateTrace, FileError> {
    let (name, octets) = beside(files, directory, STATES, "read_from_trace = 0 uses a trace of link states")?;
    let text = as_text(&octets, &name)?;
    if text.starts_with(BEGIN) && text.lines().next_back().map(str::trim_end) != Some(END) {
        let problem = format!("the trace is truncated; expected {END:?} as its last line");
        return Err(Problem::new(text.lines().count(), "", problem).in_file(&name));
    }
    parse_state_trace(text).map_err(|error| Problem::new(error.line, "", error.problem).in_file(&name))
}

fn read_drops(files: &dyn Files, directory: &Path) -> Result<Vec<ForcedLoss>, FileError> {
    let (name, octets) =
        beside(files, directory, DROPS, "read_from_trace = 2 drops the packets listed in it")?;
    parse_drops(as_text(&octets, &name)?).map_err(|problem| problem.in_file(&name))
}

/// Reads lines of a sequence number, in octets from 0, and the number of the packet's pass over the
/// link, by default 1.
fn parse_drops(text: &str) -> Result<Vec<ForcedLoss>, Problem> {
    let mut drops = Vec::new();
    for (index, row) in text.lines().enumerate() {
        let row = row.split('#').next().unwrap_or_default().trim();
        if row.is_empty() {
            continue;
        }
        let mut words = row.split_whitespace();
        let seq = words.next().and_then(|word| word.parse().ok());
        let passing = words.next().map_or(Some(1), |word| word.parse().ok().filter(|passing| *passing > 0));
        let (Some(seq), Some(passing), None) = (seq, passing, words.next()) else {
            let expected = "expected a packet's sequence number (from 0) and which of its passes over the link is meant (from 1)";
            return Err(Problem::new(index + 1, "", format!("{}: {expected}", quoted(row))));
        };
        if drops.len() == MAX_DROPS {
            return Err(Problem::new(index + 1, "", format!("expected at most {MAX_DROPS} packets")));
        }
        drops.push(ForcedLoss { seq, passing });
    }
    Ok(drops)
}

/// Reads a file beside the data file. Returns its name in errors and its contents.
fn beside(
    files: &dyn Files,
    directory: &Path,
    file: &str,
    why: &str,
) -> Result<(String, Vec<u8>), FileError> {
    let path = directory.join(file);
    let name = path.display().to_string();
    let octets = read_octets(files, &path).map_err(|problem| {
        FileError::in_file(&name, format!("{problem}; {why}, in the directory of the data file"))
    })?;
    Ok((name, octets))
}

/// Writes the changes of one link's state in the format of `trace.dat`. The file gets its name when
/// it is complete.
#[derive(Debug)]
pub struct StateRecorder {
    link: LinkId,
    file: TraceFile,
}

impl StateRecorder {
    /// A recorder of this link's states in the file with this path, which must not be one of
    /// `inputs`.
    pub fn new(link: LinkId, path: &Path, inputs: &[PathBuf], earlier: Earlier) -> std::io::Result<Self> {
        let mut file = TraceFile::new(path, inputs, earlier)?;
        file.line(format_args!("{BEGIN}"));
        Ok(Self { link, file })
    }
}

impl Observer for StateRecorder {
    fn interest(&self) -> Interest {
        Interest::CHANNEL
    }

    fn on_event(&mut self, _now: Instant, event: &TraceEvent<'_>) {
        if let TraceEvent::ChannelState { link, at, good } = *event
            && link == self.link
        {
            self.file.line(format_args!("{}", state_trace_line(at, good).trim_end()));
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.line(format_args!("{END}"));
        self.file.flush()
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.file.finish()
    }
}
