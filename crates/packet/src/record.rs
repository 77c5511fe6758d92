//! Packets that are stored, or sent to another machine.

use std::num::NonZeroU16;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::packet::Packet;
use crate::payload::{NoPayload, Payload, PayloadRecord};
use crate::wire::{ParseError, emit, parse};

/// Why a record is no valid packet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// Its headers do not parse.
    #[error(transparent)]
    Headers(#[from] ParseError),
    /// No packet has such a payload.
    #[error("the payload is too large, or lies beyond the end of its stream")]
    Payload,
}

/// A packet as octets, with the properties that are not in the octets.
///
/// A simulated stream is stored by its name, not its octets, so that it is recognized on the other
/// side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketRecord {
    /// The complete packet if it is unedited, otherwise its headers.
    wire: Vec<u8>,
    /// The payload of an edited packet, or of one created here.
    payload: Option<PayloadRecord>,
    segment_size: Option<NonZeroU16>,
}

impl From<&Packet> for PacketRecord {
    fn from(packet: &Packet) -> Self {
        let segment_size = packet.segment_size();
        if let Some(original) = packet.original() {
            return Self { wire: original.to_vec(), payload: None, segment_size };
        }
        let payload = packet.payload().clone().into();
        // The headers alone are a packet that parses, independent of the size of the payload.
        let mut headers = packet.clone();
        headers.set_payload(Payload::EMPTY);
        Self { wire: emit(&headers).to_vec(), payload: Some(payload), segment_size }
    }
}

impl TryFrom<PacketRecord> for Packet {
    type Error = RecordError;

    fn try_from(record: PacketRecord) -> Result<Self, RecordError> {
        let mut packet = parse(Bytes::from(record.wire))?;
        if let Some(payload) = record.payload {
            packet.set_payload(payload.try_into().map_err(|NoPayload| RecordError::Payload)?);
        }
        packet.set_segment_size(record.segment_size);
        Ok(packet)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;
    use crate::header::{Ip, Tcp, Timestamps};
    use crate::seq::Seq;
    use crate::wire::samples;

    fn there_and_back(packet: &Packet) -> Packet {
        Packet::try_from(PacketRecord::from(packet)).expect("it was one")
    }

    #[test]
    fn a_packet_comes_back_as_it_was() {
        let host = Ipv4Addr::LOCALHOST.into();
        let mut tcp = Tcp { seq: Seq(7), window: 99, ..Tcp::default() };
        tcp.options.timestamps = Some(Timestamps { value: 1, echo_reply: 2 });
        let stream = Payload::Stream { stream: 3, offset: 1 << 40, len: 70_000 };
        for payload in [stream.clone(), Payload::Bytes(stream.octets()), Payload::EMPTY] {
            let mut packet = Packet::tcp_segment(Ip::new(host, host), tcp.clone(), payload);
            packet.set_segment_size(NonZeroU16::new(1400));
            let back = there_and_back(&packet);
            assert_eq!((back.ip(), back.tcp(), back.len()), (packet.ip(), packet.tcp(), packet.len()));
            assert_eq!((back.payload(), back.segment_size()), (packet.payload(), packet.segment_size()));
        }
    }

    proptest! {
        #[test]
        fn unedited_octets_stay_the_same(packet in samples::packet()) {
            let came = parse(emit(&packet)).expect("we wrote it");
            prop_assert_eq!(emit(&there_and_back(&came)), emit(&came));
        }

        #[test]
        fn any_record_is_a_packet_that_can_be_cut_or_an_error(
            wire in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)),
            (stream, offset, len) in any::<(u32, u64, u32)>(),
            packet in samples::packet(),
        ) {
            let wire = wire.unwrap_or_else(|| PacketRecord::from(&packet).wire);
            for offset in [offset, u64::MAX - 1, 0] {
                for len in [len, u32::MAX, 10] {
                    let payload = Some(PayloadRecord::Stream { stream, offset, len });
                    let record = PacketRecord { wire: wire.clone(), payload, segment_size: None };
                    if let Ok(packet) = Packet::try_from(record) {
                        let _ = (packet.segment_len(), packet.payload().slice(1, usize::MAX));
                    }
                }
            }
        }
    }
}
