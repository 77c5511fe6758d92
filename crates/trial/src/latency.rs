//! The latency of small packets beside a transfer, measured by echoes over UDP. No agent processes
//! them: they begin with the high octet of a time, which is 0, and are therefore not RTP.
//!
//! On a busy machine the two threads here get a processor late, and lengthen the round trip. This
//! lateness is measured: the kernel records the arrival of a datagram, and the thread reads the
//! clock when it gets the datagram. The reply contains the time that the request waited for the
//! echoing thread.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::socket::{self, is_transient};
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use lasthop_packet::time::nanos;

/// The time between two echo requests. Each takes nearly as much air time as a segment, because it
/// has to contend for the medium: 50 a second cost a download among ten 802.11b stations a quarter
/// of its goodput.
const INTERVAL: Duration = Duration::from_millis(200);
/// The time between two checks whether the work is done.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
const PORT: u16 = 7;
/// A reply that takes longer counts as lost.
const LONGEST: Duration = Duration::from_secs(2);

/// The octets of a request: the time at which it was sent and, in the reply, the time that it
/// waited for the echoing thread; in nanoseconds, most significant octet first.
type Octets = [u8; 16];

/// Round-trip times of small packets during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// In ascending order.
    times: Vec<Duration>,
    /// The same without the time that datagrams waited for the threads of the two hosts, in
    /// ascending order.
    without_hosts: Vec<Duration>,
}

impl RoundTrips {
    /// The round-trip time that a share of the replies did not exceed; `None` without replies.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        quantile(&self.times, share)
    }

    /// The part of [`Self::quantile`] that is due to the hosts' threads, which got a processor
    /// late.
    pub fn lateness(&self, share: f64) -> Duration {
        let without = quantile(&self.without_hosts, share);
        self.quantile(share)
            .zip(without)
            .map_or(Duration::ZERO, |(time, without)| time.saturating_sub(without))
    }

    /// From round-trip times and the part of each that is due to the hosts.
    pub(super) fn from_times(mut times: Vec<(Duration, Duration)>) -> Self {
        let mut without_hosts: Vec<Duration> =
            times.iter().map(|(took, late)| took.saturating_sub(*late)).collect();
        times.sort_unstable();
        without_hosts.sort_unstable();
        Self { times: times.into_iter().map(|(took, _)| took).collect(), without_hosts }
    }
}

fn quantile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share.clamp(0.0, 1.0) * last as f64).round() as usize).copied()
}

/// The hosts of the probe that are here.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    /// The host that asks, if it is here.
    pub from: Option<&'a Namespace>,
    /// The address of the host that answers.
    pub to: IpAddr,
    /// That host, if it is here.
    pub echo: Option<Echo<'a>>,
}

