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
use lasthop_linux::clock::now;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::processor::KeptWaiting;

/// Each transfer is a connection of its own: its octets are those of one stream.
const STREAM: u64 = 0;

/// A transfer to be made.
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

/// The result of a transfer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transferred {
    /// Octets that the receiver got.
    pub octets: u64,
    /// Octets a second times eight. Without a size, of what arrived once it had settled; with a size, from
    /// the moment when the sender could send, its connection being established, to the last octet, or to
    /// the end. The handshake does not count: who opens the connection decides how long the sender waits
    /// for it.
    pub goodput_bps: f64,
    /// From the opening, handshake included, to the last octet; `None` if there was no size, or not time
    /// enough.
    pub completion: Option<Duration>,
    /// How the thread of the sender or of the receiver waited for a processor, whichever waited longer;
    /// `None` where the kernel does not say.
    pub kept_waiting: Option<KeptWaiting>,
    /// Segments that the sender's TCP sent again.
    pub retransmits: u64,
    /// Every octet was the one that was sent there.
    pub intact: bool,
    /// The sender over time, if asked for.
    pub series: Vec<Sample>,
}

/// The result at the sender's end.
struct Sent {
    /// When the connection was there, and the first octet could go.
    began: Instant,
    /// Segments that its TCP sent again.
    retransmits: u64,
    /// Over time, if asked for.
    series: Vec<Sample>,
}

/// The result at the receiver's end.
struct Received {
    octets: u64,
    intact: bool,
    /// When the last octet came; `None` if not all of them did.
    completed: Option<Instant>,
    /// Octets and time when what arrives began to count; only without a size.
    settled: Option<(u64, Instant)>,
    /// When it stopped to receive.
    end: Instant,
}

impl Transfer<'_> {
    /// Runs it to its end.
    pub fn run(&self) -> io::Result<Transferred> {
        let (listening, opening) =
            if self.receiver_opens { (self.from, self.to) } else { (self.to, self.from) };
        let listener = socket::listen(listening.0, listening.1, self.port, &self.congestion)?;
        let address = SocketAddr::new(listening.1, self.port);
        let accept = || self.accept(&listener);
        let open = || opening.0.enter(|| connect(address, &self.congestion, self.end))?;
        let begin = now();
        // Each end works as soon as its own half of the connection is there.
        let (sent, received) = thread::scope(|scope| {
            let sending = scope.spawn(|| {
                KeptWaiting::during(|| {
                    let stream = if self.receiver_opens { accept() } else { open() }?;
                    self.send(stream, begin)
                })
            });
            let received = KeptWaiting::during(|| {
                let stream = if self.receiver_opens { open() } else { accept() }?;
                self.receive(stream)
            });
            let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (sent, received)
        });
        let kept_waiting = [sent.1, received.1]
            .into_iter()
            .flatten()
            .max_by(|one, other| one.mean_s().total_cmp(&other.mean_s()));
        Ok(Transferred { kept_waiting, ..self.transferred(begin, sent.0?, &received.0?) })
    }

    /// The figures of both ends together.
    fn transferred(&self, begin: Instant, sent: Sent, received: &Received) -> Transferred {
        let Received { octets, intact, completed, settled, end } = *received;
        let (before, since) = match self.size {
            Some(_) => (0, sent.began),
            None => settled.unwrap_or((octets, end)),
        };
        let seconds = completed.unwrap_or(end).since(since).as_secs_f64();
        Transferred {
            octets,
            goodput_bps: if seconds > 0.0 { (octets - before) as f64 * 8.0 / seconds } else { 0.0 },
            completion: completed.map(|last| last.since(begin)),
            retransmits: sent.retransmits,
            intact,
            kept_waiting: None,
            series: sent.series,
        }
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

    /// Sends until the size is reached or time is up, and looks at the sender meanwhile if that is asked
    /// for.
    fn send(&self, stream: TcpStream, begin: Instant) -> io::Result<Sent> {
        let began = now();
        let is_over = AtomicBool::new(false);
        let over = || is_over.load(Ordering::Relaxed);
        let watched = self.sample_every.map(|every| stream.try_clone().map(|stream| (stream, every)));
        let watched = watched.transpose()?;
        thread::scope(|scope| {
            let watching =
                watched.map(|(stream, every)| scope.spawn(move || watch(&stream, begin, every, over)));
            let retransmits = self.send_all(stream);
            is_over.store(true, Ordering::Relaxed);
            let series = watching.map(thread::ScopedJoinHandle::join);
            let series = series.transpose().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(Sent { began, retransmits: retransmits?, series: series.unwrap_or_default() })
        })
    }

    /// Sends until the size is reached or time is up; returns how many segments were sent again.
    fn send_all(&self, mut stream: TcpStream) -> io::Result<u64> {
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

    fn receive(&self, mut stream: TcpStream) -> io::Result<Received> {
        stream.set_read_timeout(Some(LOOK))?;
        let mut buffer = vec![0; PIECE];
        let (mut octets, mut intact) = (0, true);
        let (mut settled, mut last) = (None, None);
        while !self.over() {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if is_patience(&error) => 0,
                Err(error) if is_hang_up(&error) => break,
                Err(error) => return Err(error),
            };
            let now = now();
            if now >= self.settled && settled.is_none() {
                settled = Some((octets, now));
            }
            if count > 0 {
                intact &= pattern::is_right(STREAM, octets, &buffer[..count]);
                octets += count as u64;
                last = Some(now);
            }
        }
        let end = now();
        abort_on_close(&stream);
        let completed = last.filter(|_| self.size.is_some_and(|size| octets >= size));
        Ok(Received { octets, intact, completed, settled, end })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn goodput(size: Option<u64>, received: &Received) -> Transferred {
        let host = Namespace::current("here").expect("there is one");
        let end = (&host, Ipv4Addr::LOCALHOST.into());
        let transfer = Transfer {
            from: end,
            to: end,
            receiver_opens: true,
            port: 0,
            congestion: String::new(),
            size,
            settled: at(2000),
            end: at(10_000),
            sample_every: None,
            stop: &AtomicBool::new(false),
        };
        let sent = Sent { began: at(150), retransmits: 0, series: Vec::new() };
        transfer.transferred(at(0), sent, received)
    }

    #[test]
    fn a_file_is_timed_from_when_its_sender_can_send_to_its_last_octet() {
        let whole =
            Received { octets: 10_000, intact: true, completed: Some(at(250)), settled: None, end: at(300) };
        let transferred = goodput(Some(10_000), &whole);
        assert!((transferred.goodput_bps - 800_000.0).abs() < 1e-6, "{transferred:?}");
        assert_eq!(transferred.completion, Some(Duration::from_millis(250)), "the handshake is part of it");
        let cut = Received { octets: 5_000, completed: None, end: at(1150), ..whole };
        let transferred = goodput(Some(10_000), &cut);
        assert!((transferred.goodput_bps - 40_000.0).abs() < 1e-6 && transferred.completion.is_none());
    }

    #[test]
    fn without_a_size_what_arrives_counts_once_it_has_settled() {
        let received = Received {
            octets: 3_000_000,
            intact: true,
            completed: None,
            settled: Some((1_000_000, at(2000))),
            end: at(10_000),
        };
        assert!((goodput(None, &received).goodput_bps - 2e6).abs() < 1e-6);
    }
}
