//! The input format of the 1997 thesis's simulator, `datafile.dat` (Goel, appendix B), and its
//! traces.
//!
//! A file is a list of components, each a name and a block of attributes in braces, with one
//! attribute per line. `#` begins a comment. A `;` after a value is tolerated, because the manual's
//! own examples have it. Components may have any order, except that a wireless link precedes the
//! `shared_links` that names it.
//!
//! | component | attributes (appendix B.3) |
//! |---|---|
//! | `simulator` | `system_simulation_time` and `print_interval` (ms), `read_from_trace` (0, 1, 2) |
//! | `wired_source_node`, `wireless_source_node` | `node_id`, `dest_id`, `num_of_pkts_to_send`, `pkt_size` (octets), `recv_wnd_size` (KB of 1,024 octets) |
//! | `normal_router_node`, `base_station` | `node_id`, `buffer_size` (octets), `processing_delay` (ms) |
//! | `wired_sink_node`, `wireless_sink_node` | `node_id` |
//! | `wired_link` | `link_id`, `bandwidth` (bit/s), `latency` (ms), `node_id1`, `node_id2`, `loss_probability`, `random_seed` |
//! | `wireless_link` | the same with `mean_exp_distrib_good_state` and `mean_exp_distrib_bad_state` (s) in place of `loss_probability` |
//! | `shared_links` | `link_id`, once for each wireless link of the cell |
//!
//! # Extensions
//!
//! Three optional attributes are not in appendix B:
//!
//! | attribute | in | meaning |
//! |---|---|---|
//! | `start_time` | source nodes | when it starts to send, in ms; default 0. Section 4.2, item 9, describes the feature; the manual has no name for it. |
//! | `scheme` | `simulator` | the name of the scheme in the catalog; default `none`. The thesis compiled it in. |
//! | `mac` | `shared_links` | `802.11`, the default, or `ideal`: the links take turns without collisions, with the link layer that they have without a cell. |
//!
//! # Cells (`shared_links`)
//!
//! The links of an entry form an 802.11 cell (section 4.2, item 5): the nodes at their ends share
//! one channel and all hear each other, so that no station is hidden. No table or figure of the
//! thesis has a cell.
//!
//! | | thesis | here |
//! |---|---|---|
//! | access | appendix A: CSMA/CA with DIFS, a back-off that is frozen while the medium is busy, ACKs after SIFS; no RTS, no fragments | the distributed coordination function without RTS (`lasthop_wifi`) |
//! | parameters | none; appendix A names DSSS, FHSS and infrared | those of DSSS in IEEE 802.11-1997: slot 20 us, SIFS 10 us, DIFS 50 us, CW 31 to 1023, EIFS after collisions |
//! | rate | the links of a cell share their bandwidth (B.3.10) | one bandwidth, the same for all links and frames, even if the standard does not have it; 192 us of preamble and header precede each frame |
//! | headers | | 36 octets around a packet; an ACK has 14 |
//! | errors | a channel between the base station and each host, independent of the others | one channel per link, as without a cell and with the same states by its seed; it affects data frames and ACKs of both directions |
//! | attempts | eight after the first, as its link layer (B.4) | nine transmissions; one between nodes with an unreliable link layer |
//! | queues | base stations and wireless sources have one for each host, served round robin, with the attempts of its first frame (4.2, item 8; 4.3.1, item 5) | the same: a turn is one transmission |
//! | latency | includes the processing time of the nodes (5.4.2) | a packet reaches its node this much later than its frame; neither ACKs nor the medium wait for it |
//!
//! The clock of a cell counts nanoseconds. Frames carry packets of up to 2,304 octets, including
//! the headers of IP and TCP; longer packets are refused.
//!
//! # Traces of link states (`read_from_trace`)
//!
//! They apply to the only wireless link of the network.
//!
//! - 0 uses `trace.dat` beside the data file: a line per change, with the time in ms and the state,
//!   1 for good and 0 for bad; the link begins good ([`StateTrace`]). A trace from a run ends with
//!   a line that marks its end; a truncated trace is refused.
//! - 1 produces `trace.dat`, in the directory of the output or, without one, beside the data file.
//! - 2 drops chosen packets, and produces `trace.dat`. The thesis compiled the choice in; here it
//!   is `drops.dat` beside the data file: a line per packet, with the sequence number of its first
//!   octet counted from 0, and the number of its pass over the link (default 1; 2 is the first
//!   retransmission by TCP). All attempts of the link layer at this packet fail.
//!
//! In a network with no wireless link or with several, 0 and 2 are refused, and 1 produces no
//! `trace.dat`: the files `wless_state-...`, one per link, have its contents.
//!
//! # Meaning of a data file in this model
//!
//! - As in the thesis's simulator, connections start established, the clock counts whole
//!   milliseconds (so transmission times are rounded down), and the minimum RTO is 1 s ([`CLOCK`]).
//! - The link layer of a wireless link is stop-and-wait with eight attempts after the first
//!   (section 4.2) if both ends implement it: base stations, wireless sources and wireless sinks.
//!   If neither end does, the link is unreliable. If only one end does, the file is refused.
//! - A run lasts `system_simulation_time`, whether or not the transfers are done.
//! - `random_seed` is the seed of the link's random streams; the seed of the run does not affect
//!   them.
//! - Control messages come from base stations and wireless sources (section 4.3.1, item 5). A
//!   `normal_router_node` does not take part in a scheme.
//! - A source sends to one sink, and a sink has one source (section 4.2, item 4).

