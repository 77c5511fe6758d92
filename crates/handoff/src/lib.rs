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
//!           ---- request -------------------------------------------->  stops serving: frozen
//!           <--- transfer, epoch e, state ----------------------------
//!           ---- claim, expects e -------->
//!           <--- won, epoch f > e ---------
//!  serves
//!           ---- release, epoch f ----------------------------------->  forwards what is late
//! ```
//!
//! A client that does not say where it comes from, or says it of an access point that does not answer or knows nothing of
//! it, is looked up in the registry first.
//!
//! Rules:
//!
//! - *One server.* State is served by the access point that won the last claim, or that has a promise of the
//!   former server not to serve it: its transfer while the registry is away, or its answer that it has dropped
//!   what was transferred. So an old access point that froze a state does not thaw it by itself: it asks for the
//!   promise, or claims.
//! - *Nothing is given twice.* A frozen state is given to one access point. Others are told who has it.
//! - *Nothing waits for an access point that failed.* If it does not answer, its epoch is claimed after a few
//!   time-outs, and the client is served without a state ([`Output::Serve`] with `None`).
//! - *Nothing old is believed.* Transfers and promises name the attempt that they answer; requests and releases
//!   name an epoch. All others change nothing and are counted as stale.
//!
//! What two faults together cost: an access point that serves before the registry has confirmed it, because the
//! registry is away, and that the old one cannot reach meanwhile, loses what it has served if the old one can reach
//! the registry and claims.
//!
//! What one access point cannot tell: if it reclaims a frozen state and finds that a third one holds the client, it drops
//! the state. Whether that was passed on or lost, only the access point that it was given to knows.

mod handoff;
mod message;
#[cfg(test)]
mod tests;

pub use handoff::{Config, Handoff, Output, Standing};
pub use message::{Answer, Attempt, Entry, Epoch, Message, Peer, Query};
