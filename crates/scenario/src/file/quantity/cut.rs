//! The TCP connections that a link resets or refuses, as written in a file or on the command line.

use lasthop_packet::units::{parse_duration, parse_octets};
use lasthop_sim::Cut;

use super::{Written, not};

impl Written for Cut {
    const NAME: &'static str = "Cut";
    const EXPECTED: &'static str = "\"kept\", \"reset\" (those that stand now), \"refused\" (those that open), or \"reset after\" with \
                                    a time or an amount of data, such as \"reset after 5 s\" or \"reset after 1 MB\"";
    const FORMS: &'static [&'static str] = &[
        "kept",
        "reset",
        "refused",
        r"reset\s+after\s+[0-9.]+([eE][+-]?[0-9]+)?\s*(ns|[uµμ]s|usec|ms|msec|s|sec|min|h)",
        r"reset\s+after\s+[0-9.]+([eE][+-]?[0-9]+)?\s*(B|kB|MB|GB|KiB|MiB|GiB)",
    ];

    fn read(text: &str) -> Result<Self, String> {
        let words = text.trim();
        match words {
            "kept" => return Ok(Self::None),
            "reset" => return Ok(Self::Standing),
            "refused" => return Ok(Self::Opening),
            _ => {}
        }
        let after = words.strip_prefix("reset").and_then(|rest| rest.trim_start().strip_prefix("after"));
        let after = after.ok_or_else(|| not::<Self>(text))?.trim();
        let zero =
            || format!("{text:?} is out of range; expected above 0: \"refused\" lets no connection open");
        match (parse_duration(after), parse_octets(after)) {
            (Ok(time), _) if time.is_zero() => Err(zero()),
            (_, Ok(0)) => Err(zero()),
            (Ok(time), _) => Ok(Self::AfterTime(time)),
            (_, Ok(octets)) => Ok(Self::AfterOctets(octets)),
            _ => Err(format!(
                "{text:?}: {after:?} is neither a time (ms, s, min, h) nor an amount of data (B, kB, MB, GB, KiB, MiB, GiB)"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn connections_are_read_in_each_of_their_forms() {
        for (text, meant) in [
            ("kept", Cut::None),
            ("reset", Cut::Standing),
            (" refused ", Cut::Opening),
            ("reset after 5 s", Cut::AfterTime(Duration::from_secs(5))),
            ("reset after 200ms", Cut::AfterTime(Duration::from_millis(200))),
            ("reset  after 1MB", Cut::AfterOctets(1_000_000)),
            ("reset after 64 KiB", Cut::AfterOctets(65_536)),
            ("reset after 1 B", Cut::AfterOctets(1)),
        ] {
            assert_eq!(Cut::read(text), Ok(meant), "{text}");
        }
        for (text, says) in [
            ("", "is not \"kept\", \"reset\""),
            ("cut", "is not \"kept\""),
            ("reset after", "\"\" is neither a time"),
            ("reset after 5", "\"5\" is neither a time"),
            (
                "reset after 1mb",
                "\"1mb\" is neither a time (ms, s, min, h) nor an amount of data (B, kB, MB,",
            ),
            ("reset 5s", "is not \"kept\""),
            ("refused after 5s", "is not \"kept\""),
            ("reset after -1 s", "\"-1 s\" is neither a time"),
            ("reset after 0 s", "expected above 0"),
            ("reset after 0 B", "expected above 0"),
        ] {
            let problem = Cut::read(text).expect_err(text);
            assert!(problem.contains(says), "{text}: {problem}");
        }
    }
}
