//! Services of this machine that listen on its loopback device only, which is another one behind
//! the hop: the gateway's address gets doors to them.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::{Resource, getrlimit};
use rustix::time::Timespec;

use super::behind::BehindHop;
use crate::clock;
use crate::listening::listeners;

/// How often the services are looked for.
const EVERY: Duration = Duration::from_millis(250);
/// Connections and questions at a time, at most; more than these are turned away.
const MOST: u64 = 1024;
/// How long a resolver may take: as long as clients wait for it (resolv.conf(5)).
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest datagram.
const LONGEST: usize = 65_535;

/// Doors to services of this machine, open as long as this value lives.
#[derive(Debug)]
pub struct Services {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Services {
    /// Opens the door to a resolver, and with `localhost` to each service that listens for TCP on
    /// the loopback device, now or later. To be called in the network namespace of this machine's
    /// end. Only the host behind the hop may enter.
    pub fn open(hop: &BehindHop, resolver: Option<SocketAddr>, localhost: bool) -> io::Result<Self> {
        let stop = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let mut doors = Doors {
            gateways: [hop.gateway.into(), hop.gateway_v6.into()],
            guests: [hop.address.into(), hop.address_v6.into()],
            localhost,
            resolver,
            questions: None,
            open: BTreeMap::new(),
            looked_at: clock::now(),
            busy: Arc::new(AtomicUsize::new(0)),
            most: most_at_a_time(),
        };
        if resolver.is_some() {
            doors.open_to_questions();
        }
        doors.look();
        let waker = Arc::clone(&stop);
        let thread = thread::Builder::new().name("services".to_owned()).spawn(move || doors.serve(&waker))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        // Connections end with the process, or when one of their ends does.
        let told = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (told, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

struct Doors {
    gateways: [IpAddr; 2],
    /// Who may enter.
    guests: [IpAddr; 2],
    localhost: bool,
    resolver: Option<SocketAddr>,
    /// Where questions to the resolver come in.
    questions: Option<Arc<UdpSocket>>,
    /// For each door where it leads to.
    open: BTreeMap<SocketAddr, (TcpListener, SocketAddr)>,
    /// When the services were looked for.
    looked_at: Instant,
    /// Connections and questions at work.
    busy: Arc<AtomicUsize>,
    /// As many as there may be.
    most: usize,
}

impl Doors {
    #[expect(clippy::disallowed_methods, reason = "no packet of the link waits in this thread")]
    fn serve(mut self, stop: &OwnedFd) {
        loop {
            match self.wait(stop) {
                // A signal is for somebody else, and so is the end of memory.
                Err(_) => thread::sleep(Duration::from_millis(10)),
                Ok(true) => return,
                Ok(false) => {}
            }
            self.answer_questions();
            for (listener, target) in self.open.values() {
                self.let_in(listener, *target);
            }
            if clock::now().since(self.looked_at) >= EVERY {
                self.look();
            }
        }
    }

    /// Until somebody knocks or it is time to look again; whether it is time to end.
    fn wait(&self, stop: &OwnedFd) -> io::Result<bool> {
        let listeners = self.open.values().map(|(listener, _)| listener.as_fd());
        let questions = self.questions.iter().map(|socket| socket.as_fd());
        let all = std::iter::once(stop.as_fd()).chain(questions).chain(listeners);
        let mut files: Vec<PollFd<'_>> =
            all.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        let every = Timespec { tv_sec: 0, tv_nsec: i64::from(EVERY.subsec_nanos()) };
        poll(&mut files, Some(&every))?;
        Ok(files[0].revents().contains(PollFlags::IN))
    }

    /// Opens doors to new services and closes those to services that are gone: whoever listens next
    /// may want all addresses.
    fn look(&mut self) {
        self.looked_at = clock::now();
        let mut wanted = BTreeMap::new();
        if self.localhost {
            // What cannot be read now says nothing about the services.
            let Ok(services) = services() else { return };
            wanted.extend(services.into_iter().map(|service| (service.port(), service)));
        }
        wanted.extend(self.resolver.map(|resolver| (resolver.port(), resolver)));
        self.open.retain(|door, (_, target)| wanted.get(&door.port()) == Some(target));
        for (port, target) in wanted {
            for gateway in self.gateways {
                let door = SocketAddr::new(gateway, port);
                if self.open.contains_key(&door) {
                    continue;
                }
                // Somebody who listens at all addresses needs no door.
                let listener = TcpListener::bind(door)
                    .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
                if let Ok(listener) = listener {
                    self.open.insert(door, (listener, target));
                }
            }
        }
    }

    fn let_in(&self, listener: &TcpListener, target: SocketAddr) {
        loop {
            let (stream, from) = match listener.accept() {
                Ok(accepted) => accepted,
                // This guest has gone; the next one may wait.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        // Without descriptors the guest waits, and so does this thread, for a moment.
                        thread::park_timeout(Duration::from_millis(10));
                    }
                    return;
                }
            };
            if !self.guests.contains(&from.ip()) {
                continue;
            }
            self.work("service", move || {
                // The guest sees the end of the connection.
                let _ = join(&stream, target);
            });
        }
    }

    fn open_to_questions(&mut self) {
        let [gateway, _] = self.gateways;
        // A resolver that listens at all addresses needs no door.
        let socket =
            UdpSocket::bind((gateway, 53)).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        self.questions = socket.ok().map(Arc::new);
    }

    fn answer_questions(&self) {
        let (Some(socket), Some(resolver)) = (&self.questions, self.resolver) else { return };
        let mut buffer = vec![0; LONGEST];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            if !self.guests.contains(&from.ip()) {
                continue;
            }
            let (question, socket) = (buffer[..len].to_vec(), Arc::clone(socket));
            self.work("question", move || {
                let answer = match ask(resolver, &question) {
                    Ok(answer) => answer,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => no_answer(question),
                    // A client that hears nothing asks again.
                    Err(_) => return,
                };
                let _ = socket.send_to(&answer, from);
            });
        }
    }

