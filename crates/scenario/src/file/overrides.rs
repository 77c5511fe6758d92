//! What the command line says instead of the file, such as `links.air.loss=3%`.

use std::path::PathBuf;

use super::document::Document;
use super::error::ScenarioError;

/// What the command line says instead of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// A capacity trace in the Mahimahi format, for every link direction whose rate follows one;
    /// relative to the working directory.
    pub trace: Option<PathBuf>,
    /// Keys with values to put in the place of the file's, such as `links.air.loss=3%`; later ones
    /// win.
    pub settings: Vec<String>,
}

/// What errors call a key with a value from the command line.
pub(super) const SOURCE: &str = "--set";

/// Settings as lines of TOML: a value that is not TOML is taken as a string, so that a shell
/// needs no quotes.
pub(super) fn as_toml(settings: &[String]) -> Result<Vec<String>, ScenarioError> {
    settings.iter().map(|setting| line(setting)).collect()
}

/// Puts settings in the place of what the document has.
pub(super) fn apply<'t>(settings: &'t [String], document: &mut Document<'t>) -> Result<(), ScenarioError> {
    settings.iter().try_for_each(|setting| apply_one(setting, document))
}

fn line(setting: &str) -> Result<String, ScenarioError> {
    let Some((key, value)) = setting.split_once('=') else {
        let problem = format!("{setting:?} has no =; expected a key and a value, such as links.air.loss=3%");
        return Err(ScenarioError::of_file(SOURCE, problem));
    };
    let (key, value) = (key.trim(), value.trim());
    let is_value = toml::from_str::<toml::Table>(&format!("x = {value}")).is_ok();
    Ok(if is_value { format!("{key} = {value}") } else { format!("{key} = {}", toml::Value::from(value)) })
}

fn apply_one<'t>(setting: &'t str, document: &mut Document<'t>) -> Result<(), ScenarioError> {
    let source = Document::parse(setting, SOURCE.to_owned())?;
    let key = setting.split_once('=').map_or(setting, |(key, _)| key);
    let path: Vec<&str> = key.split('.').map(|step| step.trim().trim_matches('"')).collect();
    if let Some(problem) = document.names_nothing(&path) {
        return Err(source.error(&path, problem));
    }
    document.replace_from(&source, &path, &path)
}
