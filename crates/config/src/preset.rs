//! Settings whose defaults depend on a preset.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Serialize};

use crate::strict;

/// Where settings that are not given take their defaults from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Defaults for current TCP, chosen so that no acknowledged data is lost.
    #[default]
    Today,
    /// Defaults from the paper, or from its authors' own code.
    Published,
}

/// Settings with a preset.
pub trait Presets: Serialize + DeserializeOwned {
    /// The defaults of the paper, or of its authors' own code.
    fn published() -> Self;

    /// The preset that was given.
    fn preset(&self) -> Preset;

    /// Reads settings, with the defaults of the given preset.
    fn read(given: toml::Table) -> Result<Self, toml::de::Error> {
        let of_today: Self = strict::read(given.clone())?;
        if of_today.preset() == Preset::Today {
            return Ok(of_today);
        }
        let mut all = toml::Table::try_from(Self::published()).map_err(Error::custom)?;
        all.extend(given);
        strict::read(all)
    }
}
