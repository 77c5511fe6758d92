//! The parameters that a sweep varies, and their values.

use std::collections::BTreeSet;

use lasthop_config::words::cut;
use lasthop_config::{Document, FileError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::column::{Column, Written};

/// The maximum number of points.
const MAX_POINTS: usize = 100_000;

/// A parameter and its values.
pub(super) struct Axis {
    /// Its key as written.
    pub(super) key: String,
    /// The path of its list of values in the sweep.
    pub(super) place: Vec<String>,
    /// The path of its key in the scenario.
    pub(super) path: Vec<String>,
    /// The column of results that it fills.
    pub(super) column: Column,
    /// Its values in that column.
    pub(super) values: Vec<String>,
}

/// The parameters in the order of the file.
pub(super) fn axes(sweep: &Document<'_>) -> Result<Vec<Axis>, FileError> {
    let mut axes = Vec::new();
    if let Some(DeValue::Table(vary)) = sweep.get(&["vary"]).map(Spanned::get_ref) {
        collect_axes(sweep, vary, &mut Vec::new(), &mut axes)?;
    }
    if axes.is_empty() {
        return Err(sweep.error(&["vary"], "nothing to vary; expected a key with a list of values"));
    }
    axes.sort_by_key(|(position, _)| *position);
    refuse_overlaps(sweep, &axes)?;
    let points = axes.iter().try_fold(1usize, |points, (_, axis)| points.checked_mul(axis.values.len()));
    if !matches!(points, Some(1..=MAX_POINTS)) {
        return Err(sweep.error(&["vary"], format!("more than {MAX_POINTS} points; expected fewer values")));
    }
    let axes: Vec<Axis> = axes.into_iter().map(|(_, axis)| axis).collect();
    axes.iter().try_for_each(|axis| refuse_a_value_twice(sweep, axis))?;
    Ok(axes)
}

/// Refuses a value that is listed twice. In the results "1%" and "1.0 %" are the same value.
fn refuse_a_value_twice(sweep: &Document<'_>, axis: &Axis) -> Result<(), FileError> {
    let mut seen = BTreeSet::new();
    let Some(twice) = axis.values.iter().position(|value| !seen.insert(value)) else { return Ok(()) };
    let place: Vec<&str> = axis.place.iter().map(String::as_str).collect();
    let given = match sweep.get(&place).map(Spanned::get_ref) {
        Some(DeValue::Array(elements)) => elements.get(twice).map(|element| sweep.source(element)),
        _ => None,
    };
    let given = cut(given.unwrap_or(&axis.values[twice]));
    Err(sweep.error(&place, format!("{given} is listed twice; expected each value once")))
}

/// Collects the parameters of a table and of the tables in it: `"links.air.loss" = [...]` and
/// `links.air.loss = [...]` mean the same.
fn collect_axes(
    sweep: &Document<'_>,
    table: &DeTable<'_>,
    above: &mut Vec<String>,
    axes: &mut Vec<(usize, Axis)>,
) -> Result<(), FileError> {
    for (name, value) in table {
        above.push(name.get_ref().to_string());
        let place: Vec<&str> = ["vary"].into_iter().chain(above.iter().map(String::as_str)).collect();
        let fail = |problem: &str| sweep.error(&place, problem);
        match value.get_ref() {
            DeValue::Table(inner) => collect_axes(sweep, inner, above, axes)?,
            DeValue::Array(elements) if elements.is_empty() => {
                return Err(fail("an empty list; expected the values to try"));
            }
            DeValue::Array(elements) => {
                let key = above.join(".");
                let path = path_in_scenario(&key).map_err(|problem| fail(&problem))?;
                let values = elements.iter().map(|element| match element.get_ref() {
                    DeValue::String(text) => Written::Text(text.to_string()),
                    DeValue::Integer(_) | DeValue::Float(_) => {
                        Written::Number(sweep.source(element).to_owned())
                    }
                    _ => Written::Other(sweep.source(element).to_owned()),
                });
                let (column, values) = Column::from_values(&key, &values.collect::<Vec<_>>());
                let place = place.iter().map(|step| (*step).to_owned()).collect();
                axes.push((name.span().start, Axis { key, place, path, column, values }));
            }
            _ => return Err(fail("expected a list of values")),
        }
        above.pop();
    }
    Ok(())
}

/// Refuses a key that is varied twice, or that is a part of another: its values would not be those
/// in its column.
fn refuse_overlaps(sweep: &Document<'_>, axes: &[(usize, Axis)]) -> Result<(), FileError> {
    let mut sorted: Vec<&(usize, Axis)> = axes.iter().collect();
    // A path sorts immediately before those that begin with it.
    sorted.sort_by(|(_, left), (_, right)| left.path.cmp(&right.path));
    let Some(pair) = sorted.windows(2).find(|pair| pair[1].1.path.starts_with(&pair[0].1.path)) else {
        return Ok(());
    };
    let [first, second] = if pair[0].0 < pair[1].0 { [pair[0], pair[1]] } else { [pair[1], pair[0]] };
    let place: Vec<&str> = second.1.place.iter().map(String::as_str).collect();
    let problem =
        format!("overlaps with {}, which varies too; expected each key once", first.1.path.join("."));
    Err(sweep.error(&place, problem))
}

fn path_in_scenario(key: &str) -> Result<Vec<String>, String> {
    let path: Vec<String> = key.split('.').map(|step| step.trim().to_owned()).collect();
    if path.len() > 10 || path.iter().any(String::is_empty) {
        return Err(format!("{key:?} is not a key of a scenario; expected one such as \"links.air.loss\""));
    }
    Ok(path)
}
