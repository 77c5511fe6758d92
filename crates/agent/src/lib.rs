//! The interface between a scheme's code at the edge of a wireless hop and the world that runs it.
//!
//! | module | contents |
//! |---|---|
//! | [`agent`] | [`Agent`], the trait; [`Stateless`] agents and closures; [`Verdict`] |
//! | [`accounts`] | [`Accounts`]: what an agent holds and owes, and the [`Obligation`] to one connection |
//! | [`side`] | [`Side`], the core side or the radio side |
//! | [`context`] | [`Context`], what a world passes to an agent in each call |
//! | [`budget`] | [`Budget`], the limits on the memory of agents |
//! | [`transfer`] | [`Transfer`] of state to another agent; [`FlowState`], a connection's state as a value |
//! | [`link`] | [`LinkEvent`], link-layer events, and [`LinkSenses`], the events that an agent needs |
//! | [`bypass`] | [`Bypass`], packets that pass without a call of the agent |
//! | [`report`] | [`Report`], the only telemetry |
//! | [`counter`] | [`Counter`]: counters with the same name everywhere; drop reasons are counters |
//! | [`stack`] | [`Stack`]: agents on top of each other are an agent |
//! | [`path`] | [`PathCapacity`], the capacity of a multi-hop path |
//! | [`lookup`] | a map without iteration |
//! | [`slab`] | entries by flow, in slots, in order of last use: the basis of all tables of connections |
//! | [`flow_table`] | per-connection state within a bound |
//! | [`segment_cache`] | TCP segments by sequence number within a bound |
//! | [`packet_queue`] | packets in order of arrival, with their cost in memory |
//!
//! Start with [`Agent`].

pub mod accounts;
pub mod agent;
pub mod budget;
pub mod bypass;
pub mod context;
pub mod counter;
pub mod flow_table;
pub mod link;
pub mod lookup;
pub mod packet_queue;
pub mod path;
pub mod report;
pub mod segment_cache;
pub mod side;
pub mod slab;
pub mod stack;
mod timer_heap;
pub mod transfer;

pub use accounts::{Accounts, Obligation, Owed};
pub use agent::{Agent, Deadline, Progress, Stateless, Verdict};
pub use budget::{Budget, MEMORY_IN_ALL, Room};
pub use bypass::{Bypass, Limits, Shown};
pub use context::{Context, Outbox};
pub use counter::{Counter, DropReason, Tally};
pub use flow_table::FlowTable;
pub use link::{Fate, FrameTimes, LinkEvent, LinkSenses};
pub use lookup::Lookup;
pub use packet_queue::PacketQueue;
pub use path::PathCapacity;
pub use report::Report;
pub use segment_cache::SegmentCache;
pub use side::Side;
pub use slab::{IdleList, Slab, Slot};
pub use stack::Stack;
pub use transfer::{FlowState, ImportError, Scope, Transfer};
