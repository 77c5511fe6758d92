//! From files to a simulated world.
//!
//! | module | what is in it |
//! |---|---|
//! | [`model`] | [`Scenario`]: a network, its traffic and its schemes, checked and with every default filled in |
//! | [`mod@file`] | the scenario format in TOML, its JSON schema, sweeps |
//! | [`session_figures`] | the results of sessions in figures, from a simulation or from real hosts |
//! | [`build`] | builds a [`lasthop_sim::World`] from a [`Scenario`], a scheme and a seed; checks whether it can be built |
//! | [`SteppedRun`] | runs a world in steps, between which the run can be watched and canceled |
//! | [`memory`] | the error of a run that takes too much memory |
//! | [`change`] | translates changes of a scenario to changes of its world, at once or at given times |
//!
//! Start with [`Scenario`] and [`file::read`].

pub mod build;
pub mod change;
pub mod file;
pub mod memory;
pub mod model;
pub mod session_figures;
mod stepped_run;

pub use build::{BuildError, Built, BuiltLinks, BuiltWlan, RealHosts, StationHost, WifiStack};
pub use file::{FurtherFiles, Overrides, Settings, Sweep};
pub use model::{
    ActivityModel, FlowModel, Link, LinkChange, LinkInterval, LinkModel, Measure, NodeModel, Property,
    Scenario, SchemeChoice, SessionModel, TcpModel, TransportModel, Trial, WlanModel, WlanStation,
};
pub use stepped_run::{SteppedRun, Stop, Stopped, Watch};
