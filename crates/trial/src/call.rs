//! A call or a video between two real hosts: RTP and RTCP over UDP, paced by a timer.
//!
//! One thread runs both sides. Departures and arrivals are measured by one clock, the kernel's
//! monotonic one, and the accounting is that of the simulator ([`Call`]).

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use lasthop_apps::media::{Call, Outgoing};
use lasthop_packet::Instant;
use lasthop_packet::rtp::Rtp;
use lasthop_sim::{SessionOutcome, SessionResult};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::pattern;
use super::socket::is_transient;
use super::timetable::Timetable;
use super::wait::timespec;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::realtime;

/// How long the receiver waits for packets in transit after the last one has been sent.
const LINGER: Duration = Duration::from_secs(1);
/// Packets that are sent, or read from a socket, before other work has its turn.
const BATCH: usize = 32;
/// The largest datagram of a call, in octets: it fills an Ethernet frame.
const LONGEST: usize = 1500;

/// A call before it starts.
pub(super) struct Conversation<'a> {
    pub(super) name: &'a str,
    /// The hosts of both sides, with their addresses.
    pub(super) sides: [(&'a Namespace, IpAddr); 2],
    /// The port for RTP on both hosts; RTCP uses the next one.
    pub(super) port: u16,
    pub(super) call: Call,
    /// Whether it is speech, for which a packet that is read late counts as late.
    pub(super) is_speech: bool,
    pub(super) timetable: Timetable<'a>,
}

/// The sockets of a side for RTP and for RTCP, each connected to the other side.
type Sockets = [UdpSocket; 2];

impl Conversation<'_> {
    /// Runs the call.
    pub(super) fn run(self) -> io::Result<SessionOutcome> {
        let Self { name, sides: [one, other], port, call, is_speech, timetable } = self;
        let sockets = [sockets(one, other.1, port)?, sockets(other, one.1, port)?];
        if is_speech {
            // As in emulator and gateway: the ends of a call are part of the test setup. Their
            // notes mention a refusal.
            realtime::no_timer_slack();
            realtime::ask_for_it();
        }
        let reports = [Instant::MAX; 2];
        let mut running = RunningCall { call, sockets, timetable, reports, is_wrong: false };
        timetable.wait_for_start();
        running.run()?;
        running.call.give_up();
        let outcome = running.call.outcome();
        let octets = outcome.streams.iter().map(|(_, stream)| stream.octets).sum();
        Ok(SessionOutcome {
            name: name.to_owned(),
            octets,
            measured: timetable.measured(timetable.stop),
            intact: !running.is_wrong,
            result: SessionResult::Call(outcome),
        })
    }
}

fn sockets(side: (&Namespace, IpAddr), other: IpAddr, port: u16) -> io::Result<Sockets> {
    let (host, own) = side;
    let open = |port: u16| -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((own, port))?;
        socket.connect((other, port))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    host.enter(|| Ok([open(port)?, open(port + 1)?]))?
}

/// A call while it runs.
struct RunningCall<'a> {
    call: Call,
    /// By side.
    sockets: [Sockets; 2],
    timetable: Timetable<'a>,
    /// The time of each side's next report.
    reports: [Instant; 2],
    /// Whether octets arrived that were not sent.
    is_wrong: bool,
}

