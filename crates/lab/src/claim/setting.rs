//! What is set in a scenario.

use serde_json::{Map, Value, json};

/// What is set in a scenario.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Keys with values, as after `--set`.
    pub settings: Vec<String>,
    /// What rows say of it.
    pub parameters: Map<String, Value>,
    /// Labels of the schemes that are run; all of the scenario's, if there are none.
    pub schemes: &'static [&'static str],
}

impl Setting {
    /// One key with a value, or nothing where it is empty; rows have it as it is.
    pub fn key(setting: &str) -> Self {
        if setting.is_empty() {
            return Self::default();
        }
        let parameters = Map::from_iter([("set".to_owned(), json!(setting))]);
        Self { settings: vec![setting.to_owned()], parameters, schemes: &[] }
    }
}
