//! Floor 3: runs [packetdrill](https://github.com/google/packetdrill) scripts on the TCP endpoint,
//! in simulated time.
//!
//! The language is packetdrill's, as far as it makes sense for one TCP connection without a kernel
//! around it. What it has beyond that, or differently:
//!
//! - Without another setting the host is Linux as [`Config::linux`](lasthop_tcp::Config::linux) has
//!   it. `` `defaults.sh` `` and `sysctl` set what they name; nothing is executed.
//! - `--config="rack initial_window=4"` sets fields of [`Config`](lasthop_tcp::Config) by their
//!   names; the first word, `reno` (the default), `rack` or `linux`, says what the others have. So a
//!   script does not depend on what Linux is.
//! - `--open=established`: descriptor 3 is a connection that is established at 0, with
//!   `--peer_window=N` at the peer. `--open=adopt`: the first two segments are the handshake behind
//!   which the endpoint takes one end's place.
//! - `--reader=prompt`: the application reads all data as it arrives.
//! - Code is assertions over the fields of `tcp_info` and over variables of the endpoint in octets:
//!   `cwnd`, `ssthresh`, `una`, `nxt`, `timer` and so on (`variables.rs`).
//! - `bits N` behind the window is the reserved bits of the TCP header.
//! - With `--tolerance_usecs=0` a segment that no line names fails the script before anything else
//!   happens, and the values of timestamps are compared. Otherwise, as in packetdrill, a segment only
//!   has to match the next outbound line, within 4 ms, and what is sent at the end is not compared.
//! - Options that say how packetdrill itself is run (addresses, verbosity, remote machines) are
//!   ignored; `settings.rs` lists them.
//! - PSH and the order of TCP options are not compared: it is the sender's choice.
//! - A segment of several segment sizes is a super-packet: the endpoint's segments together.
//!
//! What is not understood is named as an [`Error`], and never passed over in silence.

mod application;
mod calls;
mod command;
mod error;
mod expression;
mod host;
mod lexer;
mod numbers;
mod parser;
mod run;
mod script;
mod segment;
mod settings;
mod variables;

pub use command::{HELP, Summary, Verdict, scripts_below, verdict_of};
pub use error::{Error, Place};
pub use numbers::Numbers;
pub use run::Run;
pub use script::Script;
