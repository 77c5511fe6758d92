//! The driver of an interface, as `ethtool -i` shows it.

use std::io;
use std::os::fd::BorrowedFd;

use super::request::Request;

/// `ETHTOOL_GDRVINFO`, the octets of `struct ethtool_drvinfo`, and where the name is in it.
const GET_DRIVER_INFO: u32 = 3;
const INFO: usize = 196;
const NAME: std::ops::Range<usize> = 4..36;

/// The name of the driver.
pub(super) fn name(interface: &str, socket: BorrowedFd<'_>) -> io::Result<String> {
    let mut info = [0; INFO];
    info[..4].copy_from_slice(&GET_DRIVER_INFO.to_ne_bytes());
    Request::about(interface)?.ethtool(socket, &mut info)?;
    let name = info[NAME].split(|octet| *octet == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}
