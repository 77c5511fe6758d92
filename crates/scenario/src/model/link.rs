//! A link between two nodes: wired, wireless, or in an 802.11 cell.

use lasthop_agent::LinkSenses;
use lasthop_sim::{Cut, RadioLinkConfig, Selection, WiredConfig, WirelessConfig};

use super::WlanModel;

/// A link between two nodes.
#[derive(Clone, Debug)]
pub struct LinkModel {
    /// Indices of the nodes that it joins; "forward" is from the first to the second.
    pub ends: (usize, usize),
    /// The kind of link, with its settings.
    pub link: Link,
    /// The packets that it impairs; all packets in an 802.11 cell.
    pub selection: Selection,
    /// The TCP connections that it resets or refuses; none in an 802.11 cell.
    pub cut: Cut,
    /// The keys of the file that limit its queues, forward and backward; `None` for a link that is not
    /// from a scenario file.
    pub queue_keys: Option<[String; 2]>,
}

impl LinkModel {
    /// A link that is not from a scenario file, and impairs all packets.
    pub fn new(ends: (usize, usize), link: Link) -> Self {
        Self { ends, link, selection: Selection::everything(), cut: Cut::None, queue_keys: None }
    }

    /// The link's name.
    pub fn name(&self) -> &str {
        match &self.link {
            Link::Wired(config) => &config.name,
            Link::Wireless { config, .. } => &config.name,
            Link::Radio { config, .. } => &config.name,
        }
    }
}

/// The kinds of links.
#[derive(Clone, Debug)]
pub enum Link {
    /// A wired link.
    Wired(WiredConfig),
    /// A wireless link. Links with the same `cell` share a medium; without one a link is full
    /// duplex.
    Wireless {
        /// Its parameters; `config.medium` is filled in when the world is built.
        config: WirelessConfig,
        /// The name of the cell whose medium it shares.
        cell: Option<String>,
    },
    /// A link between two stations of an IEEE 802.11 cell.
    Radio {
        /// Its parameters. In a scenario file, its name consists of the names of the cell and of
        /// the stations, with dots between them.
        config: RadioLinkConfig,
        /// Index of its cell in [`Scenario::wlans`](crate::Scenario::wlans).
        wlan: usize,
    },
}

impl Link {
    /// Whether schemes treat it as a wireless hop: any kind but wired.
    pub const fn is_wireless(&self) -> bool {
        !matches!(self, Self::Wired(_))
    }

    /// The link events that agents at its ends can receive. `cells`: those of its scenario.
    pub fn senses(&self, cells: &[WlanModel]) -> LinkSenses {
        match self {
            Self::Wired(_) => WiredConfig::SENSES,
            Self::Wireless { config, .. } => config.senses(),
            Self::Radio { wlan, .. } => {
                RadioLinkConfig::senses(cells[*wlan].config.mac.aggregation.is_some())
            }
        }
    }

    /// Whether it joins two stations of the cell with this index in
    /// [`Scenario::wlans`](crate::Scenario::wlans).
    pub const fn is_of_cell(&self, cell: usize) -> bool {
        matches!(self, Self::Radio { wlan, .. } if *wlan == cell)
    }
}
