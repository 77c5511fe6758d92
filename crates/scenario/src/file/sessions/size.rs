//! Sizes that are fixed or drawn.

use lasthop_apps::heavy_tails::{Lognormal, Pareto};
use lasthop_apps::session::{Measured, Size};
use lasthop_config::FileError;
use lasthop_packet::Probability;
use schemars::JsonSchema;
use serde::Deserialize;

use super::reading::Reading;
use crate::file::named::{NameOrTable, Named};
use crate::file::quantity::{Octets, Text};

/// The largest size, in octets.
const LARGEST: u64 = 10_000_000_000;

/// A size, either fixed or random.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct SizeTable {
    /// The distribution of the size. A size alone, without a table, is fixed.
    distribution: Distribution,
    /// With "lognormal": the mean of the natural logarithm of the octets, above 0 and at most 25.
    mu: Option<f64>,
    /// With "lognormal": the standard deviation of this logarithm, above 0 and at most 10.
    sigma: Option<f64>,
    /// With "pareto": the shape, above 0 and at most 100.
    shape: Option<f64>,
    /// The smallest size, at least "1 B"; default "1 B"; required with "pareto".
    min: Option<Text<Octets>>,
    /// The largest size, at most "10 GB". With "lognormal" a size outside the bounds is drawn
    /// again; with "pareto" a size above the bound is set to it. Not with "measured".
    max: Option<Text<Octets>>,
    /// With "measured": the share of each band, 1 to 100 bands from the smallest sizes to the
    /// largest. The shares sum to "100%".
    bands: Option<Vec<BandTable>>,
    /// The size, if it is fixed.
    #[serde(skip)]
    fixed: Option<u64>,
}

/// A band of sizes, above those of the previous band. The logarithm is uniformly distributed in it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BandTable {
    /// The share of all sizes that are in the band.
    share: Text<Probability>,
    /// The largest size in the band.
    max: Text<Octets>,
}

/// The distribution of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Distribution {
    Lognormal,
    Pareto,
    /// As given by `bands`.
    Measured,
}

impl Named for SizeTable {
    type Name = Text<Octets>;
    const SCHEMA: &'static str = "Size";
    const EXPECTED: &'static str = "a size, such as \"10 kB\", or a table with \"lognormal\", \"pareto\" or \"measured\" as \"distribution\"";

    fn named(Text(Octets(fixed)): Text<Octets>) -> Self {
        Self {
            distribution: Distribution::Measured,
            mu: None,
            sigma: None,
            shape: None,
            min: None,
            max: None,
            bands: None,
            fixed: Some(fixed),
        }
    }
}

/// A size with a default.
pub(super) fn read(
    reading: &Reading<'_>,
    key: &str,
    written: Option<&NameOrTable<SizeTable>>,
    default: impl FnOnce() -> Size,
) -> Result<Size, FileError> {
    let Some(NameOrTable(table)) = written else { return Ok(default()) };
    let fail = |of: &[&str], problem: &str| reading.fail(&[&[key], of].concat(), problem);
    if let Some(fixed) = table.fixed {
        return match fixed {
            1..=LARGEST => Ok(Size::Fixed(fixed)),
            _ => Err(fail(&[], "expected \"1 B\" to \"10 GB\"")),
        };
    }
    let given = [
        ("mu", table.mu.is_some(), Distribution::Lognormal, "lognormal"),
        ("sigma", table.sigma.is_some(), Distribution::Lognormal, "lognormal"),
        ("shape", table.shape.is_some(), Distribution::Pareto, "pareto"),
        ("bands", table.bands.is_some(), Distribution::Measured, "measured"),
    ];
    for (of, is_given, distribution, name) in given {
        if is_given != (distribution == table.distribution) {
            return Err(if is_given {
                fail(&[of], &format!("allowed only with distribution = {name:?}; leave it out"))
            } else {
                fail(&[of], &format!("missing; distribution = {name:?} requires it"))
            });
        }
    }
    let octets = |of: &str, value: Option<Text<Octets>>, default: Option<u64>| match value
        .map(|Text(Octets(octets))| octets)
        .or(default)
    {
        Some(octets @ 1..=LARGEST) => Ok(octets as f64),
        Some(_) => Err(fail(&[of], "expected \"1 B\" to \"10 GB\"")),
        None => Err(fail(&[], &format!("expected a size for `{of}`"))),
    };
    let in_range = |of: &str, value: Option<f64>, (above, most): (f64, f64)| {
        let value = value.filter(|value| *value > above && *value <= most);
        value.ok_or_else(|| fail(&[of], &format!("expected a number above {above} and at most {most}")))
    };
    let least = if table.distribution == Distribution::Pareto { None } else { Some(1) };
    let min = octets("min", table.min, least)?;
    if table.distribution == Distribution::Measured {
        if table.max.is_some() {
            return Err(fail(
                &["max"],
                "allowed only with another distribution: here the last band sets the maximum",
            ));
        }
        return measured(min, table.bands.as_deref().unwrap_or_default(), fail);
    }
    let max = octets("max", table.max, None)?;
    if max < min {
        return Err(fail(&["max"], "less than `min`; expected at least as much"));
    }
    if table.distribution == Distribution::Pareto {
        return Ok(Size::Pareto(Pareto { shape: in_range("shape", table.shape, (0.0, 100.0))?, min, max }));
    }
    let (mu, sigma) = (in_range("mu", table.mu, (0.0, 25.0))?, in_range("sigma", table.sigma, (0.0, 10.0))?);
    let lognormal = Lognormal { mu, sigma, min, max };
    if lognormal.share() < 0.01 {
        return Err(fail(
            &[],
            "almost none of the distribution lies between `min` and `max`; expected at least 1% of it",
        ));
    }
    Ok(Size::Lognormal(lognormal))
}

fn measured(
    min: f64,
    bands: &[BandTable],
    fail: impl Fn(&[&str], &str) -> FileError,
) -> Result<Size, FileError> {
    if bands.is_empty() || bands.len() > 100 {
        return Err(fail(&["bands"], "expected 1 to 100 bands"));
    }
    let mut part = 0.0;
    let mut steps: Vec<(f64, f64)> = Vec::with_capacity(bands.len());
    for BandTable { share: Text(share), max: Text(Octets(max)) } in bands {
        part += share.value();
        steps.push((part, *max as f64));
    }
    if (part - 1.0).abs() > 1e-6 {
        return Err(fail(&["bands"], &format!("the shares add up to {:.4}%; expected 100%", part * 100.0)));
    }
    if let Some(last) = steps.last_mut() {
        last.0 = 1.0;
    }
    let is_small = steps.iter().all(|step| step.1 <= LARGEST as f64);
    let measured = Measured::new(min, steps).filter(|_| is_small);
    measured.map(Size::Measured).ok_or_else(|| {
        fail(&["bands"], "expected shares above 0%, and sizes that increase from `min` to at most \"10 GB\"")
    })
}
