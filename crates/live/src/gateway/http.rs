//! As much of HTTP as a scraper needs: `GET` of a fixed page, and nothing else.

/// A request is never longer, in octets: a line, and headers that nobody here reads.
const LONGEST_REQUEST: usize = 8192;

/// The answer to a request, as it is sent. `page` gives the body for a path, or nothing.
pub fn answer(request: &[u8], page: impl FnOnce(&str) -> Option<String>) -> Vec<u8> {
    let (status, body) = status_and_body(request, page);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// Whether a request is whole, or longer than any.
pub fn is_whole(request: &[u8]) -> bool {
    ends(request) || request.len() > LONGEST_REQUEST
}

fn ends(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n")
}

fn status_and_body(request: &[u8], page: impl FnOnce(&str) -> Option<String>) -> (&'static str, String) {
    if request.len() > LONGEST_REQUEST {
        return ("431 Request Header Fields Too Large", "too long\n".to_owned());
    }
    let line = request.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let bad = ("400 Bad Request", "expected GET /metrics\n".to_owned());
    let Ok(line) = std::str::from_utf8(line) else { return bad };
    if !ends(request) {
        return bad;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ask(request: &[u8]) -> String {
        let answer = answer(request, |path| (path == "/metrics").then(|| "figures\n".to_owned()));
        String::from_utf8(answer).expect("answers are text")
    }

    #[test]
    fn there_is_one_method_and_what_it_gets() {
        let answer = ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
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
