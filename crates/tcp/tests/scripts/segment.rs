//! How scripts write segments.

use lasthop_packet::{Ecn, SackBlocks, Seq, TcpFlags, TcpOptions, Timestamps};

/// A segment as a line describes it.
#[derive(Clone)]
pub struct Wanted {
    pub flags: String,
    pub range: Option<(u32, u32)>,
    pub ack: Option<u32>,
    pub window: Option<u16>,
    /// The reserved bits of the header.
    pub bits: Option<u8>,
    /// The ECN field of the IP header: `ect0`, `ce` or `not-ect`.
    pub ecn: Option<Ecn>,
    pub options: Option<String>,
}

impl Wanted {
    pub fn parse(text: &str) -> Result<Self, String> {
        let (text, options) = match text.split_once('<') {
            Some((text, options)) => (text, Some(options.trim().trim_end_matches('>').to_string())),
            None => (text, None),
        };
        let mut wanted =
            Self { flags: ".".into(), range: None, ack: None, window: None, bits: None, ecn: None, options };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let mut value = || number(words.next().unwrap_or_default());
            match word {
                "ack" => wanted.ack = Some(value()?),
                "win" => wanted.window = Some(value()? as u16),
                "ect0" => wanted.ecn = Some(Ecn::Ect0),
                "ce" => wanted.ecn = Some(Ecn::Ce),
                "not-ect" => wanted.ecn = Some(Ecn::NotEct),
                "bits" => wanted.bits = Some(value()? as u8),
                _ if word.contains(':') => wanted.range = Some(range(word)?),
                _ if word.chars().all(|c| "SFRPEW.".contains(c)) => wanted.flags = word.into(),
                _ => return Err(format!("{word:?} is no part of a segment")),
            }
        }
        Ok(wanted)
    }
}

/// `1:1001(1000)`; the length may be left out.
pub fn range(word: &str) -> Result<(u32, u32), String> {
    let (from, rest) = word.split_once(':').ok_or("expected FROM:TO")?;
    let (to, len) = rest.split_once('(').map_or((rest, None), |(to, len)| (to, len.strip_suffix(')')));
    let (from, to) = (number(from)?, number(to)?);
    match len {
        Some(len) if number(len)? != to.wrapping_sub(from) => Err(format!("{word:?}: the length is wrong")),
        _ => Ok((from, to)),
    }
}

/// A number; `-1` and the like count back from the initial sequence number.
pub fn number(word: &str) -> Result<u32, String> {
    word.trim().parse::<i64>().map(|n| n as u32).map_err(|_| format!("{word:?} is no number"))
}

pub fn flags(flags: TcpFlags) -> String {
    [('S', 2), ('F', 1), ('R', 4), ('E', 64), ('W', 128), ('.', 16)]
        .iter()
        .filter(|(_, bit)| flags.0 & bit != 0)
        .map(|(c, _)| *c)
        .collect()
}

pub fn show_options(options: &TcpOptions, origin: Seq) -> String {
    let mut parts = Vec::new();
    parts.extend(options.maximum_segment_size.map(|mss| format!("mss {mss}")));
    parts.extend(options.window_scale.map(|shift| format!("wscale {shift}")));
    parts.extend(options.sack_permitted.then(|| "sackOK".to_string()));
    parts.extend(options.timestamps.map(|ts| format!("TS {} {}", ts.value, ts.echo_reply)));
    let sack = options.sack.as_slice().iter();
    parts.extend(sack.map(|(left, right)| format!("sack {}:{}", *left - origin, *right - origin)));
    parts.join(", ")
}

pub fn read_options(text: &str, origin: Seq) -> TcpOptions {
    let mut options = TcpOptions::default();
    let mut sack = SackBlocks::NONE;
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let value = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok()).unwrap_or_default();
        match words[0] {
            "mss" => options.maximum_segment_size = Some(value(1) as u16),
            "wscale" => options.window_scale = Some(value(1) as u8),
            "sackOK" => options.sack_permitted = true,
            "TS" => options.timestamps = Some(Timestamps { value: value(1), echo_reply: value(2) }),
            "sack" => {
                assert!(words.len() == 2, "one block each: {part:?}");
                let (left, right) = range(words[1]).unwrap_or_else(|error| panic!("{error}"));
                sack.push(origin + left, origin + right);
            }
            other => panic!("{other:?} is no option"),
        }
    }
    options.sack = sack;
    options
}
