mod aside;
mod bounds;
mod bypasses;
mod clients;
mod clock;
mod conservation;
mod datagrams;
mod errors;
mod link;
mod obligations;
mod passing;
mod prefetch;
mod reload;
#[cfg(feature = "roaming")]
mod roaming;
mod splitter;
mod support;
