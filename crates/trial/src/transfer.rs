//! A transfer between two hosts over the kernel's TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::{socket_error, tcp_congestion};
use serde::{Deserialize, Serialize};

use super::pattern::{self, PIECE};
use super::sample::{Sample, retransmits};
use super::socket::{self, abort_on_close, is_closed_by_peer, is_timeout, unacknowledged};
use super::wait::{CHECK_INTERVAL, pause, timespec};
use lasthop_linux::clock::now;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::processor::KeptWaiting;

/// The stream of the pattern: each transfer has its own connection.
const STREAM: u64 = 0;

/// A transfer before it starts.
pub struct Transfer<'a> {
    /// The host that sends, and its address.
    pub from: (&'a Namespace, IpAddr),
    /// The host that receives, and its address.
    pub to: (&'a Namespace, IpAddr),
    /// Whether the receiver opens the connection, as for a download.
    pub receiver_opens: bool,
    /// The port on which the other host listens.
    pub port: u16,
    /// The sender's congestion control.
    pub congestion: String,
    /// Octets to transfer; `None` to send until `end`.
    pub size: Option<u64>,
    /// The time from which received octets count toward the goodput; only without a size.
    pub settled: Instant,
    /// The end of the transfer, complete or not.
    pub end: Instant,
    /// The interval of samples of the sender; `None` without samples.
    pub sample_every: Option<Duration>,
    /// Set to end the transfer early.
    pub stop: &'a AtomicBool,
}

/// The result of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transferred {
    /// Octets that the receiver received.
    pub octets: u64,
    /// Goodput in bits per second. Without a size, that of the octets after `settled`. With a size,
    /// that from the establishment of the connection at the sender to the last octet or to the end.
    /// The handshake does not count, because the sender's wait for it depends on which host opens
    /// the connection.
    pub goodput_bps: f64,
    /// The time from the opening, including the handshake, to the last octet; `None` without a
    /// size, or if the transfer did not complete.
    pub completion: Option<Duration>,
    /// The waits for a processor of the thread that waited longer, the sender's or the receiver's;
    /// `None` if the kernel does not report them.
    pub kept_waiting: Option<KeptWaiting>,
    /// Segments that the sender's TCP retransmitted.
    pub retransmits: u64,
    /// Octets that were acknowledged to the sender, and that the receiver had not received at the end.
    pub undelivered: u64,
    /// Whether every octet arrived as it was sent.
    pub intact: bool,
    /// Whether the connection ended before its time, for example because it was reset.
    pub lost: bool,
    /// Samples of the sender, if requested.
    pub series: Vec<Sample>,
}

/// The result at the sender's end.
struct Sent {
    /// The time at which the connection was established, and the first octet could be sent.
    began: Instant,
    /// Segments that its TCP retransmitted.
    retransmits: u64,
    /// Octets that were acknowledged to it.
    acknowledged: u64,
    /// Samples of the sender, if requested.
    series: Vec<Sample>,
}

/// The result at the receiver's end.
struct Received {
    octets: u64,
    intact: bool,
    /// Whether the connection ended before the last octet, and before the end.
    lost: bool,
    /// The time of the last octet; `None` if the transfer did not complete.
    completed: Option<Instant>,
    /// The octets received until the goodput began to count, and that time; only without a size.
    settled: Option<(u64, Instant)>,
    /// The time at which it stopped receiving.
    end: Instant,
}

