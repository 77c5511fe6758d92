//! As much of HTTP as a scraper needs: `GET` of a fixed page, and nothing else.

use std::io::{self, Read, Write};

/// A request is never longer, in octets: a line, and headers that nobody here reads.
const LONGEST_REQUEST: usize = 8192;
/// Nor does it come in more pieces.
const MOST_READS: usize = 64;

/// Reads a request from a stream and answers it. `page` gives the body for a path, or nothing. A stream that says nothing in time
/// is an error; the caller has set its time-outs.
pub fn serve<S: Read + Write>(stream: &mut S, page: impl FnOnce(&str) -> Option<String>) -> io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    for _ in 0..MOST_READS {
        let len = stream.read(&mut piece)?;
        request.extend_from_slice(&piece[..len]);
        if len == 0 || is_whole(&request) || request.len() > LONGEST_REQUEST {
            break;
        }
    }
    let (status, body) = answer(&request, page);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

fn is_whole(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n")
}

fn answer(request: &[u8], page: impl FnOnce(&str) -> Option<String>) -> (&'static str, String) {
    if request.len() > LONGEST_REQUEST {
        return ("431 Request Header Fields Too Large", "too long\n".to_owned());
    }
    let line = request.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let bad = ("400 Bad Request", "expected GET /metrics\n".to_owned());
    let Ok(line) = std::str::from_utf8(line) else { return bad };
    if !is_whole(request) {
        return bad;
    }
    match line.trim_end().split(' ').collect::<Vec<_>>()[..] {
        ["GET", path, version] if version.starts_with("HTTP/1.") => match page(path) {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", "there are /metrics and /healthz\n".to_owned()),
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

    /// Gives a request in pieces, and keeps the answer.
    struct Client {
        request: Vec<u8>,
        piece: usize,
        answer: Vec<u8>,
    }

    impl Read for Client {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let len = self.piece.min(self.request.len()).min(into.len());
            into[..len].copy_from_slice(&self.request[..len]);
            self.request.drain(..len);
            Ok(len)
        }
    }

    impl Write for Client {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.answer.extend_from_slice(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn ask(request: &[u8], piece: usize) -> String {
        let mut client = Client { request: request.to_vec(), piece, answer: Vec::new() };
        serve(&mut client, |path| (path == "/metrics").then(|| "figures\n".to_owned()))
            .expect("no I/O fails here");
        String::from_utf8(client.answer).expect("answers are text")
    }

    #[test]
    fn there_is_one_method_and_what_it_gets() {
        let answer = ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 7);
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
            let answer = ask(request, 1000);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
    }

    proptest! {
        #[test]
        fn garbage_gets_an_answer_and_never_the_page(
            garbage in prop::collection::vec(any::<u8>(), 0..3000),
            piece in 1_usize..500,
        ) {
            let answer = ask(&garbage, piece);
            prop_assert!(answer.starts_with("HTTP/1.1 4"));
        }
    }
}
