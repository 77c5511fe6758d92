//! Rules of queues, by the examples of their papers and RFCs.

mod codel;
mod fq_codel;
mod red;
mod support;
