//! Sweeps: one scenario over a grid of values.

mod axis;
mod column;
mod inputs;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::lineup::SchemeEntry;
use super::named_files::NamedFiles;
use super::overrides::{self, Overrides};
use super::quantity::Text;
use super::scenario;
use super::seeds::Seeds;
use super::source;
use crate::model::Scenario;
use axis::{Axis, axes};
pub use column::Column;
pub use inputs::Inputs;
use lasthop_config::text::{name_of, read_file};
use lasthop_config::{Disk, FileError, Files, Kind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// The keys of the scenario that a sweep may override, in addition to the keys that it varies.
const INSTEAD: [&str; 4] = ["seeds", "schemes", "baseline", "duration"];

/// A scenario with swept parameters: the grid of all combinations of their values. The last
/// parameter changes fastest.
///
/// ```toml
/// scenario = "first-look.toml"                    # relative to the sweep
/// seeds = 5                                       # overrides the scenario's, as do schemes, baseline and duration;
///                                                 # the command line overrides both
///
/// [vary]
/// "links.air.channel.bad.mean" = ["0.1 s", "0.3 s", "1 s"]
/// "tcp.window" = ["16 KiB", "64 KiB"]
/// ```
pub struct Sweep {
    /// The sweep's name: its file's, without the extension.
    pub name: String,
    file: String,
    text: String,
    scenario: PathBuf,
    scenario_text: String,
    overrides: Overrides,
    named_files: NamedFiles,
    axes: Vec<Axis>,
}

/// A lasthop sweep: a scenario over a grid of values.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SweepFile {
    /// The scenario, with a path relative to the sweep.
    scenario: String,
    // Read for their types; their values are put into the scenario as they stand.
    /// The seeds in place of the scenario's.
    #[serde(rename = "seeds")]
    _seeds: Option<Seeds>,
    /// The schemes in place of the scenario's.
    #[serde(rename = "schemes")]
    _schemes: Option<Vec<SchemeEntry>>,
    /// The label of the baseline in place of the scenario's.
    #[serde(rename = "baseline")]
    _baseline: Option<String>,
    /// The longest duration of a run in place of the scenario's.
    #[serde(rename = "duration")]
    _duration: Option<Text<Duration>>,
    /// Keys of the scenario, such as "links.air.loss", each with the list of its values. Each
    /// combination of values is a point; the last key changes fastest. At most 100,000 points.
    #[serde(rename = "vary")]
    #[schemars(with = "BTreeMap<String, Varied>")]
    _vary: toml::Table,
}

/// In a schema: the values of a key, or a table of further keys.
struct Varied;

impl JsonSchema for Varied {
    fn schema_name() -> Cow<'static, str> {
        "Varied".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let further = generator.subschema_for::<BTreeMap<String, Self>>();
        json_schema!({ "oneOf": [
            { "type": "array", "minItems": 1, "description": "The values to try, each once." },
            further,
        ] })
    }
}

