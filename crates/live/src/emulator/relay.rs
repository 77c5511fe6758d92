//! Connections that are relayed, and a bound on how many.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Resource, getrlimit};

use super::machine::Machine;

/// Relays at a time, at most; more than these are turned away.
const MOST: u64 = 1024;

/// Work that is done on threads of its own, up to a number of them.
#[derive(Debug)]
pub(super) struct Relays {
    busy: Arc<AtomicUsize>,
    /// As many as there may be.
    most: usize,
}

impl Relays {
    /// None so far.
    pub(super) fn new() -> Self {
        // A quarter of the descriptors of this process: a connection takes two, and there are others.
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self { busy: Arc::default(), most: (descriptors / 4).min(MOST) as usize }
    }

    /// Does something on a thread of its own, unless there is too much to do.
    pub(super) fn work(&self, name: &str, work: impl FnOnce() + Send + 'static) {
        let busy = Arc::clone(&self.busy);
        if busy.fetch_add(1, Ordering::Relaxed) >= self.most {
            busy.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let at_the_end = Leave(busy);
        // Where there is no thread the guest is turned away.
        let _ = thread::Builder::new().name(name.to_owned()).spawn(move || {
            work();
            drop(at_the_end);
        });
    }
}

struct Leave(Arc<AtomicUsize>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Carries octets both ways until both ends have closed. A guest whose service does not answer sees
/// a connection that is reset.
pub(super) fn join(guest: &TcpStream, target: SocketAddr, machine: &Machine) -> io::Result<()> {
    guest.set_nonblocking(false)?;
    let service = machine.connect(target).inspect_err(|_| {
        // It ends as it would have begun: with a reset.
        let _ = set_socket_linger(guest, Some(Duration::ZERO));
    })?;
    for stream in [guest, &service] {
        stream.set_nodelay(true)?;
    }
    thread::scope(|scope| {
        scope.spawn(|| carry(guest, &service));
        carry(&service, guest);
    });
    Ok(())
}

fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    let carried = io::copy(&mut from, &mut to);
    // After an error nothing more comes of either end.
    let _ = match carried {
        Ok(_) => to.shutdown(Shutdown::Write),
        Err(_) => to.shutdown(Shutdown::Both).and(from.shutdown(Shutdown::Both)),
    };
}
