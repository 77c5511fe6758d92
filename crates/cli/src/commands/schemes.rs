//! `lasthop schemes`.

use std::fmt::Write as _;

use anyhow::anyhow;
use clap::Args;
use lasthop_lab::table::Table;
use lasthop_scenario::SchemeChoice;
use lasthop_schemes::Scheme;
use lasthop_schemes::catalogue::{CATALOGUE, find};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// The arguments of `schemes`.
#[derive(Args)]
pub struct Arguments {
    /// Describe one scheme in full, including its settings
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let schemes: Vec<&Scheme> = match &arguments.name {
        Some(name) if name == SchemeChoice::NO_LOSS => {
            return Err(Failure::usage(anyhow!(SchemeChoice::ABOUT_NO_LOSS)));
        }
        Some(name) => vec![find(name).map_err(Failure::usage)?],
        None => CATALOGUE.to_vec(),
    };
    if arguments.json {
        return output::print_json(&schemes.iter().map(|scheme| describe(scheme)).collect::<Vec<_>>());
    }
    if let (Some(_), [scheme]) = (&arguments.name, schemes.as_slice()) {
        return output::print(&details(scheme));
    }
    let mut table = Table::of_texts(&["scheme", "what it does", "what it places", "what it needs", "source"]);
    for scheme in schemes {
        table.add_row([
            scheme.name,
            scheme.title,
            &scheme.places(),
            &scheme.needs().to_string(),
            scheme.source,
        ]);
    }
    output::print(&format!(
        "{table}\n`lasthop schemes NAME` describes where a scheme helps, where it hurts, and its settings\n{}",
        SchemeChoice::ABOUT_NO_LOSS
    ))
}

fn details(scheme: &Scheme) -> String {
    let (places, needs) = (scheme.places(), scheme.needs().to_string());
    let mut text = format!("{}: {}\n", scheme.name, scheme.title);
    for (label, about) in
        [("source", scheme.source), ("places", &places), ("needs", &needs), ("advice", scheme.advice)]
    {
        text.push_str(&indented(&format!("  {label:8}"), about));
    }
    let schema = scheme.schema();
    match schema.get("properties").and_then(Value::as_object) {
        Some(settings) if !settings.is_empty() => {
            text.push_str("  settings\n");
            for (key, setting) in settings {
                let default =
                    setting.get("default").map_or_else(String::new, |default| format!(" = {default}"));
                let about = setting.get("description").and_then(Value::as_str).unwrap_or_default();
                // Writing into a string cannot fail.
                let _ = writeln!(text, "    {key}{default}");
                text.push_str(&indented("        ", &about.replace('\n', " ")));
            }
        }
        _ => text.push_str("  settings  none\n"),
    }
    text.truncate(text.trim_end().len());
    text
}

/// A paragraph that begins with `label`, as wide as the terminal, at most 110 columns; further
/// lines stand below the first's text.
fn indented(label: &str, text: &str) -> String {
    let rest = " ".repeat(label.len());
    let options = textwrap::Options::new(textwrap::termwidth().min(110))
        .initial_indent(label)
        .subsequent_indent(&rest)
        .break_words(false);
    textwrap::fill(text, options) + "\n"
}

fn describe(scheme: &Scheme) -> Value {
    json!({
        "name": scheme.name,
        "title": scheme.title,
        "source": scheme.source,
        "places": scheme.places(),
        "needs": scheme.needs().names().join(", "),
        "advice": scheme.advice,
        "settings": scheme.schema(),
    })
}
