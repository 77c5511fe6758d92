//! Linux kernels that were built for user mode (UML), as hosts in simulated time.
//!
//! Such a kernel, started with `time-travel=ext`, asks a [`Calendar`] what time it is and when it may go
//! on, and its network devices are queues in memory that it shares with this process. So the time
//! between two frames is what the [`Wire`] says, whatever the guests' programs cost in real time, and a run
//! repeats exactly. Neither root nor `/dev/kvm` is needed.
//!
//! | module | contents |
//! |---|---|
//! | [`calendar`] | the loop over guests and wire: the entry point |
//! | [`wire`] | the trait for what is between the devices |
//! | [`kernel`] | what a guest is started with |
//! | [`time`] | the time socket: messages, turns, the shared schedule |
//! | [`vhost`] | vhost-user: messages, and what every device does |
//! | [`net`], [`hwsim`] | types of devices: a network device, simulated radios |
//! | [`processor`] | on which processor guests and calendar take turns |
//! | [`ring`] | split virtqueues, the device's side |
//! | [`memory`] | a guest's memory; its `mapping` has all unsafe code |
//! | `memory_folder` | where the files of it are |
//! | [`error`] | what can go wrong with a guest |
//!
//! ```no_run
//! use lasthop_packet::Instant;
//! use lasthop_uml::{Calendar, Kernel, Net, Settings, Wire};
//!
//! fn minute(wire: &mut impl Wire) -> Result<(), lasthop_uml::Error> {
//!     let mut kernel = Kernel::new("linux-6.12", "/usr/lib/lasthop/init");
//!     kernel.devices.push(Box::new(Net::new([2, 0, 0, 0, 0, 1])));
//!     let mut calendar = Calendar::start(vec![kernel], Settings::default())?;
//!     calendar.run(wire, Instant::from_secs(60))?;
//!     Ok(())
//! }
//! ```
//!
//! All that comes from a guest (messages, rings, descriptors, times) is checked: it ends the run with an
//! [`Error`] that names the guest, its last message and the end of its console.

#[cfg(not(target_os = "linux"))]
compile_error!("lasthop-uml runs Linux kernels built for user mode");

pub mod calendar;
pub mod error;
mod guest;
pub mod hwsim;
pub mod kernel;
mod machine;
pub mod memory;
mod memory_folder;
pub mod net;
pub mod processor;
pub mod ring;
mod socket;
pub mod time;
pub mod vhost;
pub mod wire;

pub use calendar::{Calendar, End, Messages, Settings};
pub use error::{Error, Fault, GuestError, LastMessage};
pub use hwsim::Hwsim;
pub use kernel::Kernel;
pub use machine::{StartError, repeats};
pub use net::Net;
pub use wire::{DeviceId, Frames, Wire};
