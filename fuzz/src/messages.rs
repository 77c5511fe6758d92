//! Messages between access points.

use lasthop_peering::FramingError;
use lasthop_peering::framing::{Decoder, HEAD, VERSION, head};

/// The first octet is the limit, the second the length of the pieces in which the rest arrives. However it is divided, the
/// same messages come out, none longer than the limit, and they are the octets that came, with their heads. What is
/// refused is refused for its version or its length.
pub fn messages(data: &[u8]) {
    let [limit, piece, octets @ ..] = data else { return };
    let limit = u32::from(*limit);
    let (whole, end) = decode(octets, limit, usize::MAX);
    assert_eq!(decode(octets, limit, usize::from(*piece).max(1)), (whole.clone(), end));
    let mut written = Vec::new();
    for message in &whole {
        written.extend(head(message.len(), limit).expect("it is within the limit"));
        written.extend(message);
    }
    let rest = octets.strip_prefix(&*written).expect("the same octets");
    match end {
        None => {}
        Some(FramingError::Version(version)) => assert!(version != VERSION && rest.first() == Some(&version)),
        Some(FramingError::TooLong { length, .. }) => {
            assert!(rest.len() >= HEAD && length > u64::from(limit));
        }
    }
}

/// The messages, and why there are no more.
fn decode(mut octets: &[u8], limit: u32, piece: usize) -> (Vec<Vec<u8>>, Option<FramingError>) {
    let (mut decoder, mut messages) = (Decoder::new(limit), Vec::new());
    while !octets.is_empty() {
        let space = decoder.space();
        assert!(!space.is_empty() && space.len() <= HEAD.max(limit as usize));
        let length = space.len().min(piece).min(octets.len());
        space[..length].copy_from_slice(&octets[..length]);
        octets = &octets[length..];
        match decoder.advance(length) {
            Ok(message) => messages.extend(message),
            Err(error) => return (messages, Some(error)),
        }
    }
    (messages, None)
}
