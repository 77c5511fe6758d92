//! The subset of HTTP that a scraper needs: `GET` of a fixed page.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The maximum length of a request in octets: a line, and headers, of which only `Host` is read.
const LONGEST_REQUEST: usize = 8192;

/// The values of `Host` that a listener accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// `localhost` or an address, for a listener that only this machine can reach: a page of
    /// another site, whose name resolves to this machine (DNS rebinding), must not read it.
    Local,
    /// Any name, for a listener that others reach by a name.
    Any,
}

/// The answer to a request, as it is sent. `page` returns the body for a path, if there is one.
pub fn answer(request: &[u8], host: Host, page: impl FnOnce(&str) -> Option<String>) -> Vec<u8> {
    let (status, body) = status_and_body(request, host, page);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// Whether a request is complete, or too long.
pub fn is_whole(request: &[u8]) -> bool {
    ends(request) || request.len() > LONGEST_REQUEST
}

fn ends(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n")
}

fn status_and_body(
    request: &[u8],
    host: Host,
    page: impl FnOnce(&str) -> Option<String>,
) -> (&'static str, String) {
    if request.len() > LONGEST_REQUEST {
        return ("431 Request Header Fields Too Large", "too long\n".to_owned());
    }
    let line = request.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let bad = ("400 Bad Request", "expected GET /metrics\n".to_owned());
    let Ok(line) = std::str::from_utf8(line) else { return bad };
    if !ends(request) {
        return bad;
    }
    if host == Host::Local && !hosts(request).all(is_local) {
        return ("421 Misdirected Request", "expected localhost, or an address, as the host\n".to_owned());
    }
    match line.trim_end().split(' ').collect::<Vec<_>>()[..] {
        ["GET", path, version] if version.starts_with("HTTP/1.") => match page(path) {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", "expected /metrics or /healthz\n".to_owned()),
        },
        [_, _, version] if version.starts_with("HTTP/1.") => {
            ("405 Method Not Allowed", "expected GET\n".to_owned())
        }
        _ => bad,
    }
}

/// The values of all `Host` headers of a request (RFC 9110, section 7.2).
fn hosts(request: &[u8]) -> impl Iterator<Item = &[u8]> {
    let headers =
        request.split(|octet| *octet == b'\n').skip(1).take_while(|line| !line.trim_ascii().is_empty());
    headers.filter_map(|line| {
        let at = line.iter().position(|octet| *octet == b':')?;
        line[..at].trim_ascii().eq_ignore_ascii_case(b"host").then(|| line[at + 1..].trim_ascii())
    })
}

/// Whether a host, with or without a port, is `localhost` or an address.
fn is_local(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|octet| octet.is_ascii_digit()) => name,
        _ => host,
    };
    let address = without_port.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    without_port.eq_ignore_ascii_case("localhost")
        || without_port.parse::<Ipv4Addr>().is_ok()
        || address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_local_listener_refuses_requests_for_other_hosts() {
        let status = |host: Host, headers: &str| {
            let request = format!("GET /metrics HTTP/1.1\r\n{headers}\r\n");
            let answer = String::from_utf8(answer(request.as_bytes(), host, |_| Some(String::new())));
            answer.expect("answers are text").split(' ').nth(1).map(str::to_owned)
        };
        let of = |host, headers: &str| status(host, headers).expect("a status line");
        for own in ["localhost", "LocalHost:9477", "127.0.0.1:9477", "10.0.0.1", "[::1]:9477", "[::1]"] {
            assert_eq!(of(Host::Local, &format!("Host: {own}\r\n")), "200", "{own}");
        }
        assert_eq!(of(Host::Local, ""), "200", "HTTP/1.0, which no browser speaks");
        let others = [
            "evil.example",
            "evil.example:9477",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            "::1",
        ];
        for other in others {
            assert_eq!(of(Host::Local, &format!("hOST :{other}\r\n")), "421", "{other}");
            assert_eq!(of(Host::Any, &format!("Host: {other}\r\n")), "200", "{other}");
        }
        assert_eq!(of(Host::Local, "Host: localhost\r\nHost: evil.example\r\n"), "421", "which of them?");
    }

    fn ask(request: &[u8]) -> String {
        let answer =
            answer(request, Host::Local, |path| (path == "/metrics").then(|| "figures\n".to_owned()));
        String::from_utf8(answer).expect("answers are text")
    }

    #[test]
    fn only_get_of_a_known_page_succeeds() {
        let answer = ask(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nfigures\n"),
            "{answer}"
        );
        assert!(answer.contains("Content-Length: 8\r\n"));
        for (request, status) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"GET /metrics\r\n\r\n", "400"),
            (b"GET /metrics HTTP/1.1\r\n", "400"),
            (b"", "400"),
            ("a".repeat(20_000).as_bytes(), "431"),
        ] {
            assert!(is_whole(request) || status == "400", "an end of the request is one, too");
            let answer = ask(request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
    }

    proptest! {
        #[test]
        fn garbage_gets_an_answer_and_never_the_page(
            garbage in prop::collection::vec(any::<u8>(), 0..3000),
        ) {
            let answer = ask(&garbage);
            prop_assert!(answer.starts_with("HTTP/1.1 4"));
        }
    }
}
