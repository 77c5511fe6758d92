//! Values that override those of a scenario file: from the command line, such as
//! `links.air.loss=3%`, and those set after the start.

use std::path::PathBuf;
use std::time::Duration;

use lasthop_config::words::cut;
use lasthop_config::{Document, FileError};

use super::source;

/// Values from the command line that override those of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// A capacity trace in the Mahimahi format, for every link direction whose rate follows one;
    /// relative to the working directory.
    pub trace: Option<PathBuf>,
    /// Keys with values that override the file's, such as `links.air.loss=3%`; later ones take
    /// precedence.
    pub settings: Vec<String>,
}

/// The settings and changes after the first reading of a scenario.
pub(super) struct Since {
    /// The settings, by hand or by a change at its time.
    pub(super) set: Vec<Setting>,
    /// The time up to which the file's changes are among the settings.
    pub(super) passed: Option<Duration>,
}

/// A key and a value from the command line.
pub(super) struct Setting {
    /// As the user gave it.
    given: String,
    /// The same as a line of TOML.
    line: String,
}

impl Setting {
    /// The path of its key.
    fn path(&self) -> Vec<&str> {
        source::path(self.line.split_once('=').map_or(self.line.as_str(), |(key, _)| key))
    }

    /// Its line as a document; an error unless it is one key with its value.
    fn source(&self) -> Result<Document<'_>, FileError> {
        let source = Document::parse_setting(&self.line, name(&self.given))?;
        let path = self.path();
        let problem = if !source.has(&path) {
            "expected a key of plain words with dots between them, such as links.air.loss"
        } else if source.has_more_than(&path) {
            "sets several keys; expected one key, and --set again for each other"
        } else {
            return Ok(source);
        };
        Err(FileError::in_file(name(&self.given), problem))
    }

    /// Refuses a setting of the key that a sweep varies, which is at `path`, or of a part of its
    /// value.
    pub(super) fn refuse_varied(&self, key: &str, path: &[String]) -> Result<(), FileError> {
        let source = self.source()?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        if source.has(&path) || self.path().starts_with(&path) {
            let problem =
                format!("this sweep varies {key}; change its values in the sweep, or leave out this setting");
            return Err(FileError::in_file(name(&self.given), problem));
        }
        Ok(())
    }
}

/// The table whose values are versions, which look like numbers: 6.10 is not 6.1.
const VERSIONS: &str = "try.kernels.";

/// Settings as lines of TOML. A value that is not TOML is treated as a string, so that it needs no
/// quotes in a shell; so is a version.
pub(super) fn as_toml(settings: &[String]) -> Result<Vec<Setting>, FileError> {
    settings.iter().map(|given| Ok(Setting { given: given.clone(), line: line(given)? })).collect()
}

/// Puts settings into the document.
pub(super) fn apply<'t>(settings: &'t [Setting], document: &mut Document<'t>) -> Result<(), FileError> {
    settings.iter().try_for_each(|setting| apply_one(setting, document))
}

/// The name of a setting in errors.
fn name(setting: &str) -> String {
    format!("--set {}", cut(setting))
}

fn line(setting: &str) -> Result<String, FileError> {
    let Some((key, value)) = setting.split_once('=') else {
        let problem = "expected a key and a value with = between them, such as links.air.loss=3%";
        return Err(FileError::in_file(name(setting), problem));
    };
    let (key, value) = (key.trim(), value.trim());
    let parsed = toml::from_str::<toml::Table>(&format!("x = {value}")).ok();
    let is_version = |parsed: &toml::Table| {
        let is_number = parsed.get("x").is_some_and(|value| value.is_float() || value.is_integer());
        is_number && key.starts_with(VERSIONS)
    };
    let is_value = parsed.is_some_and(|parsed| !is_version(&parsed));
    Ok(if is_value { format!("{key} = {value}") } else { format!("{key} = {}", toml::Value::from(value)) })
}

fn apply_one<'t>(setting: &'t Setting, document: &mut Document<'t>) -> Result<(), FileError> {
    let source = setting.source()?;
    let path = setting.path();
    if let Some(problem) = source::names_nothing(document, &path) {
        return Err(source.error(&path, problem));
    }
    document.replace_from(&source, &path, &path)
}
