//! A TCP transfer between two hosts, over the kernel's own TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::{socket_error, tcp_congestion};

use super::pattern::{self, PIECE};
use super::sample::{Sample, retransmits};
use super::socket::{self, abort_on_close, is_hang_up, is_patience};
use super::wait::{LOOK, pause, timespec};
use crate::clock::now;
use crate::namespace::Namespace;

/// Each transfer is a connection of its own: its octets are those of one stream.
const STREAM: u64 = 0;

/// What is to be transferred.
pub struct Transfer<'a> {
    /// The host that sends, and its address.
    pub from: (&'a Namespace, IpAddr),
    /// The host that receives, and its address.
    pub to: (&'a Namespace, IpAddr),
    /// Whether the receiver opens the connection, as one does who downloads.
    pub receiver_opens: bool,
    /// The port of the host that does not.
    pub port: u16,
    /// The sender's congestion control.
    pub congestion: String,
    /// Octets to transfer; as many as there is time for if `None`.
    pub size: Option<u64>,
    /// From when on what arrives counts towards the goodput; only without a size.
    pub settled: Instant,
    /// When it ends, whole or not.
    pub end: Instant,
    /// How often to look at the sender; never if `None`.
    pub sample_every: Option<Duration>,
    /// Set by whoever wants it to end early.
    pub stop: &'a AtomicBool,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transferred {
    /// Octets that the receiver got.
    pub octets: u64,
    /// Octets a second times eight, without what was to settle.
    pub goodput_bps: f64,
    /// From the opening to the last octet; `None` if there was no size, or not time enough.
    pub completion: Option<Duration>,
    /// Segments that the sender's TCP sent again.
    pub retransmits: u64,
    /// Every octet was the one that was sent there.
    pub intact: bool,
    /// The sender over time, if asked for.
    pub series: Vec<Sample>,
}

impl Transfer<'_> {
    /// Runs it to its end.
    pub fn run(&self) -> io::Result<Transferred> {
        let (listening, opening) =
            if self.receiver_opens { (self.from, self.to) } else { (self.to, self.from) };
        let listener = socket::listen(listening.0, listening.1, self.port, &self.congestion)?;
        let begin = now();
        let (sender, receiver) = thread::scope(|scope| {
            let accepted = scope.spawn(|| self.accept(&listener));
            let address = SocketAddr::new(listening.1, self.port);
            let opened = opening.0.enter(|| connect(address, &self.congestion, self.end))??;
            let accepted = accepted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok::<_, io::Error>(if self.receiver_opens { (accepted, opened) } else { (opened, accepted) })
        })?;
        drop(listener);
        let is_over = AtomicBool::new(false);
        let over = || is_over.load(Ordering::Relaxed);
        let watched = self.sample_every.map(|every| sender.try_clone().map(|stream| (stream, every)));
        let watched = watched.transpose()?;
        thread::scope(|scope| {
            let watching =
                watched.map(|(stream, every)| scope.spawn(move || watch(&stream, begin, every, over)));
            let sending = scope.spawn(|| self.send(sender));
            let received = self.receive(receiver, begin);
            let retransmits = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            is_over.store(true, Ordering::Relaxed);
            let series = watching.map(thread::ScopedJoinHandle::join);
            let series = series.transpose().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(Transferred { retransmits: retransmits?, series: series.unwrap_or_default(), ..received? })
        })
    }

    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || now() >= self.end
    }

    fn accept(&self, listener: &TcpListener) -> io::Result<TcpStream> {
        while !self.over() {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(stream);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timespec(LOOK)))?;
                }
                Err(error) => return Err(error),
            }
        }
        let why = if self.stop.load(Ordering::Relaxed) {
            (ErrorKind::Interrupted, "interrupted")
        } else {
            (ErrorKind::TimedOut, "the connection was not opened in time")
        };
        Err(io::Error::new(why.0, why.1))
    }

    /// Sends until the size is reached or time is up; returns how many segments were sent again.
    fn send(&self, mut stream: TcpStream) -> io::Result<u64> {
        debug_assert!(tcp_congestion(&stream).is_ok_and(|name| name == self.congestion));
        stream.set_write_timeout(Some(LOOK))?;
        let mut sent = 0;
        while self.size.is_none_or(|size| sent < size) && !self.over() {
            let left = self.size.map_or(usize::MAX, |size| (size - sent) as usize);
            match stream.write(pattern::octets(STREAM, sent, left)) {
                Ok(octets) => sent += octets as u64,
                Err(error) if is_patience(&error) => {}
                Err(error) if is_hang_up(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.size.is_some_and(|size| sent >= size) {
            stream.shutdown(Shutdown::Write)?;
            stream.set_read_timeout(Some(LOOK))?;
            // The receiver closes when it has everything.
            while !self.over() {
                match stream.read(&mut [0; 1]) {
                    Err(error) if is_patience(&error) => {}
                    _ => break,
                }
            }
        }
        let retransmits = retransmits(&stream);
        // What is not sent yet is not wanted any more.
        abort_on_close(&stream);
        retransmits
    }

    fn receive(&self, mut stream: TcpStream, begin: Instant) -> io::Result<Transferred> {
        stream.set_read_timeout(Some(LOOK))?;
        let mut buffer = vec![0; PIECE];
        let settled_at = if self.size.is_some() { begin } else { self.settled };
        let (mut octets, mut intact) = (0, true);
        let mut settled = None;
        let mut last = begin;
        while !self.over() {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if is_patience(&error) => 0,
                Err(error) if is_hang_up(&error) => break,
                Err(error) => return Err(error),
            };
            let now = now();
            if now >= settled_at && settled.is_none() {
                settled = Some((octets, now));
            }
            if count > 0 {
                intact &= pattern::is_right(STREAM, octets, &buffer[..count]);
                octets += count as u64;
                last = now;
            }
        }
        let done = self.size.is_some_and(|size| octets >= size);
        let end = if done { last } else { now() };
        abort_on_close(&stream);
        let (before, since) = settled.unwrap_or((octets, end));
        let seconds = end.since(since).as_secs_f64();
        let goodput_bps = if seconds > 0.0 { (octets - before) as f64 * 8.0 / seconds } else { 0.0 };
        let completion = done.then(|| last.since(begin));
        Ok(Transferred { octets, goodput_bps, completion, intact, ..Transferred::default() })
    }
}

/// Looks at a sender every so often until it is over, or the connection is gone.
fn watch(stream: &TcpStream, begin: Instant, every: Duration, over: impl Fn() -> bool) -> Vec<Sample> {
    let mut series = Vec::new();
    let mut next = now();
    while !over() {
        let Ok(sample) = Sample::of_real(stream, now().since(begin)) else { break };
        series.push(sample);
        next += every;
        pause(next.since(now()));
    }
    series
}

/// Opens a connection, and waits until it is there.
fn connect(to: SocketAddr, congestion: &str, end: Instant) -> io::Result<TcpStream> {
    let stream = socket::open(to, congestion)?;
    let patience = timespec(end.since(now()).max(LOOK));
    if poll(&mut [PollFd::new(&stream, PollFlags::OUT)], Some(&patience))? == 0 {
        return Err(io::Error::new(ErrorKind::TimedOut, "the connection was not established in time"));
    }
    socket_error(&stream)??;
    stream.set_nonblocking(false)?;
    Ok(stream)
}
