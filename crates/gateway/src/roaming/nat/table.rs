//! The table of nftables by which a guard drops packets, as netlink messages (`linux/netfilter/nf_tables.h`).
//!
//! In the words of `nft`, with the prefix 10.77.0.0/16 of the clients:
//!
//! ```text
//! table ip lasthop-PID {
//!     flags owner                       # the kernel removes it when its owner ends, in whatever way
//!     set served { type ether_addr; }
//!     set held { type ether_addr; flags timeout; }
//!     set awaited { type ether_addr; flags dynamic,timeout; }
//!     set noticed { type ether_addr; flags dynamic,timeout; }
//!     set moving { type inet_service; flags timeout; }
//!     chain forward {
//!         type filter hook forward priority -10; policy accept;
//!         ip saddr 10.77.0.0/16 ether saddr != @served ether saddr @held drop
//!         ct state established,related accept
//!         ip saddr 10.77.0.0/16 ether saddr != @served ether saddr @awaited drop
//!         ip saddr 10.77.0.0/16 ether saddr != @served ether saddr != @noticed \
//!             add @noticed { ether saddr timeout 10m } add @awaited { ether saddr timeout 5s } drop
//!     }
//!     chain input {
//!         type filter hook input priority -10; policy accept;
//!         ct state != established,related th dport @moving drop
//!     }
//! }
//! ```

use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_linux::netlink::written;

/// A request: its type, flags and message.
pub(super) type Step = (u16, u16, Vec<u8>);

/// The sets of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// The MAC addresses of clients whose packets pass.
    Served,
    /// Those of clients whose state is on its way, and whose packets are dropped.
    Held,
    /// Those of others that have come, whose packets are dropped if the kernel does not know their connections.
    Awaited,
    /// Those of clients that have been awaited since they came.
    Noticed,
    /// Ports whose connections are moving.
    Moving,
}

/// The maximum number of elements of a set. If there is no room for a client, its packets pass.
const MAX_ELEMENTS: u32 = 65_536;

/// How long a client that is not served counts as noticed.
const NOTICED: Duration = Duration::from_secs(600);

const NFTABLES: u16 = 0x0a00;
const NEW_TABLE: u16 = NFTABLES;
const NEW_CHAIN: u16 = NFTABLES | 3;
const NEW_RULE: u16 = NFTABLES | 6;
const NEW_SET: u16 = NFTABLES | 9;
const NEW_ELEMENT: u16 = NFTABLES | 0x0c;
const DELETE_ELEMENT: u16 = NFTABLES | 0x0e;

/// `NLM_F_CREATE`, also with `NLM_F_APPEND`.
const CREATE: u16 = 0x400;
const APPEND: u16 = 0xc00;

/// `NF_INET_LOCAL_IN`, `NF_INET_FORWARD`, and a place before the filters of others.
const LOCAL_IN: u32 = 1;
const FORWARD: u32 = 2;
const PRIORITY: i32 = -10;

/// `NFT_TABLE_F_OWNER`: the table goes with the socket that created it (Linux 5.12).
const OWNER: u32 = 2;
/// `NFT_SET_TIMEOUT` and `NFT_SET_EVAL`.
const WITH_TIMEOUT: u32 = 0x10;
const BY_RULES: u32 = 0x20;

/// Verdicts: `NF_DROP` and `NF_ACCEPT`.
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// The bits of `ct state established,related`.
const IN_TABLE: u32 = 1 << 1 | 1 << 2;

impl Set {
    const fn name(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Held => "held",
            Self::Awaited => "awaited",
            Self::Noticed => "noticed",
            Self::Moving => "moving",
        }
    }
}

/// The requests that create a table. With the prefix of clients, it guards these.
pub(super) fn new(table: &str, clients: Option<(Ipv4Addr, u8)>, hold: Duration) -> Vec<Step> {
    let mut steps = vec![(NEW_TABLE, CREATE, message(&[text(1, table), number(2, OWNER)]))];
    // The types are names for `nft`: an Ethernet address, and a port.
    for (id, set, kind, len, flags) in [
        (1, Set::Served, 9, 6, 0),
        (2, Set::Held, 9, 6, WITH_TIMEOUT),
        (3, Set::Awaited, 9, 6, WITH_TIMEOUT | BY_RULES),
        (4, Set::Noticed, 9, 6, WITH_TIMEOUT | BY_RULES),
        (5, Set::Moving, 13, 2, WITH_TIMEOUT),
    ] {
        let parts = [
            text(1, table),
            text(2, set.name()),
            number(3, flags),
            number(4, kind),
            number(5, len),
            nested(9, &[number(1, MAX_ELEMENTS)]),
            number(10, id),
        ];
        steps.push((NEW_SET, CREATE, message(&parts)));
    }
    if let Some((address, len)) = clients {
        steps.push(chain(table, "forward", FORWARD));
        let of_others = [from_prefix(address, len), sender(), vec![lookup(Set::Served, false)]].concat();
        let dropped = |set| vec![lookup(set, true), verdict(DROP)];
        steps.push(rule(table, "forward", &[of_others.clone(), dropped(Set::Held)].concat()));
        steps.push(rule(table, "forward", &[is_in_table(true), vec![verdict(ACCEPT)]].concat()));
        steps.push(rule(table, "forward", &[of_others.clone(), dropped(Set::Awaited)].concat()));
        // In this order: a client for which there is no room to be noticed is not awaited.
        let first = vec![
            lookup(Set::Noticed, false),
            added(Set::Noticed, NOTICED),
            added(Set::Awaited, hold),
            verdict(DROP),
        ];
        steps.push(rule(table, "forward", &[of_others, first].concat()));
    }
    steps.push(chain(table, "input", LOCAL_IN));
    let port = load("payload", &[number(2, 2), number(3, 2), number(4, 2)]);
    let drop_moving = [is_in_table(false), vec![port, lookup(Set::Moving, true), verdict(DROP)]];
    steps.push(rule(table, "input", &drop_moving.concat()));
    steps
}

