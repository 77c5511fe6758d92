//! Single rules of the module docs.

mod duplicates;
mod ends;
mod known;
mod marks;
mod opening;
mod path_mtu;
mod probes;
