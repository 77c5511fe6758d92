//! The tables of a configuration file, as serde reads them. `packaging/gateway.toml` shows and
//! explains each key.

use std::time::Duration;

use lasthop_agent::Budget;
use lasthop_config::quantity::{Count, Octets, SECOND, TIB, Time, WEEK};
use lasthop_schemes::Role;
use lasthop_schemes::layer_entry::{LayerEntry, scheme_name_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::PortEntry;
#[cfg(feature = "roaming")]
use super::site_tables::RoamingTable;
use crate::io::steering::MAX_WORKERS;
use crate::plan::SteppingAside;
use crate::selector::PortRange;
use crate::table::IdleTimes;

/// Path of the control socket unless a file sets another.
pub const DEFAULT_SOCKET: &str = "/run/lasthop/gateway.sock";

/// A lasthop gateway. Every key has a default. With an empty file the gateway finds its interfaces
/// by itself and runs Snoop for all TCP except ssh.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GatewayFile {
    /// How frames are taken out of the kernel's path; default "auto".
    pub backend: Backend,
    /// Where the gateway stands; default "edge".
    pub role: Standing,
    /// Measure the hop and change nothing: all packets pass in the kernel, no rule applies, and the
    /// gateway sees their headers. Needs the tc-bpf backend. Default false.
    pub passive: bool,
    /// The interfaces.
    pub ports: PortsTable,
    /// Which traffic is matched against the rules. Traffic that is neither TCP nor RTP always
    /// passes untouched.
    pub traffic: TrafficTable,
    /// The rules, 1 to 64. The first that matches a connection applies. Default: one rule that runs
    /// Snoop for all traffic.
    pub rule: Vec<RuleTable>,
    /// Limits on connections and memory.
    pub bounds: BoundsTable,
    /// How long a connection may be idle.
    pub idle: IdleTable,
    /// Connections that are not accelerated, because no agent helps them.
    pub stepping_aside: SteppingAsideTable,
    /// Metrics for Prometheus.
    pub metrics: MetricsTable,
    /// How `lasthop gateway status` and similar commands reach the daemon.
    pub control: ControlTable,
    /// How the kernel treats the process.
    pub process: ProcessTable,
    /// The log, on standard error.
    pub log: LogTable,
    /// Other gateways, between which clients roam with their connections. Default: none.
    #[cfg(feature = "roaming")]
    pub roaming: Option<RoamingTable>,
    /// A build without roaming refuses it, whatever it has.
    #[cfg(not(feature = "roaming"))]
    #[schemars(skip)]
    pub roaming: Option<toml::Table>,
}

/// How frames are taken out of the kernel's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// tc-bpf; tun only if the kernel lacks support for tc-bpf and no addresses are translated.
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

/// Where a gateway stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Between the wired network and the wireless hop: at an access point, or before it.
    #[default]
    Edge,
    /// Behind the wireless hop, between it and containers or other hosts, for schemes with an agent at both ends of the
    /// hop. Connections of the gateway's own host are not taken.
    MobileHost,
}

impl From<Standing> for Role {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Edge => Self::Edge,
            Standing::MobileHost => Self::MobileHost,
        }
    }
}

/// Whether agents learn the TX status of frames: whether the Wi-Fi driver of a radio interface has delivered each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TxStatus {
    /// No.
    #[default]
    Off,
    /// Yes, if the driver passes a test at the start: frames to a station that does not exist must not be reported as
    /// delivered. The access point knows that station for less than a second. Only at an access point.
    Probed,
    /// Yes, without a test.
    Trusted,
}

/// The interfaces.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PortsTable {
    /// Interfaces to the wired network, for the tun backend only. Default: those with a default
    /// route, or the wired members of a bridge that has it.
    pub core: Option<Vec<String>>,
    /// Interfaces to the wireless hop. Default: every wireless interface.
    pub radio: Option<Vec<String>>,
    /// Whether the Wi-Fi drivers of the radio interfaces tell agents what became of each frame; default "off". Needs the
    /// tc-bpf backend.
    pub tx_status: TxStatus,
}

/// A selection of connections. A key that is not given places no restriction.
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

/// Which traffic is matched against the rules.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrafficTable {
    /// Ports at either end: numbers, or ranges such as "8000-8099". Default: all.
    pub ports: Vec<PortEntry>,
    /// Addresses at either end: prefixes such as "192.168.0.0/16". Default: all.
    pub prefixes: Vec<String>,
    /// Ports that neither end may have. Default 22: a session over ssh must continue when the
    /// gateway has failed.
    pub exclude_ports: Vec<PortEntry>,
    /// Addresses that neither end may have. Default: none.
    pub exclude_prefixes: Vec<String>,
}

