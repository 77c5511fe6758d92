//! TCP as it is: what every scheme is compared with.

use crate::scheme::{NoSettings, Placement, Scheme, read, schema};

/// Nothing is placed anywhere.
pub static SCHEME: Scheme = Scheme {
    name: "none",
    title: "Unchanged TCP",
    source: "-",
    advice: "The baseline for all other schemes.",
    counters: &[],
    read: |settings| read(settings, |NoSettings {}| Nothing),
    schema: schema::<NoSettings>,
};

struct Nothing;

impl Placement for Nothing {}
