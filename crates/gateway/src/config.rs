//! The daemon's configuration file: TOML, parsed into a configuration that is ready to run.

mod entries;
mod reader;
mod rules;
#[cfg(feature = "roaming")]
mod site;
#[cfg(feature = "roaming")]
mod site_tables;
mod tables;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use lasthop_agent::{Budget, LinkSenses};
use lasthop_config::text::{name_of, read_file};
use lasthop_config::{Disk, Document, Kind};
use lasthop_packet::units::format_octets;
use lasthop_schemes::Role;

use super::plan::{Plan, RulePlan};
use super::selector::Selector;
use reader::Reader;
use tables::GatewayFile;

pub use super::plan::Surroundings;
pub use lasthop_config::FileError;
#[cfg(feature = "roaming")]
pub use site::{EtcdPlace, NatConfig, RegistryPlace, SiteConfig};
pub use tables::{Backend, DEFAULT_SOCKET, LogFormat, LogLevel, TxStatus};

/// The example file: every key with its default and a description.
pub const DEFAULT_FILE: &str = include_str!("../../../packaging/gateway.toml");

const MAX_RULES: usize = 64;
/// The seed of the agents' randomness.
const SEED: u64 = 1;

/// A configuration that was parsed and checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// How frames are taken out of the kernel's path.
    pub backend: Backend,
    /// Interfaces to the wired network; `None` to detect them.
    pub core: Option<Vec<String>>,
    /// Interfaces to the wireless hop; `None` to detect them.
    pub radio: Option<Vec<String>>,
    /// Where the gateway stands, for which the rules of the plan were made.
    pub role: Role,
    /// Whether agents learn the TX status of frames from the Wi-Fi drivers of the radio interfaces. Not with
    /// [`Backend::Tun`].
    pub tx_status: TxStatus,
    /// The plan of the engine.
    pub plan: Plan,
    /// The address for Prometheus, if any.
    pub metrics: Option<SocketAddr>,
    /// Whether clients have pseudonyms on the metrics page.
    pub pseudonyms_in_metrics: bool,
    /// The control socket, if any.
    pub control: Option<PathBuf>,
    /// The number of packet threads, 1 to 16.
    pub threads: usize,
    /// Whether the packet loop requests real-time scheduling and locked memory.
    pub realtime: bool,
    /// The lowest level that is logged.
    pub log_level: LogLevel,
    /// The format of the log.
    pub log_format: LogFormat,
    /// Whether pseudonyms are logged in the place of MAC addresses.
    pub pseudonyms_in_log: bool,
    /// How clients roam, if there are other access points.
    #[cfg(feature = "roaming")]
    pub roaming: Option<SiteConfig>,
}

/// Reads a file for a gateway in these surroundings.
pub fn read(path: &Path, surroundings: impl Into<Surroundings>) -> Result<Config, FileError> {
    parse(&read_file(&Disk, path)?, &name_of(path), surroundings)
}

/// Reads a configuration from text. `name` is the file name in errors.
pub fn parse(text: &str, name: &str, surroundings: impl Into<Surroundings>) -> Result<Config, FileError> {
    let document = Document::parse(text, name.to_owned(), "a configuration in TOML")?;
    document.expect(Kind::Gateway)?;
    let mut file: GatewayFile = document.deserialize()?;
    let surroundings = in_file(&file, surroundings.into());
    let reader = Reader { document: &document, surroundings };
    file.passive |= reader.surroundings.is_passive;
    let rules = file.rule.len();
    if !(1..=MAX_RULES).contains(&rules) {
        return Err(reader.fail(&["rule"], format!("{rules} rules; expected 1 to {MAX_RULES}")));
    }
    reader.check_ports(&file.ports)?;
    reader.check_role(&file)?;
    let (threads, flows) = (file.process.threads, file.bounds.flows);
    if threads > flows {
        let problem = format!(
            "{threads} threads share bounds.flows = {flows}; expected at least one connection per thread"
        );
        return Err(reader.fail(&["process", "threads"], problem));
    }
    let traffic = reader.selector(&["traffic"], file.traffic.selector())?;
    let rules = rules::rules(&reader, &file.rule)?;
    let metrics = reader.listen(&file.metrics.listen)?;
    let control = reader.socket(&file.control.socket)?;
    #[cfg(feature = "roaming")]
    let roaming = file
        .roaming
        .as_ref()
        .map(|table| site::read(&reader, table, file.passive, file.backend))
        .transpose()?;
    #[cfg(not(feature = "roaming"))]
    if file.roaming.is_some() {
        let problem = "this build is for a single gateway; one with the feature roaming knows others, such as the complete `lasthop`";
        return Err(reader.fail(&["roaming"], problem));
    }
    Ok(Config {
        metrics,
        control,
        #[cfg(feature = "roaming")]
        roaming,
        ..Config::new(file, traffic, rules)
    })
}

/// The surroundings of a gateway with this file.
fn in_file(file: &GatewayFile, surroundings: Surroundings) -> Surroundings {
    let of_driver = match file.ports.tx_status {
        TxStatus::Off => LinkSenses::empty(),
        TxStatus::Probed | TxStatus::Trusted => LinkSenses::FRAME_FATE,
    };
    Surroundings { role: file.role.into(), senses: surroundings.senses | of_driver, ..surroundings }
}