/// The request that adds elements to a set, for this time if it has time-outs. Before Linux 6.12, one that is there keeps
/// its time.
pub(super) fn put(table: &str, set: Set, keys: &[Vec<u8>], time: Option<Duration>) -> Step {
    (NEW_ELEMENT, CREATE, elements(table, set, keys, time))
}

/// The requests that remove elements from a set, if they are there.
pub(super) fn remove(table: &str, set: Set, keys: &[Vec<u8>]) -> [Step; 2] {
    // The removal of one that is not would be refused, and that takes the kernel several milliseconds.
    let elements = elements(table, set, keys, None);
    [(NEW_ELEMENT, CREATE, elements.clone()), (DELETE_ELEMENT, 0, elements)]
}

fn elements(table: &str, set: Set, keys: &[Vec<u8>], time: Option<Duration>) -> Vec<u8> {
    let element = |key: &Vec<u8>| {
        let time = time.map(|time| milliseconds(4, time));
        nested(1, &[nested(1, &[written(1, key)]), time.unwrap_or_default()])
    };
    let all: Vec<_> = keys.iter().map(element).collect();
    message(&[text(1, table), text(2, set.name()), nested(3, &all)])
}

fn chain(table: &str, name: &str, hook: u32) -> Step {
    let hook = nested(4, &[number(1, hook), number(2, PRIORITY.cast_unsigned())]);
    let parts = [text(1, table), text(3, name), hook, number(5, ACCEPT), text(7, "filter")];
    (NEW_CHAIN, CREATE, message(&parts))
}

fn rule(table: &str, chain: &str, expressions: &[Vec<u8>]) -> Step {
    (NEW_RULE, APPEND, message(&[text(1, table), text(2, chain), nested(4, expressions)]))
}

/// A message about objects of IPv4, after its header.
fn message(parts: &[Vec<u8>]) -> Vec<u8> {
    [&[libc::AF_INET as u8, 0, 0, 0][..], &parts.concat()].concat()
}

/// Whether a packet's source has this prefix.
fn from_prefix(address: Ipv4Addr, len: u8) -> Vec<Vec<u8>> {
    let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
    let source = load("payload", &[number(2, 1), number(3, 12), number(4, 4)]);
    vec![source, masked(mask.to_be_bytes()), compared(0, &address.octets())]
}

/// Loads the source of an Ethernet frame. Lookups leave it there.
fn sender() -> Vec<Vec<u8>> {
    // `NFT_META_IIFTYPE`, and `ARPHRD_ETHER`, in the machine's order.
    let kind = load("meta", &[number(2, 8)]);
    let address = load("payload", &[number(2, 0), number(3, 6), number(4, 6)]);
    vec![kind, compared(0, &1_u16.to_ne_bytes()), address]
}

/// Whether the kernel knows a packet's connection, or not.
fn is_in_table(is_known: bool) -> Vec<Vec<u8>> {
    let state = load("ct", &[number(2, 0)]);
    vec![state, masked(IN_TABLE.to_ne_bytes()), compared(u32::from(is_known), &[0; 4])]
}

/// An expression that loads something into the first register.
fn load(name: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    expression(name, &[&[number(1, 1)], parts].concat())
}

/// Keeps bits of the first register.
fn masked(mask: [u8; 4]) -> Vec<u8> {
    let value = |number, octets: &[u8]| nested(number, &[written(1, octets)]);
    let parts = [number(1, 1), number(2, 1), number(3, 4), value(4, &mask), value(5, &[0; 4])];
    expression("bitwise", &parts)
}

/// Whether the first register is equal to a value (`operator` 0), or not (1).
fn compared(operator: u32, value: &[u8]) -> Vec<u8> {
    expression("cmp", &[number(1, 1), number(2, operator), nested(3, &[written(1, value)])])
}

/// Whether the first register is in a set, or not.
fn lookup(set: Set, is_in: bool) -> Vec<u8> {
    expression("lookup", &[text(1, set.name()), number(2, 1), number(5, u32::from(!is_in))])
}

/// Adds the first register to a set. If there is no room, the rule ends here.
fn added(set: Set, time: Duration) -> Vec<u8> {
    expression("dynset", &[text(1, set.name()), number(3, 0), number(4, 1), milliseconds(6, time)])
}

fn verdict(code: u32) -> Vec<u8> {
    let verdict = nested(2, &[nested(2, &[number(1, code)])]);
    expression("immediate", &[number(1, 0), verdict])
}

fn expression(name: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    nested(1, &[text(1, name), nested(2, parts)])
}

fn text(number: u16, text: &str) -> Vec<u8> {
    written(number, &[text.as_bytes(), &[0]].concat())
}

fn number(number: u16, value: u32) -> Vec<u8> {
    written(number, &value.to_be_bytes())
}

fn milliseconds(number: u16, time: Duration) -> Vec<u8> {
    written(number, &(time.as_millis() as u64).to_be_bytes())
}

fn nested(number: u16, parts: &[Vec<u8>]) -> Vec<u8> {
    const NESTED: u16 = 0x8000;
    written(number | NESTED, &parts.concat())
}
