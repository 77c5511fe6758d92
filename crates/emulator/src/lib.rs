//! The emulator, the very simulator, paced by the wall clock, with real Linux hosts at its ends.
//!
//! | module | what is in it |
//! |---|---|
//! | [`device`] | a host's TAP or TUN device at an end of the model |
//! | `end` | [`End`]: where in the model a host stands |
//! | `pacer` | the loop: packets in, the world up to now, packets out |
//! | [`running`] | [`Running`]: an emulation on its own thread, changed and stopped from outside |
//! | [`control`] | a socket through which links are changed while they are in use |
//! | [`directory`] | where sockets and files are, and the lock between emulations |
//! | [`behind`], [`masquerade`], `tool`, [`command`] | a command in a namespace of its own behind the model |
//! | `in_use` | the addresses that a hop must not have |
//! | [`user`] | the user as whom it runs |
//! | [`names`], [`services`], `questions`, `relay`, `join` | the names and the services of this machine that it finds there |
//! | [`machine`], [`outside`], [`redirect`], [`datagrams`] | the same for an emulator without root, in an empty network |
//! | [`keeper`] | a process that clears up after an emulation that was killed |
//! | `measurements` | what the loop counts and times |
//! | [`open_files`] | the limit of open files |
//! | [`summary`] | [`Summary`]: what a run did, and whether it can be trusted |
//! | [`fates`] | what link layers learn, for agents outside the world |
//!
//! Start with [`Emulator::new`]. A packet that a host sends on its device enters the world at the
//! end's node at the moment when it is read, travels to the peer's node whatever its addresses are,
//! and is given to the peer's host when the model says that it arrives.

pub mod client_side;
pub mod command;
pub mod control;
pub mod datagrams;
pub mod device;
pub mod directory;
mod end;
pub mod fates;
pub mod host_side;
mod in_use;
mod join;
pub mod machine;
pub mod masquerade;
mod measurements;
pub mod names;
pub mod open_files;
mod pacer;
mod questions;
pub mod redirect;
mod relay;
pub mod running;
pub mod services;
pub mod summary;
pub mod supervisor;
mod tool;
pub mod user;

use std::io;

use lasthop_sim::World;

pub use device::{Device, DeviceError};
pub use end::End;
pub use fates::FateOfFrame;
pub use pacer::Options;
pub use running::{Gone, Handle, Running};
pub use summary::Summary;

/// A world and its real ends, about to run.
pub struct Emulator {
    world: World,
    ends: Vec<End>,
}

impl Emulator {
    /// A world whose clock stands where it stands now, and the real hosts at its external nodes.
    /// What reaches an external node without a host is lost.
    pub fn new(world: World, ends: Vec<End>) -> Self {
        Self { world, ends }
    }

    /// Has `listener` called for all that the link layers of the world's wireless links learn of
    /// their frames from now on. It runs on the emulator's thread, in the midst of the model's
    /// time: it must not wait for anything.
    pub fn on_fates(&mut self, listener: impl FnMut(&FateOfFrame<'_>) + Send + 'static) {
        self.world.observe(Box::new(fates::FateObserver(listener)));
    }

    /// Starts the clock, on a thread of its own.
    pub fn spawn(self, options: Options) -> io::Result<Running> {
        Running::start(self.world, self.ends, options)
    }
}
