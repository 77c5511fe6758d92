//! Versions of kernels.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A version such as 6.12.117, or 6.12, which is any kernel of that series. Numbers are compared as
/// such: 6.2 is older than 6.12.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    series: [u16; 2],
    /// The number of the stable release; `None` for a series.
    release: Option<u16>,
    /// What follows the numbers, such as `-rc3`.
    extra: String,
}

/// A text that is not a version.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not the version of a kernel; expected one such as 6.12 or 6.12.117")]
pub struct VersionError(String);

/// The longest text after the numbers, in octets.
const LONGEST_EXTRA: usize = 64;

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        // A release candidate comes before its release.
        let order = |it: &Self| (it.series, it.release, !it.extra.starts_with("-rc"));
        order(self).cmp(&order(other)).then_with(|| self.extra.cmp(&other.extra))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Version {
    /// Whether a user who wants the version `wanted` can have this one.
    pub fn is(&self, wanted: &Self) -> bool {
        self.is_of_series_of(wanted) && (wanted.release.is_none() || self == wanted)
    }

    /// Whether it is of the same series, such as 6.12.
    pub fn is_of_series_of(&self, other: &Self) -> bool {
        self.series == other.series
    }

    /// The numbers of its series: 6 and 12 of 6.12.117.
    pub const fn numbers_of_series(&self) -> [u16; 2] {
        self.series
    }

    /// Its series: 6.12 of 6.12.117.
    #[must_use]
    pub const fn series(&self) -> Self {
        Self { series: self.series, release: None, extra: String::new() }
    }

    /// The version in the first lines of a kernel's main makefile: `VERSION`, `PATCHLEVEL`,
    /// `SUBLEVEL` and `EXTRAVERSION`.
    pub fn of_makefile(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut values = text.lines().take(LINES_OF_VERSION).filter_map(|line| line.split_once('='));
            values.find(|(key, _)| key.trim_end() == name).map(|(_, value)| value.trim())
        };
        let extra = value("EXTRAVERSION").unwrap_or_default();
        let numbers = ["VERSION", "PATCHLEVEL", "SUBLEVEL"].map(value);
        let [Some(major), Some(minor), Some(release)] = numbers else { return None };
        format!("{major}.{minor}.{release}{extra}").parse().ok()
    }
}

/// The version is in the lines that follow the makefile's license.
const LINES_OF_VERSION: usize = 20;

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let error = || VersionError(lasthop_config::words::cut(text));
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (numbers, extra) = text.split_at(end);
        let is_extra = |letter: char| letter.is_ascii_alphanumeric() || "-+~._".contains(letter);
        if extra.len() > LONGEST_EXTRA || !extra.chars().all(is_extra) {
            return Err(error());
        }
        let numbers: Result<Vec<u16>, _> = numbers.split('.').map(str::parse).collect();
        let (series, release) = match numbers.as_deref() {
            Ok([major, minor]) if extra.is_empty() => ([*major, *minor], None),
            Ok([major, minor, release]) => ([*major, *minor], Some(*release)),
            _ => return Err(error()),
        };
        Ok(Self { series, release, extra: extra.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor] = self.series;
        write!(out, "{major}.{minor}")?;
        match self.release {
            Some(release) => write!(out, ".{release}{}", self.extra),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    #[test]
    fn a_version_is_two_or_three_numbers_and_is_written_as_it_is_read() {
        for text in ["6.12", "6.12.117", "6.15.0-rc3", "6.1.0-next+1"] {
            assert_eq!(version(text).to_string(), text);
        }
        for text in ["", "6", "6.", "6.12.", "6.12-rc1", "6.12.1.1", "v6.12", "6.x", "6.12.1/..", "6.99999"] {
            let error = text.parse::<Version>().expect_err(text);
            assert!(error.to_string().contains("expected one such as 6.12"), "{error}");
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut versions =
            ["6.12.9", "5.19.1", "6.12.0", "6.1.192", "6.12.117", "6.12", "6.12.0-rc3"].map(version);
        versions.sort();
        assert_eq!(
            versions.map(|version| version.to_string()),
            ["5.19.1", "6.1.192", "6.12", "6.12.0-rc3", "6.12.0", "6.12.9", "6.12.117"]
        );
    }

    #[test]
    fn a_series_is_any_of_its_releases_and_a_release_only_itself() {
        assert!(version("6.12.117").is(&version("6.12")) && version("6.12.0-rc1").is(&version("6.12")));
        assert!(version("6.12.117").is(&version("6.12.117")) && !version("6.12.117").is(&version("6.12.11")));
        assert!(!version("6.12.117").is(&version("6.1")));
    }

    #[test]
    fn the_version_of_a_source_is_in_its_makefile() {
        let text = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\nEXTRAVERSION = -rc2\nNAME = x\n";
        assert_eq!(Version::of_makefile(text), Some(version("6.12.0-rc2")));
        assert_eq!(Version::of_makefile("VERSION = 6\nall:\n"), None);
        assert_eq!(Version::of_makefile(&text.replace("12", "$(X)")), None);
    }
}
