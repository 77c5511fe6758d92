//! A part of the traffic by protocols, addresses and ports, as written in a file or on the command
//! line.

use std::ops::RangeInclusive;

use lasthop_config::words::similar;
use lasthop_packet::{Prefix, PrefixError};
use lasthop_sim::selection::{Match, MatchedProtocol, Traffic};

use super::{Written, not};

/// The maximum length of a list: each packet is compared with all items.
const MAX_MATCHES: usize = 1_000;

impl Written for Traffic {
    const NAME: &'static str = "Traffic";
    const EXPECTED: &'static str = "\"all\", \"none\", or a list of protocols, addresses and ports, such as \"tcp:443\", \"udp\", \
                                    \"203.0.113.0/24\", \"8000-8100\" or \"tcp:[2001:db8::1]:443, icmp\"";
    const FORMS: &'static [&'static str] = &[r"[0-9A-Za-z:./,\[\] \-]+"];

    const NUMBERS: Option<RangeInclusive<i64>> = Some(0..=u16::MAX as i64);

    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" => return Ok(Self::all()),
            "none" => return Ok(Self::none()),
            "" => return Err(not::<Self>(text)),
            _ => {}
        }
        let items: Vec<&str> = text.split(',').map(str::trim).collect();
        if items.len() > MAX_MATCHES {
            return Err(format!("{} items; expected at most {MAX_MATCHES}", items.len()));
        }
        items.into_iter().map(item).collect::<Result<_, _>>().map(Self::new)
    }

    fn meant(text: &str) -> Option<String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        if protocol(text).is_some() || !rest.is_empty() && ends(rest).is_err() {
            return None;
        }
        Some(match similar(name, &["port", "ports", "tcp", "udp", "icmp"])? {
            "port" | "ports" if rest.is_empty() => return None,
            "port" | "ports" => format!("{rest:?}"),
            protocol if rest.is_empty() => format!("{protocol:?}"),
            protocol => format!("\"{protocol}:{rest}\""),
        })
    }
}

/// `PROTOCOL`, `ADDRESS`, `PORTS`, or several of them with colons between them.
fn item(text: &str) -> Result<Match, String> {
    let refused = |problem: Option<String>| problem.unwrap_or_else(|| not::<Traffic>(text));
    let (protocol, rest) = match protocol(text) {
        Some((protocol, "")) => {
            return Ok(Match { protocol: Some(protocol), ..Match::default() });
        }
        Some((protocol, rest)) => (Some(protocol), rest),
        None => (None, text),
    };
    let (network, ports) = ends(rest).map_err(refused)?;
    if ports.is_some() && protocol == Some(MatchedProtocol::Icmp) {
        return Err(format!("{text}: ICMP has no ports"));
    }
    Ok(Match { protocol, network, ports })
}

/// A protocol, and the rest of the text after a colon.
fn protocol(text: &str) -> Option<(MatchedProtocol, &str)> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    // "tcp:" is incomplete.
    let rest = if text.ends_with(':') && rest.is_empty() { ":" } else { rest };
    let protocol = match name.to_ascii_lowercase().as_str() {
        "tcp" => MatchedProtocol::Tcp,
        "udp" => MatchedProtocol::Udp,
        "icmp" => MatchedProtocol::Icmp,
        _ => return None,
    };
    Some((protocol, rest))
}

/// The problem with an address or a port; `None` if the text is neither.
type Problem = Option<String>;

/// `ADDRESS`, `PORTS` or `ADDRESS:PORTS`; with ports, an IPv6 address has brackets.
fn ends(text: &str) -> Result<(Option<Prefix>, Option<RangeInclusive<u16>>), Problem> {
    if let Some(inside) = text.strip_prefix('[') {
        let (address, rest) = inside.split_once(']').ok_or(None)?;
        let address = network(address)?;
        let ports = match rest {
            "" => None,
            rest => Some(ports(rest.strip_prefix(':').ok_or(None)?)?),
        };
        return Ok((Some(address), ports));
    }
    match text.split_once(':') {
        Some((address, of_it)) if !of_it.contains(':') => Ok((Some(network(address)?), Some(ports(of_it)?))),
        None if text.bytes().all(|octet| octet.is_ascii_digit() || octet == b'-') => {
            Ok((None, Some(ports(text)?)))
        }
        _ => Ok((Some(network(text)?), None)),
    }
}

/// `ADDRESS` or `ADDRESS/PREFIX`.
fn network(text: &str) -> Result<Prefix, Problem> {
    text.parse().map_err(|problem| match problem {
        PrefixError::Unreadable(_) => None,
        // A word without dots is rather a misspelt protocol than a host.
        PrefixError::Name(name) if !name.contains('.') => None,
        PrefixError::Name(_) | PrefixError::Length { .. } | PrefixError::HostBits { .. } => {
            Some(problem.to_string())
        }
    })
}

