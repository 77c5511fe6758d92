//! Values of a link as they are typed on a command line.

/// What stands in for an unlimited rate: the fastest that a scenario can have. A packet of 1500
/// octets takes 12 ns.
pub const UNLIMITED: &str = "1000 Gbit/s";

/// Keys of which each direction can have its own value, none of which contains a colon.
pub const IS_OF_A_DIRECTION: [&str; 9] =
    ["rate", "delay", "jitter", "delay-correlation", "loss", "duplicate", "corrupt", "reorder", "queue"];

/// What `tc`, Mahimahi and others call a key, and what it is called here.
const ELSEWHERE: [(&str, &str); 23] = [
    ("bandwidth", "rate"),
    ("bw", "rate"),
    ("connection", "connections"),
    ("corruption", "corrupt"),
    ("cut", "connections"),
    ("drop", "loss"),
    ("duplication", "duplicate"),
    ("latency", "delay"),
    ("limit", "queue"),
    ("limit-data", "connections"),
    ("refuse", "connections"),
    ("reset", "connections"),
    ("reset-peer", "connections"),
    ("exclude", "except"),
    ("filter", "only"),
    ("packet-loss", "loss"),
    ("plr", "loss"),
    ("port", "only"),
    ("target", "only"),
    ("target-addr", "only"),
    ("target-port", "only"),
    ("target-proto", "only"),
    ("reordering", "reorder"),
];

/// The key that is meant by a name from elsewhere.
pub fn meant_by(name: &str) -> Option<&'static str> {
    ELSEWHERE.into_iter().find(|(other, _)| *other == name).map(|(_, key)| key)
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