impl RunningCall<'_> {
    fn run(&mut self) -> io::Result<()> {
        let Timetable { start, stop, .. } = self.timetable;
        self.reports = [0, 1].map(|side| self.call.next_report(side, start));
        let mut buffer = [0; LONGEST];
        while !self.timetable.is_interrupted() {
            let now = self.timetable.now();
            let is_sending = now < stop;
            if is_sending {
                self.send(now, &mut buffer)?;
            } else if now >= stop + LINGER || self.call.has_nothing_under_way() {
                break;
            }
            let packets = (0..2).filter_map(|side| self.call.next(side));
            let next = packets.chain(self.reports).map(|at| at.min(stop)).filter(|_| is_sending);
            let ready = self.wait(next.chain([stop + LINGER]))?;
            for (side, is_report) in ready {
                self.receive(side, is_report, &mut buffer)?;
            }
        }
        Ok(())
    }

    /// Sends the packets and reports that are due.
    fn send(&mut self, now: Instant, buffer: &mut [u8; LONGEST]) -> io::Result<()> {
        for side in 0..2 {
            for _ in 0..BATCH {
                if self.call.next(side).is_none_or(|next| next > now) {
                    break;
                }
                // Its delay counts from this time.
                let departure = self.timetable.now();
                let Some(outgoing) = self.call.send(side, departure) else { break };
                send_datagram(&self.sockets[side][0], write(side, &outgoing, buffer))?;
            }
            if self.reports[side] <= now {
                let report = self.call.report(side, now);
                self.reports[side] = self.call.next_report(side, now);
                send_datagram(&self.sockets[side][1], &report)?;
            }
        }
        Ok(())
    }

    /// Reads a side's socket.
    fn receive(&mut self, side: usize, is_report: bool, buffer: &mut [u8; LONGEST]) -> io::Result<()> {
        let from = 1 - side;
        for _ in 0..BATCH {
            let octets = match self.sockets[side][usize::from(is_report)].recv(buffer) {
                Ok(len) => &buffer[..len],
                Err(error) if is_transient(&error) => break,
                Err(error) => return Err(error),
            };
            let now = self.timetable.now();
            let is_right = if is_report {
                self.call.receive_report(from, octets, now)
            } else {
                let arrival = self.call.receive(from, octets, now);
                arrival.is_some_and(|arrival| is_payload(from, arrival.number, &octets[arrival.payload]))
            };
            self.is_wrong |= !is_right;
        }
        Ok(())
    }

    /// Waits for a datagram or for the first of these times. Returns the readable sockets, each as
    /// its side and whether it is the one for reports.
    fn wait(&self, times: impl IntoIterator<Item = Instant>) -> io::Result<Vec<(usize, bool)>> {
        let sockets = || self.sockets.iter().flatten();
        let mut polled: Vec<PollFd<'_>> =
            sockets().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timespec(self.timetable.until_first(times)))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = polled.iter().enumerate().filter(|(_, polled)| !polled.revents().is_empty());
        Ok(ready.map(|(index, _)| (index / 2, index % 2 == 1)).collect())
    }
}

/// Sends a datagram. One that the kernel does not accept counts as lost, as in a full queue.
fn send_datagram(socket: &UdpSocket, octets: &[u8]) -> io::Result<()> {
    match socket.send(octets) {
        Ok(_) => Ok(()),
        Err(error) if is_transient(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The octets of a packet: its header, and a payload that identifies it.
fn write<'a>(side: usize, outgoing: &Outgoing, buffer: &'a mut [u8; LONGEST]) -> &'a [u8] {
    let len = (Rtp::LEN + outgoing.payload).min(LONGEST);
    let (header, payload) = buffer[..len].split_at_mut(Rtp::LEN);
    header.copy_from_slice(&outgoing.header.octets());
    payload.copy_from_slice(pattern::octets(outgoing.number, side as u64, payload.len()));
    &buffer[..len]
}

/// Whether this is the payload of the packet with this number from a side.
fn is_payload(side: usize, number: u64, octets: &[u8]) -> bool {
    pattern::is_right(number, side as u64, octets)
}

#[cfg(test)]
mod tests {
    use lasthop_packet::rtp::RtpPacket;

    use super::*;

    #[test]
    fn a_payload_is_that_of_its_packet_and_of_no_other() {
        let mut buffer = [0; LONGEST];
        let header = Rtp { sequence: 7, timestamp: 160, ssrc: 9, ..Rtp::default() };
        let octets = write(1, &Outgoing { number: 70_000, header, payload: 160 }, &mut buffer);
        let packet = RtpPacket::parse(octets).expect("it is RTP");
        assert_eq!(packet.header, header);
        let payload = &octets[packet.payload];
        assert!(payload.len() == 160 && is_payload(1, 70_000, payload));
        assert!(!is_payload(0, 70_000, payload), "the other side's");
        assert!(!is_payload(1, 70_000 - 65_536, payload), "the one with the same number on the wire");
    }
}