/// The JSON schema of the file, for editors.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(GatewayFile).to_value()
}

/// The minimum size of a connection's state in most schemes, in octets.
const MIN_STATE: usize = 1024;

impl Config {
    /// The configuration of an empty file, except for these rules, and without control socket and
    /// metrics page.
    pub fn with_rules(rules: Vec<RulePlan>) -> Self {
        Self::new(GatewayFile::default(), Selector::default(), rules)
    }

    /// The configuration of a file whose selectors and rules have been parsed, without control
    /// socket and metrics page.
    fn new(file: GatewayFile, traffic: Selector, rules: Vec<RulePlan>) -> Self {
        let plan = Plan {
            traffic,
            rules,
            passive: file.passive,
            budget: file.bounds.budget(),
            idle: file.idle.times(),
            stepping_aside: file.stepping_aside.plan(),
            max_clients: Some(file.metrics.clients).filter(|most| *most > 0),
            seed: SEED,
        };
        Self {
            backend: file.backend,
            core: file.ports.core,
            radio: file.ports.radio,
            role: file.role.into(),
            tx_status: file.ports.tx_status,
            plan,
            metrics: None,
            pseudonyms_in_metrics: file.metrics.pseudonyms,
            control: None,
            threads: file.process.threads,
            realtime: file.process.realtime,
            log_level: file.log.level,
            log_format: file.log.format,
            pseudonyms_in_log: file.log.pseudonyms,
            #[cfg(feature = "roaming")]
            roaming: None,
        }
    }

    /// Its metrics page, and whether that has pseudonyms.
    const fn metrics_page(&self) -> (Option<SocketAddr>, bool) {
        (self.metrics, self.pseudonyms_in_metrics)
    }

    /// How it logs.
    const fn log(&self) -> (LogLevel, LogFormat, bool) {
        (self.log_level, self.log_format, self.pseudonyms_in_log)
    }

    /// The keys that differ from those of `other`, the file at start, and that take effect only
    /// after a restart. A running gateway adopts all of `[traffic]`, except for connections that
    /// the kernel does not divert to it.
    pub fn takes_restart(&self, other: &Self) -> Vec<&'static str> {
        let differing = [
            ("backend", self.backend != other.backend),
            ("passive", self.plan.passive != other.plan.passive),
            ("ports", self.core != other.core || self.radio != other.radio),
            ("traffic", self.plan.traffic.goes_beyond(&other.plan.selection(1))),
            ("rule", self.plan.takes_datagrams() && !other.plan.takes_datagrams()),
            ("metrics", self.metrics_page() != other.metrics_page()),
            ("control", self.control != other.control),
            ("process", self.realtime != other.realtime || self.threads != other.threads),
            ("log", self.log() != other.log()),
            #[cfg(feature = "roaming")]
            ("roaming", self.roaming != other.roaming),
        ];
        differing.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }

    /// Settings that the file allows and that its author probably did not intend; one sentence
    /// each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let Budget { flows, octets_per_flow, octets_in_all } = self.plan.share(0, self.threads).budget;
        let [per_flow, in_all] = [octets_per_flow, octets_in_all].map(|octets| format_octets(octets as u64));
        let whose = if self.threads > 1 { "a thread's share of " } else { "" };
        if octets_in_all == 0 {
            notes.push(format!(
                "{whose}bounds.octets-in-all is 0: agents cannot keep packets or the state of connections, and all packets pass untouched"
            ));
        } else if octets_per_flow < MIN_STATE {
            notes.push(format!(
                "bounds.octets-per-flow is {per_flow}: most schemes need more than 1 KiB for a connection's state, and without it all \
                 packets pass untouched"
            ));
        } else if octets_per_flow > octets_in_all {
            notes.push(format!(
                "bounds.octets-per-flow ({per_flow}) is more than {whose}bounds.octets-in-all ({in_all}), the limit for all connections together"
            ));
        } else if flows > octets_in_all / MIN_STATE {
            notes.push(format!(
                "{whose}bounds.octets-in-all ({in_all}) is less than 1 KiB for each connection of bounds.flows; most schemes need more than \
                 that for a connection's state, and when the memory is used up, new connections pass untouched"
            ));
        }
        if self.tx_status != TxStatus::Off && !self.plan.needs().contains(LinkSenses::FRAME_FATE) {
            notes.push(
                "ports.tx-status is set, and no rule has a scheme that needs it: all frames to clients take the slower way for nothing"
                    .to_owned(),
            );
        }
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        if self.realtime && self.threads >= processors {
            notes.push(format!(
                "process.realtime with process.threads = {} on {processors} processors: under load, nothing else would run; use fewer \
                 threads than processors",
                self.threads
            ));
        }
        let all = self.plan.rules.iter().position(|rule| rule.traffic == Selector::default());
        if let Some(all) = all.filter(|all| all + 1 < self.plan.rules.len()) {
            notes.push(format!(
                "rule[{}] and the rules after it are never used: rule[{all}] matches every connection, and the first match counts",
                all + 1
            ));
        }
        #[cfg(feature = "roaming")]
        notes.extend(self.roaming.iter().flat_map(SiteConfig::notes));
        notes
    }
}