/// `443` or `8000-8100`.
fn ports(text: &str) -> Result<RangeInclusive<u16>, Problem> {
    let port = |digits: &str| {
        if digits.is_empty() || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
            return Err(None);
        }
        let shown: String = digits.chars().take(20).collect();
        digits
            .parse::<u16>()
            .map_err(|_| Some(format!("port {shown} is out of range; expected 0 to {}", u16::MAX)))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (port(first)?, port(last)?);
    if first > last {
        return Err(Some(format!("{text}: the last port is below the first")));
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(
        protocol: Option<MatchedProtocol>,
        network: Option<(&str, u8)>,
        ports: Option<(u16, u16)>,
    ) -> Match {
        Match {
            protocol,
            network: network
                .and_then(|(address, len)| Prefix::new(address.parse().expect("an address"), len)),
            ports: ports.map(|(first, last)| first..=last),
        }
    }

    #[test]
    fn traffic_is_read_in_each_of_its_forms() {
        let tcp = Some(MatchedProtocol::Tcp);
        let udp = Some(MatchedProtocol::Udp);
        let icmp = Some(MatchedProtocol::Icmp);
        for (text, meant) in [
            ("tcp", vec![matches(tcp, None, None)]),
            ("tcp:9999", vec![matches(tcp, None, Some((9999, 9999)))]),
            ("TCP:8000-8100", vec![matches(tcp, None, Some((8000, 8100)))]),
            ("443", vec![matches(None, None, Some((443, 443)))]),
            ("203.0.113.0/24", vec![matches(None, Some(("203.0.113.0", 24)), None)]),
            ("203.0.113.7:443", vec![matches(None, Some(("203.0.113.7", 32)), Some((443, 443)))]),
            ("udp:203.0.113.0/24:53", vec![matches(udp, Some(("203.0.113.0", 24)), Some((53, 53)))]),
            ("2001:db8::1", vec![matches(None, Some(("2001:db8::1", 128)), None)]),
            ("tcp:2001:db8::/32", vec![matches(tcp, Some(("2001:db8::", 32)), None)]),
            ("[2001:db8::1]:443", vec![matches(None, Some(("2001:db8::1", 128)), Some((443, 443)))]),
            ("tcp:[2001:db8::/32]:1-2", vec![matches(tcp, Some(("2001:db8::", 32)), Some((1, 2)))]),
            ("::1", vec![matches(None, Some(("::1", 128)), None)]),
            (
                " udp:53 , icmp:10.0.0.1,icmp",
                vec![
                    matches(udp, None, Some((53, 53))),
                    matches(icmp, Some(("10.0.0.1", 32)), None),
                    matches(icmp, None, None),
                ],
            ),
        ] {
            assert_eq!(Traffic::read(text), Ok(Traffic::new(meant)), "{text}");
        }
        assert_eq!((Traffic::read("all"), Traffic::read("none")), (Ok(Traffic::all()), Ok(Traffic::none())));
    }

    #[test]
    fn text_that_selects_no_traffic_is_refused_with_the_reason() {
        for (text, problem) in [
            ("", "is not \"all\", \"none\", or a list"),
            ("tcp,", "is not"),
            ("tcp:", "is not"),
            ("tcp:udp", "\"tcp:udp\" is not \"all\", \"none\", or a list of protocols"),
            ("sctp:80", "\"sctp:80\" is not"),
            ("tpc:80", "(did you mean \"tcp:80\"?)"),
            ("port:80", "\"8000-8100\" or \"tcp:[2001:db8::1]:443, icmp\" (did you mean \"80\"?)"),
            ("tcp,imcp", "\"imcp\" is not \"all\", \"none\", or a list of protocols"),
            ("host.lasthop:8000", "\"host.lasthop\" is a name; expected an address"),
            ("tcp:65536", "port 65536 is out of range; expected 0 to 65535"),
            ("tcp:9-8", "9-8: the last port is below the first"),
            ("tcp:80-", "is not"),
            ("-80", "is not"),
            ("10.0.0.1/33", "10.0.0.1/33: the prefix is out of range; expected 0 to 32 bits"),
            ("10.0.0.5/24", "expected 10.0.0.0/24 for the network, or 10.0.0.5 for this address alone"),
            ("tcp:[2001:db8::1/32]:443", "expected 2001:db8::/32 for the network"),
            ("::/129", "expected 0 to 128 bits"),
            ("10.0.0.1/+8", "expected 0 to 32 bits"),
            ("10.0.0.256", "is not"),
            ("[::1", "is not"),
            ("[::1]443", "is not"),
            ("2001:db8::1:99999", "is not"),
            ("icmp:53", "icmp:53: ICMP has no ports"),
        ] {
            let error = Traffic::read(text).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
        let many = vec!["1"; MAX_MATCHES + 1].join(",");
        assert!(Traffic::read(&many).is_err_and(|error| error.contains("expected at most 1000")));
    }
}
