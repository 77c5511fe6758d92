//! Relays for connections and DNS queries, each on its own thread, and a limit on their number.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use portable_atomic::AtomicU64;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl};
use rustix::process::{Resource, getrlimit};

use super::join::{Outcome, join, reset_at_close};
use lasthop_linux::clock;

/// The maximum number of concurrent connections, and of concurrent queries; further ones are
/// refused.
const MAX_RELAYS: u64 = 1024;
/// The maximum wait at the end for services to receive the data that the client has sent.
const DRAIN: Duration = Duration::from_secs(10);
/// The maximum wait at the end without progress.
const IDLE: Duration = Duration::from_secs(1);
/// The time without data from the client after which keep-alive probes are sent, for as long again;
/// without an answer, the connection is closed.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The relays in progress.
#[derive(Debug)]
pub(super) struct Relays {
    /// The maximum number of connections, and of queries.
    limit: usize,
    connections: Arc<AtomicUsize>,
    queries: Arc<AtomicUsize>,
    /// Octets relayed.
    progress: Arc<AtomicU64>,
    /// Readable at the end.
    cut: Arc<OwnedFd>,
    /// Connections that were cut with data left.
    were_cut: Arc<AtomicUsize>,
    refused: AtomicUsize,
}

impl Relays {
    /// Creates an empty set of relays.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            limit: descriptors() / 4,
            connections: Arc::default(),
            queries: Arc::default(),
            progress: Arc::default(),
            cut: Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?),
            were_cut: Arc::default(),
            refused: AtomicUsize::new(0),
        })
    }

    /// Relays a client's connection to a service. The connection is reset if the service does not
    /// accept one or the limit is reached.
    pub(super) fn connect(
        &self,
        client: TcpStream,
        service: impl FnOnce() -> io::Result<TcpStream> + Send + 'static,
    ) {
        reset_at_close(&client);
        let (cut, progress) = (Arc::clone(&self.cut), Arc::clone(&self.progress));
        let were_cut = Arc::clone(&self.were_cut);
        let relay = move || {
            // If the service refuses, the client's connection is reset on close.
            let Ok(service) = service() else { return };
            let begun = close_normally(&client).and_then(|()| keep_alive(&client));
            if begun.is_err() {
                return;
            }
            if let Ok(Outcome::Cut) = join(&client, &service, &cut, &progress) {
                were_cut.fetch_add(1, Ordering::Relaxed);
            }
        };
        if !work("service", &self.connections, self.limit, relay) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs `relay`, which answers a query. A query over the limit is dropped: clients retransmit
    /// it.
    pub(super) fn answer(&self, relay: impl FnOnce() + Send + 'static) {
        work("question", &self.queries, self.limit, relay);
    }

    /// Ends all relays when the services have received the data that the client has sent, or after
    /// a timeout. Returns what could not be done, each a sentence.
    pub(super) fn end(self) -> Vec<String> {
        self.drain();
        let (cut, refused) = (self.were_cut.load(Ordering::Relaxed), self.refused.into_inner());
        let cut = (cut > 0).then(|| {
            format!("relayed connections that were reset at the end, because their services had not taken all data: {cut}")
        });
        let refused = (refused > 0).then(|| {
            format!(
                "relayed connections that were refused, because there were {} others: {refused}",
                self.limit
            )
        });
        cut.into_iter().chain(refused).collect()
    }

    fn drain(&self) {
        let is_idle = || self.connections.load(Ordering::Relaxed) == 0;
        let (start, mut progress_at) = (clock::now(), clock::now());
        let mut relayed = self.progress.load(Ordering::Relaxed);
        while !is_idle() && clock::now().since(start) < DRAIN && clock::now().since(progress_at) < IDLE {
            thread::park_timeout(Duration::from_millis(5));
            let now = self.progress.load(Ordering::Relaxed);
            if now != relayed {
                (relayed, progress_at) = (now, clock::now());
            }
        }
        // This fails only if the counter of the eventfd is full.
        let _ = rustix::io::write(&*self.cut, &1u64.to_ne_bytes());
        let start = clock::now();
        while !is_idle() && clock::now().since(start) < IDLE {
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

/// The number of descriptors that relays and listeners may use.
pub(super) fn descriptors() -> usize {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).min(4 * MAX_RELAYS) as usize
}

/// Runs `work` on a new thread, unless `limit` are busy. Returns whether it was started.
fn work(name: &str, busy: &Arc<AtomicUsize>, limit: usize, work: impl FnOnce() + Send + 'static) -> bool {
    if busy.fetch_add(1, Ordering::Relaxed) >= limit {
        busy.fetch_sub(1, Ordering::Relaxed);
        return false;
    }
    let at_the_end = BusyGuard(Arc::clone(busy));
    let started = thread::Builder::new().name(name.to_owned()).spawn(move || {
        work();
        drop(at_the_end);
    });
    started.is_ok()
}

struct BusyGuard(Arc<AtomicUsize>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Undoes [`reset_at_close`].
fn close_normally(stream: &TcpStream) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(stream, None)?)
}

fn keep_alive(client: &TcpStream) -> io::Result<()> {
    set_tcp_keepidle(client, KEEP_ALIVE)?;
    set_tcp_keepintvl(client, KEEP_ALIVE / 6)?;
    set_tcp_keepcnt(client, 6)?;
    Ok(set_socket_keepalive(client, true)?)
}
