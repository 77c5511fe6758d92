//! The options of a kernel's configuration.
//!
//! They are written as a fragment of a configuration: paragraphs, each with a reason as comments (`#`)
//! and the options that it is for, `CONFIG_NAME=value` each on a line of its own. `=n` leaves an option
//! out.

use std::collections::BTreeMap;

use thiserror::Error;

/// The options of the kernels that lasthop builds, with reasons.
const OURS: &str = include_str!("../kernel/options");

/// Options, each with a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    text: String,
    options: Vec<Setting>,
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    name: String,
    value: String,
}

/// Why a text is not a fragment of a configuration.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionsError {
    /// A line is something else.
    #[error("line {line}: expected CONFIG_NAME=value, or a comment")]
    Line {
        /// From 1.
        line: usize,
    },
    /// Nothing says what an option is for.
    #[error("line {line}: {name} has no reason; expected a comment above it")]
    NoReason {
        /// From 1.
        line: usize,
        /// The option.
        name: String,
    },
    /// An option has two values.
    #[error("line {line}: {name} is set above")]
    Twice {
        /// From 1.
        line: usize,
        /// The option.
        name: String,
    },
}

/// An option that a kernel did not take.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{name}: expected {wanted}; the kernel's configuration has {found}")]
pub struct NotTaken {
    name: String,
    wanted: String,
    found: String,
}

impl Options {
    /// The options of the kernels that lasthop builds.
    ///
    /// # Panics
    ///
    /// If the file that they are made from is wrong, which a test excludes.
    pub fn ours() -> Self {
        Self::parse(OURS).expect("a test reads them")
    }

    /// Reads a fragment.
    pub fn parse(text: &str) -> Result<Self, OptionsError> {
        let mut options: Vec<Setting> = Vec::new();
        let mut has_reason = false;
        for (line, content) in (1..).zip(text.lines().map(str::trim)) {
            if content.is_empty() {
                has_reason = false;
            } else if let Some(reason) = content.strip_prefix('#') {
                has_reason |= !reason.trim().is_empty();
            } else {
                let setting = Setting::parse(content).ok_or(OptionsError::Line { line })?;
                let name = setting.name.clone();
                if !has_reason {
                    return Err(OptionsError::NoReason { line, name });
                }
                if options.iter().any(|other| other.name == name) {
                    return Err(OptionsError::Twice { line, name });
                }
                options.push(setting);
            }
        }
        Ok(Self { text: text.to_owned(), options })
    }

    /// Their text, with the reasons.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Their lines of a configuration. A comment has no meaning there, unless it leaves an option out.
    pub fn lines(&self) -> String {
        self.options.iter().flat_map(|Setting { name, value }| [name, "=", value, "\n"]).collect()
    }

    /// Checks that a configuration has them: the kernel's tools change without an error what
    /// contradicts other options.
    pub fn check(&self, configuration: &str) -> Result<(), NotTaken> {
        let taken: BTreeMap<String, String> =
            configuration.lines().filter_map(Setting::parse).map(|it| (it.name, it.value)).collect();
        for Setting { name, value } in &self.options {
            // What is left out is absent, or in a comment.
            let found = taken.get(name).map_or("n", String::as_str);
            if found != value {
                let (name, wanted, found) = (name.clone(), value.clone(), found.to_owned());
                return Err(NotTaken { name, wanted, found });
            }
        }
        Ok(())
    }
}

impl Setting {
    fn parse(line: &str) -> Option<Self> {
        let (name, value) = line.split_once('=')?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_option =
            name.strip_prefix("CONFIG_").is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_name));
        let is_value = !value.is_empty() && !value.contains(char::is_whitespace) || value.starts_with('"');
        (is_option && is_value).then(|| Self { name: name.to_owned(), value: value.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_our_options_has_a_reason() {
        let options = Options::parse(OURS).unwrap_or_else(|error| panic!("kernel/options: {error}"));
        assert!(options.options.len() > 80, "{}", options.options.len());
        assert!(options.lines().contains("CONFIG_UML_TIME_TRAVEL_SUPPORT=y\n"));
    }

    #[test]
    fn a_reason_is_for_its_paragraph() {
        let text = "# Why.\nCONFIG_A=y\nCONFIG_B=4\n\nCONFIG_C=y\n";
        let name = "CONFIG_C".to_owned();
        assert_eq!(Options::parse(text), Err(OptionsError::NoReason { line: 5, name }));
        let options = Options::parse(&text.replace("\n\n", "\n\n# Why not.\n#\n")).expect("a fragment");
        assert_eq!(options.lines(), "CONFIG_A=y\nCONFIG_B=4\nCONFIG_C=y\n");
        assert!(matches!(Options::parse("#\nCONFIG_A=y"), Err(OptionsError::NoReason { line: 2, .. })));
    }

    #[test]
    fn what_is_not_an_option_is_refused() {
        for line in ["A=y", "CONFIG_=y", "CONFIG_A", "CONFIG_A=", "CONFIG_A=y # why", "CONFIG A=y"] {
            let text = format!("# Why.\n{line}\n");
            assert_eq!(Options::parse(&text), Err(OptionsError::Line { line: 2 }), "{line}");
        }
        let twice = Options::parse("# Why.\nCONFIG_A=y\nCONFIG_A=n\n").expect_err("two values");
        assert_eq!(twice.to_string(), "line 3: CONFIG_A is set above");
    }

    #[test]
    fn an_option_that_the_kernel_did_not_take_is_named() {
        let options = Options::parse("# Why.\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=4\n").expect("a fragment");
        let check = |text: &str| options.check(text).map_err(|error| error.to_string());
        let text = "# CONFIG_B is not set\nCONFIG_A=y\nCONFIG_C=4\nCONFIG_D=\"a b\"\n";
        assert_eq!(check(text), Ok(()));
        let without = check(&text.replace("CONFIG_A=y", "# CONFIG_A is not set"));
        assert_eq!(without, Err("CONFIG_A: expected y; the kernel's configuration has n".to_owned()));
        assert!(check(&text.replace("=4", "=2")).is_err());
        assert!(check(&format!("{text}CONFIG_B=m\n")).is_err());
    }
}
