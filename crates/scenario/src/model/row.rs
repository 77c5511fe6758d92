//! A row of a comparison: schemes, and TCP settings.

use std::fmt;
use std::sync::Arc;

use lasthop_schemes::{Placement, SchemeError, SchemeStack};

use super::flow::TcpModel;
use super::wlan::Waiting;

/// A row of a comparison: schemes with their settings, and possibly TCP settings of its own.
#[derive(Clone)]
pub struct SchemeChoice {
    /// The row's name; by default the names of its schemes.
    pub label: String,
    /// The schemes that run; `None` for the reference without loss.
    stack: Option<SchemeStack>,
    /// The TCP settings of each flow, if the row overrides them.
    tcp: Option<Arc<[Option<TcpModel>]>>,
    /// The TCP settings of each session, if the row overrides them.
    tcp_of_sessions: Option<Arc<[Option<lasthop_tcp::Config>]>>,
    /// By cell: where the packets of each of its stations wait, if the row overrides that.
    queues: Option<Arc<[Option<Vec<Waiting>>]>>,
    /// The keys of TCP that the row overrides.
    tcp_keys: Arc<[String]>,
}

impl SchemeChoice {
    /// The name of the reference without any loss.
    pub const NO_LOSS: &'static str = "no-loss";
    /// A description of the reference, in a sentence.
    pub const ABOUT_NO_LOSS: &'static str =
        "\"no-loss\" is not a scheme but a reference for comparison: unchanged TCP and no loss on any link";

    /// The reference: the same network and traffic, without schemes and without loss on links.
    pub fn no_loss() -> Self {
        Self {
            label: Self::NO_LOSS.to_owned(),
            stack: None,
            tcp: None,
            tcp_of_sessions: None,
            queues: None,
            tcp_keys: Arc::default(),
        }
    }

    /// A scheme of the catalog with these settings. With [`SchemeChoice::NO_LOSS`] as name, the
    /// reference, which has no settings.
    pub fn new(name: &str, settings: toml::Table) -> Result<Self, SchemeError> {
        if name == Self::NO_LOSS && settings.is_empty() {
            return Ok(Self::no_loss());
        }
        SchemeStack::new([(name, settings)]).map(Self::from_stack).map_err(|wrong| wrong.error)
    }

    /// A stack of schemes, labelled by their names.
    pub fn from_stack(stack: SchemeStack) -> Self {
        Self {
            label: stack.names(),
            stack: Some(stack),
            tcp: None,
            tcp_of_sessions: None,
            queues: None,
            tcp_keys: Arc::default(),
        }
    }

    /// The same row with another label.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same row with these TCP settings, one for each of the scenario's flows. They override
    /// the flows' own.
    #[must_use]
    pub fn with_tcp(mut self, tcp: Vec<Option<TcpModel>>) -> Self {
        self.tcp = Some(tcp.into());
        self
    }

    /// The same row with these TCP settings, one for each of the scenario's sessions. They override
    /// the sessions' own.
    #[must_use]
    pub fn with_tcp_of_sessions(mut self, tcp: Vec<Option<lasthop_tcp::Config>>) -> Self {
        self.tcp_of_sessions = Some(tcp.into());
        self
    }

    /// The same row, in which the packets of stations wait elsewhere: for each of the scenario's cells, and each of its
    /// stations.
    #[must_use]
    pub(crate) fn with_queues(mut self, queues: Vec<Option<Vec<Waiting>>>) -> Self {
        self.queues = Some(queues.into());
        self
    }

    /// Where the packets of a station wait in this row, if it overrides that: by the indices of the cell and the station.
    pub(crate) fn waiting(&self, cell: usize, station: usize) -> Option<&Waiting> {
        self.queues.as_ref()?.get(cell)?.as_ref()?.get(station)
    }

    /// The same row with the keys of its TCP settings in the file, such as `congestion`.
    #[must_use]
    pub fn with_tcp_keys(mut self, keys: Vec<String>) -> Self {
        self.tcp_keys = keys.into();
        self
    }

    /// The keys of the row's own TCP settings.
    pub fn tcp_keys(&self) -> &[String] {
        &self.tcp_keys
    }

    /// Removes the settings of the flows for which `kept` is false.
    pub(super) fn keep_flows(&mut self, kept: &[bool]) {
        if let Some(tcp) = &mut self.tcp {
            let of_kept = tcp.iter().zip(kept).filter(|(_, kept)| **kept);
            *tcp = of_kept.map(|(tcp, _)| tcp.clone()).collect();
        }
    }

    /// The TCP settings in this row of the scenario's flow with this index; `own` are the flow's.
    pub fn tcp_of<'a>(&'a self, index: usize, own: &'a TcpModel) -> &'a TcpModel {
        self.tcp.as_ref().and_then(|tcp| tcp.get(index)?.as_ref()).unwrap_or(own)
    }

    /// The TCP settings in this row of the scenario's session with this index; `own` are the
    /// session's.
    pub fn tcp_of_session<'a>(
        &'a self,
        index: usize,
        own: &'a lasthop_tcp::Config,
    ) -> &'a lasthop_tcp::Config {
        self.tcp_of_sessions.as_ref().and_then(|tcp| tcp.get(index)?.as_ref()).unwrap_or(own)
    }

    /// The schemes that run; `None` for the reference without loss.
    pub const fn stack(&self) -> Option<&SchemeStack> {
        self.stack.as_ref()
    }

    /// Whether its schemes extend TCP senders or receivers.
    pub fn changes_endpoints(&self) -> bool {
        self.stack.as_ref().is_some_and(SchemeStack::changes_endpoints)
    }

    /// Where its agents go; `None` for the reference without loss.
    pub(crate) fn placement(&self) -> Option<&dyn Placement> {
        self.stack.as_ref().map(|stack| stack as &dyn Placement)
    }
}

impl fmt::Debug for SchemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SchemeChoice").field(&self.label).finish()
    }
}
