//! Connections and questions that are relayed, each on a thread of its own, and a bound on how many.

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

/// Connections at a time, at most, and questions; more than these are turned away.
const MOST: u64 = 1024;
/// How long the end waits, at most, for services to take what guests have sent.
const DRAIN: Duration = Duration::from_secs(10);
/// How long it waits while no service takes anything.
const IDLE: Duration = Duration::from_secs(1);
/// A guest that has gone without a word is asked for a sign of life after a minute, and given up
/// after two.
const SILENCE: Duration = Duration::from_secs(60);

/// Relays at work.
#[derive(Debug)]
pub(super) struct Relays {
    /// As many of each as there may be.
    most: usize,
    connections: Arc<AtomicUsize>,
    questions: Arc<AtomicUsize>,
    /// Octets that were passed on.
    progress: Arc<AtomicU64>,
    /// Readable at the end.
    cut: Arc<OwnedFd>,
    /// Connections that were cut with data left.
    were_cut: Arc<AtomicUsize>,
    turned_away: AtomicUsize,
}

impl Relays {
    /// None so far.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            most: descriptors() / 4,
            connections: Arc::default(),
            questions: Arc::default(),
            progress: Arc::default(),
            cut: Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?),
            were_cut: Arc::default(),
            turned_away: AtomicUsize::new(0),
        })
    }

    /// Joins a guest to a service. A guest whose service does not answer, or for whom there is no
    /// room, is reset.
    pub(super) fn connect(
        &self,
        client: TcpStream,
        service: impl FnOnce() -> io::Result<TcpStream> + Send + 'static,
    ) {
        reset_at_close(&client);
        let (cut, progress) = (Arc::clone(&self.cut), Arc::clone(&self.progress));
        let were_cut = Arc::clone(&self.were_cut);
        let relay = move || {
            // The guest of a service that refuses is reset.
            let Ok(service) = service() else { return };
            let begun = close_in_peace(&client).and_then(|()| keep_alive(&client));
            if begun.is_err() {
                return;
            }
            if let Ok(Outcome::Cut) = join(&client, &service, &cut, &progress) {
                were_cut.fetch_add(1, Ordering::Relaxed);
            }
        };
        if !work("service", &self.connections, self.most, relay) {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Answers a question. Whoever gets no answer asks again.
    pub(super) fn answer(&self, work_of_it: impl FnOnce() + Send + 'static) {
        work("question", &self.questions, self.most, work_of_it);
    }

    /// Ends them: services have a while to take what guests have sent. Returns what was not done,
    /// each a sentence.
    pub(super) fn end(self) -> Vec<String> {
        self.drain();
        let (cut, away) = (self.were_cut.load(Ordering::Relaxed), self.turned_away.into_inner());
        let cut = (cut > 0).then(|| {
            format!("relayed connections that were reset at the end, because their services had not taken all data: {cut}")
        });
        let away = (away > 0).then(|| {
            format!("relayed connections that were refused, because there were {} others: {away}", self.most)
        });
        cut.into_iter().chain(away).collect()
    }

    fn drain(&self) {
        let is_idle = || self.connections.load(Ordering::Relaxed) == 0;
        let (start, mut moved_at) = (clock::now(), clock::now());
        let mut moved = self.progress.load(Ordering::Relaxed);
        while !is_idle() && clock::now().since(start) < DRAIN && clock::now().since(moved_at) < IDLE {
            thread::park_timeout(Duration::from_millis(5));
            let now = self.progress.load(Ordering::Relaxed);
            if now != moved {
                (moved, moved_at) = (now, clock::now());
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

/// The descriptors that relays and doors may take.
pub(super) fn descriptors() -> usize {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).min(4 * MOST) as usize
}

/// Does something on a thread of its own, unless `most` are at work; whether it does.
fn work(name: &str, busy: &Arc<AtomicUsize>, most: usize, work: impl FnOnce() + Send + 'static) -> bool {
    if busy.fetch_add(1, Ordering::Relaxed) >= most {
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
fn close_in_peace(stream: &TcpStream) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(stream, None)?)
}

fn keep_alive(client: &TcpStream) -> io::Result<()> {
    set_tcp_keepidle(client, SILENCE)?;
    set_tcp_keepintvl(client, SILENCE / 6)?;
    set_tcp_keepcnt(client, 6)?;
    Ok(set_socket_keepalive(client, true)?)
}
