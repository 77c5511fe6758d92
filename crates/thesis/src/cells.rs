//! Reads blocks of cells: wireless links that share a medium (thesis, section 4.2, item 5, and
//! appendix B.3.10).
//!
//! Appendix A describes the MAC: CSMA/CA with DIFS, a back-off that is frozen while the medium is
//! busy, and ACKs after SIFS. That is the distributed coordination function without RTS and without
//! fragments. The appendix gives no parameters; they are those of direct sequence in IEEE
//! 802.11-1997, one of the three physical layers that it names.

use lasthop_packet::Bitrate;
use lasthop_sim::queue::StationQueue;
use lasthop_sim::{QueueLimit, RadioLinkConfig};
use lasthop_wifi::{PhyConfig, Rate, Scheduler, Standard, StationConfig, WlanConfig};

use super::draft::Draft;
use super::error::{Problem, quoted};
use super::links::RETRANSMISSIONS;
use super::nodes::NodeType;
use super::syntax::Block;
use lasthop_scenario::model::{Link, WlanModel, WlanStation};

/// The medium access of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mac {
    /// The links take turns, without collisions or overhead.
    Ideal,
    /// 802.11.
    Dcf,
}

impl Mac {
    fn from_block(block: &Block<'_>) -> Result<Self, Problem> {
        match block.get("mac") {
            None => Ok(Self::Dcf),
            Some(mac) if mac.value == "802.11" => Ok(Self::Dcf),
            Some(mac) if mac.value == "ideal" => Ok(Self::Ideal),
            Some(mac) => Err(block.problem(mac, format!("{}: expected 802.11 or ideal", quoted(mac.value)))),
        }
    }
}

impl Draft {
    /// Makes the links of a block share a medium.
    pub(super) fn share_links(&mut self, block: &Block<'_>) -> Result<(), Problem> {
        let (ids, others): (Vec<_>, Vec<_>) =
            block.attributes.iter().partition(|attribute| attribute.key == "link_id");
        let rest = Block { attributes: others, ..*block };
        rest.has_only(&["link_id", "mac"])?;
        let mac = Mac::from_block(&rest)?;
        if ids.is_empty() {
            return Err(block.problem_at(
                block.line,
                "link_id",
                "missing; expected the id of a wireless link, one attribute per link",
            ));
        }
        let mut common: Option<(u64, Bitrate)> = None;
        let mut links = Vec::new();
        for attribute in &ids {
            let id = block.id_of(attribute)?;
            let link = self.links.get(&id.value).map(|link| link.value);
            let found = link.and_then(|link| Some((link, *self.bandwidths.get(&link)?)));
            let Some((link, bandwidth)) = found else {
                let problem = format!(
                    "unknown wireless_link {}; expected the id of a wireless_link defined above",
                    id.value
                );
                return Err(block.problem(attribute, problem));
            };
            if let Some(line) = self.cells.insert(link, block.line) {
                let problem = format!("link {} is already in the cell in line {line}", id.value);
                return Err(block.problem(attribute, problem));
            }
            let (first, expected) = *common.get_or_insert((id.value, bandwidth));
            if mac == Mac::Dcf && bandwidth != expected {
                let problem = format!(
                    "link {} has a bandwidth of {}; expected {} (bits per second), as link {first} has: all stations of an 802.11 cell use the same channel",
                    id.value,
                    bandwidth.as_bps(),
                    expected.as_bps()
                );
                return Err(block.problem(attribute, problem));
            }
            links.push(link);
        }
        match (mac, common) {
            (Mac::Dcf, Some((_, bandwidth))) => self.add_cell(block, &links, bandwidth),
            _ => self.share_ideally(block, &links),
        }
        Ok(())
    }

    fn share_ideally(&mut self, block: &Block<'_>, links: &[usize]) {
        for link in links {
            if let Link::Wireless { cell, .. } = &mut self.scenario.links[*link].link {
                *cell = Some(name_of(block));
            }
        }
    }

    fn add_cell(&mut self, block: &Block<'_>, links: &[usize], bandwidth: Bitrate) {
        let wlan = self.scenario.wlans.len();
        let mut nodes = Vec::new();
        for index in links {
            let link = &mut self.scenario.links[*index];
            nodes.extend([link.ends.0, link.ends.1]);
            if let Link::Wireless { config, .. } = &link.link {
                let config = RadioLinkConfig {
                    name: config.name.clone(),
                    channel: Some(config.channel.clone()),
                    delay: config.forward.delay.constant().unwrap_or_default(),
                    seed: config.seed,
                };
                link.link = Link::Radio { config, wlan };
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        let station = |node: usize| WlanStation {
            node,
            config: station(self.node_types[node]),
            queue: StationQueue::Mac,
        };
        self.scenario.wlans.push(WlanModel {
            name: name_of(block),
            config: config(bandwidth),
            channel: None,
            stations: nodes.into_iter().map(station).collect(),
            has_access_point: false,
            errors: Vec::new(),
            power_save: None,
            routing: None,
            placement: None,
            mobility: None,
            paths: Vec::new(),
            program: None,
            roaming: None,
        });
    }
}

fn name_of(block: &Block<'_>) -> String {
    format!("cell in line {}", block.line)
}

/// The configuration of a cell: every frame has the bandwidth of the links, and all stations hear
/// each other.
fn config(bandwidth: Bitrate) -> WlanConfig {
    let phy = PhyConfig {
        rate: Rate::DSSS_1,
        basic_rates: vec![Rate::DSSS_1],
        bandwidth: Some(bandwidth),
        ..PhyConfig::new(Standard::Dsss)
    };
    WlanConfig { phy, ..WlanConfig::new(Standard::Dsss) }
}

/// The configuration of a station. The MAC retransmits as often as the thesis's link layer. Class
/// `MOD_DLL_BS`, that of base stations and wireless sources, has a queue for each host (section
/// 4.3.1, item 5).
fn station(node_type: NodeType) -> StationConfig {
    let attempts = if node_type.is_reliable() { 1 + RETRANSMISSIONS } else { 1 };
    StationConfig {
        queue: QueueLimit::Unlimited,
        scheduler: if node_type.has_queue_per_host() { Scheduler::PerReceiver } else { Scheduler::Fifo },
        short_retry_limit: Some(attempts),
        ..StationConfig::default()
    }
}
