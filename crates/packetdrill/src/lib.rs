//! Runs [packetdrill](https://github.com/google/packetdrill) scripts on the TCP endpoint,
//! in simulated time.
//!
//! The language is that of packetdrill, as far as it applies to one TCP connection without a
//! kernel. Extensions and differences:
//!
//! - By default the host is Linux, as in [`Config::linux`](lasthop_tcp::Config::linux).
//!   `` `defaults.sh` `` and `sysctl` change settings; no command is executed.
//! - `--config="rack initial_window=4"` sets fields of [`Config`](lasthop_tcp::Config) by their
//!   names. The first word, `reno` (the default), `rack` or `linux`, selects the defaults of the other
//!   fields, so that a script can be independent of Linux.
//! - `--open=established`: descriptor 3 is a connection that is established at 0, with
//!   `--peer_window=N` at the peer. `--open=adopt`: the first two segments are a handshake, after which
//!   the endpoint replaces one end.
//! - `--reader=prompt`: the application reads all data as it arrives.
//! - Code consists of assertions over the fields of `tcp_info` and over variables of the endpoint in
//!   octets: `cwnd`, `ssthresh`, `una`, `nxt`, `timer` and so on (`variables.rs`).
//! - `bits N` after the window sets the reserved bits of the TCP header.
//! - With `--tolerance_usecs=0` a segment without an outbound line fails the script at the next event,
//!   and the values of timestamps are compared. Otherwise, as in packetdrill, a segment only has to
//!   match the next outbound line, within 4 ms, and segments at the end are not compared.
//! - Options that configure packetdrill itself (addresses, verbosity, remote machines) are ignored;
//!   `settings.rs` lists them.
//! - PSH and the order of TCP options are not compared, since the sender chooses them.
//! - A segment of several segment sizes is a super-packet: the endpoint's segments together.
//!
//! An unknown element of a script is an [`Error`] with its name; none is skipped silently.

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
