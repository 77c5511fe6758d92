//! Lists of exactly two. Serde's own arrays accept longer lists and drop the rest.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A list of two.
pub(super) fn exact<'de, T, D>(deserializer: D) -> Result<[T; 2], D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(Pair(PhantomData))
}

/// A list of two, if given.
pub(super) fn optional<'de, T, D>(deserializer: D) -> Result<Option<[T; 2]>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    exact(deserializer).map(Some)
}

struct Pair<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Pair<T> {
    type Value = [T; 2];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of length 2")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<[T; 2], A::Error> {
        let mut values = Vec::with_capacity(2);
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        let count = values.len();
        values.try_into().map_err(|_| A::Error::invalid_length(count, &self))
    }
}
