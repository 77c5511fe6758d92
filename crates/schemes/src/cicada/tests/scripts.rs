//! Rules, one by one, as the module docs say them.

mod duplicates;
mod ends;
mod known;
mod marks;
mod opening;
mod path_mtu;
mod probes;
