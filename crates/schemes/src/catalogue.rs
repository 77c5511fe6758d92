//! Every scheme there is, by name.

use crate::scheme::{Scheme, SchemeError};
use crate::{icmp, lle, none, snoop};

/// The schemes, in the order of tables.
pub static CATALOGUE: [&Scheme; 5] =
    [&none::SCHEME, &snoop::SCHEME, &icmp::SIMPLE, &icmp::REFINED, &lle::SCHEME];

/// The scheme of this name.
pub fn find(name: &str) -> Result<&'static Scheme, SchemeError> {
    CATALOGUE.into_iter().find(|scheme| scheme.name == name).ok_or_else(|| SchemeError::Unknown {
        name: name.chars().take(40).collect(),
        known: CATALOGUE.map(|scheme| scheme.name).join(", "),
    })
}