impl Transfer<'_> {
    /// Runs the transfer to its end.
    pub fn run(&self) -> io::Result<Transferred> {
        let (listening, opening) =
            if self.receiver_opens { (self.from, self.to) } else { (self.to, self.from) };
        let listener = socket::listen(listening.0, listening.1, self.port, &self.congestion)?;
        let address = SocketAddr::new(listening.1, self.port);
        let accept = || self.accept(&listener);
        let open = || opening.0.enter(|| connect(address, &self.congestion, self.end))?;
        let begin = now();
        // Each end starts as soon as the connection is established at its side.
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

    /// The combined results of both ends.
    fn transferred(&self, begin: Instant, sent: Sent, received: &Received) -> Transferred {
        let Received { octets, intact, lost, completed, settled, end } = *received;
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
            undelivered: sent.acknowledged.saturating_sub(octets),
            intact,
            lost,
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
                    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timespec(CHECK_INTERVAL)))?;
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

    /// Sends until the size or the end is reached, and samples the sender if requested.
    fn send(&self, stream: TcpStream, begin: Instant) -> io::Result<Sent> {
        let began = now();
        let is_over = AtomicBool::new(false);
        let over = || is_over.load(Ordering::Relaxed);
        let watched = self.sample_every.map(|every| stream.try_clone().map(|stream| (stream, every)));
        let watched = watched.transpose()?;
        thread::scope(|scope| {
            let watching =
                watched.map(|(stream, every)| scope.spawn(move || samples(&stream, begin, every, over)));
            let all = self.send_all(stream);
            is_over.store(true, Ordering::Relaxed);
            let series = watching.map(thread::ScopedJoinHandle::join);
            let series = series.transpose().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (retransmits, acknowledged) = all?;
            Ok(Sent { began, retransmits, acknowledged, series: series.unwrap_or_default() })
        })
    }

    /// Sends until the size or the end is reached. Returns the number of retransmitted segments, and that of octets that
    /// were acknowledged.
    fn send_all(&self, mut stream: TcpStream) -> io::Result<(u64, u64)> {
        debug_assert!(tcp_congestion(&stream).is_ok_and(|name| name == self.congestion));
        stream.set_write_timeout(Some(CHECK_INTERVAL))?;
        let mut sent = 0;
        while self.size.is_none_or(|size| sent < size) && !self.over() {
            let left = self.size.map_or(usize::MAX, |size| (size - sent) as usize);
            match stream.write(pattern::octets(STREAM, sent, left)) {
                Ok(octets) => sent += octets as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) if is_closed_by_peer(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.size.is_some_and(|size| sent >= size) {
            stream.shutdown(Shutdown::Write)?;
            stream.set_read_timeout(Some(CHECK_INTERVAL))?;
            // The receiver closes the connection after the last octet.
            while !self.over() {
                match stream.read(&mut [0; 1]) {
                    Err(error) if is_timeout(&error) => {}
                    _ => break,
                }
            }
        }
        let retransmits = retransmits(&stream)?;
        let acknowledged = sent.saturating_sub(unacknowledged(&stream)?);
        // Octets that have not been sent yet are discarded.
        abort_on_close(&stream);
        Ok((retransmits, acknowledged))
    }

    fn receive(&self, mut stream: TcpStream) -> io::Result<Received> {
        stream.set_read_timeout(Some(CHECK_INTERVAL))?;
        let mut buffer = vec![0; PIECE];
        let (mut octets, mut intact) = (0, true);
        let (mut settled, mut last) = (None, None);
        while !self.over() {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if is_timeout(&error) => 0,
                Err(error) if is_closed_by_peer(&error) => break,
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
        let is_over = self.over();
        abort_on_close(&stream);
        let completed = last.filter(|_| self.size.is_some_and(|size| octets >= size));
        Ok(Received { octets, intact, lost: completed.is_none() && !is_over, completed, settled, end })
    }
}

/// Samples a sender at an interval until `over`, or until the connection fails.
fn samples(stream: &TcpStream, begin: Instant, every: Duration, over: impl Fn() -> bool) -> Vec<Sample> {
    let mut series = Vec::new();
    let mut next = now();
    while !over() {
        let Ok(sample) = Sample::from_stream(stream, now().since(begin)) else { break };
        series.push(sample);
        next += every;
        pause(next.since(now()));
    }
    series
}

/// Opens a connection and waits until it is established.
fn connect(to: SocketAddr, congestion: &str, end: Instant) -> io::Result<TcpStream> {
    let stream = socket::open(to, congestion)?;
    let timeout = timespec(end.since(now()).max(CHECK_INTERVAL));
    if poll(&mut [PollFd::new(&stream, PollFlags::OUT)], Some(&timeout))? == 0 {
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
        let sent = Sent { began: at(150), retransmits: 0, acknowledged: 0, series: Vec::new() };
        transfer.transferred(at(0), sent, received)
    }

    #[test]
    fn the_goodput_of_a_file_counts_from_the_established_connection_to_its_last_octet() {
        let whole = Received {
            octets: 10_000,
            intact: true,
            lost: false,
            completed: Some(at(250)),
            settled: None,
            end: at(300),
        };
        let transferred = goodput(Some(10_000), &whole);
        assert!((transferred.goodput_bps - 800_000.0).abs() < 1e-6, "{transferred:?}");
        assert_eq!(transferred.completion, Some(Duration::from_millis(250)), "the handshake is part of it");
        let cut = Received { octets: 5_000, completed: None, end: at(1150), ..whole };
        let transferred = goodput(Some(10_000), &cut);
        assert!((transferred.goodput_bps - 40_000.0).abs() < 1e-6 && transferred.completion.is_none());
    }

    #[test]
    fn without_a_size_the_goodput_counts_after_the_settling_time() {
        let received = Received {
            octets: 3_000_000,
            intact: true,
            lost: false,
            completed: None,
            settled: Some((1_000_000, at(2000))),
            end: at(10_000),
        };
        assert!((goodput(None, &received).goodput_bps - 2e6).abs() < 1e-6);
    }
}
