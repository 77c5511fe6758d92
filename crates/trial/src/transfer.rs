//! A transfer between two hosts over the kernel's TCP. The two ends report what they know, each a half; the halves are joined
//! afterwards, as the hosts may be on different kernels.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
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

/// How a host gets its end of a connection.
#[derive(Clone, Copy)]
pub enum End<'a> {
    /// It opens the connection.
    Opens(&'a Namespace),
    /// It listens from the start of the transfer on.
    Listens(&'a Namespace),
    /// It has listened on this socket before.
    Accepts(&'a TcpListener),
}

/// A transfer before it starts: both ends of it, or that which is here.
pub struct Transfer<'a> {
    /// The sender's end, if its host is here.
    pub sender: Option<End<'a>>,
    /// The receiver's end, if its host is here.
    pub receiver: Option<End<'a>>,
    /// Where one of the hosts listens.
    pub address: SocketAddr,
    /// The sender's congestion control.
    pub congestion: String,
    /// Octets to transfer; `None` to send until `end`.
    pub size: Option<u64>,
    /// The start of the run, from which halves count the time.
    pub zero: Instant,
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
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// The time from the opening to the last octet that arrived, whether or not it was the last of all; `None` without any.
    pub last: Option<Duration>,
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

/// The results at the ends of a transfer that are here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Halves {
    sent: Option<Sent>,
    received: Option<Received>,
}

/// The result at the sender's end.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sent {
    /// The time at which it began to open the connection; `None` if the receiver has opened it.
    opened: Option<Duration>,
    /// The time at which the connection was established, and the first octet could be sent.
    began: Duration,
    /// Segments that its TCP retransmitted.
    retransmits: u64,
    /// Octets that were acknowledged to it.
    acknowledged: u64,
    /// Samples of the sender, if requested.
    series: Vec<Sample>,
    /// The waits of its thread for a processor.
    kept_waiting: Option<KeptWaiting>,
}

/// The result at the receiver's end.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Received {
    /// The time at which it began to open the connection; `None` if the sender has opened it.
    opened: Option<Duration>,
    octets: u64,
    intact: bool,
    /// Whether the connection ended before the last octet, and before the end.
    lost: bool,
    /// The time of the last octet that arrived; `None` without any.
    last: Option<Duration>,
    /// The octets received until the goodput began to count, and that time; only without a size.
    settled: Option<(u64, Duration)>,
    /// The time at which it stopped receiving.
    end: Duration,
    /// The waits of its thread for a processor.
    kept_waiting: Option<KeptWaiting>,
}

impl Halves {
    /// These, and those that another kernel's hosts have.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self { sent: self.sent.or(others.sent), received: self.received.or(others.received) }
    }

    /// The result of the transfer, which has this size or none; `None` if a half is missing.
    pub fn join(self, size: Option<u64>) -> Option<Transferred> {
        let (sent, received) = (self.sent?, self.received?);
        let begin = sent.opened.or(received.opened)?;
        let Received { octets, intact, lost, last, settled, end, .. } = received;
        let completed = last.filter(|_| size.is_some_and(|size| octets >= size));
        let (before, since) = match size {
            Some(_) => (0, sent.began),
            None => settled.unwrap_or((octets, end)),
        };
        let seconds = completed.unwrap_or(end).saturating_sub(since).as_secs_f64();
        let waits = [sent.kept_waiting, received.kept_waiting].into_iter().flatten();
        Some(Transferred {
            octets,
            goodput_bps: if seconds > 0.0 { (octets - before) as f64 * 8.0 / seconds } else { 0.0 },
            completion: completed.map(|last| last.saturating_sub(begin)),
            last: last.map(|last| last.saturating_sub(begin)),
            retransmits: sent.retransmits,
            undelivered: sent.acknowledged.saturating_sub(octets),
            intact,
            lost,
            kept_waiting: waits.max_by(|one, other| one.mean_s().total_cmp(&other.mean_s())),
            series: sent.series,
        })
    }
}

