//! What a guest and the process outside say to each other, in datagrams of UDP over a device that is not part of the network
//! under test. It loses and reorders nothing.
//!
//! The guest asks for its job one datagram at a time, so that none waits in a buffer that may be full. It reports the
//! start of the run and its end; what its programs print goes out as it is, and what they read comes in as it is asked for.
//! If there are several guests, each waits for all others before the start, and again before the end.

use std::net::Ipv4Addr;

use bytes::Bytes;
use lasthop_packet::header::{Ip, Udp};
use lasthop_packet::{Packet, Payload, Transport, wire};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::job::Job;

/// What the guest says. At the end of a run it reports an `R`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum FromGuest<R> {
    /// It wants the next datagram of its job.
    Job,
    /// Its hosts are ready. The model starts now, or when those of all guests are.
    Ready,
    /// Its flows are over. Other guests have theirs.
    Over,
    /// It wants the next octets of standard input.
    Input,
    /// The run is over, and this is its part.
    Done(Box<R>),
    /// The run failed.
    Failed(String),
}

/// What a program prints to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Standard output.
    Standard,
    /// Standard error.
    Error,
}

/// The address of the guest's control device.
pub(super) const GUEST_DEVICE: [u8; 6] = [0x02, 0x6c, 0x68, 0x63, 0, 1];
/// The addresses of guest and outside on it.
pub(super) const GUEST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(super) const OUTSIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The UDP port of both.
pub(super) const PORT: u16 = 9479;

/// Octets of a message in one datagram, which has one more.
pub(super) const PIECE: usize = 1400;
/// The longest message.
const MAX_MESSAGE: usize = 64 << 20;
/// The first octet of a datagram: the last of a message, or one that others follow; or octets of a program.
const LAST: u8 = 0;
const MORE: u8 = 1;
const OUTPUT: u8 = 2;
const ERROR: u8 = 3;
const INPUT: u8 = 4;
const TOGETHER: u8 = 5;

/// The datagrams of a message.
pub(super) fn datagrams(message: &impl Serialize) -> serde_json::Result<Vec<Vec<u8>>> {
    Ok(in_pieces(&serde_json::to_vec(message)?))
}

/// The datagrams of a job: at least 16. Each takes the guest a moment of its time, and the lengths of the user's paths should
/// make no difference.
pub(super) fn datagrams_of_job(job: &Job) -> serde_json::Result<Vec<Vec<u8>>> {
    let mut octets = serde_json::to_vec(job)?;
    octets.resize(octets.len().max(16 * PIECE), b' ');
    Ok(in_pieces(&octets))
}

fn in_pieces(octets: &[u8]) -> Vec<Vec<u8>> {
    let mut datagrams: Vec<Vec<u8>> =
        octets.chunks(PIECE).map(|piece| [&[MORE][..], piece].concat()).collect();
    if let Some(first) = datagrams.last_mut().and_then(|last| last.first_mut()) {
        *first = LAST;
    }
    datagrams
}

/// The first octet of datagrams with what programs print.
pub(super) const fn kind_of(output: Output) -> u8 {
    match output {
        Output::Standard => OUTPUT,
        Output::Error => ERROR,
    }
}

/// The datagram with the next octets of standard input, of which there are none at its end.
pub(super) fn input(octets: &[u8]) -> Vec<u8> {
    [&[INPUT][..], octets].concat()
}

/// The octets of standard input in a datagram.
pub(super) fn input_in(datagram: &[u8]) -> Option<&[u8]> {
    datagram.split_first().filter(|(kind, _)| **kind == INPUT).map(|(_, octets)| octets)
}

/// The datagram for all guests of a run, once each of them has come as far.
pub(super) fn together() -> Vec<u8> {
    vec![TOGETHER]
}

/// Whether a datagram is that for all guests.
pub(super) fn is_together(datagram: &[u8]) -> bool {
    datagram == [TOGETHER]
}

/// What a datagram has brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrived<'a, M> {
    /// A part of a message, or nothing.
    Nothing,
    /// The end of this message.
    Message(M),
    /// What a program has printed.
    Printed(Output, &'a [u8]),
}

/// A message whose datagrams come in.
#[derive(Debug, Default)]
pub(super) struct Inbox(Vec<u8>);