/// A rule: which scheme to run for which traffic.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleTable {
    /// The rule's name in tables and metrics. Default: the names of its schemes.
    pub name: Option<String>,
    /// A scheme of `lasthop schemes` that places an agent at the edge, or "none" for traffic that
    /// passes untouched.
    #[schemars(schema_with = "scheme_name_schema")]
    pub scheme: Option<String>,
    /// The scheme's settings; `lasthop schemes NAME` lists them.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub settings: toml::Table,
    /// Instead of `scheme` and `settings`: a stack of schemes, the one nearest to the core side
    /// first, as in scenarios: `"lle-tcp"`, or `{ scheme = "snoop", SETTING = ... }`.
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

/// Limits on connections and memory.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoundsTable {
    /// The most simultaneous connections, 1 to 1,000,000; default 10,000. At the limit, an idle
    /// connection is removed to make room (see `grace`); if none is idle, new connections pass
    /// untouched.
    #[serde(with = "Count::<1, 1_000_000>")]
    pub flows: usize,
    /// The most memory that an agent may use for one connection; default 4 MiB. A scheme's own
    /// settings may set a lower limit.
    #[serde(with = "Octets::<0, TIB>")]
    pub octets_per_flow: usize,
    /// The most memory that all agents together may use for the packets that they keep; default
    /// 64 MiB.
    #[serde(with = "Octets::<0, TIB>")]
    pub octets_in_all: usize,
}

impl BoundsTable {
    pub(super) const fn budget(&self) -> Budget {
        Budget { flows: self.flows, octets_per_flow: self.octets_per_flow, octets_in_all: self.octets_in_all }
    }
}

/// How long a connection may be idle before it is forgotten. The connection itself continues, and
/// its next packet makes it a new one. A connection that an agent owes something is not forgotten before
/// the agent is free of it: with a scheme that translates, such as `i-tcp`, before it ends.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdleTable {
    /// After an unanswered SYN; default "30 s".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub opening: Duration,
    /// While data may flow; default "10 min".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub established: Duration,
    /// After the FIN of one end; default "2 min".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub half_closed: Duration,
    /// After the FINs of both ends, or a reset; default "10 s".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub closing: Duration,
    /// After the last datagram between two ports; default "1 min".
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub datagrams: Duration,
    /// At the bound, a connection used within this time is not removed to make room for a new one;
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

/// Connections that are not accelerated, because no agent helps them.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SteppingAsideTable {
    /// Whether connections whose sender does not slow down on loss are not accelerated; default
    /// true.
    pub unresponsive: bool,
    /// How many losses the sender must have ignored, 1 to 100; default 8. A loss to which it
    /// responds subtracts two.
    #[serde(with = "Count::<1, 100>")]
    pub unresponsive_losses: u8,
    /// A connection of which only one direction passes through this gateway is not accelerated
    /// after this many packets, 1 to 1,000,000, and after `one-way-time`; default 32.
    #[serde(with = "Count::<1, 1_000_000>")]
    pub one_way_packets: u64,
    /// How much time must also have passed for `one-way-packets`; default "1 s".
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

/// Metrics for Prometheus.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MetricsTable {
    /// A loopback address and port for `GET /metrics` and `GET /healthz`, or "off"; default
    /// "127.0.0.1:9477".
    pub listen: String,
    /// How many clients have counters of their own, 0 to 10,000; all other clients share one.
    /// Default 0: clients are not counted.
    #[serde(with = "Count::<0, 10_000>")]
    pub clients: usize,
    /// Whether clients have pseudonyms there, not their addresses; default false. The pseudonyms are others after
    /// each start.
    pub pseudonyms: bool,
}

/// The control socket.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ControlTable {
    /// Path of the control socket, or "off"; default "/run/lasthop/gateway.sock".
    pub socket: String,
}

/// How the kernel treats the process.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessTable {
    /// Number of packet threads, 1 to 16; default 1. Each client address is served by one of them.
    /// The tun backend always uses one.
    #[serde(with = "Count::<1, { MAX_WORKERS as u64 }>")]
    pub threads: usize,
    /// Whether packets have priority over all ordinary work of the machine: real-time scheduling
    /// (`SCHED_FIFO`) for the packet loop, and memory that is not paged out. Default false. If the
    /// kernel refuses, the gateway continues without and reports it.
    pub realtime: bool,
}

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogTable {
    /// The lowest level that is written; default "info".
    pub level: LogLevel,
    /// Plain text lines, or one JSON document per line; default "text".
    pub format: LogFormat,
    /// Whether pseudonyms are written in the place of MAC addresses; default false. The pseudonyms are others after
    /// each start.
    pub pseudonyms: bool,
}

/// Levels of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// Events that end the daemon or an agent.
    Error,
    /// Events that an operator should look at.
    Warn,
    /// Start, stop, reload.
    #[default]
    Info,
    /// More detail than an operator usually needs.
    Debug,
}

/// Formats of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Plain text lines.
    #[default]
    Text,
    /// One JSON document per line.
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
            role: Standing::default(),
            backend: Backend::Auto,
            passive: false,
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
            roaming: None,
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
        Self { listen: "127.0.0.1:9477".to_owned(), clients: 0, pseudonyms: false }
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
