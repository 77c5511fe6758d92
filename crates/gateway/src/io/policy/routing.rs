//! Queries for rules and routes (rtnetlink).

use std::io;

use lasthop_linux::netlink::{self, AnswerKind, Attribute, Request, attributes, text};

/// Messages about routes and rules (`linux/rtnetlink.h`), the length of their header (`struct
/// rtmsg`, `struct fib_rule_hdr`), and attributes.
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTM_NEWRULE: u16 = 32;
const RTM_GETRULE: u16 = 34;
const HEAD: usize = 12;
const RTA_TABLE: u16 = 15;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_PROTOCOL: u16 = 21;

/// The header of a query: only the address family is set.
fn head(is_v4: bool) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = if is_v4 { libc::AF_INET as u8 } else { libc::AF_INET6 as u8 };
    head
}

fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|octets| u32::from_ne_bytes(*octets))
}

/// A rule for packets that enter through a port.
pub(super) struct PortRule {
    pub(super) priority: u32,
    pub(super) port: String,
}

/// The rules with this protocol number. A kernel without the address family has none.
pub(super) fn rules_of(is_v4: bool, protocol: u8) -> io::Result<Vec<PortRule>> {
    let mut rules = Vec::new();
    let request = Request { protocol: None, kind: RTM_GETRULE, asks: AnswerKind::All, body: &head(is_v4) };
    netlink::request(request, |kind, rule| {
        let (mut is_ours, mut port, mut priority) = (false, None, 0);
        for Attribute { number: attribute, value } in attributes(rule.get(HEAD..)?) {
            match attribute {
                FRA_PROTOCOL => is_ours = value == [protocol],
                FRA_PRIORITY => priority = number(value)?,
                FRA_IIFNAME => port = Some(text(value)),
                _ => {}
            }
        }
        let port = port.filter(|_| kind == RTM_NEWRULE && is_ours);
        rules.extend(port.map(|port| PortRule { priority, port }));
        None::<()>
    })?;
    Ok(rules)
}

/// Whether there is a route in this table. Before Linux 4.20, the kernel cannot list a single
/// table; then the answer is `true`, because the list of all routes may be long.
pub(super) fn has_route(is_v4: bool, table: u32) -> io::Result<bool> {
    let body = [&head(is_v4)[..], &netlink::written(RTA_TABLE, &table.to_ne_bytes())].concat();
    let request = Request { protocol: None, kind: RTM_GETROUTE, asks: AnswerKind::AllStrictly, body: &body };
    let found = netlink::request(request, |kind, route| {
        let is_in_it = |attribute: Attribute<'_>| {
            attribute.number == RTA_TABLE && number(attribute.value) == Some(table)
        };
        (kind == RTM_NEWROUTE && attributes(route.get(HEAD..)?).any(is_in_it)).then_some(())
    });
    match found {
        Ok(found) => Ok(found.is_some()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        // The table does not exist.
        Err(error) if netlink::is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
