//! RTCP: sender and receiver reports in compound packets (RFC 3550, section 6).

use super::VERSION;

/// Packet types (RFC 3550, section 12.1).
const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
/// The item of a source description with the name of an endpoint.
const CNAME: u8 = 1;

/// Octets of an RTCP packet's header, of the sender information, and of a report block.
const HEADER: usize = 4;
const SENDER_INFO: usize = 20;
const BLOCK: usize = 24;

/// The sender information (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// When the report was sent, in 2^-32 seconds: an NTP timestamp.
    pub ntp: u64,
    /// The same moment by the payload's clock.
    pub rtp_timestamp: u32,
    /// RTP packets sent; wraps.
    pub packets: u32,
    /// Octets of their payloads; wraps.
    pub octets: u32,
}

/// A receiver's report about one source (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source.
    pub ssrc: u32,
    /// The fraction that was lost since the previous report, in 256ths.
    pub fraction_lost: u8,
    /// Packets lost in all, -2^23 to 2^23 - 1: duplicates count against losses.
    pub lost: i32,
    /// The highest sequence number received, with the number of its wraps in the upper bits.
    pub highest: u32,
    /// The interarrival jitter by the payload's clock.
    pub jitter: u32,
    /// The middle 32 bits of the NTP timestamp of the source's last report; 0 without one.
    pub last_report: u32,
    /// The time since that report arrived, in 2^-16 seconds.
    pub since_last_report: u32,
}

/// The reports of a participant: a sender report if it has sent since its previous report,
/// otherwise a receiver report, and the source description that every compound packet has (RFC
/// 3550, section 6.1).
#[derive(Clone, Copy, Debug)]
pub struct Reports<'a> {
    /// The participant.
    pub ssrc: u32,
    /// The sender information, if it sends.
    pub sender: Option<SenderInfo>,
    /// Its reception, one block per source; those after the 31st are omitted.
    pub blocks: &'a [ReportBlock],
    /// Its canonical name, truncated to 255 octets.
    pub cname: &'a [u8],
}

/// An RTCP packet within a compound one.
#[derive(Clone, Debug)]
pub enum Control<'a> {
    /// A sender report.
    Sender {
        /// The participant that reports.
        ssrc: u32,
        /// The sender information.
        info: SenderInfo,
        /// Its reception.
        blocks: ReportBlocks<'a>,
    },
    /// A receiver report.
    Receiver {
        /// The participant that reports.
        ssrc: u32,
        /// Its reception.
        blocks: ReportBlocks<'a>,
    },
    /// Anything else: a source description, a goodbye.
    Other {
        /// Its packet type.
        packet_type: u8,
    },
}

/// The packets of a compound packet, in order.
#[derive(Clone, Debug)]
pub struct Compound<'a>(&'a [u8]);

/// Report blocks, in order.
#[derive(Clone, Debug)]
pub struct ReportBlocks<'a>(&'a [u8]);

impl<'a> Compound<'a> {
    /// Reads the payload of a UDP datagram; `None` if it is no compound RTCP packet by the checks
    /// of RFC 3550, appendix A.2: all packets have version 2, the first is a report, only the last
    /// has padding, the lengths add up to the datagram's, and each report has the stated number of
    /// blocks.
    pub fn parse(octets: &'a [u8]) -> Option<Self> {
        let mut rest = octets;
        while !rest.is_empty() {
            let is_first = rest.len() == octets.len();
            let (packet, remaining) = split(rest)?;
            let [first, packet_type, ..] = *packet.first_chunk::<HEADER>()?;
            let is_report = matches!(packet_type, SENDER_REPORT | RECEIVER_REPORT);
            let has_padding = first & 0x20 != 0;
            if first >> 6 != VERSION
                || (is_first && (has_padding || !is_report))
                || (has_padding && !remaining.is_empty())
            {
                return None;
            }
            let blocks = BLOCK * usize::from(first & 0x1f);
            let needs = match packet_type {
                SENDER_REPORT => HEADER + 4 + SENDER_INFO + blocks,
                RECEIVER_REPORT => HEADER + 4 + blocks,
                _ => HEADER,
            };
            if packet.len() < needs {
                return None;
            }
            rest = remaining;
        }
        (!octets.is_empty()).then_some(Self(octets))
    }
}

