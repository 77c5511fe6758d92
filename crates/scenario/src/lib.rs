//! From files to a simulated world.
//!
//! | module | what is in it |
//! |---|---|
//! | [`model`] | [`Scenario`]: a network, its traffic and its schemes, checked and with every default filled in |
//! | [`mod@file`] | the scenario format in TOML, its JSON schema, sweeps |
//! | [`session_figures`] | what sessions came to, in figures, wherever they ran |
//! | [`build`] | a [`Scenario`], a scheme and a seed to a [`lasthop_sim::World`]; and whether there can be one, without it |
//! | [`Pieces`] | a run of it, piece by piece: in between it can be watched and ended |
//! | [`memory`] | what is said of a run that takes too much memory |
//! | [`change`] | changes of a scenario as changes of its world, at once or at given times |
//!
//! Start with [`Scenario`] and [`file::read`].

pub mod build;
pub mod change;
pub mod file;
pub mod memory;
pub mod model;
mod pieces;
pub mod session_figures;

pub use build::{BuildError, Built, BuiltLinks, BuiltWlan, RealHosts};
pub use file::{FurtherFiles, Overrides, Settings, Sweep};
pub use model::{
    ActivityModel, FlowModel, Link, LinkChange, LinkInterval, LinkModel, Measure, NodeModel, Property,
    Scenario, SchemeChoice, SessionModel, TcpModel, TransportModel, Trial, WlanModel, WlanStation,
};
pub use pieces::{Pieces, Stop, Stopped, Watch};