mod block;
mod cells;
mod draft;
mod error;
mod events;
mod kinds;
mod links;
mod naming;
mod network;
mod nodes;
mod observers;
mod parameters;
mod periodic;
mod states;
mod syntax;
mod trace_file;

use std::path::{Path, PathBuf};
use std::time::Duration;

use draft::Draft;
use lasthop_config::text::did_you_mean_file;
use lasthop_config::{Disk, FileError, Files};
use lasthop_scenario::model::Scenario;
use states::LinkStates;

pub use events::EventTrace;
pub use kinds::{EventKinds, UnknownEvent};
pub use links::CLOCK;
pub use parameters::ParameterTraces;
pub use states::StateRecorder;

#[cfg(doc)]
use lasthop_sim::wireless::StateTrace;

/// A data file after reading: checked, with every default filled in.
#[derive(Clone, Debug)]
pub struct DataFile {
    /// The network and its traffic. The names of nodes and links are their ids. The name of a flow
    /// consists of its source and sink: `211-213`.
    pub scenario: Scenario,
    /// The interval at which an event trace with periodic events has the state of every node; above
    /// zero.
    pub print_interval: Duration,
    /// Sentences for the user about requests that the run cannot meet.
    pub notes: Vec<String>,
    /// Index of the link whose states the run records in `trace.dat`.
    recorded_link: Option<usize>,
    /// The directory of the data file.
    directory: PathBuf,
}

/// Reads a data file, and the files beside it that it needs.
pub fn read(path: &Path) -> Result<DataFile, FileError> {
    read_from(&Disk, path)
}

/// The same as [`read`], from the disk or from memory.
pub fn read_from(files: &dyn Files, path: &Path) -> Result<DataFile, FileError> {
    let name = path.display().to_string();
    let octets = syntax::read_octets(files, path).map_err(|problem| {
        let meant = did_you_mean_file(files, path, &problem);
        FileError::in_file(&name, format!("{problem}{meant}; expected a data file"))
    })?;
    let text = syntax::as_text(&octets, &name)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut data = parse_with(files, text, &name, directory)?;
    data.scenario.files.push(path.to_owned());
    Ok(data)
}

/// Reads the text of a data file. `name` is its name in errors, `directory` the directory of the
/// files beside it, on the disk.
pub fn parse(text: &str, name: &str, directory: &Path) -> Result<DataFile, FileError> {
    parse_with(&Disk, text, name, directory)
}

fn parse_with(files: &dyn Files, text: &str, name: &str, directory: &Path) -> Result<DataFile, FileError> {
    let mut draft = syntax::blocks(text)
        .and_then(|blocks| network::draft(&blocks, syntax::line_count(text)))
        .map_err(|problem| problem.in_file(name))?;
    let LinkStates { recorded_link, notes } = states::read(files, &mut draft, name, directory)?;
    let Draft { mut scenario, print_interval, .. } = draft;
    // Every data file is called datafile.dat; its path distinguishes it from others.
    name.clone_into(&mut scenario.name);
    Ok(DataFile { scenario, print_interval, notes, recorded_link, directory: directory.to_owned() })
}
