//! The active features of an interface, as `ethtool -k` shows them.

use std::io;
use std::os::fd::BorrowedFd;

use super::request::Request;

/// Commands, the set of the features' names, and the length of a name
/// (`linux/ethtool.h`).
const GET_SET_INFO: u32 = 0x37;
const GET_STRINGS: u32 = 0x1b;
const GET_FEATURES: u32 = 0x3a;
const FEATURE_NAMES: u32 = 4;
const NAME: usize = 32;
/// Octets of the headers of `struct ethtool_gstrings` and of `struct ethtool_gfeatures`, and of a
/// block of 32 features: available, requested, active, never changed.
const STRINGS_HEAD: usize = 12;
const FEATURES_HEAD: usize = 8;
const BLOCK: usize = 16;
const ACTIVE: usize = 8;

/// Whether the feature of this name is on; `None` if this kernel does not have it.
pub(super) fn is_on(interface: &str, socket: BorrowedFd<'_>, feature: &str) -> io::Result<Option<bool>> {
    let request = |command: &mut [u8]| Request::about(interface)?.ethtool(socket, command);
    // The mask of the requested sets has 64 bits.
    let mut set = [words(&[GET_SET_INFO, 0]), (1_u64 << FEATURE_NAMES).to_ne_bytes().to_vec()].concat();
    let count_at = set.len();
    set.extend([0; 4]);
    request(&mut set)?;
    let count = word(&set, count_at) as usize;
    let mut names = words(&[GET_STRINGS, FEATURE_NAMES, count as u32]);
    names.resize(STRINGS_HEAD + count * NAME, 0);
    request(&mut names)?;
    let Some(place) = names[STRINGS_HEAD..].chunks_exact(NAME).position(|name| is_named(name, feature))
    else {
        return Ok(None);
    };
    let blocks = count.div_ceil(32);
    let mut features = words(&[GET_FEATURES, blocks as u32]);
    features.resize(FEATURES_HEAD + blocks * BLOCK, 0);
    request(&mut features)?;
    let active = word(&features, FEATURES_HEAD + place / 32 * BLOCK + ACTIVE);
    Ok(Some(active >> (place % 32) & 1 == 1))
}

fn is_named(octets: &[u8], name: &str) -> bool {
    octets.split(|octet| *octet == 0).next() == Some(name.as_bytes())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn word(octets: &[u8], at: usize) -> u32 {
    octets.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_ne_bytes(*word))
}
