//! RTCP: sender and receiver reports in compound packets (RFC 3550, section 6).

use super::VERSION;

/// Packet types (RFC 3550, section 12.1).
const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
/// The item of a source description that names an endpoint.
const CNAME: u8 = 1;

/// Octets of an RTCP packet's header, of what a sender tells of itself, and of a report block.
const HEADER: usize = 4;
const SENDER_INFO: usize = 20;
const BLOCK: usize = 24;

/// What a sender tells of itself (RFC 3550, section 6.4.1).
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

/// What a receiver tells of one source (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source.
    pub ssrc: u32,
    /// The part that was lost since the report before, in 256ths.
    pub fraction_lost: u8,
    /// Packets lost in all, -2^23 to 2^23 - 1: duplicates count against losses.
    pub lost: i32,
    /// The highest sequence number received, with the count of its wraps above it.
    pub highest: u32,
    /// The interarrival jitter by the payload's clock.
    pub jitter: u32,
    /// The middle 32 bits of the NTP timestamp of the source's last report; 0 without one.
    pub last_report: u32,
    /// How long ago that came, in 2^-16 seconds.
    pub since_last_report: u32,
}

/// What a participant reports: a sender report if it has sent since its report before, else a
/// receiver report, and the description that every compound packet has (RFC 3550, section 6.1).
#[derive(Clone, Copy, Debug)]
pub struct Reports<'a> {
    /// The participant.
    pub ssrc: u32,
    /// What it sent, if it sends.
    pub sender: Option<SenderInfo>,
    /// What it received, a block a source; beyond 31 they are left out.
    pub blocks: &'a [ReportBlock],
    /// Its name; cut to 255 octets.
    pub cname: &'a [u8],
}

/// An RTCP packet within a compound one.
#[derive(Clone, Debug)]
pub enum Control<'a> {
    /// A sender report.
    Sender {
        /// Who reports.
        ssrc: u32,
        /// What it sent.
        info: SenderInfo,
        /// What it received.
        blocks: ReportBlocks<'a>,
    },
    /// A receiver report.
    Receiver {
        /// Who reports.
        ssrc: u32,
        /// What it received.
        blocks: ReportBlocks<'a>,
    },
    /// Anything else: a source description, a goodbye.
    Other {
        /// Its packet type.
        packet_type: u8,
    },
}

/// The packets of a compound one, in order.
#[derive(Clone, Debug)]
pub struct Compound<'a>(&'a [u8]);

/// Report blocks, in order.
#[derive(Clone, Debug)]
pub struct ReportBlocks<'a>(&'a [u8]);

impl<'a> Compound<'a> {
    /// Reads the payload of a UDP datagram; `None` if it is no compound RTCP packet by the checks
    /// of RFC 3550, appendix A.2: all packets are of version 2, the first is a report, padding is
    /// at the end of the last alone, lengths add up to the datagram's, and each report has the
    /// blocks that it says.
    pub fn parse(octets: &'a [u8]) -> Option<Self> {
        let mut rest = octets;
        while !rest.is_empty() {
            let is_first = rest.len() == octets.len();
            let (packet, behind) = split(rest)?;
            let [first, packet_type, ..] = *packet.first_chunk::<HEADER>()?;
            let is_report = matches!(packet_type, SENDER_REPORT | RECEIVER_REPORT);
            let has_padding = first & 0x20 != 0;
            if first >> 6 != VERSION
                || (is_first && (has_padding || !is_report))
                || (has_padding && !behind.is_empty())
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
            rest = behind;
        }
        (!octets.is_empty()).then_some(Self(octets))
    }
}

/// The first RTCP packet, and what is behind it.
fn split(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let [_, _, high, low] = *octets.first_chunk()?;
    octets.split_at_checked(HEADER + 4 * usize::from(u16::from_be_bytes([high, low])))
}

impl<'a> Iterator for Compound<'a> {
    type Item = Control<'a>;

    fn next(&mut self) -> Option<Control<'a>> {
        let (packet, behind) = split(self.0)?;
        self.0 = behind;
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
        let (block, behind) = self.0.split_at_checked(BLOCK)?;
        self.0 = behind;
        let [fraction_lost, ..] = long(block, 4)?.to_be_bytes();
        Some(ReportBlock {
            ssrc: long(block, 0)?,
            fraction_lost,
            // 24 bits with a sign.
            lost: (long(block, 4)? << 8).cast_signed() >> 8,
            highest: long(block, 8)?,
            jitter: long(block, 12)?,
            last_report: long(block, 16)?,
            since_last_report: long(block, 20)?,
        })
    }
}

/// Four octets from `at` on.
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
        // The list of items ends with a zero, and goes on to the next word.
        let chunk = (4 + 2 + cname.len() + 1).next_multiple_of(4);
        put_header(out, 1, SOURCE_DESCRIPTION, chunk);
        let end = out.len() + chunk;
        out.extend(self.ssrc.to_be_bytes());
        out.extend([CNAME, cname.len() as u8]);
        out.extend(cname);
        out.resize(end, 0);
    }
}

/// The header of a packet with `count` blocks or chunks, and `len` octets behind it.
fn put_header(out: &mut Vec<u8>, count: u8, packet_type: u8, len: usize) {
    out.extend([VERSION << 6 | count, packet_type]);
    // Whole words, the header's own not counted.
    out.extend(((len / 4) as u16).to_be_bytes());
}
