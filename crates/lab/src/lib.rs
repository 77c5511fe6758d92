//! Runs, comparisons, sweeps, paper reproductions.
//!
//! | module | what is in it |
//! |---|---|
//! | [`mod@run`] | one run and its [`RunSummary`] |
//! | [`agents`] | data at risk in agents, and their memory |
//! | [`sessions`] | the results of a run's sessions |
//! | [`mod@compare`] | every scheme of a scenario over all seeds, in parallel: one table |
//! | [`sweep`] | a grid of scenarios into one CSV or Parquet file |
//! | [`reproduce`] | a paper's numbers beside ours, with a verdict a row |
//! | [`goel`] | the 1997 thesis: its network, its tables, its claims |
//! | [`kliazovich`] | LLE-TCP's dissertation |
//! | [`bianchi`] | saturation throughput of 802.11: Bianchi's model beside the simulator |
//! | [`wifi`] | 802.11n, ac and ax: closed forms, ns-3's ranges, Bianchi's model with A-MPDUs |
//! | [`packet_control`] | TCP packet control: its three scenarios |
//! | [`as_tcp`] | AS-TCP: its paper's claims about uploads |
//! | [`relatives`] | Snoop's relatives: the claims of each, in a scenario of its own |
//! | [`cicada`] | CICADA beside I-TCP: its three tables |
//! | [`claim`] | a scenario's schemes side by side, and a claim about two of them |
//! | [`stats`] | means, confidence intervals, ratios |
//! | [`capture`] | a run as pcapng |
//! | [`series`] | a run's time series as CSV |
//! | [`table`] | results as tables of text |
//!
//! Start with [`compare::compare`]. Runs are parallel; one run uses one thread.

pub mod agents;
pub mod as_tcp;
pub mod bianchi;
pub mod capture;
pub mod cicada;
pub mod claim;
pub mod compare;
#[cfg(feature = "thesis")]
pub mod goel;
pub mod kliazovich;
pub mod packet_control;
pub mod progress;
pub mod rectangle;
pub mod relatives;
pub mod reproduce;
pub mod run;
pub mod series;
pub mod sessions;
pub mod stats;
pub mod sweep;
pub mod table;
pub mod wifi;

pub use compare::{Comparison, ComparisonRow, compare};
pub use progress::Progress;
pub use run::{RunSummary, run};
pub use stats::Estimate;
