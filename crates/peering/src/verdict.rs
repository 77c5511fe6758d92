//! What a listener says first.

use super::error::Error;

/// What a listener says of a peer after the handshake, or of an enrolment: the first octet of its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    Welcome = 0,
    UnknownKey = 1,
    TooManyChannels = 2,
    WrongSiteKey = 3,
    Paused = 4,
    NotRecorded = 5,
}

impl Verdict {
    pub fn octet(self) -> u8 {
        self as u8
    }

    /// What follows a welcome.
    pub fn read(message: &[u8]) -> Result<&[u8], Error> {
        let (verdict, rest) = message.split_first().ok_or(Error::Answer)?;
        let refusals =
            [Self::UnknownKey, Self::TooManyChannels, Self::WrongSiteKey, Self::Paused, Self::NotRecorded];
        if *verdict == Self::Welcome.octet() {
            return Ok(rest);
        }
        let refusal = refusals.into_iter().find(|refusal| refusal.octet() == *verdict);
        Err(refusal.map_or(Error::Answer, Self::error))
    }

    pub fn error(self) -> Error {
        match self {
            Self::Welcome => Error::Answer,
            Self::UnknownKey => Error::UnknownKey,
            Self::TooManyChannels => Error::TooManyChannels,
            Self::WrongSiteKey => Error::WrongSiteKey,
            Self::Paused => Error::Paused,
            Self::NotRecorded => Error::NotRecorded,
        }
    }
}
