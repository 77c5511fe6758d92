//! Measures a channel between two ends on this machine: the time to connect, the round-trip time of a message, and the
//! throughput.
//!
//! ```console
//! $ cargo run --release -p lasthop-peering --example echo -- MESSAGES OCTETS
//! ```

use std::env::args;
use std::error::Error;
use std::io::{Write as _, stdout};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lasthop_peering::{Channel, Identity, Listener, Peers, Settings, connect};

const SERVICE: &str = "echo/1";
const PATIENCE: Duration = Duration::from_secs(60);
const CONNECTIONS: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<usize> = args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let &[messages, octets] = &*arguments else { return Err("usage: echo MESSAGES OCTETS".into()) };
    let (server, client) = (Identity::ephemeral()?, Identity::ephemeral()?);
    let peers = Arc::new(Peers::new(1));
    peers.pin(client.fingerprint(), "client")?;
    let (any, settings) = ((Ipv4Addr::LOCALHOST, 0).into(), Settings::default());
    let listener = Listener::open(any, &server, peers, None, &[SERVICE], settings, echo)?;
    let address = listener.address()?;
    let open = || connect(address, &client, server.fingerprint(), SERVICE, &settings);

    let mut out = stdout().lock();
    let took = timed(|| (0..CONNECTIONS).try_for_each(|_| open().map(|channel| channel.close())))?;
    writeln!(out, "{:.2?} a connection", took / CONNECTIONS)?;
    let (mut channel, message) = (open()?, vec![7; octets]);
    let took = timed(|| {
        (0..messages).try_for_each(|_| {
            channel.send(&message)?;
            channel.receive(PATIENCE).map(drop)
        })
    })?;
    let rate = (messages * octets) as f64 / took.as_secs_f64() / 1e6;
    writeln!(
        out,
        "{:.2?} a message of {octets} octets and its answer: {rate:.1} MB/s each way",
        took / messages as u32
    )?;
    Ok(())
}

fn echo(mut channel: Channel) {
    while let Ok(Some(message)) = channel.receive(PATIENCE) {
        if channel.send(&message).is_err() {
            break;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures this machine")]
fn timed<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}
