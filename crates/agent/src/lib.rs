//! What a scheme's code at the edge of a wireless hop looks like to the world that runs
//! it.
//!
//! | module | what is in it |
//! |---|---|
//! | [`agent`] | [`Agent`], the trait; [`Stateless`] agents and closures; [`Verdict`] |
//! | [`accounts`] | [`Accounts`]: what an agent holds and owes, and the [`Obligation`] to one connection |
//! | [`side`] | [`Side`], the core side or the radio side |
//! | [`context`] | [`Context`], what a world hands to an agent in each call |
//! | [`budget`] | [`Budget`], how much memory agents may take |
//! | [`transfer`] | [`Transfer`]: how state moves to another agent; [`FlowState`], a connection's state as a value |
//! | [`link`] | [`LinkEvent`], what the link layer saw, and [`LinkSenses`], what an agent needs to see |
//! | [`bypass`] | [`Bypass`], what an agent lets pass without being asked |
//! | [`report`] | [`Report`], the only telemetry |
//! | [`counter`] | [`Counter`]: what is counted, under one name everywhere; drop reasons are counters |
//! | [`stack`] | [`Stack`]: agents on top of each other are an agent |
//! | [`lookup`] | a map for single keys |
//! | [`slab`] | entries by flow, in slots, in order of last use: what tables of connections are built on |
//! | [`flow_table`] | per-connection state within a bound |
//! | [`segment_cache`] | TCP segments by sequence number within a bound |
//! | [`packet_queue`] | packets in order of arrival, with what they cost |
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
