//! The bodies of the fuzz targets: each takes any octets and panics if a rule is broken.
//!
//! | module | targets | replayed without cargo-fuzz by |
//! |---|---|---|
//! | [`agents`] | `agents` | `crates/schemes/tests/corpus.rs` |
//! | [`capacity`] | `capacity_trace` | `crates/sim/tests/corpus.rs` |
//! | [`frame`] | `frames` | `crates/gateway/tests/corpus.rs` |
//! | [`endpoint`] | `tcp_endpoint` | `crates/tcp/tests/corpus.rs` |
//! | [`gateway`] | `gateway_config` | `crates/gateway/tests/corpus.rs` |
//! | [`messages`] | `messages` | `crates/peering/tests/corpus.rs` |
//! | [`packet`] | `packet_parse`, `quotation`, `rtp`, `link_options` | `crates/packet/tests/corpus.rs` |
//! | [`changes`] | `link_changes` | `crates/emulator/tests/corpus.rs` |
//! | [`requests`] | `gateway_question`, `http_request` | `crates/gateway/tests/corpus.rs` |
//! | [`scenario`] | `scenario`, `sweep` | `crates/scenario/tests/corpus.rs` |
//! | [`datagrams`] | `datagrams` | `crates/schemes/tests/corpus.rs` |
//! | [`as_tcp`] | `as_tcp` | `crates/schemes/tests/corpus.rs` |
//! | [`splits`] | `splits` | `crates/schemes/tests/corpus.rs` |
//! | [`datafile`] | `datafile`, `state_trace` | `crates/thesis/tests/corpus.rs` |
//! | [`vhost`] | `vhost_messages`, `rings` | `crates/uml/tests/corpus.rs` |
//! | [`wlan`] | `wlan` | `crates/wifi/tests/corpus.rs` |
//!
//! [`octets`] reads choices from an input, for the targets that are not text; [`ends`] are the two
//! hosts of those whose agents split connections.
//!
//! A new target is a function in a module here, a file of five lines in `fuzz_targets/`, a
//! `[[bin]]` in `Cargo.toml`, and a few small files in `corpus/<target>/`. The crate under test
//! runs it in its ordinary tests (`replay.rs`), with this module included by its path. Only files
//! with a name of their own are committed; what a run of the fuzzer finds has a hash for a name and
//! is ignored.

pub mod agents;
pub mod as_tcp;
pub mod capacity;
pub mod changes;
pub mod datafile;
pub mod datagrams;
pub mod endpoint;
pub mod ends;
pub mod frame;
pub mod gateway;
pub mod messages;
pub mod octets;
pub mod packet;
pub mod requests;
pub mod scenario;
pub mod splits;
pub mod vhost;
pub mod wlan;
