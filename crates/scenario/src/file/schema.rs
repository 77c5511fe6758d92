//! The JSON schema of the format, made from the code: what `scenarios/scenario.schema.json` holds.

use serde_json::Value;

use super::scenario::ScenarioFile;

/// The JSON schema of a scenario file, for editors: keys, units, the schemes and their settings.
pub fn scenario_schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}
