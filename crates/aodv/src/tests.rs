//! Message scripts, named for the rule that they check; and properties of random networks.

mod errors;
mod hello;
mod loops;
mod messages;
mod metric;
mod replies;
mod requests;
mod searches;
mod support;
