//! The tables of a configuration file, as serde reads them. `packaging/gateway.toml` shows and
//! explains each key.

use std::time::Duration;

use lasthop_agent::Budget;
use lasthop_schemes::layer_entry::{LayerEntry, scheme_name_schema};
use lasthop_schemes::settings::{Count, Octets, SECOND, TIB, Time, WEEK};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::PortEntry;
use crate::gateway::plan::SteppingAside;
use crate::gateway::selector::PortRange;
use crate::gateway::table::IdleTimes;
use crate::io::steering::MOST_WORKERS;

/// Where the control socket is unless a file says otherwise.
pub const DEFAULT_SOCKET: &str = "/run/lasthop/gateway.sock";

/// A lasthop gateway. Every key has a default; an empty file is a gateway that finds its interfaces
/// by itself and runs Snoop for all TCP but ssh.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GatewayFile {
    /// How frames are taken out of the kernel's path. Default "auto": tc-bpf, or tun where the
    /// kernel lacks it.
    pub backend: Backend,
    /// Which interfaces.
    pub ports: PortsTable,
    /// Which traffic any rule is asked about. What is neither TCP nor RTP passes untouched in any
    /// case.
    pub traffic: TrafficTable,
    /// The rules, 1 to 64; the first that matches a connection counts. Default: one that runs Snoop
    /// for all traffic.
    pub rule: Vec<RuleTable>,
    /// How much may be remembered.
    pub bounds: BoundsTable,
    /// How long a connection may be idle.
    pub idle: IdleTable,
    /// When connections are left alone that no agent does any good to.
    pub stepping_aside: SteppingAsideTable,
    /// Figures for Prometheus.
    pub metrics: MetricsTable,
    /// How `lasthop gateway status` and its like reach the daemon.
    pub control: ControlTable,
    /// How the kernel is to treat the process.
    pub process: ProcessTable,
    /// The log, on standard error.
    pub log: LogTable,
}

/// How frames are taken out of the kernel's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// tc-bpf; tun only where the kernel lacks what that takes and no addresses are translated.
    #[default]
    Auto,
    /// tc filters that redirect to TAP devices.
    TcBpf,
    /// A TUN device and policy routing.
    Tun,
}

impl Backend {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::TcBpf => "tc-bpf",
            Self::Tun => "tun",
        }
    }
}

/// Which interfaces.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PortsTable {
    /// Interfaces to the wired network, for the tun backend only. Default: those with a default
    /// route, or the wired members of a bridge that has it.
    pub core: Option<Vec<String>>,
    /// Interfaces to the wireless hop. Default: every wireless one.
    pub radio: Option<Vec<String>>,
}

/// Which connections. A key that is left out asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SelectorTable {
    /// Ports at either end: numbers, or ranges such as "8000-8099".
    pub ports: Vec<PortEntry>,
    /// Addresses at either end: prefixes such as "192.168.0.0/16".
    pub prefixes: Vec<String>,
    /// Ports that neither end may have.
    pub exclude_ports: Vec<PortEntry>,
    /// Addresses that neither end may have.
    pub exclude_prefixes: Vec<String>,
}

/// Which traffic any rule is asked about.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrafficTable {
    /// Ports at either end: numbers, or ranges such as "8000-8099". Default: all.
    pub ports: Vec<PortEntry>,
    /// Addresses at either end: prefixes such as "192.168.0.0/16". Default: all.
    pub prefixes: Vec<String>,
    /// Ports that neither end may have. Default 22: a session over ssh has to go on when the
    /// gateway has failed.
    pub exclude_ports: Vec<PortEntry>,
    /// Addresses that neither end may have. Default: none.
    pub exclude_prefixes: Vec<String>,
}

/// A rule: which scheme for which traffic.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleTable {
    /// The rule's name in tables and metrics. Default: its schemes' names.
    pub name: Option<String>,
    /// A scheme of `lasthop schemes` that places an agent at the edge, or "none" to leave the
    /// traffic alone.
    #[schemars(schema_with = "scheme_name_schema")]
    pub scheme: Option<String>,
    /// The scheme's settings; `lasthop schemes NAME` lists them.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub settings: toml::Table,
    /// Instead of `scheme` and `settings`: schemes on top of each other, the one nearest to the core
    /// side first, as in scenarios: `"lle-tcp"`, or `{ scheme = "snoop", SETTING = ... }`.
    pub stack: Option<Vec<LayerEntry>>,
    /// Ports at either end. Default: all.
    pub ports: Vec<PortEntry>,
    /// Addresses at either end. Default: all.
    pub prefixes: Vec<String>,
    /// Ports that neither end may have. Default: none.
    pub exclude_ports: Vec<PortEntry>,
    /// Addresses that neither end may have. Default: none.
    pub exclude_prefixes: Vec<String>,
}

/// How much may be remembered.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoundsTable {
    /// Connections at a time, 1 to 1,000,000; default 10,000. What comes beyond passes untouched.
    #[serde(with = "Count::<1, 1_000_000>")]
    pub flows: usize,
    /// Memory that an agent may take for one connection; default 4 MiB. A scheme may have less by
    /// its own settings.
    #[serde(with = "Octets::<0, TIB>")]
    pub octets_per_flow: usize,
    /// Memory that all agents together may take for what they keep of packets; default 64 MiB.
    #[serde(with = "Octets::<0, TIB>")]
    pub octets_in_all: usize,
}

impl BoundsTable {
    pub(super) const fn budget(&self) -> Budget {
        Budget { flows: self.flows, octets_per_flow: self.octets_per_flow, octets_in_all: self.octets_in_all }
    }
}