/// The first RTCP packet, and the rest.
fn split(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let [_, _, high, low] = *octets.first_chunk()?;
    octets.split_at_checked(HEADER + 4 * usize::from(u16::from_be_bytes([high, low])))
}

impl<'a> Iterator for Compound<'a> {
    type Item = Control<'a>;

    fn next(&mut self) -> Option<Control<'a>> {
        let (packet, remaining) = split(self.0)?;
        self.0 = remaining;
        let [first, packet_type, ..] = *packet.first_chunk::<HEADER>()?;
        let blocks = BLOCK * usize::from(first & 0x1f);
        match packet_type {
            SENDER_REPORT => {
                let info = packet.get(HEADER + 4..)?;
                let info = SenderInfo {
                    ntp: u64::from(long(info, 0)?) << 32 | u64::from(long(info, 4)?),
                    rtp_timestamp: long(info, 8)?,
                    packets: long(info, 12)?,
                    octets: long(info, 16)?,
                };
                let blocks = packet.get(HEADER + 4 + SENDER_INFO..)?.get(..blocks)?;
                Some(Control::Sender { ssrc: long(packet, HEADER)?, info, blocks: ReportBlocks(blocks) })
            }
            RECEIVER_REPORT => {
                let blocks = packet.get(HEADER + 4..)?.get(..blocks)?;
                Some(Control::Receiver { ssrc: long(packet, HEADER)?, blocks: ReportBlocks(blocks) })
            }
            _ => Some(Control::Other { packet_type }),
        }
    }
}

impl Iterator for ReportBlocks<'_> {
    type Item = ReportBlock;

    fn next(&mut self) -> Option<ReportBlock> {
        let (block, remaining) = self.0.split_at_checked(BLOCK)?;
        self.0 = remaining;
        let [fraction_lost, ..] = long(block, 4)?.to_be_bytes();
        Some(ReportBlock {
            ssrc: long(block, 0)?,
            fraction_lost,
            // A signed number of 24 bits.
            lost: (long(block, 4)? << 8).cast_signed() >> 8,
            highest: long(block, 8)?,
            jitter: long(block, 12)?,
            last_report: long(block, 16)?,
            since_last_report: long(block, 20)?,
        })
    }
}

/// Four octets at `at`.
fn long(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

impl Reports<'_> {
    /// Appends the compound packet: the report, and a source description with the name.
    pub fn write(&self, out: &mut Vec<u8>) {
        let blocks = &self.blocks[..self.blocks.len().min(31)];
        let (packet_type, info) = match self.sender {
            Some(_) => (SENDER_REPORT, SENDER_INFO),
            None => (RECEIVER_REPORT, 0),
        };
        put_header(out, blocks.len() as u8, packet_type, 4 + info + BLOCK * blocks.len());
        out.extend(self.ssrc.to_be_bytes());
        if let Some(SenderInfo { ntp, rtp_timestamp, packets, octets }) = self.sender {
            out.extend(ntp.to_be_bytes());
            for word in [rtp_timestamp, packets, octets] {
                out.extend(word.to_be_bytes());
            }
        }
        for block in blocks {
            let lost = block.lost.clamp(-(1 << 23), (1 << 23) - 1).cast_unsigned() & 0x00ff_ffff;
            let lost = u32::from(block.fraction_lost) << 24 | lost;
            let timing = [block.jitter, block.last_report, block.since_last_report];
            for word in [block.ssrc, lost, block.highest].into_iter().chain(timing) {
                out.extend(word.to_be_bytes());
            }
        }
        let cname = &self.cname[..self.cname.len().min(255)];
        // The list of items ends with a zero, and is padded to the next word.
        let chunk = (4 + 2 + cname.len() + 1).next_multiple_of(4);
        put_header(out, 1, SOURCE_DESCRIPTION, chunk);
        let end = out.len() + chunk;
        out.extend(self.ssrc.to_be_bytes());
        out.extend([CNAME, cname.len() as u8]);
        out.extend(cname);
        out.resize(end, 0);
    }
}

/// The header of a packet with `count` blocks or chunks, followed by `len` octets.
fn put_header(out: &mut Vec<u8>, count: u8, packet_type: u8, len: usize) {
    out.extend([VERSION << 6 | count, packet_type]);
    // In words, without the header's own.
    out.extend(((len / 4) as u16).to_be_bytes());
}
