//! The verdict that a row would have without an effect, and on the sign of an effect alone.

use serde_json::Value;

use super::{AT_LEAST, Reference, Row};

impl Row {
    /// The row with the value that it would have without an agent, or with an effect of 0%.
    #[must_use]
    pub fn without_effect(self, value: Option<f64>) -> Self {
        let agrees = value.map(|value| match self.tolerance {
            Reference::None => value > self.at_least_percent(),
            tolerance => tolerance.contains(value),
        });
        Self { no_effect: value, no_effect_agrees: agrees, ..self }
    }

    /// The row of a claim without a number, with its verdict without an agent.
    #[must_use]
    pub fn claim_without_effect(self, agrees: bool) -> Self {
        Self { no_effect: None, no_effect_agrees: Some(agrees), ..self }
    }

    /// The row of a scheme without an agent: its verdict says nothing about an agent.
    #[must_use]
    pub fn without_agent(self) -> Self {
        Self { no_effect: self.measured, no_effect_agrees: Some(self.agrees), ..self }
    }

    /// The row as that of an experiment with an alternative choice of what the paper leaves open.
    #[must_use]
    pub fn as_alternative(self) -> Self {
        Self { alternative: true, ..self }
    }

    /// The minimum difference of the row's claim, in percent.
    pub fn at_least_percent(&self) -> f64 {
        self.parameters.get(AT_LEAST).and_then(Value::as_f64).unwrap_or(0.0)
    }

    /// The row of the claim that an effect has the published sign: it agrees if the complete
    /// confidence interval is on that side of 0. `None` if the paper has no number, or 0.
    pub fn sign(&self) -> Option<Self> {
        let is_gain = match self.published {
            Reference::Number(number) if number != 0.0 => number > 0.0,
            Reference::Range(from, to) if from * to > 0.0 => from > 0.0,
            _ => return None,
        };
        let tolerance = if is_gain {
            Reference::Range(0.0, f64::INFINITY)
        } else {
            Reference::Range(f64::NEG_INFINITY, 0.0)
        };
        let margin = self.ci95.unwrap_or(0.0);
        let agrees = self.measured.is_some_and(|mean| if is_gain { mean > margin } else { mean < -margin });
        let metric = format!("sign of the {}", self.metric);
        Some(Self {
            metric,
            tolerance,
            agrees,
            no_effect: Some(0.0),
            no_effect_agrees: Some(false),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(published: Reference, measured: f64, ci95: f64, tolerance: Reference) -> Row {
        Row {
            paper: "goel".to_owned(),
            item: "table 5.4".to_owned(),
            parameters: serde_json::Map::new(),
            scheme: "refined-icmp".to_owned(),
            metric: "improvement".to_owned(),
            unit: "percent".to_owned(),
            published,
            measured: Some(measured),
            ci95: Some(ci95),
            runs: 20,
            tolerance,
            agrees: tolerance.contains(measured),
            no_effect: None,
            no_effect_agrees: None,
            alternative: false,
        }
    }

    #[test]
    fn the_value_without_effect_is_compared_with_the_rows_tolerance() {
        let of = |from, to| {
            let row = row(Reference::Number(5.0), 5.0, 1.0, Reference::Range(from, to));
            row.without_effect(Some(0.0)).no_effect_agrees
        };
        assert_eq!([of(-4.0, 14.0), of(1.0, 9.0)], [Some(true), Some(false)]);
        let claim = |min: f64| {
            let mut row = row(Reference::None, 5.0, 1.0, Reference::None);
            row.parameters.insert(AT_LEAST.to_owned(), json!(min));
            row.without_effect(Some(0.0)).no_effect_agrees
        };
        assert_eq!([claim(0.0), claim(5.0), claim(-5.0)], [Some(false), Some(false), Some(true)]);
    }

    #[test]
    fn a_sign_agrees_if_the_complete_interval_is_on_its_side() {
        let of = |published, measured| {
            let row = row(Reference::Number(published), measured, 1.0, Reference::Range(-9.0, 9.0));
            row.sign().map(|sign| (sign.agrees, sign.no_effect_agrees))
        };
        let (yes, no) = (Some((true, Some(false))), Some((false, Some(false))));
        assert_eq!([of(3.0, 1.5), of(3.0, 0.5), of(3.0, -2.0)], [yes, no, no]);
        assert_eq!([of(-3.0, -1.5), of(-3.0, -0.5), of(0.0, 2.0)], [yes, no, None]);
    }
}
