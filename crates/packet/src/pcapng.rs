//! A capture file that Wireshark reads (the IETF draft "PCAP Now Generic Capture File Format").

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::packet::Packet;
use crate::time::Instant;
use crate::wire;

/// Timestamps count units of 10^-9 seconds.
const NANOSECONDS: u8 = 9;

/// Writes packets with the interface that they were seen at and the time, in nanoseconds since the
/// start of the run (a viewer shows the run as the first seconds of 1970). The file is the same on
/// every machine.
pub struct PcapngWriter<W: io::Write> {
    inner: PcapNgWriter<W>,
}

impl<W: io::Write> PcapngWriter<W> {
    /// Writes the head of the file. Interface `n` of [`Self::write`] is `interfaces[n]`, a name of
    /// at most 65,535 octets of UTF-8. Every interface has raw IP packets (link type 101).
    pub fn new(writer: W, interfaces: &[&str]) -> io::Result<Self> {
        let mut inner = PcapNgWriter::with_endianness(writer, Endianness::Little).map_err(into_io)?;
        for name in interfaces {
            if name.len() > usize::from(u16::MAX) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "an interface name above 65535 octets",
                ));
            }
            let options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: 0, options };
            inner.write_pcapng_block(block).map_err(into_io)?;
        }
        Ok(Self { inner })
    }

    /// Writes one whole packet as [`wire::emit`] gives it. An error if there is no such interface,
    /// or as `W` has it.
    pub fn write(&mut self, interface: u32, at: Instant, packet: &Packet) -> io::Result<()> {
        let octets = wire::emit(packet);
        let block = EnhancedPacketBlock {
            interface_id: interface,
            // pcap-file takes a duration and writes nanoseconds, whatever the interface says.
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: octets.len() as u32,
            data: Cow::Borrowed(&octets),
            options: Vec::new(),
        };
        self.inner.write_pcapng_block(block).map_err(into_io)?;
        Ok(())
    }

    /// Flushes, and hands back what was written to. The file has no end mark: one that lacks this
    /// call is whole up to what `W` still held back.
    pub fn finish(self) -> io::Result<W> {
        let mut writer = self.inner.into_inner();
        writer.flush()?;
        Ok(writer)
    }
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        PcapError::InvalidInterfaceId(_) => io::Error::new(io::ErrorKind::InvalidInput, error),
        error => io::Error::other(error),
    }
}
