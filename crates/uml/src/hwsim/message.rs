//! Messages of generic netlink between the driver and a medium (`mac80211_hwsim.h`).
//!
//! All numbers are little endian, as those of the guest's processor. Attributes follow the headers, each with its length,
//! and padded to four octets.

use std::fmt;

/// `nlmsghdr` and `genlmsghdr`.
pub(super) const HEADERS: usize = 16 + 4;
/// An attribute's length and type.
const ATTRIBUTE: usize = 4;
/// Rates of a frame (`IEEE80211_TX_MAX_RATES`).
const STAGES: usize = 4;

/// `HWSIM_CMD_*`.
mod command {
    pub(super) const FRAME: u8 = 2;
    pub(super) const TX_INFO_FRAME: u8 = 3;
    pub(super) const ADD_MAC_ADDR: u8 = 7;
    pub(super) const DEL_MAC_ADDR: u8 = 8;
}

/// `HWSIM_ATTR_*`.
mod attribute {
    pub(super) const ADDR_RECEIVER: u16 = 1;
    pub(super) const ADDR_TRANSMITTER: u16 = 2;
    pub(super) const FRAME: u16 = 3;
    pub(super) const FLAGS: u16 = 4;
    pub(super) const RX_RATE: u16 = 5;
    pub(super) const SIGNAL: u16 = 6;
    pub(super) const TX_INFO: u16 = 7;
    pub(super) const COOKIE: u16 = 8;
    pub(super) const FREQ: u16 = 19;
    pub(super) const TX_INFO_FLAGS: u16 = 21;
}

/// `HWSIM_TX_CTL_REQ_TX_STATUS`, `HWSIM_TX_CTL_NO_ACK`, `HWSIM_TX_STAT_ACK`.
const WANTS_STATUS: u32 = 1;
const NO_ACK: u32 = 1 << 1;
const ACKNOWLEDGED: u32 = 1 << 2;

/// What the driver says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromRadios<'a> {
    /// A radio answers frames to this address from now on. Each is to be removed as often as it was added.
    AddAddress {
        /// The radio.
        radio: [u8; 6],
        /// The address.
        address: [u8; 6],
    },
    /// It no longer does.
    RemoveAddress {
        /// The radio.
        radio: [u8; 6],
        /// The address.
        address: [u8; 6],
    },
    /// A radio transmits a frame.
    Frame(SentFrame<'a>),
    /// Another command, which needs no answer.
    Other(u8),
}

/// A frame that a radio transmits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame<'a> {
    /// The radio.
    pub radio: [u8; 6],
    /// The MPDU, without FCS.
    pub octets: &'a [u8],
    /// Whether the driver wants the status of the frame for more than its own bookkeeping.
    pub wants_status: bool,
    /// Whether no acknowledgment is to be waited for.
    pub no_ack: bool,
    /// The center frequency of its channel, in MHz.
    pub mhz: u32,
    /// The rates to try, one after the other.
    pub stages: [Option<Stage>; STAGES],
    /// By what the driver knows the frame in its [status](TxStatus).
    pub cookie: u64,
}

/// A rate, and how often a frame is transmitted at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The position in the rates of the band, or the MCS of HT and VHT.
    pub index: u8,
    /// Transmissions at most.
    pub tries: u8,
    /// `MAC80211_HWSIM_TX_RC_*`: 1 for RTS/CTS, 2 for CTS-to-self, 4 for a short preamble, 8 for HT and 256 for VHT.
    pub flags: u16,
}

/// A frame that a radio receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFrame<'a> {
    /// The radio.
    pub radio: [u8; 6],
    /// The MPDU, without FCS. The driver drops those of less than 24 or more than 2,304 octets.
    pub octets: &'a [u8],
    /// The position of its rate in those of the band.
    pub rate: u32,
    /// Its power, in dBm.
    pub dbm: i32,
    /// The center frequency of its channel, in MHz.
    pub mhz: u32,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxStatus {
    /// The radio that has transmitted it.
    pub radio: [u8; 6],
    /// [`SentFrame::cookie`].
    pub cookie: u64,
    /// [`SentFrame::wants_status`].
    pub wants_status: bool,
    /// [`SentFrame::no_ack`].
    pub no_ack: bool,
    /// Whether it was acknowledged.
    pub acknowledged: bool,
    /// The power of the acknowledgment, in dBm; any value where it is not known.
    pub dbm: i32,
    /// The rates that were tried, and how often.
    pub stages: [Option<Stage>; STAGES],
    /// Microseconds for which it was transmitted. Drivers that were not edited ignore this.
    pub air_time: u32,
}

