//! The hand-off of a client from one access point to another: which of them serves the client's connections,
//! and where the state of these connections is.
//!
//! Each access point has a [`Handoff`] for each client that it knows of: a pure state machine, whose inputs are
//! the client's associations, messages of other access points, answers of the registry, and time-outs. The
//! registry names one holder for each client, with an epoch that only rises; claiming a client raises it.
//!
//! ```text
//!      new access point                 registry                old access point
//!  client joins
//!           ---- lookup ------------------>
//!           <--- old, epoch e -------------
//!           ---- request, epoch e ----------------------------------->  stops serving: frozen
//!           <--- transfer, state -------------------------------------
//!           ---- claim, expects e -------->
//!           <--- won, epoch f > e ---------
//!  serves
//!           ---- release, epoch f ----------------------------------->  forwards what is late
//! ```
//!
//! Rules:
//!
//! - *One server.* State is served by the access point that won the last claim, or that has a promise of the
//!   former server not to serve it: its transfer while the registry is away, or its answer that it has dropped
//!   what was transferred. So an old access point that froze a state does not thaw it by itself: it asks for the
//!   promise, or claims.
//! - *Nothing is given twice.* A frozen state is given to one access point. Others are told who has it.
//! - *Nothing waits for the dead.* An access point that does not answer costs a few time-outs; then its epoch is
//!   claimed, and what only it had is lost and counted.
//! - *Nothing old is believed.* Transfers and promises name the attempt that they answer; requests and releases
//!   name an epoch. All others change nothing and are counted as stale.
//!
//! What two faults together cost: an access point that serves before the registry has confirmed it, because the
//! registry is away, and that the old one cannot reach meanwhile, loses what it has served if the old one can reach
//! the registry and claims.

mod handoff;
mod message;
#[cfg(test)]
mod tests;

pub use handoff::{Config, Handoff, Output, Standing};
pub use message::{Answer, Attempt, Entry, Epoch, Message, Peer, Query};
