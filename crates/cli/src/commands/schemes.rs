//! `lasthop schemes`.

mod settings;

use anyhow::anyhow;
use clap::Args;
use lasthop_lab::table::{Table, width};
use lasthop_scenario::SchemeChoice;
use lasthop_schemes::Scheme;
use lasthop_schemes::catalog::{CATALOG, find};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;
use crate::rectangle;
use settings::Setting;

/// The arguments of `schemes`.
#[derive(Args)]
pub struct Arguments {
    /// Describe one scheme in full, including its settings
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print one CSV table: a row for each scheme, or with a name, a row for each setting of this scheme
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let schemes: Vec<&Scheme> = match &arguments.name {
        Some(name) if name == SchemeChoice::NO_LOSS => {
            return Err(Failure::usage(anyhow!(SchemeChoice::ABOUT_NO_LOSS)));
        }
        Some(name) => vec![find(name).map_err(Failure::usage)?],
        None => CATALOG.to_vec(),
    };
    if arguments.json {
        return output::print_json(&schemes.iter().map(|scheme| describe(scheme)).collect::<Vec<_>>());
    }
    if arguments.csv {
        if let (Some(_), [scheme]) = (&arguments.name, schemes.as_slice()) {
            return print_settings(scheme);
        }
        let lines: Vec<Value> = schemes.iter().map(|scheme| summary(scheme)).collect();
        return rectangle::print(&["name", "title", "source", "places", "needs", "advice"], &lines);
    }
    if let (Some(_), [scheme]) = (&arguments.name, schemes.as_slice()) {
        return output::print(&details(scheme));
    }
    let mut table =
        Table::with_texts(&["scheme", "what it does", "what it adds", "needs from the link layer", "source"]);
    for scheme in schemes {
        table.add_row([
            scheme.name,
            scheme.title,
            &scheme.places(),
            &scheme.needs().to_string(),
            scheme.source,
        ]);
    }
    let about_name =
        "`lasthop schemes NAME` describes where a scheme helps, where it hurts, and its settings";
    let legend = [about_name, SchemeChoice::ABOUT_NO_LOSS].map(|text| indented("", text)).concat();
    let columns = width().unwrap_or(DEFAULT_WIDTH);
    output::print(&format!("{}\n{}", table.within(Some(columns)), legend.trim_end()))
}

fn details(scheme: &Scheme) -> String {
    let (places, needs) = (scheme.places(), format!("{} from the link layer", scheme.needs()));
    let mut text = indented("", &format!("{}: {}", scheme.name, scheme.title));
    for (label, about) in
        [("source", scheme.source), ("adds", &places), ("needs", &needs), ("advice", scheme.advice)]
    {
        text.push_str(&indented(&format!("  {label:8}"), about));
    }
    let settings = settings::of(scheme.schema().as_value());
    text.push_str(if settings.is_empty() { "  settings  none\n" } else { "  settings\n" });
    for setting in &settings {
        text.push_str(&described(setting));
    }
    text.truncate(text.trim_end().len());
    text
}

/// The text of a setting: its key, default and allowed values, then its purpose and the meaning of
/// its words.
fn described(setting: &Setting) -> String {
    let default = setting.default.as_ref().map_or_else(String::new, |default| format!(" = {default}"));
    let mut text = indented("    ", &format!("{}{default}  ({})", setting.name, setting.allowed()));
    text.push_str(&indented("        ", &setting.about));
    for (word, about) in &setting.words {
        text.push_str(&indented("          ", &format!("{word}: {about}")));
    }
    text
}

/// Prints a scheme's settings as CSV.
fn print_settings(scheme: &Scheme) -> Result<(), Failure> {
    let lines = settings::of(scheme.schema().as_value()).into_iter().map(|setting| {
        let (least, most) = setting.range.unzip();
        let words: Vec<&str> = setting.words.iter().map(|(word, _)| word.trim_matches('"')).collect();
        json!({
            "setting": setting.name,
            "kind": setting.kind,
            "default": setting.default.map(|default| default.trim_matches('"').to_owned()),
            "least": least,
            "most": most,
            "values": (!words.is_empty()).then(|| words.join("; ")),
            "description": setting.about,
        })
    });
    let columns = ["setting", "kind", "default", "least", "most", "values", "description"];
    rectangle::print(&columns, &lines.collect::<Vec<_>>())
}

/// The width of texts if standard output has none.
const DEFAULT_WIDTH: u16 = 80;
/// The maximum width of texts, which is that of `--help`: longer lines are hard to read.
const MAX_WIDTH: u16 = 110;

/// A paragraph that starts with `label`, with the width of the terminal, at most 110 columns.
/// Further lines are indented to the text of the first.
fn indented(label: &str, text: &str) -> String {
    let rest = " ".repeat(label.len());
    let options = textwrap::Options::new(width().unwrap_or(DEFAULT_WIDTH).min(MAX_WIDTH).into())
        .initial_indent(label)
        .subsequent_indent(&rest)
        .break_words(false);
    textwrap::fill(text, options) + "\n"
}

fn describe(scheme: &Scheme) -> Value {
    let mut all = summary(scheme);
    all["settings"] = json!(scheme.schema());
    all
}

/// The description of a scheme without its settings.
fn summary(scheme: &Scheme) -> Value {
    json!({
        "name": scheme.name,
        "title": scheme.title,
        "source": scheme.source,
        "places": scheme.places(),
        "needs": scheme.needs().names().join(", "),
        "advice": scheme.advice,
    })
}
