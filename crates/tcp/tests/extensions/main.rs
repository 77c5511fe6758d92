//! The hooks for schemes and owners of a connection, and tests that are easier to write as a series or a
//! table than as a script. Scripts in these tests are packetdrill's, as in `tests/scripts`.

mod adopt;
mod icmp;
mod path_mtu;
mod receiver;
mod refusals;
mod rto;
mod sender;
mod series;
mod stand_in;

use lasthop_packetdrill::{Numbers, Run, Script};
use lasthop_tcp::{Connection, ReceiverExtension, SenderExtension};

/// Begins a run of the script's head, for small initial numbers and for numbers that wrap.
#[track_caller]
fn run_with(head: &str, dress: fn(Connection) -> Connection, steps: impl Fn(&mut Run)) {
    start(head, move || dress, steps);
}

#[track_caller]
fn start<D: Fn(Connection) -> Connection + 'static>(
    head: &str,
    dress: impl Fn() -> D,
    steps: impl Fn(&mut Run),
) {
    let head = script(&format!("--reader=prompt --tolerance_usecs=0 {head}"));
    for numbers in Numbers::ALL {
        let mut run = Run::dressed(&head, numbers, dress()).unwrap_or_else(|error| panic!("{error}"));
        steps(&mut run);
    }
}

/// The events that follow in a run.
#[track_caller]
fn events(run: &mut Run, text: &str) {
    run.events(&script(text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
}

/// A whole script on an endpoint with this sender.
#[track_caller]
fn run_sender<E: SenderExtension + 'static>(text: &str, extension: fn() -> E) {
    let dress = move || move |c: Connection| c.with_sender_extension(Some(Box::new(extension())));
    start(text.trim_start(), dress, |run| events(run, text));
}

/// A whole script on an endpoint with this receiver.
#[track_caller]
fn run_receiver<E: ReceiverExtension + 'static>(text: &str, extension: fn() -> E) {
    let dress = move || move |c: Connection| c.with_receiver_extension(Some(Box::new(extension())));
    start(text.trim_start(), dress, |run| events(run, text));
}

#[track_caller]
fn script(text: &str) -> Script {
    Script::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