impl Transfer<'_> {
    /// Runs the ends that are here to the end of the transfer.
    pub fn run(&self) -> io::Result<Halves> {
        let listening = [self.sender, self.receiver].into_iter().find_map(|end| match end {
            Some(End::Listens(host)) => Some(socket::listen(host, self.address, &self.congestion)),
            _ => None,
        });
        let listening = listening.transpose()?;
        let connection = |end| self.connection(end, listening.as_ref());
        let begin = now();
        // Each end starts as soon as the connection is established at its side.
        let (sent, received) = thread::scope(|scope| {
            let send = |end| KeptWaiting::during(|| self.send(connection(end)?, begin));
            let sending = self.sender.map(|end| scope.spawn(move || send(end)));
            let received = self.receiver.map(|end| KeptWaiting::during(|| self.receive(connection(end)?)));
            let sent = sending
                .map(|sending| sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            (sent, received)
        });
        let opened =
            |end: Option<End<'_>>| matches!(end, Some(End::Opens(_))).then(|| self.since_zero(begin));
        let sent = sent.map(|(sent, kept_waiting)| {
            sent.map(|sent| Sent { opened: opened(self.sender), kept_waiting, ..sent })
        });
        let received = received.map(|(received, kept_waiting)| {
            received.map(|received| Received { opened: opened(self.receiver), kept_waiting, ..received })
        });
        Ok(Halves { sent: sent.transpose()?, received: received.transpose()? })
    }

    fn since_zero(&self, time: Instant) -> Duration {
        time.since(self.zero)
    }

    /// Waits until the connection is established at an end.
    fn connection(&self, end: End<'_>, listening: Option<&TcpListener>) -> io::Result<TcpStream> {
        match end {
            End::Opens(host) => host.enter(|| connect(self.address, &self.congestion, self.end))?,
            End::Listens(_) => self.accept(listening.ok_or(ErrorKind::NotConnected)?),
            End::Accepts(listener) => self.accept(listener),
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
            Ok(Sent {
                opened: None,
                began: self.since_zero(began),
                retransmits,
                acknowledged,
                series: series.unwrap_or_default(),
                kept_waiting: None,
            })
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
        let is_complete = self.size.is_some_and(|size| octets >= size);
        Ok(Received {
            opened: None,
            octets,
            intact,
            lost: !is_complete && !is_over,
            last: last.map(|last| self.since_zero(last)),
            settled: settled.map(|(before, at)| (before, self.since_zero(at))),
            end: self.since_zero(end),
            kept_waiting: None,
        })
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

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A half that the receiver's host has.
    const RECEIVED: Received = Received {
        opened: Some(at(0)),
        octets: 10_000,
        intact: true,
        lost: false,
        last: Some(at(250)),
        settled: None,
        end: at(300),
        kept_waiting: None,
    };

    fn sent() -> Sent {
        Sent {
            opened: None,
            began: at(150),
            retransmits: 0,
            acknowledged: 9_000,
            series: Vec::new(),
            kept_waiting: None,
        }
    }

    fn goodput(size: Option<u64>, received: Received) -> Transferred {
        let of_sender = Halves { sent: Some(sent()), received: None };
        let of_receiver = Halves { sent: None, received: Some(received) };
        of_sender.and(of_receiver).join(size).expect("both halves")
    }

    #[test]
    fn a_transfer_of_which_a_half_is_missing_has_no_result() {
        let of_sender = Halves { sent: Some(sent()), received: None };
        assert_eq!(of_sender.join(None), None);
        let nobody_opened = Received { opened: None, ..RECEIVED };
        assert_eq!(Halves { sent: Some(sent()), received: Some(nobody_opened) }.join(None), None);
        assert_eq!(Halves::default().join(None), None);
    }

    #[test]
    fn the_goodput_of_a_file_counts_from_the_established_connection_to_its_last_octet() {
        let transferred = goodput(Some(10_000), RECEIVED);
        assert!((transferred.goodput_bps - 800_000.0).abs() < 1e-6, "{transferred:?}");
        assert_eq!(transferred.completion, Some(Duration::from_millis(250)), "the handshake is part of it");
        let cut = Received { octets: 5_000, end: at(1150), ..RECEIVED };
        let transferred = goodput(Some(10_000), cut);
        assert!((transferred.goodput_bps - 40_000.0).abs() < 1e-6 && transferred.completion.is_none());
        assert_eq!(transferred.last, Some(at(250)));
    }

    #[test]
    fn without_a_size_the_goodput_counts_after_the_settling_time() {
        let received =
            Received { octets: 3_000_000, settled: Some((1_000_000, at(2000))), end: at(10_000), ..RECEIVED };
        assert!((goodput(None, received).goodput_bps - 2e6).abs() < 1e-6);
    }
}