/// How long a connection may be idle until it is forgotten. It goes on all the same, and is met
/// anew with its next packet.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdleTable {
    /// After a SYN that is not answered; default "30 s".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub opening: Duration,
    /// While data may flow; default "10 min".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub established: Duration,
    /// After one end's FIN; default "2 min".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub half_closed: Duration,
    /// After both ends' FINs, or a reset; default "10 s".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub closing: Duration,
    /// Since the last datagram between two ports; default "1 min".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub datagrams: Duration,
    /// At the bound, a connection that was used within this time does not make room for a new one;
    /// default "10 s".
    #[serde(with = "Time::<0, WEEK>")]
    pub grace: Duration,
}

impl IdleTable {
    pub(super) const fn times(&self) -> IdleTimes {
        let by_state = [self.opening, self.established, self.half_closed, self.closing, self.datagrams];
        IdleTimes { by_state, grace: self.grace }
    }
}

/// When connections are left alone that no agent does any good to.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SteppingAsideTable {
    /// Whether connections are left alone whose sender does not slow down on loss; default true.
    pub unresponsive: bool,
    /// Losses to which it did not answer, 1 to 100; default 8. A loss to which it does takes two of
    /// them away.
    #[serde(with = "Count::<1, 100>")]
    pub unresponsive_losses: u8,
    /// A connection of which only one direction passes here is left alone after this many packets,
    /// 1 to 1,000,000; default 32,
    #[serde(with = "Count::<1, 1_000_000>")]
    pub one_way_packets: u64,
    /// and this much time; default "1 s".
    #[serde(with = "Time::<0, WEEK>")]
    pub one_way_time: Duration,
}

impl SteppingAsideTable {
    pub(super) fn plan(&self) -> SteppingAside {
        SteppingAside {
            one_way_packets: self.one_way_packets,
            one_way_time: self.one_way_time,
            unresponsive_losses: self.unresponsive.then_some(self.unresponsive_losses),
        }
    }
}

/// Figures for Prometheus.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MetricsTable {
    /// A loopback address and port, or "off"; default "127.0.0.1:9477". `GET /metrics` and `GET
    /// /healthz`.
    pub listen: String,
}

/// The control socket.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ControlTable {
    /// Its path, or "off"; default "/run/lasthop/gateway.sock".
    pub socket: String,
}

/// How the kernel is to treat the process.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessTable {
    /// Threads for packets, 1 to 16; default 1. Each client address is served by one of them. The tun
    /// backend always uses one.
    #[serde(with = "Count::<1, { MOST_WORKERS as u64 }>")]
    pub threads: usize,
    /// Whether packets go before all ordinary work of the machine: real-time scheduling
    /// (`SCHED_FIFO`) for the packet loop, and memory that is not paged out; default false. Where
    /// the kernel refuses, the gateway goes on without and says so.
    pub realtime: bool,
}

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogTable {
    /// The least level that is written; default "info".
    pub level: LogLevel,
    /// Lines for people, or a JSON document a line; default "text".
    pub format: LogFormat,
}

/// Levels of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// What ends the daemon or an agent.
    Error,
    /// What an operator should look at.
    Warn,
    /// Start, stop, reload.
    #[default]
    Info,
    /// More than an operator wants to read.
    Debug,
}

/// Formats of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON document a line.
    Json,
}

impl TrafficTable {
    pub(super) fn selector(&self) -> SelectorTable {
        let Self { ports, prefixes, exclude_ports, exclude_prefixes } = self.clone();
        SelectorTable { ports, prefixes, exclude_ports, exclude_prefixes }
    }
}

impl RuleTable {
    pub(super) fn selector(&self) -> SelectorTable {
        let Self { ports, prefixes, exclude_ports, exclude_prefixes, .. } = self.clone();
        SelectorTable { ports, prefixes, exclude_ports, exclude_prefixes }
    }
}

impl Default for GatewayFile {
    fn default() -> Self {
        Self {
            backend: Backend::Auto,
            ports: PortsTable::default(),
            traffic: TrafficTable::default(),
            rule: vec![RuleTable { scheme: Some("snoop".to_owned()), ..RuleTable::default() }],
            bounds: BoundsTable::default(),
            idle: IdleTable::default(),
            stepping_aside: SteppingAsideTable::default(),
            metrics: MetricsTable::default(),
            control: ControlTable::default(),
            process: ProcessTable::default(),
            log: LogTable::default(),
        }
    }
}

impl Default for TrafficTable {
    fn default() -> Self {
        Self {
            ports: Vec::new(),
            prefixes: Vec::new(),
            exclude_ports: vec![PortEntry(PortRange(22..=22))],
            exclude_prefixes: Vec::new(),
        }
    }
}

impl Default for BoundsTable {
    fn default() -> Self {
        let Budget { flows, octets_per_flow, octets_in_all } = Budget::default();
        Self { flows, octets_per_flow, octets_in_all }
    }
}

impl Default for IdleTable {
    fn default() -> Self {
        Self {
            opening: Duration::from_secs(30),
            established: Duration::from_secs(600),
            half_closed: Duration::from_secs(120),
            closing: Duration::from_secs(10),
            datagrams: Duration::from_secs(60),
            grace: Duration::from_secs(10),
        }
    }
}

impl Default for SteppingAsideTable {
    fn default() -> Self {
        Self {
            unresponsive: true,
            unresponsive_losses: 8,
            one_way_packets: 32,
            one_way_time: Duration::from_secs(1),
        }
    }
}

impl Default for MetricsTable {
    fn default() -> Self {
        Self { listen: "127.0.0.1:9477".to_owned() }
    }
}

impl Default for ProcessTable {
    fn default() -> Self {
        Self { threads: 1, realtime: false }
    }
}

impl Default for ControlTable {
    fn default() -> Self {
        Self { socket: DEFAULT_SOCKET.to_owned() }
    }
}