/// A message that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageError {
    /// The octet of the message at which that was found.
    pub at: usize,
    /// How.
    pub problem: MessageProblem,
}

/// How a message breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageProblem {
    /// It ends within its headers.
    Headers,
    /// An attribute does not fit into it, or does not cover its own header.
    Length,
    /// An attribute does not have the length that its type has.
    Size(u16),
    /// An attribute that the command needs is missing.
    Missing(u16),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "octet {}: ", self.at)?;
        match self.problem {
            MessageProblem::Headers => write!(f, "the message ends within its headers of {HEADERS} octets"),
            MessageProblem::Length => write!(f, "the attribute does not fit into the message"),
            MessageProblem::Size(kind) => write!(f, "attribute {kind} has a wrong length"),
            MessageProblem::Missing(kind) => write!(f, "attribute {kind} is missing"),
        }
    }
}

impl std::error::Error for MessageError {}

/// Reads a message of the driver.
pub fn parse(message: &[u8]) -> Result<FromRadios<'_>, MessageError> {
    let error = |at, problem| MessageError { at, problem };
    let Some(&command) = message.get(16).filter(|_| message.len() >= HEADERS) else {
        return Err(error(message.len(), MessageProblem::Headers));
    };
    let attributes = Attributes::read(message)?;
    match command {
        command::ADD_MAC_ADDR | command::DEL_MAC_ADDR => {
            let (radio, address) = (
                attributes.address(attribute::ADDR_TRANSMITTER)?,
                attributes.address(attribute::ADDR_RECEIVER)?,
            );
            Ok(if command == command::ADD_MAC_ADDR {
                FromRadios::AddAddress { radio, address }
            } else {
                FromRadios::RemoveAddress { radio, address }
            })
        }
        command::FRAME => {
            let flags = u32::from_le_bytes(attributes.fixed(attribute::FLAGS)?);
            let tries: [u8; 2 * STAGES] = attributes.fixed(attribute::TX_INFO)?;
            let rate_flags = attributes.optional(attribute::TX_INFO_FLAGS)?.unwrap_or([0; 3 * STAGES]);
            let mut stages = [None; STAGES];
            for ((stage, tries), flags) in
                stages.iter_mut().zip(tries.as_chunks::<2>().0).zip(rate_flags.as_chunks::<3>().0)
            {
                // The first index below 0 ends them.
                let ([index, tries], [_, low, high]) = (*tries, *flags);
                if index.cast_signed() < 0 {
                    break;
                }
                *stage = Some(Stage { index, tries, flags: u16::from_le_bytes([low, high]) });
            }
            Ok(FromRadios::Frame(SentFrame {
                radio: attributes.address(attribute::ADDR_TRANSMITTER)?,
                octets: attributes.get(attribute::FRAME)?,
                wants_status: flags & WANTS_STATUS != 0,
                no_ack: flags & NO_ACK != 0,
                mhz: u32::from_le_bytes(attributes.fixed(attribute::FREQ)?),
                stages,
                cookie: u64::from_le_bytes(attributes.fixed(attribute::COOKIE)?),
            }))
        }
        other => Ok(FromRadios::Other(other)),
    }
}

impl ReceivedFrame<'_> {
    /// Writes the message to the driver into `out`, which it replaces.
    pub fn write(&self, out: &mut Vec<u8>) {
        begin(out, command::FRAME);
        put(out, attribute::ADDR_RECEIVER, &self.radio);
        put(out, attribute::FRAME, self.octets);
        put(out, attribute::RX_RATE, &self.rate.to_le_bytes());
        put(out, attribute::SIGNAL, &self.dbm.to_le_bytes());
        put(out, attribute::FREQ, &self.mhz.to_le_bytes());
        end(out);
    }
}

