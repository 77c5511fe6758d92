//! The emulator: the simulator with real Linux hosts at its ends, paced by the wall clock or by kernels in
//! simulated time.
//!
//! | module | contents |
//! |---|---|
//! | [`device`] | a host's TAP or TUN device at an end of the model |
//! | [`framing`] | the frames of a device, and the packets in them |
//! | `end` | [`End`]: a real host's place in the model |
//! | `border` | packets of hosts go into the model, and those that it delivers come out |
//! | `pacer` | the event loop: reads packets, advances the world, writes packets |
//! | [`stepped`] | the same model in the time of kernels that run in simulated time |
//! | [`running`] | [`Running`]: an emulation on its own thread, and a handle to change and stop it |
//! | [`control`] | a socket that changes links while they are in use |
//! | [`directory`] | the directory of sockets and files, and the lock between emulations |
//! | [`client_side`], [`masquerade`], [`command`] | a command in its own namespace on the client side of the hop |
//! | `in_use` | the addresses that a hop must not use |
//! | [`user`] | the user as whom the command runs |
//! | [`names`], [`services`], `dns_relay`, `relay`, `join` | this machine's names and services, for the command |
//! | [`machine`], [`host_side`], [`redirect`], [`datagrams`] | the same for an emulator without root, in an empty network namespace |
//! | [`supervisor`] | a process that clears up after an emulation that was killed |
//! | `measurements` | the counters and times of the event loop |
//! | [`open_files`] | the limit of open files |
//! | [`summary`] | [`Summary`]: the results of a run, and whether they can be trusted |
//! | [`fates`] | reports of the link layers to agents outside the world |
//!
//! Start with [`Emulator::new`]. A packet that a host sends on its device enters the world at the
//! host's node when it is read, travels to the peer's node, and is delivered to the peer's host at its
//! time of arrival in the model.

mod border;
pub mod client_side;
pub mod command;
pub mod control;
pub mod datagrams;
pub mod device;
pub mod directory;
mod dns_relay;
mod end;
pub mod fates;
pub mod framing;
pub mod host_side;
mod in_use;
mod join;
pub mod machine;
pub mod masquerade;
mod measurements;
pub mod names;
pub mod open_files;
mod pacer;
pub mod redirect;
mod relay;
pub mod running;
pub mod services;
pub mod stepped;
pub mod summary;
pub mod supervisor;
pub mod user;

use std::io;

use lasthop_sim::{Observer, World};

pub use device::{Device, DeviceError};
pub use end::{End, Peer};
pub use fates::FateOfFrame;
pub use framing::ethernet_address;
pub use pacer::Options;
pub use running::{EmulationEnded, Handle, Running};
pub use summary::Summary;

/// A world and the real hosts at its ends, before the start.
pub struct Emulator {
    world: World,
    ends: Vec<End>,
}

impl Emulator {
    /// Creates an emulator of `world`, which starts at the world's current time, with real hosts at
    /// its external nodes. Packets to an external node without a host are lost.
    pub fn new(world: World, ends: Vec<End>) -> Self {
        Self { world, ends }
    }

    /// Calls `listener` for each event that the link layers of the world's wireless links report
    /// about their frames from now on. It runs on the emulator's thread, between events of the
    /// model, and must not block.
    pub fn on_fates(&mut self, listener: impl FnMut(&FateOfFrame<'_>) + Send + 'static) {
        self.observe(Box::new(fates::FateObserver(listener)));
    }

    /// Adds an observer of the world, under the same conditions.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.world.observe(observer);
    }

    /// Starts the clock on a new thread.
    pub fn spawn(self, options: Options) -> io::Result<Running> {
        Running::start(self.world, self.ends, options)
    }
}
