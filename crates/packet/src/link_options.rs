//! Options in the MAC header of a frame, by which stations exchange information about the packet in
//! it.
//!
//! On the air they are a header length, in one octet, that counts itself and all options, followed
//! by the options, each with its type, the length of its data, and the data (D. Kliazovich's
//! dissertation, University of Trento 2006, section 4.4.3; there the header length also counts the
//! rest of the MAC header, which adds no information). They have no encoding on a real wire: a
//! packet leaves a radio network without them.

use thiserror::Error;

/// Maximum octets of all options of a frame, as with TCP's.
pub const MAX_OCTETS: usize = 40;
/// Octets of the header length.
const HEADER_LENGTH: usize = 1;
/// Octets of type and length.
const TYPE_AND_LENGTH: usize = 2;

/// The options of a frame; each is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LinkOptions {
    len: u8,
    octets: [u8; MAX_OCTETS],
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOption<'a> {
    /// Its type; nodes that know it read the data.
    pub kind: u8,
    /// Its data.
    pub data: &'a [u8],
}

/// Why octets are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinkOptionsError {
    /// They end before their stated length.
    #[error("the options end before their length")]
    Truncated,
    /// There are more than [`MAX_OCTETS`].
    #[error("more than {MAX_OCTETS} octets of options")]
    TooLong,
}

impl LinkOptions {
    /// No options: such a frame is a standard one.
    pub const NONE: Self = Self { len: 0, octets: [0; MAX_OCTETS] };

    /// Appends an option.
    pub fn with(mut self, kind: u8, data: &[u8]) -> Result<Self, LinkOptionsError> {
        let at = usize::from(self.len);
        let end = at + TYPE_AND_LENGTH + data.len();
        let place = self.octets.get_mut(at..end).ok_or(LinkOptionsError::TooLong)?;
        // Both fit into an octet: the place has at most `MAX_OCTETS`.
        (place[0], place[1]) = (kind, data.len() as u8);
        place[TYPE_AND_LENGTH..].copy_from_slice(data);
        self.len = end as u8;
        Ok(self)
    }

    /// Reads options after a MAC header, and returns how many octets they took.
    pub fn parse(octets: &[u8]) -> Result<(Self, usize), LinkOptionsError> {
        let &length = octets.first().ok_or(LinkOptionsError::Truncated)?;
        let length = usize::from(length);
        let mut rest = octets.get(HEADER_LENGTH..length).ok_or(LinkOptionsError::Truncated)?;
        let mut options = Self::NONE;
        while let Some((option, remaining)) = first(rest)? {
            options = options.with(option.kind, option.data)?;
            rest = remaining;
        }
        Ok((options, length))
    }

    /// The options as octets on the air; empty without options.
    pub fn emit(&self) -> Vec<u8> {
        let length = self.air_octets() as u8;
        let header = (length > 0).then_some(length);
        header.into_iter().chain(self.all().iter().copied()).collect()
    }

    /// Octets on the air, including the header length; 0 without options.
    pub const fn air_octets(&self) -> usize {
        if self.len == 0 { 0 } else { HEADER_LENGTH + self.len as usize }
    }

    /// Whether there are no options.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The options in order. A node skips unknown ones.
    pub fn iter(&self) -> impl Iterator<Item = LinkOption<'_>> {
        let mut rest = self.all();
        std::iter::from_fn(move || {
            let (option, remaining) = first(rest).ok().flatten()?;
            rest = remaining;
            Some(option)
        })
    }

    /// The data of the first option of a type.
    pub fn find(&self, kind: u8) -> Option<&[u8]> {
        self.iter().find(|option| option.kind == kind).map(|option| option.data)
    }

    fn all(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// The first option, and the rest; `None` at the end.
fn first(octets: &[u8]) -> Result<Option<(LinkOption<'_>, &[u8])>, LinkOptionsError> {
    match octets {
        [] => Ok(None),
        [_] => Err(LinkOptionsError::Truncated),
        [kind, length, rest @ ..] => {
            let (data, remaining) =
                rest.split_at_checked(usize::from(*length)).ok_or(LinkOptionsError::Truncated)?;
            Ok(Some((LinkOption { kind: *kind, data }, remaining)))
        }
    }
}

impl std::fmt::Debug for LinkOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn options_are_type_length_data_after_a_header_length() {
        let options = LinkOptions::NONE.with(7, &[1, 2]).and_then(|it| it.with(9, &[])).expect("they fit");
        assert_eq!(options.emit(), [7, 7, 2, 1, 2, 9, 0]);
        assert_eq!(options.air_octets(), 7);
        assert_eq!(options.find(7), Some(&[1, 2][..]));
        assert_eq!((options.find(9), options.find(8)), (Some(&[][..]), None));
    }

    #[test]
    fn a_frame_without_options_has_no_header_length() {
        assert_eq!((LinkOptions::NONE.air_octets(), LinkOptions::NONE.emit()), (0, vec![]));
    }

    #[test]
    fn an_option_that_does_not_fit_is_refused_and_the_others_stay() {
        let options = LinkOptions::NONE.with(1, &[0; 30]).expect("it fits");
        assert_eq!(options.with(2, &[0; 7]), Err(LinkOptionsError::TooLong));
        assert!(options.with(2, &[0; 6]).is_ok_and(|full| full.air_octets() == 1 + MAX_OCTETS));
    }

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        for octets in [&[][..], &[0], &[4, 1], &[2, 1], &[4, 1, 2, 0]] {
            assert_eq!(LinkOptions::parse(octets), Err(LinkOptionsError::Truncated), "{octets:?}");
        }
        assert_eq!(LinkOptions::parse(&[1, 99]), Ok((LinkOptions::NONE, 1)));
    }

    proptest! {
        #[test]
        fn parsed_options_are_written_unchanged(octets in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok((options, length)) = LinkOptions::parse(&octets)
                && !options.is_empty()
            {
                prop_assert_eq!(&options.emit(), &octets[..length]);
                prop_assert_eq!(LinkOptions::parse(&options.emit()), Ok((options, length)));
            }
        }
    }
}