impl TxStatus {
    /// Writes the message to the driver into `out`, which it replaces.
    pub fn write(&self, out: &mut Vec<u8>) {
        let flags =
            [(self.wants_status, WANTS_STATUS), (self.no_ack, NO_ACK), (self.acknowledged, ACKNOWLEDGED)];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag);
        // An index of -1 ends them.
        let stages = self.stages.map(|stage| stage.map_or([u8::MAX, 0], |stage| [stage.index, stage.tries]));
        begin(out, command::TX_INFO_FRAME);
        put(out, attribute::ADDR_TRANSMITTER, &self.radio);
        put(out, attribute::FLAGS, &flags.to_le_bytes());
        put(out, attribute::SIGNAL, &self.dbm.to_le_bytes());
        put(out, attribute::TX_INFO, stages.as_flattened());
        put(out, attribute::COOKIE, &self.cookie.to_le_bytes());
        put(out, attribute::RX_RATE, &self.air_time.to_le_bytes());
        end(out);
    }
}

fn begin(out: &mut Vec<u8>, command: u8) {
    out.clear();
    // The driver looks at the length and the command alone, and wants version 1.
    out.extend_from_slice(&[0; 16]);
    out.extend_from_slice(&[command, 1, 0, 0]);
}

fn put(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let len = (ATTRIBUTE + value.len()) as u16;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn end(out: &mut [u8]) {
    let len = (out.len() as u32).to_le_bytes();
    if let Some(place) = out.first_chunk_mut() {
        *place = len;
    }
}

/// The attributes of a message, by their type.
struct Attributes<'a> {
    octets: usize,
    /// Of types that the messages here have.
    values: [Option<&'a [u8]>; 1 + attribute::TX_INFO_FLAGS as usize],
}

impl<'a> Attributes<'a> {
    fn read(message: &'a [u8]) -> Result<Self, MessageError> {
        let mut values = [None; 1 + attribute::TX_INFO_FLAGS as usize];
        let mut at = HEADERS;
        while let Some(rest) = message.get(at..).filter(|rest| !rest.is_empty()) {
            let too_short = MessageError { at, problem: MessageProblem::Length };
            let [a, b, c, d] = *rest.first_chunk::<ATTRIBUTE>().ok_or(too_short)?;
            let (len, kind) = (usize::from(u16::from_le_bytes([a, b])), u16::from_le_bytes([c, d]));
            let value = rest.get(ATTRIBUTE..len).ok_or(too_short)?;
            if let Some(place) = values.get_mut(usize::from(kind)) {
                *place = Some(value);
            }
            at += len.next_multiple_of(4);
        }
        Ok(Self { octets: message.len(), values })
    }

    fn get(&self, kind: u16) -> Result<&'a [u8], MessageError> {
        let missing = MessageError { at: self.octets, problem: MessageProblem::Missing(kind) };
        self.values.get(usize::from(kind)).copied().flatten().ok_or(missing)
    }

    fn fixed<const N: usize>(&self, kind: u16) -> Result<[u8; N], MessageError> {
        let size = MessageError { at: self.octets, problem: MessageProblem::Size(kind) };
        self.get(kind)?.try_into().map_err(|_| size)
    }

    fn optional<const N: usize>(&self, kind: u16) -> Result<Option<[u8; N]>, MessageError> {
        match self.fixed(kind) {
            Ok(value) => Ok(Some(value)),
            Err(MessageError { problem: MessageProblem::Missing(_), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn address(&self, kind: u16) -> Result<[u8; 6], MessageError> {
        self.fixed(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hwsim::Hwsim;
    use crate::vhost::DeviceType as _;

    const RADIO: [u8; 6] = super::super::radio_address(1);

    /// A message of the driver, with the type of its family, in a buffer that is longer.
    fn from_driver(command: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = Vec::new();
        begin(&mut message, command);
        message[4] = 0x1c;
        for (kind, value) in attributes {
            put(&mut message, *kind, value);
        }
        end(&mut message);
        message
    }

    fn frame() -> Vec<u8> {
        from_driver(
            command::FRAME,
            &[
                (attribute::ADDR_TRANSMITTER, &RADIO),
                (attribute::FRAME, &[0x80; 25]),
                (attribute::FLAGS, &3u32.to_le_bytes()),
                (attribute::FREQ, &2412u32.to_le_bytes()),
                (attribute::TX_INFO, &[3, 2, 0, 5, 0xff, 0, 7, 7]),
                (attribute::TX_INFO_FLAGS, &[3, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                (20, &[]),
                (attribute::COOKIE, &9u64.to_le_bytes()),
            ],
        )
    }

    #[test]
    fn a_frame_has_the_rates_before_the_first_index_below_0() {
        let message = frame();
        let expected = SentFrame {
            radio: RADIO,
            octets: &[0x80; 25],
            wants_status: true,
            no_ack: true,
            mhz: 2412,
            stages: [
                Some(Stage { index: 3, tries: 2, flags: 0x0104 }),
                Some(Stage { index: 0, tries: 5, flags: 0 }),
                None,
                None,
            ],
            cookie: 9,
        };
        assert_eq!(parse(&message), Ok(FromRadios::Frame(expected)));
    }

    #[test]
    fn what_follows_a_message_in_its_buffer_does_not_belong_to_it() {
        let message = frame();
        let buffer = [&message[..], &[0xff; 100]].concat();
        assert_eq!(Hwsim.frame(&buffer), Some(&message[..]));
        assert_eq!(Hwsim.frame(&message[..message.len() - 1]), None, "it is cut");
        assert_eq!(Hwsim.frame(&[19, 0, 0, 0, 0]), None, "shorter than its headers");
    }

    #[test]
    fn addresses_come_and_go() {
        let both: [(u16, &[u8]); 2] =
            [(attribute::ADDR_TRANSMITTER, &RADIO), (attribute::ADDR_RECEIVER, &[2, 0, 0, 0, 1, 0])];
        let address = [2, 0, 0, 0, 1, 0];
        let added = from_driver(command::ADD_MAC_ADDR, &both);
        assert_eq!(parse(&added), Ok(FromRadios::AddAddress { radio: RADIO, address }));
        let removed = from_driver(command::DEL_MAC_ADDR, &both);
        assert_eq!(parse(&removed), Ok(FromRadios::RemoveAddress { radio: RADIO, address }));
        assert_eq!(parse(&from_driver(5, &[])), Ok(FromRadios::Other(5)));
    }

    #[test]
    fn a_message_that_breaks_a_rule_is_an_error_with_its_place() {
        let message = frame();
        let problem = |message: &[u8]| parse(message).expect_err("it is wrong");
        assert_eq!(
            problem(&message[..19]).to_string(),
            "octet 19: the message ends within its headers of 20 octets"
        );
        assert_eq!(
            problem(&message[..29]).to_string(),
            "octet 20: the attribute does not fit into the message"
        );
        let mut short = message.clone();
        short[20] = 3;
        assert_eq!(problem(&short).problem, MessageProblem::Length, "it does not cover its own header");
        let wrong = from_driver(command::ADD_MAC_ADDR, &[(attribute::ADDR_TRANSMITTER, &[1, 2])]);
        assert_eq!(problem(&wrong).problem, MessageProblem::Size(attribute::ADDR_TRANSMITTER));
        let missing = from_driver(command::FRAME, &[(attribute::FLAGS, &[0; 4])]);
        assert_eq!(problem(&missing).problem, MessageProblem::Missing(attribute::TX_INFO));
    }

    #[test]
    fn what_goes_to_the_driver_is_what_it_reads() {
        let mut message = Vec::new();
        let received = ReceivedFrame { radio: RADIO, octets: &[8; 27], rate: 3, dbm: -50, mhz: 2412 };
        received.write(&mut message);
        assert_eq!(message.len(), 20 + 12 + 32 + 8 + 8 + 8);
        assert_eq!(message[..4], (message.len() as u32).to_le_bytes());
        assert_eq!(message[16..20], [2, 1, 0, 0]);
        assert_eq!(message[20..32], [10, 0, 1, 0, 0x42, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(message[72..80], [8, 0, 6, 0, 0xce, 0xff, 0xff, 0xff], "-50");
        let status = TxStatus {
            radio: RADIO,
            cookie: 9,
            wants_status: true,
            no_ack: false,
            acknowledged: true,
            dbm: -50,
            stages: [Some(Stage { index: 3, tries: 2, flags: 4 }), None, None, None],
            air_time: 1500,
        };
        status.write(&mut message);
        assert_eq!(message[16], 3);
        assert_eq!(message[32..40], [8, 0, 4, 0, 5, 0, 0, 0]);
        assert_eq!(message[48..60], [12, 0, 7, 0, 3, 2, 0xff, 0, 0xff, 0, 0xff, 0]);
        assert_eq!(message[72..80], [8, 0, 5, 0, 0xdc, 5, 0, 0]);
    }
}