    /// Does something on a thread of its own, unless there is too much to do.
    fn work(&self, name: &str, work: impl FnOnce() + Send + 'static) {
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

/// Carries octets both ways until both ends have closed.
fn join(guest: &TcpStream, target: SocketAddr) -> io::Result<()> {
    guest.set_nonblocking(false)?;
    let service = TcpStream::connect(target)?;
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

fn ask(resolver: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let own: IpAddr =
        if resolver.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    let socket = UdpSocket::bind((own, 0))?;
    socket.connect(resolver)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(question)?;
    let mut answer = vec![0; LONGEST];
    let len = socket.recv(&mut answer)?;
    answer.truncate(len);
    Ok(answer)
}

/// Says to a question that there is no resolver (RFC 1035, section 4.1.1: a server failure).
fn no_answer(mut question: Vec<u8>) -> Vec<u8> {
    if let Some([flags, code]) = question.get_mut(2..4) {
        *flags |= 0x80;
        *code = (*code & 0xf0) | 2;
    }
    question
}

/// The addresses of the loopback device at which somebody listens for TCP in the network namespace
/// of this thread.
fn services() -> io::Result<Vec<SocketAddr>> {
    let addresses = listeners()?.into_iter().map(|listener| listener.address);
    Ok(addresses.filter(|address| address.ip().is_loopback()).collect())
}

/// A quarter of the descriptors of this process: a connection takes two, and there are others.
fn most_at_a_time() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (descriptors / 4).min(MOST) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_on_the_loopback_device_are_found_and_others_are_not() {
        let (v4, v6) = ("127.0.0.1:0", "[::1]:0");
        let [private, all] =
            [v4, "0.0.0.0:0"].map(|address| TcpListener::bind(address).expect("a free port"));
        let address = |listener: &TcpListener| listener.local_addr().expect("it is bound");
        let found = services().expect("Linux has them");
        assert!(found.contains(&address(&private)), "{found:?}");
        assert!(found.iter().all(|found| found.port() != address(&all).port()), "{found:?}");
        if let Ok(private) = TcpListener::bind(v6) {
            assert!(services().expect("Linux has them").contains(&address(&private)));
        }
    }
}
