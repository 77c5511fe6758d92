//! Flow offload: connections that nftables forwards outside the usual path, in the kernel or in the
//! network card.

use std::io;

use super::nftables::{self, Listed};
use lasthop_linux::netlink::{Attribute, attributes, text};

/// A flowtable of nftables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flowtable {
    /// The names of its table and of itself, such as `fw4` and `ft`.
    pub(super) table: String,
    pub(super) name: String,
    /// The interfaces between which it forwards.
    pub(super) interfaces: Vec<String>,
    /// Whether the network card forwards (`flags offload`), so that frames of an offloaded
    /// connection do not reach the kernel.
    pub(super) is_hardware: bool,
}

/// The flowtables of the calling thread's network namespace.
pub(super) fn flowtables() -> io::Result<Vec<Flowtable>> {
    let mut found = Vec::new();
    nftables::dump::<()>(Listed::Flowtables, |described| {
        found.push(flowtable(described));
        None
    })?;
    Ok(found)
}

/// Attributes of a flowtable, of its hook, and of the hook's interfaces
/// (`linux/netfilter/nf_tables.h`).
const TABLE: u16 = 1;
const NAME: u16 = 2;
const HOOK: u16 = 3;
const FLAGS: u16 = 7;
const HOOK_INTERFACES: u16 = 3;
const INTERFACE: u16 = 1;
/// `NFT_FLOWTABLE_HW_OFFLOAD`.
const HARDWARE: u32 = 1;

fn flowtable(described: &[u8]) -> Flowtable {
    let mut flowtable =
        Flowtable { table: String::new(), name: String::new(), interfaces: Vec::new(), is_hardware: false };
    for Attribute { number, value } in attributes(described) {
        match number {
            TABLE => flowtable.table = text(value),
            NAME => flowtable.name = text(value),
            HOOK => flowtable.interfaces.extend(interfaces(value)),
            FLAGS => {
                let flags = value.first_chunk().map_or(0, |flags| u32::from_be_bytes(*flags));
                flowtable.is_hardware = flags & HARDWARE != 0;
            }
            _ => {}
        }
    }
    flowtable
}

fn interfaces(hook: &[u8]) -> impl Iterator<Item = String> {
    let lists = attributes(hook).filter(|attribute| attribute.number == HOOK_INTERFACES);
    let interfaces = lists.flat_map(|list| attributes(list.value));
    interfaces.filter(|attribute| attribute.number == INTERFACE).map(|attribute| text(attribute.value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use lasthop_linux::netlink::written;

    #[test]
    fn a_flowtable_has_its_names_interfaces_and_hardware_flag() {
        let name = |number, name: &str| written(number, &[name.as_bytes(), &[0]].concat());
        let list = [name(INTERFACE, "wlan0"), name(INTERFACE, "eth0")].concat();
        let hook = [written(1, &[0; 4]), written(HOOK_INTERFACES, &list)].concat();
        let described = |flags: u32| {
            let flags = written(FLAGS, &flags.to_be_bytes());
            [name(TABLE, "fw4"), name(NAME, "ft"), written(HOOK, &hook), flags].concat()
        };
        let hardware = flowtable(&described(1));
        assert_eq!((&*hardware.table, &*hardware.name), ("fw4", "ft"));
        assert_eq!(hardware.interfaces, ["wlan0", "eth0"]);
        // Bit 1 requests counters.
        assert_eq!((hardware.is_hardware, flowtable(&described(2)).is_hardware), (true, false));
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = flowtable(&garbage);
        }
    }
}
