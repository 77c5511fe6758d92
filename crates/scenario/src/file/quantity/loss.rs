//! The packets that a link loses, as written in a file or on the command line.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::sync::Arc;

use lasthop_packet::Probability;
use lasthop_packet::units::meant_probability;
use lasthop_sim::Loss;
use lasthop_sim::loss::{GilbertElliott, Numbers};

use super::{Written, not};

/// The maximum number of ranges in a list of numbers.
const MAX_RANGES: usize = 10_000;

impl Written for Loss {
    const NAME: &'static str = "Loss";
    const EXPECTED: &'static str = "a probability such as \"1%\" or 0.01, a probability with the correlation of successive losses \
                                    (\"1% 25%\") or with the mean length of a burst (\"1% in bursts of 4\"), \"gemodel P R 1-H \
                                    1-K\" (\"gemodel 1% 25%\"), \"every 10\", or \"packets 3, 7, 9-12\"";
    const FORMS: &'static [&'static str] = &[
        r"[0-9.]+([eE][+-]?[0-9]+)?\s*%?",
        r"[0-9.]+([eE][+-]?[0-9]+)?\s*%\s+[0-9.]+([eE][+-]?[0-9]+)?\s*%",
        r"[0-9.]+([eE][+-]?[0-9]+)?\s*%\s+in bursts of\s+[0-9.]+(\s*packets?)?",
        r"gemodel(\s+[0-9.]+([eE][+-]?[0-9]+)?\s*%){1,4}",
        r"every\s+[0-9]+(\s*packets?)?",
        r"packets?\s+[0-9]+(\s*-\s*[0-9]+)?(\s*,\s*[0-9]+(\s*-\s*[0-9]+)?)*",
    ];
    const NUMBERS: Option<RangeInclusive<i64>> = Probability::NUMBERS;

    fn read(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        match trimmed.split_once(char::is_whitespace) {
            Some(("gemodel", rest)) => chain(rest).map(Self::Bursts),
            Some(("every", rest)) => whole(without_unit(rest)).map(Self::Every),
            Some(("packet" | "packets", rest)) => {
                numbers(rest).map(|numbers| Self::Numbers(Arc::new(numbers)))
            }
            _ => shares(trimmed),
        }
        .map_err(|problem| problem.unwrap_or_else(|| not::<Self>(text)))
    }

    fn meant(text: &str) -> Option<String> {
        meant_probability(text)
    }
}

/// The problem with a text of a known form; `None` if the form is unknown.
type Problem = Option<String>;

/// `1%`, `1% 25%`, `1% in bursts of 4`.
fn shares(text: &str) -> Result<Loss, Problem> {
    if let Some((share, length)) = text.split_once(" in bursts of ") {
        return gilbert_elliott(share, length).map(Loss::Bursts);
    }
    match percentages(text)?.as_slice() {
        [share] => Ok(Loss::Independent(*share)),
        [share, correlation] => GilbertElliott::correlated(*share, *correlation)
            .map(Loss::Bursts)
            .ok_or_else(|| Some("the correlation is out of range; expected 0% to below 100%".to_owned())),
        _ => Err(None),
    }
}

fn gilbert_elliott(share: &str, length: &str) -> Result<GilbertElliott, Problem> {
    let [share] = percentages(share)?[..] else { return Err(None) };
    let number = without_unit(length);
    let length: f64 = number.parse().map_err(|_| None)?;
    if !(1.0..=1e9).contains(&length) {
        return Err(Some(format!(
            "bursts of {number}: out of range; expected a mean length from 1 to 1e9 packets"
        )));
    }
    GilbertElliott::from_bursts(share, length).ok_or_else(|| {
        // A gap has at least one packet.
        let most = 100.0 * length / (length + 1.0);
        Some(format!(
            "{share} in bursts of {number}: out of range; expected at most {most:.2}% for this length"
        ))
    })
}

/// `P [R [1-H [1-K]]]`, with netem's defaults.
fn chain(text: &str) -> Result<GilbertElliott, Problem> {
    let given = percentages(text)?;
    if !(1..=4).contains(&given.len()) {
        return Err(None);
    }
    let value = |index: usize, default: Probability| given.get(index).copied().unwrap_or(default);
    let to_bad = value(0, Probability::ZERO);
    let rest = Probability::new(1.0 - to_bad.value()).unwrap_or(Probability::ZERO);
    Ok(GilbertElliott {
        to_bad,
        to_good: value(1, rest),
        loss_in_bad: value(2, Probability::ONE),
        loss_in_good: value(3, Probability::ZERO),
    })
}

/// The number in `4`, `4 packets` or `1 packet`.
fn without_unit(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix("packets").or(text.strip_suffix("packet")).unwrap_or(text).trim()
}

/// The number of a packet, or a number of packets.
fn whole(text: &str) -> Result<NonZeroU32, Problem> {
    if text.is_empty() || !text.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(None);
    }
    let shown: String = text.chars().take(20).collect();
    text.parse()
        .map_err(|_| Some(format!("{shown} is out of range; expected a number from 1 to {}", u32::MAX)))
}

