//! What a guest and the process outside say to each other: a job, the start of the run, and its results. Messages are JSON
//! in datagrams of UDP over a device that is not part of the network under test. It loses and reorders
//! nothing.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use lasthop_packet::header::{Ip, Udp};
use lasthop_packet::{Packet, Payload, Transport, wire};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::hosts::HostResults;
use crate::options::Wifi;

/// How the guest finds the run that it is part of: as this process has found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    /// The directory in which relative paths begin.
    pub(super) directory: PathBuf,
    /// The command line, without the program and the subcommand.
    pub(super) arguments: Vec<String>,
    /// What the files of the scenario have: see [`super::fingerprint`].
    pub(super) fingerprint: u64,
    /// The number of the case in the plan.
    pub(super) case: usize,
    /// The interval of samples of each sender.
    pub(super) sample_every: Option<Duration>,
    /// Whose the Wi-Fi stack is.
    pub(super) wifi: Wifi,
}

/// What the guest says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum FromGuest {
    /// It has started, and wants its job.
    Hello,
    /// Its hosts are ready. The model starts now.
    Ready,
    /// The run is over.
    Results(Box<HostResults>),
    /// The run failed.
    Failed(String),
}

/// The address of the guest's control device.
pub(super) const GUEST_DEVICE: [u8; 6] = [0x02, 0x6c, 0x68, 0x63, 0, 1];
/// The addresses of guest and outside on it.
pub(super) const GUEST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(super) const OUTSIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The UDP port of both.
pub(super) const PORT: u16 = 9479;

/// Octets of a message in one datagram, which has one more.
const PIECE: usize = 1400;
/// The longest message.
const MAX_MESSAGE: usize = 64 << 20;
/// The first octet of a datagram: whether others follow.
const MORE: u8 = 1;
const LAST: u8 = 0;

/// The datagrams of a message.
pub(super) fn datagrams(message: &impl Serialize) -> serde_json::Result<Vec<Vec<u8>>> {
    let octets = serde_json::to_vec(message)?;
    let mut datagrams: Vec<Vec<u8>> =
        octets.chunks(PIECE).map(|piece| [&[MORE][..], piece].concat()).collect();
    if let Some(first) = datagrams.last_mut().and_then(|last| last.first_mut()) {
        *first = LAST;
    }
    Ok(datagrams)
}

/// A message whose datagrams come in.
#[derive(Debug, Default)]
pub(super) struct Inbox(Vec<u8>);

impl Inbox {
    /// Adds a datagram; returns the message that is complete with it. One that cannot be read is an error, as is one
    /// that is too long; the next datagram then begins another.
    pub(super) fn add<M: DeserializeOwned>(&mut self, datagram: &[u8]) -> Result<Option<M>, String> {
        let Some((kind, piece)) = datagram.split_first() else { return Ok(None) };
        if self.0.len() + piece.len() > MAX_MESSAGE {
            self.0.clear();
            return Err(format!("a message of more than {MAX_MESSAGE} octets"));
        }
        self.0.extend_from_slice(piece);
        if *kind == MORE {
            return Ok(None);
        }
        let octets = std::mem::take(&mut self.0);
        serde_json::from_slice(&octets)
            .map(Some)
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

    fn job(arguments: usize) -> Job {
        let arguments = (0..arguments).map(|number| format!("--set=links.air.loss={number}%")).collect();
        Job {
            directory: "/tmp".into(),
            arguments,
            fingerprint: u64::MAX,
            case: 7,
            sample_every: Some(Duration::from_millis(10)),
            wifi: Wifi::Kernel,
        }
    }

    #[test]
    fn a_message_of_several_datagrams_arrives_whole() {
        let mut inbox = Inbox::default();
        for sent in [job(0), job(1000)] {
            let mut received = None;
            for datagram in datagrams(&sent).expect("it has a form") {
                assert_eq!(received, None, "the last datagram completes it");
                received = inbox.add(&datagram).expect("it is right");
            }
            assert_eq!(received, Some(sent));
        }
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_the_next_message_arrives() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.add::<Job>(&[]), Ok(None));
        assert!(inbox.add::<Job>(&[LAST, b'?']).is_err());
        let whole = datagrams(&job(0)).expect("it has a form");
        assert_eq!(inbox.add(&whole[0]), Ok(Some(job(0))));
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