impl Inbox {
    /// Adds a datagram. A message that cannot be read is an error, as is one that is too long; the next datagram then begins
    /// another.
    pub(super) fn add<'a, M: DeserializeOwned>(
        &mut self,
        datagram: &'a [u8],
    ) -> Result<Arrived<'a, M>, String> {
        let Some((kind, piece)) = datagram.split_first() else { return Ok(Arrived::Nothing) };
        match *kind {
            LAST | MORE => {}
            OUTPUT => return Ok(Arrived::Printed(Output::Standard, piece)),
            ERROR => return Ok(Arrived::Printed(Output::Error, piece)),
            other => return Err(format!("a datagram of the unknown kind {other}")),
        }
        if self.0.len() + piece.len() > MAX_MESSAGE {
            self.0.clear();
            return Err(format!("a message of more than {MAX_MESSAGE} octets"));
        }
        self.0.extend_from_slice(piece);
        if *kind == MORE {
            return Ok(Arrived::Nothing);
        }
        let octets = std::mem::take(&mut self.0);
        serde_json::from_slice(&octets)
            .map(Arrived::Message)
            .map_err(|error| format!("a message that cannot be read: {error}"))
    }
}

/// The datagram in a packet from the guest; `None` for every other packet.
pub(super) fn datagram_in(packet: Bytes) -> Option<Bytes> {
    let packet = wire::parse(packet).ok()?;
    let is_ours = matches!(packet.transport(), Transport::Udp(udp) if udp.destination_port == PORT);
    (is_ours && packet.ip().destination == OUTSIDE).then(|| packet.payload().octets())
}

/// The packet that carries a datagram to the guest.
pub(super) fn packet_with(datagram: Vec<u8>) -> Bytes {
    let ip = Ip::new(OUTSIDE.into(), GUEST.into());
    let udp = Udp { source_port: PORT, destination_port: PORT };
    wire::emit(&Packet::new(ip, Transport::Udp(udp), Payload::Bytes(datagram.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Message = FromGuest<Vec<u32>>;

    fn done(numbers: u32) -> Message {
        FromGuest::Done(Box::new((0..numbers).collect()))
    }

    fn numbers(arrived: &Arrived<'_, Message>) -> Option<usize> {
        match arrived {
            Arrived::Message(FromGuest::Done(numbers)) => Some(numbers.len()),
            _ => None,
        }
    }

    #[test]
    fn a_message_of_several_datagrams_arrives_whole() {
        let mut inbox = Inbox::default();
        for count in [0, 1000] {
            let mut received = None;
            for datagram in datagrams(&done(count)).expect("it has a form") {
                assert_eq!(received, None, "the last datagram completes it");
                received = numbers(&inbox.add(&datagram).expect("it is right"));
            }
            assert_eq!(received, Some(count as usize));
        }
    }

    #[test]
    fn what_a_program_prints_does_not_break_a_message_in_which_it_falls() {
        let mut inbox = Inbox::default();
        let pieces = datagrams(&done(1000)).expect("it has a form");
        let (last, first) = pieces.split_last().expect("several");
        for piece in first {
            assert!(matches!(inbox.add::<Message>(piece), Ok(Arrived::Nothing)));
        }
        for output in [Output::Standard, Output::Error] {
            let printed = [&[kind_of(output)][..], b"\xff\n"].concat();
            let arrived = inbox.add::<Message>(&printed).expect("it is right");
            assert!(matches!(arrived, Arrived::Printed(to, b"\xff\n") if to == output));
        }
        assert_eq!(numbers(&inbox.add(last).expect("it is right")), Some(1000));
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_the_next_message_arrives() {
        let mut inbox = Inbox::default();
        assert!(matches!(inbox.add::<Message>(&[]), Ok(Arrived::Nothing)));
        assert!(inbox.add::<Message>(&[LAST, b'?']).is_err());
        assert!(inbox.add::<Message>(&[9]).is_err());
        let whole = datagrams(&done(0)).expect("it has a form");
        assert_eq!(numbers(&inbox.add(&whole[0]).expect("it is right")), Some(0));
    }

    #[test]
    fn input_has_an_end_without_octets() {
        assert_eq!(input_in(&input(b"a line\n")), Some(&b"a line\n"[..]));
        assert_eq!(input_in(&input(b"")), Some(&b""[..]));
        assert_eq!(input_in(&[LAST, 1]), None);
        assert_eq!(input_in(&[]), None);
    }

    #[test]
    fn no_other_datagram_is_that_for_all_guests() {
        assert!(is_together(&together()));
        assert!(![&input(b"")[..], &[LAST], &[], &[TOGETHER, 0]].into_iter().any(is_together));
    }

    #[test]
    fn the_packet_of_a_datagram_has_the_addresses_of_the_control_device() {
        let packet = packet_with(vec![1, 2, 3]);
        let parsed = wire::parse(packet.clone()).expect("it is right");
        assert_eq!(
            (parsed.ip().destination, parsed.payload().octets()),
            (GUEST.into(), vec![1, 2, 3].into())
        );
        assert_eq!(datagram_in(packet), None, "it is not from the guest");
    }
}
