//! The values of a link's keys on the command line.

/// The value for an unlimited rate: the highest rate of a scenario, at which a packet of 1500
/// octets takes 12 ns.
pub const UNLIMITED: &str = "1000 Gbit/s";

/// Keys that can have a value for each direction. Their values do not contain colons.
pub const IS_OF_A_DIRECTION: [&str; 9] =
    ["rate", "delay", "jitter", "delay-correlation", "loss", "duplicate", "corrupt", "reorder", "queue"];

/// Keys with one value for both directions, which may contain colons.
pub const OF_BOTH_DIRECTIONS: [&str; 3] = ["only", "except", "connections"];

/// The meaning of another tool's name for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A key with another name.
    Key(&'static str),
    /// Not a key; advice on what to do instead.
    Instead(&'static str),
}

impl Meant {
    /// The text after an unknown key in an error.
    pub fn suffix(self) -> String {
        match self {
            Self::Key(key) => format!(" (did you mean {key:?}?)"),
            Self::Instead(advice) => format!(" ({advice})"),
        }
    }
}

/// The names of keys in `tc`, Mahimahi and other tools, and here.
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

/// Flags of other tools without a counterpart here, with advice.
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

/// The key of a link with this name, here or in another tool.
pub fn key_of(name: &str) -> Option<&'static str> {
    let own = IS_OF_A_DIRECTION.into_iter().chain(OF_BOTH_DIRECTIONS).find(|key| *key == name);
    own.or_else(|| match meant_by(name)? {
        Meant::Key(key) => Some(key),
        Meant::Instead(_) => None,
    })
}

/// The meaning of another tool's name.
pub fn meant_by(name: &str) -> Option<Meant> {
    let of = |names: &[(&'static str, &'static str)]| {
        names.iter().find(|(other, _)| *other == name).map(|(_, meant)| *meant)
    };
    of(&ELSEWHERE).map(Meant::Key).or_else(|| of(&INSTEAD).map(Meant::Instead))
}

/// Parses `VALUE` or `DOWN:UP`. Returns the values of the download and the upload in the form of a
/// scenario.
pub fn of_directions(key: &str, text: &str) -> Result<[String; 2], String> {
    let (down, up) = text.split_once(':').unwrap_or((text, text));
    if [down, up].iter().any(|value| value.trim().is_empty()) {
        return Err("a value is missing; expected VALUE or DOWN:UP".to_owned());
    }
    Ok([in_a_file(key, down), in_a_file(key, up)])
}

/// Converts the value of a link's key to the form of a scenario.
pub fn in_a_file(key: &str, text: &str) -> String {
    let text = text.trim();
    match key {
        "loss" | "duplicate" | "corrupt" | "reorder" | "delay-correlation" if text == "0" => "0%".to_owned(),
        "queue" if text.parse::<f64>().is_ok() => format!("{text} packets"),
        "rate" if text == "unlimited" => UNLIMITED.to_owned(),
        "delay" | "jitter" if text == "0" => "0 s".to_owned(),
        _ => text.to_owned(),
    }
}

/// Converts the value of a link's key, such as `hop.forward.rate`, to the form in which users type
/// it.
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
    fn values_are_accepted_in_the_form_in_which_users_type_them() {
        for (key, typed, meant) in [
            ("queue", "50", "50 packets"),
            ("rate", "unlimited", UNLIMITED),
            ("delay", "0", "0 s"),
            ("loss", "0", "0%"),
            ("delay-correlation", "0", "0%"),
            ("jitter", " 5ms ", "5ms"),
        ] {
            assert_eq!(in_a_file(key, typed), meant);
            assert!(key != "rate" || super::typed("hop.rate", meant) == typed);
        }
    }
}
