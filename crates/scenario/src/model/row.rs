//! A row of a comparison: a scheme, and a TCP.

use std::fmt;
use std::sync::Arc;

use lasthop_schemes::{Placement, SchemeError, SchemeStack};

use super::flow::TcpModel;

/// Schemes with their settings, as a row of a comparison.
#[derive(Clone)]
pub struct SchemeChoice {
    /// The row's name: the scheme's, unless the scenario gives another.
    pub label: String,
    /// The schemes that run; `None` for the reference without loss.
    stack: Option<SchemeStack>,
    /// TCP's settings of each flow, if the row has its own.
    tcp: Option<Arc<[Option<TcpModel>]>>,
    /// The same of each session.
    tcp_of_sessions: Option<Arc<[Option<lasthop_tcp::Config>]>>,
    /// The keys of these settings.
    tcp_keys: Arc<[String]>,
}

impl SchemeChoice {
    /// The name of the reference without any loss.
    pub const NO_LOSS: &'static str = "no-loss";
    /// A description of the reference, in a sentence.
    pub const ABOUT_NO_LOSS: &'static str =
        "\"no-loss\" is not a scheme but a reference for comparison: unchanged TCP and no loss on any link";

    /// The reference: the same network and traffic without any scheme and without any loss on its
    /// links.
    pub fn no_loss() -> Self {
        Self {
            label: Self::NO_LOSS.to_owned(),
            stack: None,
            tcp: None,
            tcp_of_sessions: None,
            tcp_keys: Arc::default(),
        }
    }

    /// A scheme of the catalogue with these settings, or [`SchemeChoice::NO_LOSS`].
    pub fn new(name: &str, settings: toml::Table) -> Result<Self, SchemeError> {
        if name == Self::NO_LOSS && settings.is_empty() {
            return Ok(Self::no_loss());
        }
        SchemeStack::new([(name, settings)]).map(Self::of).map_err(|wrong| wrong.error)
    }

    /// Schemes on top of each other, labelled by their names.
    pub fn of(stack: SchemeStack) -> Self {
        Self {
            label: stack.names(),
            stack: Some(stack),
            tcp: None,
            tcp_of_sessions: None,
            tcp_keys: Arc::default(),
        }
    }

    /// The same under another label.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with these settings of TCP, one for each of the scenario's flows, in the place of
    /// the flows' own.
    #[must_use]
    pub fn with_tcp(mut self, tcp: Vec<Option<TcpModel>>) -> Self {
        self.tcp = Some(tcp.into());
        self
    }

    /// The same with these settings of TCP, one for each of the scenario's sessions, in the place of the
    /// sessions' own.
    #[must_use]
    pub fn with_tcp_of_sessions(mut self, tcp: Vec<Option<lasthop_tcp::Config>>) -> Self {
        self.tcp_of_sessions = Some(tcp.into());
        self
    }

    /// The same, whose own settings of TCP have these keys in the file, such as `congestion`.
    #[must_use]
    pub fn with_tcp_keys(mut self, keys: Vec<String>) -> Self {
        self.tcp_keys = keys.into();
        self
    }

    /// The keys of the settings of TCP that the row has of its own.
    pub fn tcp_keys(&self) -> &[String] {
        &self.tcp_keys
    }

    /// Some of the scenario's flows are left out, `kept` says which stay.
    pub(super) fn keep_flows(&mut self, kept: &[bool]) {
        if let Some(tcp) = &mut self.tcp {
            let of_kept = tcp.iter().zip(kept).filter(|(_, kept)| **kept);
            *tcp = of_kept.map(|(tcp, _)| tcp.clone()).collect();
        }
    }

    /// TCP's settings of the scenario's flow with this index under this row; `own` are the flow's.
    pub fn tcp_of<'a>(&'a self, index: usize, own: &'a TcpModel) -> &'a TcpModel {
        self.tcp.as_ref().and_then(|tcp| tcp.get(index)?.as_ref()).unwrap_or(own)
    }

    /// TCP's settings of the scenario's session with this index under this row; `own` are the session's.
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

    /// Whether TCP senders or receivers have a part of it.
    pub fn changes_endpoints(&self) -> bool {
        self.stack.as_ref().is_some_and(SchemeStack::changes_endpoints)
    }

    /// The agents that it places; `None` for the reference without loss.
    pub(crate) fn placement(&self) -> Option<&dyn Placement> {
        self.stack.as_ref().map(|stack| stack as &dyn Placement)
    }
}

impl fmt::Debug for SchemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SchemeChoice").field(&self.label).finish()
    }
}
