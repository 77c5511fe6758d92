//! Capture files for Wireshark and tcpdump (the IETF draft "PCAP Now Generic Capture File Format").

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::packet::Packet;
use crate::time::Instant;
use crate::wire;

/// Timestamps count units of 10^-9 seconds.
const NANOSECONDS: u8 = 9;

/// The link type of all interfaces, `LINKTYPE_LINUX_SLL`, which Linux writes when it captures at
/// several interfaces at once. libpcap refuses raw IP (`LINKTYPE_RAW`) at more than one interface,
/// because its own number for that type differs between systems.
const LINK_TYPE: DataLink = DataLink::LINUX_SLL;

/// `ARPHRD_NONE`: the interface has no link-layer addresses.
const NO_ADDRESSES: u16 = 0xfffe;

/// The direction in which a packet crosses an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// From the link into the node.
    In,
    /// From the node onto the link.
    Out,
}

/// Writes packets with the interface where they were seen and the time, in nanoseconds since the
/// start of the run (a viewer shows the run as the first seconds of 1970). The file is the same on
/// every machine.
pub struct PcapngWriter<W: io::Write> {
    inner: PcapNgWriter<W>,
    interfaces: u32,
    /// The interface of dropped packets; `None` before the first.
    of_dropped: Option<u32>,
}

/// The name of the interface of dropped packets.
const DROPPED: &str = "dropped";

impl<W: io::Write> PcapngWriter<W> {
    /// Writes the file header. Interface `n` of [`Self::write`] is `interfaces[n]`, a name of at
    /// most 65,535 octets of UTF-8.
    pub fn new(writer: W, interfaces: &[&str]) -> io::Result<Self> {
        let mut inner = PcapNgWriter::with_endianness(writer, Endianness::Little).map_err(into_io)?;
        for name in interfaces {
            if name.len() > usize::from(u16::MAX) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "an interface name above 65535 octets",
                ));
            }
            inner.write_pcapng_block(interface(name)).map_err(into_io)?;
        }
        Ok(Self { inner, interfaces: interfaces.len() as u32, of_dropped: None })
    }

    /// Writes a dropped packet again, at a separate interface named `dropped`, with a comment of at
    /// most 65,535 octets on the place and the reason.
    pub fn write_dropped(&mut self, at: Instant, packet: &Packet, comment: &str) -> io::Result<()> {
        let id = if let Some(id) = self.of_dropped {
            id
        } else {
            self.inner.write_pcapng_block(interface(DROPPED)).map_err(into_io)?;
            *self.of_dropped.insert(self.interfaces)
        };
        self.write_with(id, at, Crossing::Out, packet, vec![EnhancedPacketOption::Comment(comment.into())])
    }

    /// Writes one complete packet, as [`wire::emit`] encodes it. Fails if there is no such
    /// interface, or if `W` fails.
    pub fn write(
        &mut self,
        interface: u32,
        at: Instant,
        crossing: Crossing,
        packet: &Packet,
    ) -> io::Result<()> {
        self.write_with(interface, at, crossing, packet, Vec::new())
    }

    /// The same with a comment of at most 65,535 octets.
    pub fn write_commented(
        &mut self,
        interface: u32,
        at: Instant,
        crossing: Crossing,
        packet: &Packet,
        comment: &str,
    ) -> io::Result<()> {
        let comment = vec![EnhancedPacketOption::Comment(comment.into())];
        self.write_with(interface, at, crossing, packet, comment)
    }

    fn write_with(
        &mut self,
        interface: u32,
        at: Instant,
        crossing: Crossing,
        packet: &Packet,
        options: Vec<EnhancedPacketOption<'_>>,
    ) -> io::Result<()> {
        let mut octets = cooked_header(crossing, packet).to_vec();
        octets.extend_from_slice(&wire::emit(packet));
        let block = EnhancedPacketBlock {
            interface_id: interface,
            // pcap-file accepts a duration and writes nanoseconds, independent of the interface's
            // resolution.
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: octets.len() as u32,
            data: Cow::Borrowed(&octets),
            options,
        };
        self.inner.write_pcapng_block(block).map_err(into_io)?;
        Ok(())
    }

    /// Flushes, and returns the writer. The file has no end mark: without this call it is complete
    /// except for octets that `W` still buffers.
    pub fn finish(self) -> io::Result<W> {
        let mut writer = self.inner.into_inner();
        writer.flush()?;
        Ok(writer)
    }
}

/// An interface of this name.
fn interface(name: &str) -> InterfaceDescriptionBlock<'_> {
    let options = vec![
        InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
        InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
    ];
    InterfaceDescriptionBlock { linktype: LINK_TYPE, snaplen: 0, options }
}

/// The header of `LINKTYPE_LINUX_SLL`: packet type, interface type, an empty address, and the
/// protocol.
fn cooked_header(crossing: Crossing, packet: &Packet) -> [u8; 16] {
    let packet_type: u16 = match crossing {
        Crossing::In => 0,
        Crossing::Out => 4,
    };
    let protocol: u16 = if packet.ip().source.is_ipv4() { 0x0800 } else { 0x86dd };
    let mut header = [0; 16];
    header[..2].copy_from_slice(&packet_type.to_be_bytes());
    header[2..4].copy_from_slice(&NO_ADDRESSES.to_be_bytes());
    header[14..].copy_from_slice(&protocol.to_be_bytes());
    header
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        PcapError::InvalidInterfaceId(_) => io::Error::new(io::ErrorKind::InvalidInput, error),
        error => io::Error::other(error),
    }
}
