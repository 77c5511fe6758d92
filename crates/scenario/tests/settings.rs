//! Every number in the settings of each scheme of the catalog has a range, in the reader and in
//! the JSON schema, and the scheme works at both ends of the range.

use std::path::Path;

use lasthop_agent::LinkSenses;
use lasthop_packet::Instant;
use lasthop_scenario::{Overrides, Scenario, SchemeChoice, file};
use lasthop_schemes::Scheme;
use lasthop_schemes::catalog::CATALOG;
use serde_json::Value as Json;
use toml::{Table, Value};

/// A setting that is a number or a quantity, and the ends of its range.
struct Ranged {
    key: String,
    least: Value,
    most: Value,
}

/// The ranged settings of a scheme, by its schema.
fn ranged(scheme: &Scheme) -> Vec<Ranged> {
    let schema = scheme.schema().to_value();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let range = |(key, property): (String, Json)| {
        let end = |whole: &str, text: &str| match (&property[whole], &property[text]) {
            (Json::Number(number), _) => Some(Value::Integer(number.as_i64()?)),
            (_, Json::String(text)) => Some(Value::String(text.clone())),
            _ => None,
        };
        let is_number = property["type"] == "integer" || property["type"] == "number";
        let is_quantity = property.get("pattern").is_some();
        let ends = end("minimum", "x-least").zip(end("maximum", "x-most"));
        assert!(
            ends.is_some() || !(is_number || is_quantity),
            "{}: {key} has no range: {property}",
            scheme.name
        );
        ends.map(|(least, most)| Ranged { key, least, most })
    };
    properties.into_iter().filter_map(range).collect()
}

/// A quantity just beyond one end of a range, or far beyond it.
fn beyond(end: &Value, is_most: bool) -> Vec<Value> {
    match end {
        Value::Integer(end) if is_most => {
            [end + 1, i64::from(u32::MAX), i64::MAX].map(Value::Integer).to_vec()
        }
        Value::Integer(end) => [end - 1, -1, i64::MIN].map(Value::Integer).to_vec(),
        Value::String(text) => {
            let (number, unit) = text.split_once(' ').expect("a number and a unit");
            let number: f64 = number.parse().expect("a number");
            let further = if is_most { number * 1.5 + 1.0 } else { number * 0.5 };
            let is_further = is_most || number > 0.0;
            is_further.then(|| Value::String(format!("{further} {unit}"))).into_iter().collect()
        }
        other => panic!("{other}: neither a number nor a quantity"),
    }
}

fn run(scenario: &Scenario, scheme: &Scheme, settings: Table) {
    let what = format!("{} {settings:?}", scheme.name);
    let choice = SchemeChoice::new(scheme.name, settings).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut built = scenario.build(&choice, 1).unwrap_or_else(|error| panic!("{what}: {error}"));
    built.world.run(Instant::from_secs(40), true);
    assert!(built.world.accounts().balance(), "{what}");
    for flow in &built.flows {
        assert!(built.world.outcome(*flow).intact, "{what}");
    }
}

#[test]
fn every_scheme_works_at_both_ends_of_every_range() {
    let read = |name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
        file::read(&path, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    let (hop, field, cell) = (read("first-look.toml"), read("multi-hop.toml"), read("uploads.toml"));
    for scheme in CATALOG {
        // On a link layer that reports all events, so that every setting can work.
        let scenario = match scheme.name {
            "as-tcp" => &cell,
            _ if scheme.needs().contains(LinkSenses::LINK_OPTIONS) => &field,
            _ => &hop,
        };
        let ranged = ranged(scheme);
        for Ranged { key, least, most } in &ranged {
            for end in [least, most] {
                run(scenario, scheme, Table::from_iter([(key.clone(), end.clone())]));
            }
        }
        run(scenario, scheme, ranged.iter().map(|at| (at.key.clone(), at.least.clone())).collect());
        run(scenario, scheme, ranged.iter().map(|at| (at.key.clone(), at.most.clone())).collect());
    }
}

#[test]
fn a_value_out_of_range_is_refused_with_the_range() {
    for scheme in CATALOG {
        for Ranged { key, least, most } in ranged(scheme) {
            for value in beyond(&least, false).into_iter().chain(beyond(&most, true)) {
                let settings = Table::from_iter([(key.clone(), value.clone())]);
                let refused = SchemeChoice::new(scheme.name, settings).map(|_| ()).expect_err(&key);
                let message = refused.to_string();
                let bare = |value: &Value| value.to_string().trim_matches('"').to_owned();
                let expected = [
                    format!("expected {} to {}", bare(&least), bare(&most)),
                    format!("from {} to {}", bare(&least), bare(&most)),
                ];
                assert!(expected.iter().any(|words| message.contains(words)), "{key} = {value}: {message}");
            }
        }
    }
}
