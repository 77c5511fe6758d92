//! Unmodified TCP: the reference for all schemes.

use crate::scheme::{NoSettings, Placement, Scheme, read, schema};

/// A scheme that places nothing.
pub static SCHEME: Scheme = Scheme {
    name: "none",
    title: "Unmodified TCP",
    source: "-",
    advice: "The reference for all other schemes.",
    counters: &[],
    read: |settings| read(settings, |NoSettings {}| Nothing),
    schema: schema::<NoSettings>,
};

struct Nothing;

impl Placement for Nothing {}