/// `3, 7, 9-12`.
fn numbers(text: &str) -> Result<Numbers, Problem> {
    let items: Vec<&str> = text.split(',').collect();
    if items.len() > MAX_RANGES {
        return Err(Some(format!("{} numbers and ranges; expected at most {MAX_RANGES}", items.len())));
    }
    let range = |item: &&str| -> Result<RangeInclusive<u32>, Problem> {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (whole(first.trim())?.get(), whole(last.trim())?.get());
        if first > last {
            return Err(Some(format!("{}: the last number is below the first", item.trim())));
        }
        Ok(first..=last)
    };
    let ranges = items.iter().map(range).collect::<Result<Vec<_>, Problem>>()?;
    Numbers::new(ranges).ok_or(None)
}

/// Percentages with spaces between them. A single one may be a number from 0 to 1.
fn percentages(text: &str) -> Result<Vec<Probability>, Problem> {
    if !text.trim_end().ends_with('%') {
        return Probability::read(text).map(|share| vec![share]).map_err(|_| None);
    }
    let mut parts: Vec<&str> = text.split('%').collect();
    parts.pop();
    let read = |number: &&str| Probability::read(&format!("{number}%")).map_err(|_| None);
    parts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(value: f64) -> Probability {
        Probability::new(value / 100.0).expect("0 to 100")
    }

    #[test]
    fn losses_are_read_in_each_of_their_forms() {
        let bursts = |share, length| GilbertElliott::from_bursts(percent(share), length).map(Loss::Bursts);
        let correlated = GilbertElliott::correlated(percent(1.0), percent(25.0)).map(Loss::Bursts);
        let chain = |to_bad, to_good, loss_in_bad, loss_in_good| {
            let [to_bad, to_good, loss_in_bad, loss_in_good] =
                [to_bad, to_good, loss_in_bad, loss_in_good].map(percent);
            Some(Loss::Bursts(GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good }))
        };
        let every = |n| NonZeroU32::new(n).map(Loss::Every);
        let numbers = |ranges: &[RangeInclusive<u32>]| {
            Numbers::new(ranges.to_vec()).map(|numbers| Loss::Numbers(Arc::new(numbers)))
        };
        for (text, meant) in [
            ("1%", Some(percent(1.0).into())),
            (" 0.01 ", Some(percent(1.0).into())),
            ("0.5 %", Some(percent(0.5).into())),
            ("100%", Some(percent(100.0).into())),
            ("1% 25%", correlated.clone()),
            ("1 %  25 %", correlated),
            ("1% in bursts of 4", bursts(1.0, 4.0)),
            ("1% in bursts of 2.5 packets", bursts(1.0, 2.5)),
            ("50% in bursts of 1 packet", bursts(50.0, 1.0)),
            ("gemodel 1%", chain(1.0, 99.0, 100.0, 0.0)),
            ("gemodel 1% 10%", chain(1.0, 10.0, 100.0, 0.0)),
            ("gemodel 1% 10% 50% 0.1%", chain(1.0, 10.0, 50.0, 0.1)),
            ("every 10", every(10)),
            ("every 1 packet", every(1)),
            ("every 4294967295", every(u32::MAX)),
            ("packets 3, 7, 9-12", numbers(&[3..=3, 7..=7, 9..=12])),
            ("packet 1", numbers(&[1..=1])),
            ("packets 9 - 12,3", numbers(&[3..=3, 9..=12])),
        ] {
            assert_eq!(Loss::read(text).ok(), meant, "{text}");
        }
    }

    #[test]
    fn losses_that_mean_nothing_are_refused_with_their_reason() {
        for (text, problem) in [
            ("", "is not a probability"),
            ("101%", "is not a probability such as"),
            ("1", "(did you mean \"1%\" or \"100%\"?)"),
            ("-1%", "is not"),
            ("NaN%", "is not"),
            ("1% 100%", "the correlation is out of range; expected 0% to below 100%"),
            ("1% 25", "is not"),
            ("1% 25% 3%", "is not"),
            ("0.01 25%", "is not"),
            ("1% in bursts of 0", "expected a mean length from 1 to 1e9 packets"),
            ("1% in bursts of NaN", "expected a mean length"),
            ("1% in bursts of inf", "expected a mean length"),
            ("90% in bursts of 4", "expected at most 80.00% for this length"),
            ("100% in bursts of 4", "expected at most 80.00%"),
            ("gemodel", "is not"),
            ("gemodel 1% 2% 3% 4% 5%", "is not"),
            ("gemodel 1% 200%", "is not"),
            ("every 0", "expected a number from 1 to 4294967295"),
            ("every 4294967296", "expected a number from 1 to 4294967295"),
            ("every", "is not"),
            ("every 2.5", "is not"),
            ("packets", "is not"),
            ("packets 0", "expected a number from 1"),
            ("packets 5-3", "5-3: the last number is below the first"),
            ("packets 1,,2", "is not"),
            ("packets 1-2-3", "is not"),
        ] {
            let error = Loss::read(text).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
        let many = format!("packets {}", vec!["1"; MAX_RANGES + 1].join(","));
        assert!(Loss::read(&many).is_err_and(|error| error.contains("at most 10000")));
    }
}
