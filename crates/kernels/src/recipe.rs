//! Options and edits: what makes one kernel of a version different from another.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::edit::Edit;
use crate::options::Options;

/// The edits of the kernels that lasthop builds, in the order in which they are made.
const EDITS: [(&str, &str); 8] = [
    ("register-area", include_str!("../kernel/edits/register-area.toml")),
    ("register-transfers", include_str!("../kernel/edits/register-transfers.toml")),
    ("debugger-registers", include_str!("../kernel/edits/debugger-registers.toml")),
    ("random-seed", include_str!("../kernel/edits/random-seed.toml")),
    ("hwsim-queue-limits", include_str!("../kernel/edits/hwsim-queue-limits.toml")),
    ("hwsim-wake-queues", include_str!("../kernel/edits/hwsim-wake-queues.toml")),
    ("hwsim-air-time", include_str!("../kernel/edits/hwsim-air-time.toml")),
    ("hwsim-aggregates", include_str!("../kernel/edits/hwsim-aggregates.toml")),
];

/// The variable of the environment with the seed of the random numbers of a kernel: a number as strtoull(3) reads
/// it, of 64 bits. Without it, they are the host's.
pub const SEED_VARIABLE: &str = "UML_SEED";

/// The parameter of the kernel's command line that limits the frames in the medium of simulated radios by their air
/// time: 0, the default, or 1.
pub const AIR_TIME_PARAMETER: &str = "mac80211_hwsim.aql";

/// How a kernel is made from its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    options: Options,
    edits: Vec<Edit>,
}

impl Recipe {
    /// The recipe of the kernels that lasthop builds.
    ///
    /// # Panics
    ///
    /// If the files that it is made from are wrong, which tests exclude.
    pub fn ours() -> Self {
        let edits = EDITS.map(|(name, text)| Edit::parse(name, text).expect("a test reads them"));
        Self::new(Options::ours(), edits.into())
    }

    /// Another recipe.
    pub const fn new(options: Options, edits: Vec<Edit>) -> Self {
        Self { options, edits }
    }

    /// What is configured.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// What is edited.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Recognizes the options. Another reason for the same options is no difference.
    pub fn mark_of_options(&self) -> Mark {
        Mark(crc32fast::hash(self.options.lines().as_bytes()))
    }

    /// Recognizes the edits.
    pub fn mark_of_edits(&self) -> Mark {
        let mut hasher = crc32fast::Hasher::new();
        for edit in &self.edits {
            hasher.update(edit.text().as_bytes());
        }
        Mark(hasher.finalize())
    }
}

/// Recognizes options or edits: a checksum of their text, with 8 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mark(u32);

impl Mark {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
        let is_mark = text.len() == 8 && text.bytes().all(is_digit);
        is_mark.then(|| u32::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:08x}", self.0)
    }
}

impl TryFrom<String> for Mark {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a mark; expected 8 hexadecimal digits"))
    }
}

impl From<Mark> for String {
    fn from(mark: Mark) -> Self {
        mark.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(options: &str, inserted: &str) -> Recipe {
        let edit = format!(
            "reason = \"Why.\"\nfiles = [\"a.c\"]\n[[changes]]\nline = [\"a\"]\ninsert = \"after\"\ntext = \"{inserted}\"\n"
        );
        let edit = Edit::parse("it", &edit).expect("an edit");
        Recipe::new(Options::parse(options).expect("options"), vec![edit])
    }

    #[test]
    fn other_options_and_other_edits_have_other_marks_and_other_reasons_have_not() {
        let one = recipe("# Why.\nCONFIG_A=y\n", "b");
        let marks = |recipe: &Recipe| (recipe.mark_of_options(), recipe.mark_of_edits());
        assert_eq!(marks(&recipe("# Because.\n\n# Why.\nCONFIG_A=y\n", "b")), marks(&one));
        let other = recipe("# Why.\nCONFIG_A=n\n", "c");
        assert!(
            other.mark_of_options() != one.mark_of_options() && other.mark_of_edits() != one.mark_of_edits()
        );
    }

    #[test]
    fn our_edits_read_the_names_that_are_exported() {
        let edits: String = EDITS.map(|(_, text)| text).concat();
        assert!(edits.contains(&format!("getenv(\"{SEED_VARIABLE}\")")));
        let parameter = AIR_TIME_PARAMETER.strip_prefix("mac80211_hwsim.").expect("of this driver");
        assert!(edits.contains(&format!("module_param({parameter}, bool, 0444);")));
    }

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        let mark = Recipe::ours().mark_of_edits();
        assert_eq!(Mark::parse(&mark.to_string()), Some(mark));
        for text in ["", "1234567", "123456789", "+1234567", "ABCDEF01"] {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }
}
