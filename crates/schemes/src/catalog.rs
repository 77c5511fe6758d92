//! All schemes by name.

use crate::scheme::{Scheme, SchemeError};

/// The schemes, in the order used in tables.
pub static CATALOG: &[&Scheme] = &[
    &crate::none::SCHEME,
    &crate::snoop::SCHEME,
    &crate::wtcp::SCHEME,
    &crate::eln::SCHEME,
    &crate::icmp::SIMPLE,
    &crate::icmp::REFINED,
    &crate::ebsn::SCHEME,
    &crate::dda::SCHEME,
    &crate::lle::SCHEME,
    &crate::packet_control::SCHEME,
    &crate::itcp::SCHEME,
    &crate::cicada::SCHEME,
    &crate::as_tcp::SCHEME,
    &crate::c3tcp::SCHEME,
];

/// The scheme with this name.
pub fn find(name: &str) -> Result<&'static Scheme, SchemeError> {
    let names = || CATALOG.iter().map(|scheme| scheme.name).collect::<Vec<_>>().join(", ");
    let found = CATALOG.iter().find(|scheme| scheme.name == name).copied();
    found.ok_or_else(|| SchemeError::Unknown { name: name.chars().take(40).collect(), known: names() })
}