/// The host that answers.
#[derive(Clone, Copy)]
pub enum Echo<'a> {
    /// It answers from the start of the work on.
    On(&'a Namespace),
    /// It has this socket already.
    With(&'a UdpSocket),
}

/// The socket on which a host with this address answers.
pub fn echo(on: &Namespace, address: IpAddr) -> io::Result<UdpSocket> {
    on.enter(|| UdpSocket::bind((address, PORT)))?
}

/// Sends an echo request every 200 ms from one host to another while `work` runs. Returns the
/// results of both; those of the probe where the host is that asks.
pub fn beside<R: Send>(
    probe: Probe<'_>,
    work: impl FnOnce() -> R + Send,
) -> io::Result<(R, Option<RoundTrips>)> {
    let Probe { from, to, .. } = probe;
    let over = AtomicBool::new(false);
    let opened = match probe.echo {
        Some(Echo::On(host)) => Some(echo(host, to)?),
        _ => None,
    };
    let echo = match probe.echo {
        Some(Echo::With(socket)) => Some(socket),
        _ => opened.as_ref(),
    };
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let probe = from.map(|from| from.enter(|| UdpSocket::bind(any))?).transpose()?;
    if let Some(probe) = &probe {
        probe.connect(SocketAddr::new(to, PORT))?;
    }
    for socket in echo.into_iter().chain(&probe) {
        socket.set_read_timeout(Some(CHECK_INTERVAL))?;
        // From now on the kernel records the arrival of datagrams.
        let _ = waited(socket);
    }
    let over = &over;
    thread::scope(|scope| {
        if let Some(echo) = echo {
            scope.spawn(move || reply(echo, over));
        }
        let probing = probe.as_ref().map(|probe| scope.spawn(move || request(probe, over)));
        let result = work();
        over.store(true, Ordering::Relaxed);
        let round_trips =
            probing.map(|probing| probing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok((result, round_trips.transpose()?))
    })
}

fn reply(socket: &UdpSocket, over: &AtomicBool) {
    let mut octets: Octets = [0; 16];
    while !over.load(Ordering::Relaxed) {
        if let Ok((16, peer)) = socket.recv_from(&mut octets) {
            octets[8..].copy_from_slice(&nanos(waited(socket)).to_be_bytes());
            // A reply that cannot be sent counts as lost.
            let _ = socket.send_to(&octets, peer);
        }
    }
}

fn request(socket: &UdpSocket, over: &AtomicBool) -> io::Result<RoundTrips> {
    let begin = clock::now();
    let mut times = Vec::new();
    let mut next = begin;
    while !over.load(Ordering::Relaxed) {
        let now = clock::now();
        if now >= next {
            next = now + INTERVAL;
            let mut octets: Octets = [0; 16];
            octets[..8].copy_from_slice(&nanos(now.since(begin)).to_be_bytes());
            if let Err(error) = socket.send(&octets)
                && !is_transient(&error)
            {
                return Err(error);
            }
        }
        let wait = next.since(clock::now()).clamp(Duration::from_micros(100), CHECK_INTERVAL);
        socket.set_read_timeout(Some(wait))?;
        let mut octets: Octets = [0; 16];
        match socket.recv(&mut octets) {
            Ok(16) => {
                let arrived = clock::now().since(begin);
                let [sent, echo] = [&octets[..8], &octets[8..]].map(duration);
                if let Some(took) = arrived.checked_sub(sent).filter(|took| *took < LONGEST) {
                    times.push((took, echo + waited(socket)));
                }
            }
            Ok(_) => {}
            Err(error) if is_transient(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(RoundTrips::from_times(times))
}

fn duration(octets: &[u8]) -> Duration {
    octets.first_chunk().map_or(Duration::ZERO, |octets| Duration::from_nanos(u64::from_be_bytes(*octets)))
}

/// How long the last datagram that was read had waited in the kernel. After the first call the
/// kernel records the arrival of datagrams.
fn waited(socket: &UdpSocket) -> Duration {
    // The subtraction saturates because the time of day may have been set meanwhile.
    let arrived = socket::arrival(socket);
    arrived.map_or(Duration::ZERO, |arrived| clock::time_of_day().saturating_sub(arrived))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lateness_of_the_hosts_is_known_for_each_quantile() {
        let ms = Duration::from_millis;
        let trips = RoundTrips::from_times((1..=100).map(|number| (ms(50 + number % 2), ms(0))).collect());
        assert_eq!((trips.quantile(0.95), trips.lateness(0.95)), (Some(ms(51)), ms(0)));
        let late = (1..=100).map(|number| if number > 90 { (ms(555), ms(500)) } else { (ms(50), ms(0)) });
        let trips = RoundTrips::from_times(late.collect());
        assert_eq!((trips.lateness(0.5), trips.lateness(0.95)), (ms(0), ms(500)));
        assert_eq!(RoundTrips::default().lateness(0.95), ms(0));
    }

    #[test]
    fn the_wait_of_a_datagram_for_its_reader_is_measured() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.connect(socket.local_addr().expect("it is bound")).expect("to itself");
        let _ = waited(&socket);
        // The kernel may take a moment before it records arrivals.
        let was_seen = (0..50).any(|_| {
            socket.send(&[0]).expect("there is room");
            thread::park_timeout(Duration::from_millis(20));
            socket.recv(&mut [0]).expect("it has come");
            waited(&socket) >= Duration::from_millis(1)
        });
        assert!(was_seen);
    }
}