impl Sweep {
    /// Reads a sweep and checks each value of each parameter, with the first of the others.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, FileError> {
        Self::read_from(Arc::new(Disk), path, overrides)
    }

    /// The same as [`Sweep::read`], with the sweep, its scenario, and all files that the scenario
    /// names from the disk or from memory.
    pub fn read_from(files: Arc<dyn Files>, path: &Path, overrides: &Overrides) -> Result<Self, FileError> {
        let text = read_file(&*files, path)?;
        Self::parse_with(files, &text, &name_of(path), path.parent().unwrap_or(Path::new("")), overrides)
    }

    /// Reads a sweep from text. `name` is the file name in errors. The scenario that the sweep
    /// names is looked up in `base`, on the disk.
    pub fn parse(text: &str, name: &str, base: &Path, overrides: &Overrides) -> Result<Self, FileError> {
        Self::parse_with(Arc::new(Disk), text, name, base, overrides)
    }

    fn parse_with(
        files: Arc<dyn Files>,
        text: &str,
        name: &str,
        base: &Path,
        overrides: &Overrides,
    ) -> Result<Self, FileError> {
        let document = source::parse(text, name.to_owned())?;
        document.expect(Kind::Sweep)?;
        let file: SweepFile = document.deserialize()?;
        let scenario = base.join(file.scenario);
        let scenario_text = read_file(&*files, &scenario)
            .map_err(|error| document.error(&["scenario"], error.to_string()))?;
        // Checked before keys are varied, because a file of another kind would be reported as
        // unknown names.
        source::parse(&scenario_text, name_of(&scenario))?.expect(Kind::Scenario)?;
        let axes = axes(&document)?;
        let sweep = Self {
            name: Path::new(name)
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default(),
            file: name.to_owned(),
            text: text.to_owned(),
            scenario,
            scenario_text,
            overrides: overrides.clone(),
            named_files: NamedFiles::new(files),
            axes,
        };
        sweep.refuse_settings_of_what_varies()?;
        sweep.check()?;
        Ok(sweep)
    }

    /// The files from which it was read.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = self.named_files.paths();
        files.extend([PathBuf::from(&self.file), self.scenario.clone()]);
        files
    }

    /// The inputs on which its results depend. They include a file that a scenario names once this
    /// scenario has been read.
    pub fn inputs(&self) -> Inputs {
        Inputs::new(&self.text, &self.scenario_text, &self.named_files, &self.overrides)
    }

    /// The keys of the swept parameters, in the order of the file.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.key.as_str())
    }

    /// The columns of results that the swept parameters fill, in the same order.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.axes.iter().map(|axis| &axis.column)
    }

    /// The values of a point in these columns. Points count from 0, modulo their number.
    pub fn values(&self, index: usize) -> Vec<&str> {
        let chosen = self.axes.iter().zip(self.choice(index));
        chosen.map(|(axis, chosen)| axis.values[chosen].as_str()).collect()
    }

    /// The parameters of a point as text: `tcp.window_octets = 4096, links.air.loss_percent = 1`.
    pub fn describe(&self, index: usize) -> String {
        let varied = self.columns().zip(self.values(index));
        varied.map(|(column, value)| format!("{} = {value}", column.name)).collect::<Vec<_>>().join(", ")
    }

    /// The number of points, 1 to 100,000.
    pub fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// Always false: a sweep has at least one point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The scenario of a point of the grid, counted from 0; `None` after the end. An error means
    /// that values are wrong in combination.
    pub fn point(&self, index: usize) -> Option<Result<Scenario, FileError>> {
        (index < self.len()).then(|| self.at(&self.choice(index)))
    }

    /// The scenarios of all points, the last parameter changing fastest.
    pub fn points(&self) -> impl Iterator<Item = Result<Scenario, FileError>> {
        (0..self.len()).filter_map(|index| self.point(index))
    }

    /// The index of the value of each parameter at a point.
    fn choice(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let mut choice = vec![0; self.axes.len()];
        for (axis, chosen) in self.axes.iter().zip(&mut choice).rev() {
            *chosen = rest % axis.values.len();
            rest /= axis.values.len();
        }
        choice
    }

    /// The scenario with the chosen value of each parameter.
    fn at(&self, choice: &[usize]) -> Result<Scenario, FileError> {
        let settings = overrides::as_toml(&self.overrides.settings)?;
        let sweep = source::parse(&self.text, self.file.clone())?;
        let mut document = source::parse(&self.scenario_text, name_of(&self.scenario))?;
        for key in INSTEAD {
            document.replace_from(&sweep, &[key], &[key])?;
        }
        overrides::apply(&settings, &mut document)?;
        for (axis, chosen) in self.axes.iter().zip(choice) {
            let index = chosen.to_string();
            let place: Vec<&str> = axis.place.iter().map(String::as_str).chain([index.as_str()]).collect();
            let path: Vec<&str> = axis.path.iter().map(String::as_str).collect();
            if let Some(problem) = source::names_nothing(&document, &path) {
                return Err(sweep.error(&place, problem));
            }
            document.replace_from(&sweep, &place, &path)?;
        }
        let base = self.scenario.parent().unwrap_or(Path::new(""));
        scenario::read(&document, base, &self.overrides, &self.named_files, None)
    }

    /// Refuses settings from the command line that the values of the sweep would silently override.
    fn refuse_settings_of_what_varies(&self) -> Result<(), FileError> {
        for setting in overrides::as_toml(&self.overrides.settings)? {
            for axis in &self.axes {
                setting.refuse_varied(&axis.key, &axis.path)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), FileError> {
        let mut choice = vec![0; self.axes.len()];
        self.at(&choice)?;
        for (index, axis) in self.axes.iter().enumerate() {
            for value in 1..axis.values.len() {
                choice[index] = value;
                self.at(&choice)?;
            }
            choice[index] = 0;
        }
        Ok(())
    }
}
