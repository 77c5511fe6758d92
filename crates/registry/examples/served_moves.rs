//! How fast a registry is that is served over channels of this machine, with the file on its disk:
//!
//! ```console
//! $ cargo run --release -p lasthop-registry --example served_moves -- CLIENTS MOVES CALLERS [FOLDER]
//! ```
//!
//! CALLERS access points, each with a channel of its own, claim clients of their own. Each claim waits for the disk.

use std::env::args;
use std::error::Error;
use std::io::{Write as _, stdout};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_peering::{Identity, Listener, Peers, Settings};
use lasthop_registry::server::SERVICE;
use lasthop_registry::{AccessPoint, Client, Durability, Embedded, Limits, Registry, Remote, Server};

const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = args().skip(1).collect();
    let [clients, moves, callers, folder @ ..] = &*arguments else {
        return Err("usage: served_moves CLIENTS MOVES CALLERS [FOLDER]".into());
    };
    let (clients, moves, callers): (u32, u32, u32) = (clients.parse()?, moves.parse()?, callers.parse()?);
    let folder = tempfile::tempdir_in(folder.first().map_or_else(|| PathBuf::from("."), PathBuf::from))?;
    let path = folder.path().join("registry");
    let limits = Limits { clients, ..Limits::default() };
    let limits = Limits { file_octets: limits.file_octets.max(limits.least_file()), ..limits };
    let registry = Arc::new(Embedded::open(&path, limits, Durability::PowerLoss, clock::now())?);
    let server = Arc::new(Server::new(registry)?);
    let (identity, peers) = (Identity::ephemeral()?, Arc::new(Peers::new(callers as usize)));
    let serve = move |channel| server.serve(channel);
    let (any, settings) = ((Ipv4Addr::LOCALHOST, 0).into(), Settings::default());
    let listener = Listener::open(any, &identity, Arc::clone(&peers), None, &[SERVICE], settings, serve)?;

    let mut access_points = Vec::new();
    for number in 0..callers {
        let (name, own) = (format!("access-point-{number}"), Identity::ephemeral()?);
        peers.pin(own.fingerprint(), &name)?;
        let remote = Remote::new(listener.address()?, &own, identity.fingerprint(), settings, PATIENCE, 1);
        let access_point = AccessPoint::new(&name, any);
        let lease = remote.join(&access_point, Duration::from_secs(600), Instant::ZERO)?;
        let of_it = (number..clients).step_by(callers as usize);
        let own: Vec<(Client, Option<u64>)> =
            of_it.map(|client| Ok((key(client)?, None))).collect::<Result<_, Box<dyn Error>>>()?;
        access_points.push((remote, lease, own));
    }
    let begin = clock::now();
    let mut times = thread::scope(|scope| {
        let all = access_points.iter_mut().map(|(remote, lease, own)| {
            scope.spawn(move || {
                let mut times = Vec::new();
                for index in (0..own.len()).cycle().take((moves / callers) as usize) {
                    let (client, epoch) = &mut own[index];
                    let start = clock::now();
                    *epoch = Some(remote.claim(client, *lease, *epoch, Instant::ZERO)?);
                    times.push(clock::now().since(start));
                }
                Ok::<_, lasthop_registry::Error>(times)
            })
        });
        let all: Vec<_> = all.collect();
        let mut times = Vec::new();
        for caller in all {
            times.extend(caller.join().map_err(|_| "a caller panicked")??);
        }
        Ok::<_, Box<dyn Error>>(times)
    })?;
    let rate = times.len() as f64 / clock::now().since(begin).as_secs_f64();
    times.sort_unstable();
    let at = |part: f64| times[(times.len() as f64 * part) as usize];
    writeln!(stdout().lock(), "{rate:.0} moves/s; p50 {:.2?}, p99 {:.2?}", at(0.5), at(0.99))?;
    Ok(())
}

fn key(client: u32) -> Result<Client, Box<dyn Error>> {
    Ok(Client::new(&[&[2, 0][..], &client.to_be_bytes()].concat())?)
}
