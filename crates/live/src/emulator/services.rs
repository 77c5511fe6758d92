//! Services of this machine that are not reached from behind the hop without help, such as those that
//! listen only on the loopback device: the gateway's address gets doors to them.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::sockopt::ip_original_dst;
use rustix::time::Timespec;

use super::behind::BehindHop;
use super::machine::Machine;
use super::relay::{Relays, join};
use crate::clock;

/// How often the services are looked for.
const EVERY: Duration = Duration::from_millis(250);
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
    /// Opens the doors that are wanted. To be called in the network namespace of this machine's end
    /// of the hop. Only the host behind the hop may enter.
    pub fn open(hop: &BehindHop, machine: Machine, doors: Wanted) -> io::Result<Self> {
        let Wanted { resolver, localhost, elsewhere } = doors;
        let stop = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let mut doors = Doors {
            gateways: [hop.gateway.into(), hop.gateway_v6.into()],
            guests: [hop.address.into(), hop.address_v6.into()],
            machine: Arc::new(machine),
            localhost,
            resolver,
            questions: None,
            open: BTreeMap::new(),
            elsewhere,
            looked_at: clock::now(),
            relays: Relays::new(),
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

/// The doors that are wanted.
#[derive(Debug, Default)]
pub struct Wanted {
    /// One to this resolver.
    pub resolver: Option<SocketAddr>,
    /// One to each service that listens for TCP on the loopback device, now or later.
    pub localhost: bool,
    /// Where connections to other hosts are turned to: they are relayed to where they were sent.
    pub elsewhere: Option<TcpListener>,
}

struct Doors {
    gateways: [IpAddr; 2],
    /// Who may enter.
    guests: [IpAddr; 2],
    machine: Arc<Machine>,
    localhost: bool,
    resolver: Option<SocketAddr>,
    /// Where questions to the resolver come in.
    questions: Option<Arc<UdpSocket>>,
    /// For each door where it leads to.
    open: BTreeMap<SocketAddr, (TcpListener, SocketAddr)>,
    /// Where connections come in that were for other hosts.
    elsewhere: Option<TcpListener>,
    /// When the services were looked for.
    looked_at: Instant,
    /// Connections and questions at work.
    relays: Relays,
}

/// Where a connection is to lead.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// To a service of this machine.
    Service(SocketAddr),
    /// Where it was sent, before a rule of the kernel's turned it to us.
    WhereItWent,
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
            for (listener, service) in self.open.values() {
                self.let_in(listener, Target::Service(*service));
            }
            if let Some(listener) = &self.elsewhere {
                self.let_in(listener, Target::WhereItWent);
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
        let elsewhere = self.elsewhere.iter().map(AsFd::as_fd);
        let all = std::iter::once(stop.as_fd()).chain(questions).chain(listeners).chain(elsewhere);
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
        if self.localhost || !self.machine.is_here() {
            // What cannot be read now says nothing about the services.
            let Ok(services) = self.machine.services(self.localhost) else { return };
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

    fn let_in(&self, listener: &TcpListener, target: Target) {
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
            let target = match target {
                Target::Service(service) => service,
                // One that has come here of its own accord wanted nobody else.
                Target::WhereItWent => match wanted_by(&stream) {
                    Some(wanted) => wanted,
                    None => continue,
                },
            };
            let machine = Arc::clone(&self.machine);
            self.relays.work("service", move || {
                // The guest sees the end of the connection.
                let _ = join(&stream, target, &machine);
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
            let question = buffer[..len].to_vec();
            let (machine, socket) = (Arc::clone(&self.machine), Arc::clone(socket));
            self.relays.work("question", move || {
                let answer = match ask(&machine, resolver, &question) {
                    Ok(answer) => answer,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => no_answer(question),
                    // A client that hears nothing asks again.
                    Err(_) => return,
                };
                let _ = socket.send_to(&answer, from);
            });
        }
    }
}

/// Where a connection of IPv4 was sent (`SO_ORIGINAL_DST`), if that was not here.
fn wanted_by(guest: &TcpStream) -> Option<SocketAddr> {
    let sent_to = SocketAddr::V4(ip_original_dst(guest).ok()?);
    guest.local_addr().is_ok_and(|own| own != sent_to).then_some(sent_to)
}

fn ask(machine: &Machine, resolver: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let socket = machine.ask(resolver, PATIENCE)?;
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
