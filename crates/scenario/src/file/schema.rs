//! The JSON schemas of the formats, made from the code: what `scenarios/scenario.schema.json` and
//! `scenarios/sweep.schema.json` hold.

use serde_json::Value;

use super::scenario::ScenarioFile;
use super::sweep::SweepFile;

/// The JSON schema of a scenario file, for editors: keys, units, the schemes and their settings.
pub fn scenario_schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}

/// The JSON schema of a sweep, for editors.
pub fn sweep_schema() -> Value {
    schemars::schema_for!(SweepFile).to_value()
}
