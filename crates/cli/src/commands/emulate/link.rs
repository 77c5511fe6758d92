//! The link of `lasthop emulate`, from a file or flags.

use std::path::Path;

use anyhow::anyhow;
use lasthop_config::Disk;
use lasthop_config::text::{did_you_mean_word_or_file, name_of};
use lasthop_scenario::{Built, Overrides, Scenario, SchemeChoice, Settings};
use lasthop_sim::{NodeId, NodeKind};

use super::flags::LinkFlags;
use super::value;
use crate::failure::Failure;
use crate::load::Choices;

/// A parsed link.
pub struct Link {
    /// The name of the link in messages.
    name: String,
    /// A short description.
    pub label: String,
    pub settings: Settings,
}

impl Link {
    /// Reads the link that the command line specifies.
    pub fn read(file: Option<&Path>, flags: &LinkFlags, choices: &Choices) -> Result<Self, Failure> {
        let Overrides { trace, settings } = choices.overrides();
        let set = settings.iter().map(|setting| format!(", {setting}")).collect::<Vec<_>>().concat();
        match file {
            Some(path) if value::key_of(&name_of(path)).is_some() && is_no_file(path) => Err(Failure::usage(
                anyhow!("{}: expected the property of a link as a flag: --{0} VALUE", name_of(path)),
            )),
            Some(path) if flags.are_given() && is_no_file(path) => Err(Failure::usage(anyhow!(
                "{} and flags of a link: expected quotes around a value that has spaces, such as --loss \"1% 25%\", and a \
                 command behind --",
                name_of(path)
            ))),
            Some(path) if flags.are_given() => Err(Failure::usage(anyhow!(
                "{} and flags of a link: expected a file or flags; to change a value of the file, use --set, such as \
                 --set links.air.loss=3%, and [[changes]] in place of --at",
                name_of(path)
            ))),
            Some(path) if is_no_file(path) => Err(Failure::usage(anyhow!(
                "{}: no such file, and no subcommand{}; expected a LINK file, or a command behind --: lasthop emulate --delay \
                 20ms -- {0}",
                name_of(path),
                did_you_mean_word_or_file(&Disk, path, &["set", "status"]),
            ))),
            Some(path) => {
                let settings = Settings::read(path, &choices.overrides()).map_err(Failure::usage)?;
                let label = path.file_stem().unwrap_or_default().to_string_lossy() + set.as_str();
                Ok(Self { name: name_of(path), label: label.into_owned(), settings })
            }
            None if flags.are_given() || trace.is_some() => {
                let label = flags.label(trace.as_deref()) + &set;
                let settings = flags
                    .settings(trace.as_deref(), settings)
                    .map_err(|problem| Failure::usage(anyhow!(problem)))?;
                Ok(Self { name: "the link".to_owned(), label, settings })
            }
            None => Err(Failure::usage(anyhow!(
                "no link: expected a LINK file or flags such as --rate 10mbit --delay 20ms --loss 1%; `lasthop emulate --help` \
                 has examples"
            ))),
        }
    }

    /// Builds the world of the link. Also returns its ends, `far` and `near`.
    pub fn build(&self, seed: u64) -> Result<(Built, (NodeId, NodeId)), Failure> {
        let scenario = self.settings.scenario();
        let (far, near) = (self.end("far")?, self.end("near")?);
        self.refuse_schemes()?;
        let scheme = SchemeChoice::new("none", toml::Table::new()).map_err(Failure::usage)?;
        let mut built = scenario.build(&scheme, seed).map_err(Failure::usage)?;
        let (far, near) = (built.nodes[far], built.nodes[near]);
        // Connections are tracked from the start, so that they can be reset at any time.
        built.links.iter().for_each(|link| built.world.follow_connections(*link));
        if !built.world.has_route(far, near) {
            return Err(Failure::usage(anyhow!(
                "{}: links: no route from \"far\" to \"near\"; expected links that join them",
                self.name
            )));
        }
        Ok((built, (far, near)))
    }

    /// The index of the external node with this name.
    fn end(&self, name: &str) -> Result<usize, Failure> {
        let Scenario { nodes, .. } = self.settings.scenario();
        let is_it = |node: &lasthop_scenario::NodeModel| node.name == name && node.kind == NodeKind::External;
        nodes.iter().position(is_it).ok_or_else(|| {
            Failure::usage(anyhow!(
                "{}: nodes: no node {name:?} of kind \"external\"; expected \"near\", where the command runs, and \"far\", the \
                 rest of the world",
                self.name
            ))
        })
    }

    /// Refuses a file with schemes: no agent runs here, and the file's schemes would have no
    /// effect.
    fn refuse_schemes(&self) -> Result<(), Failure> {
        let runs_agents = |choice: &&SchemeChoice| choice.stack().is_none_or(|stack| !stack.is_nothing());
        match self.settings.scenario().schemes.iter().find(runs_agents) {
            None => Ok(()),
            Some(choice) => Err(Failure::usage(anyhow!(
                "{}: schemes: `lasthop emulate` runs the link without {:?} or any other scheme; leave the key out, or use \
                 `lasthop try`, which runs each of them between real hosts",
                self.name,
                choice.label
            ))),
        }
    }
}

/// Whether a word is probably not meant as the name of a file.
fn is_no_file(word: &Path) -> bool {
    word.to_str() != Some("-")
        && word.extension().is_none()
        && word.components().count() == 1
        && !word.exists()
}
