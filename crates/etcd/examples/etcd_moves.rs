//! How fast a registry in etcd is: three members on this machine, with their data below the current folder.
//!
//! ```console
//! $ cargo run --release -p lasthop-etcd --example etcd_moves -- CLIENTS RATE SECONDS CALLERS [KILL]
//! ```
//!
//! CALLERS threads move clients for SECONDS, RATE moves a second in all. KILL, from 0 to 2, is the number of a member that is
//! killed after half of the time. The time of a move begins when it is due, so that it includes waiting for other moves.

use std::env::args;
use std::error::Error;
use std::io::{Write as _, stdout};
use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use lasthop_etcd::{Config, Etcd};
use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_registry::{AccessPoint, Client, LeaseId, Refusal, Registry};

#[path = "../tests/cluster/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod cluster;

const ACCESS_POINTS: u8 = 130;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u64> = args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let (&[clients, rate, seconds, callers] | &[clients, rate, seconds, callers, _]) = &*arguments else {
        return Err("usage: etcd_moves CLIENTS RATE SECONDS CALLERS [KILL]".into());
    };
    let cluster = Mutex::new(cluster::Cluster::start_in(tempfile::tempdir_in(".")?, None));
    let registry = {
        let cluster = cluster.lock().map_err(|_| "a panic")?;
        // It answers.
        cluster.registry();
        Etcd::new(&Config { patience: Config::default().patience, ..cluster.config() })?
    };
    let leases = join(&registry)?;
    let mut own: Vec<Vec<(Client, Option<u64>)>> = vec![Vec::new(); callers as usize];
    for client in 0..clients {
        own[(client % callers) as usize].push((key(client as u32)?, None));
    }
    thread::scope(|scope| {
        for own in &mut own {
            let (registry, leases) = (&registry, &leases);
            scope.spawn(move || {
                for (client, epoch) in own {
                    *epoch = registry.claim(client, leases[0], None, Instant::ZERO).ok();
                }
            });
        }
    });

    let begin = clock::now();
    let interval = Duration::from_nanos(1_000_000_000 * callers / rate);
    let moves = rate * seconds / callers;
    let mut times: Vec<Times> = thread::scope(|scope| {
        let all: Vec<_> = (0..)
            .zip(&mut own)
            .map(|(caller, own)| {
                let (registry, leases) = (&registry, &leases);
                let first = begin + interval * caller / callers as u32;
                scope.spawn(move || Times::of(registry, leases, own, first, interval, moves))
            })
            .collect();
        if let Some(member) = arguments.get(4) {
            thread::park_timeout(Duration::from_secs(seconds) / 2);
            if let Ok(mut cluster) = cluster.lock() {
                cluster.kill(*member as usize);
            }
        }
        all.into_iter().filter_map(|caller| caller.join().ok()).collect()
    });
    let took = clock::now().since(begin).as_secs_f64();
    let failures: usize = times.iter().map(|times| times.failures).sum();
    let mut done: Vec<Duration> = times.iter_mut().flat_map(|times| times.done.drain(..)).collect();
    done.sort_unstable();
    let at = |part: f64| done.get((done.len() as f64 * part) as usize).copied().unwrap_or_default();
    writeln!(
        stdout().lock(),
        "{:.0} moves/s of {rate}; {} moves, {failures} failed calls; p50 {:.1?}, p99 {:.1?}, most {:.1?}",
        done.len() as f64 / took,
        done.len(),
        at(0.5),
        at(0.99),
        done.last().copied().unwrap_or_default(),
    )?;
    Ok(())
}

#[derive(Default)]
struct Times {
    done: Vec<Duration>,
    /// Calls that failed, and were repeated.
    failures: usize,
}

impl Times {
    /// Moves one client after another.
    fn of(
        registry: &dyn Registry,
        leases: &[LeaseId],
        own: &mut [(Client, Option<u64>)],
        first: Instant,
        interval: Duration,
        moves: u64,
    ) -> Self {
        let mut times = Self::default();
        let mut due = first;
        for (number, index) in (0..moves as usize).zip((0..own.len()).cycle()) {
            while clock::now() < due {
                thread::park_timeout(due.since(clock::now()));
            }
            let (client, epoch) = &mut own[index];
            let lease = leases[number % leases.len()];
            loop {
                match registry.claim(client, lease, *epoch, Instant::ZERO) {
                    Ok(new) => *epoch = Some(new),
                    Err(lasthop_registry::Error::Refused(Refusal::Stale(there))) => {
                        *epoch = there.map(|entry| entry.epoch);
                        continue;
                    }
                    Err(_) => {
                        times.failures += 1;
                        thread::park_timeout(Duration::from_millis(20));
                        continue;
                    }
                }
                break;
            }
            times.done.push(clock::now().since(due));
            due += interval;
        }
        times
    }
}

fn join(registry: &dyn Registry) -> Result<Vec<LeaseId>, Box<dyn Error>> {
    let access_point = |number| {
        AccessPoint::new(&format!("access-point-{number}"), (Ipv4Addr::new(10, 0, 0, number), 4433).into())
    };
    // Leases that outlast the measurement need no renewal.
    let join = |number| registry.join(&access_point(number), Duration::from_secs(3_600), Instant::ZERO);
    Ok((0..ACCESS_POINTS).map(join).collect::<Result<_, _>>()?)
}

fn key(client: u32) -> Result<Client, Box<dyn Error>> {
    Ok(Client::new(&[&[2, 0][..], &client.to_be_bytes()].concat())?)
}
