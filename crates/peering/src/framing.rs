//! Messages in a sequence of octets.
//!
//! ```text
//! message = version in 1 octet (1), length of the content in 4 octets (big-endian), content
//! ```
//!
//! The version and the length are checked as soon as they are there, before memory is taken for the content. This
//! module knows no sockets.

/// The version of messages.
pub const VERSION: u8 = 1;

/// The octets of a message before its content.
pub const HEAD: usize = 5;

/// Octets are not a message, or a content cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// The message is from another version.
    #[error("a message of version {0}; this is version {VERSION}")]
    Version(u8),
    /// The content is longer than the limit.
    #[error("a message of {length} octets; at most {limit} are allowed")]
    TooLong {
        /// Octets of the content.
        length: u64,
        /// The maximum number of octets of a content.
        limit: u32,
    },
}

/// What precedes a content of `length` octets.
///
/// # Errors
/// [`FramingError::TooLong`].
pub fn head(length: usize, limit: u32) -> Result<[u8; HEAD], FramingError> {
    let octets = check(length as u64, limit)?.to_be_bytes();
    Ok([VERSION, octets[0], octets[1], octets[2], octets[3]])
}

fn check(length: u64, limit: u32) -> Result<u32, FramingError> {
    match u32::try_from(length) {
        Ok(octets) if octets <= limit => Ok(octets),
        _ => Err(FramingError::TooLong { length, limit }),
    }
}

/// Divides a sequence of octets into messages. It has the memory of one message, of at most the limit.
///
/// ```
/// use lasthop_peering::framing::{Decoder, head};
///
/// let mut octets = head(2, 100)?.to_vec();
/// octets.extend(b"ok");
/// let mut decoder = Decoder::new(100);
/// let mut messages = Vec::new();
/// while !octets.is_empty() {
///     let space = decoder.space();
///     let length = space.len().min(octets.len());
///     space[..length].copy_from_slice(&octets[..length]);
///     octets.drain(..length);
///     messages.extend(decoder.advance(length)?);
/// }
/// assert_eq!(messages, [b"ok"]);
/// # Ok::<(), lasthop_peering::FramingError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder {
    limit: u32,
    head: [u8; HEAD],
    /// Of the message's length, once the head is complete.
    content: Option<Vec<u8>>,
    /// Octets that are there, of the head or of the content.
    filled: usize,
}

impl Decoder {
    /// A decoder of messages of at most `limit` octets.
    pub const fn new(limit: u32) -> Self {
        Self { limit, head: [0; HEAD], content: None, filled: 0 }
    }

    /// Where the next octets belong; never empty. Fewer may be written.
    pub fn space(&mut self) -> &mut [u8] {
        let part = self.content.as_deref_mut().unwrap_or(&mut self.head);
        &mut part[self.filled..]
    }

    /// Whether a part of a message is there.
    pub const fn has_begun(&self) -> bool {
        self.filled > 0 || self.content.is_some()
    }

    /// Takes the octets that were written to the beginning of [`space`](Self::space), at most all of it. Returns
    /// the content of a message that they complete.
    ///
    /// # Errors
    /// The octets are no message. The decoder is of no further use: where the next message begins is not known.
    pub fn advance(&mut self, octets: usize) -> Result<Option<Vec<u8>>, FramingError> {
        let space = self.space().len();
        self.filled += octets.min(space);
        if self.content.is_none() {
            if self.filled > 0 && self.head[0] != VERSION {
                return Err(FramingError::Version(self.head[0]));
            }
            if self.filled < HEAD {
                return Ok(None);
            }
            let [_, length @ ..] = self.head;
            let length = check(u32::from_be_bytes(length).into(), self.limit)?;
            self.content = Some(vec![0; length as usize]);
            self.filled = 0;
        }
        if self.content.as_ref().is_some_and(|content| content.len() > self.filled) {
            return Ok(None);
        }
        self.filled = 0;
        Ok(self.content.take())
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The messages in octets that arrive in pieces of the given lengths, in turns.
    fn decode(octets: &[u8], limit: u32, pieces: &[usize]) -> Result<(Vec<Vec<u8>>, bool), FramingError> {
        let mut decoder = Decoder::new(limit);
        let (mut rest, mut messages) = (octets, Vec::new());
        let mut pieces = pieces.iter().cycle();
        while !rest.is_empty() {
            let piece = *pieces.next().expect("there is a piece");
            let space = decoder.space();
            assert!(!space.is_empty() && space.len() <= HEAD.max(limit as usize));
            let length = piece.min(space.len()).min(rest.len());
            space[..length].copy_from_slice(&rest[..length]);
            rest = &rest[length..];
            messages.extend(decoder.advance(length)?);
        }
        Ok((messages, decoder.has_begun()))
    }

    proptest! {
        #[test]
        fn messages_arrive_as_they_were_sent_however_they_are_divided(
            messages in vec(vec(any::<u8>(), 0..40), 0..8),
            pieces in vec(1..50_usize, 1..10),
        ) {
            let mut octets = Vec::new();
            for message in &messages {
                octets.extend(head(message.len(), 40).expect("it is short"));
                octets.extend(message);
            }
            prop_assert_eq!(decode(&octets, 40, &pieces), Ok((messages, false)));
        }

        #[test]
        fn any_octets_are_messages_within_the_limit_or_refused(
            octets in vec(prop_oneof![Just(VERSION), Just(0), any::<u8>()], 0..200),
            pieces in vec(1..50_usize, 1..10),
        ) {
            let decoded = decode(&octets, 40, &pieces);
            prop_assert_eq!(&decoded, &decode(&octets, 40, &[1]));
            if let Ok((messages, _)) = decoded {
                prop_assert!(messages.iter().all(|message| message.len() <= 40));
            }
        }
    }

    #[test]
    fn a_message_of_another_version_is_refused_at_its_first_octet() {
        assert_eq!(decode(&[2], 40, &[1]), Err(FramingError::Version(2)));
        assert_eq!(FramingError::Version(2).to_string(), "a message of version 2; this is version 1");
    }

    #[test]
    fn a_message_longer_than_the_limit_is_refused_by_both_ends() {
        let too_long = FramingError::TooLong { length: 41, limit: 40 };
        assert_eq!(head(41, 40), Err(too_long));
        assert_eq!(decode(&[VERSION, 0, 0, 0, 41], 40, &[5]), Err(too_long));
        let longest = [VERSION, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(
            decode(&longest, 40, &[5]),
            Err(FramingError::TooLong { length: u32::MAX.into(), limit: 40 })
        );
    }

    #[test]
    fn a_message_may_be_empty() {
        assert_eq!(decode(&[VERSION, 0, 0, 0, 0], 0, &[5]), Ok((vec![vec![]], false)));
    }
}
