//! Schemes with their settings, on top of each other: what a row of a comparison and a rule of a gateway run.

use std::fmt;
use std::sync::Arc;

use lasthop_agent::{Agent, Stack};
use lasthop_tcp::Extension;

use crate::catalogue::find;
use crate::scheme::{Placement, Role, Scheme, SchemeError, Seat};

/// One scheme or more, the one nearest to the core side first.
#[derive(Clone)]
pub struct SchemeStack(Arc<[Layer]>);

/// A scheme with the settings that it was given.
pub struct Layer {
    scheme: &'static Scheme,
    settings: toml::Table,
    placement: Box<dyn Placement>,
}

/// What is wrong with a stack, and where.
#[derive(Clone, Debug)]
pub struct StackError {
    /// Which layer, from 0.
    pub layer: usize,
    /// Which of its settings; `None` if it is no single one.
    pub setting: Option<String>,
    /// What is wrong.
    pub error: SchemeError,
}

impl SchemeStack {
    /// A stack of schemes of the catalogue with these settings.
    pub fn new<'a>(layers: impl IntoIterator<Item = (&'a str, toml::Table)>) -> Result<Self, StackError> {
        let mut stack: Vec<Layer> = Vec::new();
        for (index, (name, settings)) in layers.into_iter().enumerate() {
            let wrong = |setting, error| StackError { layer: index, setting, error };
            let scheme = find(name).map_err(|error| wrong(None, error))?;
            let placement = scheme.configure(settings.clone()).map_err(|error| {
                let (setting, error) =
                    wrong_setting(scheme, &settings).map_or((None, error), |(key, error)| (Some(key), error));
                wrong(setting, error)
            })?;
            let layer = Layer { scheme, settings, placement };
            if let (Some(other), true) =
                (stack.iter().find(|other| other.changes_senders()), layer.changes_senders())
            {
                return Err(wrong(
                    None,
                    SchemeError::Senders { first: other.scheme.name, second: scheme.name },
                ));
            }
            stack.push(layer);
        }
        Ok(Self(stack.into()))
    }

    /// The layers, the one nearest to the core side first.
    pub fn layers(&self) -> &[Layer] {
        &self.0
    }

    /// The schemes' names with a plus sign between them.
    pub fn names(&self) -> String {
        self.0.iter().map(|layer| layer.scheme.name).collect::<Vec<_>>().join("+")
    }

    /// Whether nothing is placed anywhere.
    pub fn is_nothing(&self) -> bool {
        self.0.iter().all(Layer::is_nothing)
    }

    /// Whether TCP senders have a part of it.
    pub fn changes_senders(&self) -> bool {
        self.0.iter().any(Layer::changes_senders)
    }
}

impl Placement for SchemeStack {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        let mut agents: Vec<_> = self.0.iter().filter_map(|layer| layer.placement.agent(seat)).collect();
        if agents.len() > 1 {
            return Some(Box::new(Stack::new(agents)));
        }
        agents.pop()
    }

    fn extension(&self, role: Role) -> Option<Box<dyn Extension>> {
        self.0.iter().find_map(|layer| layer.placement.extension(role))
    }
}

impl Layer {
    /// The scheme.
    pub const fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// What it places alone.
    pub fn placement(&self) -> &dyn Placement {
        self.placement.as_ref()
    }

    /// Whether it is there to have nothing placed.
    pub fn is_nothing(&self) -> bool {
        std::ptr::eq(self.scheme, &raw const crate::none::SCHEME)
    }

    fn changes_senders(&self) -> bool {
        Role::ALL.iter().any(|(role, _)| self.placement.extension(*role).is_some())
    }
}

/// Schemes and settings in one line: of two stacks that say the same here, one can go on with the other's agents.
impl fmt::Display for SchemeStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Layer { scheme, settings, .. }) in self.0.iter().enumerate() {
            let settings = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>();
            write!(f, "{}{}", if index == 0 { "" } else { " + " }, scheme.name)?;
            if !settings.is_empty() {
                write!(f, " {{ {} }}", settings.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SchemeStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemeStack({self})")
    }
}

/// Which of several settings is wrong: each has a default, so the wrong one is wrong alone.
fn wrong_setting(scheme: &Scheme, settings: &toml::Table) -> Option<(String, SchemeError)> {
    settings.iter().find_map(|(key, value)| {
        let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
        scheme.configure(alone).err().map(|error| (key.clone(), error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> toml::Table {
        text.parse().expect("TOML")
    }

    #[test]
    fn a_stack_says_what_it_is_in_one_line() {
        let snoop = settings("reordering = 2");
        let stack =
            SchemeStack::new([("lle-tcp", toml::Table::new()), ("snoop", snoop)]).expect("both are there");
        assert_eq!(stack.to_string(), "lle-tcp + snoop { reordering = 2 }");
        assert_eq!((stack.names().as_str(), stack.changes_senders()), ("lle-tcp+snoop", false));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_layer_and_its_setting() {
        let two = settings("idle-timeout = \"5 min\"\nreordering = 65");
        let wrong =
            SchemeStack::new([("none", toml::Table::new()), ("snoop", two)]).expect_err("65 is too many");
        assert_eq!((wrong.layer, wrong.setting.as_deref()), (1, Some("reordering")));
        let unknown = SchemeStack::new([("nonesuch", toml::Table::new())]).expect_err("there is none");
        assert!(matches!(unknown.error, SchemeError::Unknown { .. }));
    }

    #[test]
    fn senders_have_a_part_of_one_scheme_alone() {
        let both = SchemeStack::new(["simple-icmp", "refined-icmp"].map(|name| (name, toml::Table::new())));
        let error = both.expect_err("a sender cannot do both").error.to_string();
        assert!(error.contains("simple-icmp") && error.contains("refined-icmp"), "{error}");
    }
}
