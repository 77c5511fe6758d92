//! How fast an embedded registry is on this machine's disk:
//!
//! ```console
//! $ cargo run --release -p lasthop-registry --example moves -- CLIENTS MOVES [FOLDER]
//! ```
//!
//! The file is in a new folder below the current one, or below FOLDER.

use std::env::args;
use std::error::Error;
use std::io::{Write as _, stdout};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::{AccessPoint, Client, Durability, Embedded, LeaseId, Limits, Registry};

const ACCESS_POINTS: u8 = 130;
const NOW: Instant = Instant::ZERO;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = args().skip(1);
    let (Some(clients), Some(moves)) = (arguments.next(), arguments.next()) else {
        return Err("usage: moves CLIENTS MOVES [FOLDER]".into());
    };
    let (clients, moves): (u32, u32) = (clients.parse()?, moves.parse()?);
    let folder = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    for durability in [Durability::PowerLoss, Durability::ProcessEnd] {
        let folder = tempfile::tempdir_in(&folder)?;
        measure(&folder.path().join("registry"), clients, moves, durability)?;
    }
    Ok(())
}

fn measure(path: &Path, clients: u32, moves: u32, durability: Durability) -> Result<(), Box<dyn Error>> {
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
    let ((), seconds) = timed(|| {
        for (number, index) in (0..moves).zip((0..epochs.len()).cycle()) {
            let lease = leases[number as usize % leases.len()];
            let epoch = &mut epochs[index];
            *epoch = registry.claim(&key(index as u32)?, lease, Some(*epoch), NOW)?;
        }
        Ok(())
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
