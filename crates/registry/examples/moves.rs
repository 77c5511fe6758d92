//! How fast an embedded registry is on this machine's disk:
//!
//! ```console
//! $ cargo run --release -p lasthop-registry --example moves -- CLIENTS MOVES CALLERS [FOLDER]
//! ```
//!
//! CALLERS threads move clients of their own. The file is in a new folder below the current one, or below FOLDER.

use std::env::args;
use std::error::Error;
use std::io::{Write as _, stdout};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::{AccessPoint, Client, Durability, Embedded, LeaseId, Limits, Registry};

const ACCESS_POINTS: u8 = 130;
const NOW: Instant = Instant::ZERO;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = args().skip(1);
    let (Some(clients), Some(moves), Some(callers)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: moves CLIENTS MOVES CALLERS [FOLDER]".into());
    };
    let (clients, moves, callers): (u32, u32, u32) = (clients.parse()?, moves.parse()?, callers.parse()?);
    let folder = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    for durability in [Durability::PowerLoss, Durability::ProcessEnd] {
        let folder = tempfile::tempdir_in(&folder)?;
        measure(&folder.path().join("registry"), clients, moves, callers, durability)?;
    }
    Ok(())
}

fn measure(
    path: &Path,
    clients: u32,
    moves: u32,
    callers: u32,
    durability: Durability,
) -> Result<(), Box<dyn Error>> {
    let limits = Limits { clients, ..Limits::default() };
    let limits = Limits { file_octets: limits.file_octets.max(limits.least_file()), ..limits };
    // To fill it, no change needs to survive a loss of power.
    let registry = Embedded::open(path, limits, Durability::ProcessEnd, NOW)?;
    let leases = join(&registry)?;
    let mut epochs = Vec::new();
    for client in 0..clients {
        epochs.push(registry.claim(&key(client)?, leases[0], None, NOW)?);
    }
    drop(registry);

    let registry = Embedded::open(path, limits, durability, NOW)?;
    let mut out = stdout().lock();
    let mut own: Vec<Vec<(Client, u64)>> = vec![Vec::new(); callers as usize];
    for (client, epoch) in (0..clients).zip(epochs) {
        own[(client % callers) as usize].push((key(client)?, epoch));
    }
    let ((), seconds) = timed(|| {
        thread::scope(|scope| {
            let all = own.iter_mut().map(|own| {
                scope.spawn(|| {
                    for (number, index) in (0..moves / callers).zip((0..own.len()).cycle()) {
                        let lease = leases[number as usize % leases.len()];
                        let (client, epoch) = &mut own[index];
                        *epoch = registry.claim(client, lease, Some(*epoch), NOW)?;
                    }
                    Ok(())
                })
            });
            let all: Vec<_> = all.collect();
            all.into_iter().try_for_each(|caller| match caller.join() {
                Ok(done) => done.map_err(|error: lasthop_registry::Error| error.into()),
                Err(_) => Err("a caller panicked".into()),
            })
        })
    })?;
    writeln!(out, "{durability:?}: {:.0} moves/s", f64::from(moves) / seconds)?;
    drop(registry);

    let octets = path.metadata()?.len();
    let (_, seconds) = timed(|| Ok(Embedded::open(path, limits, durability, NOW)?))?;
    writeln!(out, "{durability:?}: {:.1} ms to open {octets} octets, {clients} clients", seconds * 1e3)?;
    Ok(())
}

fn join(registry: &Embedded) -> Result<Vec<LeaseId>, Box<dyn Error>> {
    let access_point = |number| {
        AccessPoint::new(&format!("access-point-{number}"), (Ipv4Addr::new(10, 0, 0, number), 4433).into())
    };
    let join = |number| registry.join(&access_point(number), Duration::from_secs(30), NOW);
    Ok((0..ACCESS_POINTS).map(join).collect::<Result<_, _>>()?)
}

fn key(client: u32) -> Result<Client, Box<dyn Error>> {
    Ok(Client::new(&[&[2, 0][..], &client.to_be_bytes()].concat())?)
}

/// A result, and the seconds that it took.
#[expect(clippy::disallowed_methods, reason = "it measures this machine")]
fn timed<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<(T, f64), Box<dyn Error>> {
    let start = std::time::Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64()))
}
