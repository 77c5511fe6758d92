//! Values of a link as they are typed on a command line.

/// What stands in for an unlimited rate: the fastest that a scenario can have. A packet of 1500
/// octets takes 12 ns.
pub const UNLIMITED: &str = "1000 Gbit/s";

/// Keys of which each direction can have its own value, none of which contains a colon.
pub const IS_OF_A_DIRECTION: [&str; 9] =
    ["rate", "delay", "jitter", "delay-correlation", "loss", "duplicate", "corrupt", "reorder", "queue"];

/// Keys of a link as a whole. Their values may have colons, too.
pub const OF_BOTH_DIRECTIONS: [&str; 3] = ["only", "except", "connections"];

/// What a name from elsewhere is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A key of another name.
    Key(&'static str),
    /// No key; what to do instead.
    Instead(&'static str),
}

impl Meant {
    /// What to say behind an unknown key.
    pub fn told(self) -> String {
        match self {
            Self::Key(key) => format!(" (did you mean {key:?}?)"),
            Self::Instead(advice) => format!(" ({advice})"),
        }
    }
}

/// What `tc`, Mahimahi and others call a key, and what it is called here.
const ELSEWHERE: [(&str, &str); 36] = [
    ("bandwidth", "rate"),
    ("bitrate", "rate"),
    ("buffer", "queue"),
    ("buffer-size", "queue"),
    ("bw", "rate"),
    ("connection", "connections"),
    ("correlation", "delay-correlation"),
    ("corruption", "corrupt"),
    ("cut", "connections"),
    ("drop", "loss"),
    ("dup", "duplicate"),
    ("duplication", "duplicate"),
    ("exclude", "except"),
    ("filter", "only"),
    ("lag", "delay"),
    ("latency", "delay"),
    ("limit", "queue"),
    ("limit-data", "connections"),
    ("packet-loss", "loss"),
    ("plr", "loss"),
    ("port", "only"),
    ("proto", "only"),
    ("protocol", "only"),
    ("queue-limit", "queue"),
    ("queue-size", "queue"),
    ("refuse", "connections"),
    ("reordering", "reorder"),
    ("reset", "connections"),
    ("reset-peer", "connections"),
    ("speed", "rate"),
    ("target", "only"),
    ("target-addr", "only"),
    ("target-port", "only"),
    ("target-proto", "only"),
    ("throughput", "rate"),
    ("variation", "jitter"),
];

/// What others have a flag for, and lasthop has none.
const INSTEAD: [(&str, &str); 9] = [
    ("down", DIRECTIONS),
    ("download", DIRECTIONS),
    ("downlink", DIRECTIONS),
    ("up", DIRECTIONS),
    ("upload", DIRECTIONS),
    ("uplink", DIRECTIONS),
    (
        "burst",
        "losses come in bursts with the loss \"1% in bursts of 4\"; there is no token bucket: each packet takes its time at the rate",
    ),
    (
        "mtu",
        "a link has no MTU of its own; behind it, with --as-root, `ip link set hop mtu 1400` sets that of its device",
    ),
    ("rtt", "the delay is one-way: half of the round-trip time"),
];

const DIRECTIONS: &str = "a key takes a value for each direction as DOWN:UP, such as the rate 10mbit:2mbit";

/// The key of a link that is meant by a name, which may be from elsewhere.
pub fn key_of(name: &str) -> Option<&'static str> {
    let own = IS_OF_A_DIRECTION.into_iter().chain(OF_BOTH_DIRECTIONS).find(|key| *key == name);
    own.or_else(|| match meant_by(name)? {
        Meant::Key(key) => Some(key),
        Meant::Instead(_) => None,
    })
}

/// What is meant by a name from elsewhere.
pub fn meant_by(name: &str) -> Option<Meant> {
    let of = |names: &[(&'static str, &'static str)]| {
        names.iter().find(|(other, _)| *other == name).map(|(_, meant)| *meant)
    };
    of(&ELSEWHERE).map(Meant::Key).or_else(|| of(&INSTEAD).map(Meant::Instead))
}

/// `VALUE` or `DOWN:UP` as the values that a scenario has for the download and for the upload.
pub fn of_directions(key: &str, text: &str) -> Result<[String; 2], String> {
    let (down, up) = text.split_once(':').unwrap_or((text, text));
    if [down, up].iter().any(|value| value.trim().is_empty()) {
        return Err("a value is missing; expected VALUE or DOWN:UP".to_owned());
    }
    Ok([in_a_file(key, down)?, in_a_file(key, up)?])
}

/// The value of a key of a link as a scenario has it.
pub fn in_a_file(key: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_number = text.parse::<f64>().is_ok();
    match key {
        "loss" | "duplicate" | "corrupt" | "reorder" | "delay-correlation" if text == "0" => {
            Ok("0%".to_owned())
        }
        "delay-correlation" if is_number => {
            Err(format!("{text:?} has no unit; expected a percentage, such as 25%, or a time, such as 1s"))
        }
        // A scenario takes 1 for certainty; who types --loss 1 means a percentage.
        "loss" | "duplicate" | "corrupt" | "reorder" if is_number => {
            Err(format!("{text:?} has no unit; expected a percentage, such as 1%"))
        }
        "queue" if is_number => Ok(format!("{text} packets")),
        "rate" if text == "unlimited" => Ok(UNLIMITED.to_owned()),
        "delay" | "jitter" if text == "0" => Ok("0 s".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// The value of a key of a link, such as `hop.forward.rate`, as people type it.
pub fn typed<'v>(key: &str, in_a_file: &'v str) -> &'v str {
    match key.rsplit_once('.') {
        Some((_, "rate")) if in_a_file == UNLIMITED => "unlimited",
        _ => in_a_file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_as_people_type_them() {
        for (key, typed, meant) in [
            ("queue", "50", "50 packets"),
            ("rate", "unlimited", UNLIMITED),
            ("delay", "0", "0 s"),
            ("loss", "0", "0%"),
            ("delay-correlation", "0", "0%"),
            ("jitter", " 5ms ", "5ms"),
        ] {
            assert_eq!(in_a_file(key, typed).as_deref(), Ok(meant));
            assert!(key != "rate" || super::typed("hop.rate", meant) == typed);
        }
        assert!(in_a_file("loss", "1").is_err_and(|problem| problem.contains("expected a percentage")));
    }
}
