//! Warnings about schemes that do nothing in a scenario, because no node has a place for their
//! agents.

use lasthop_schemes::stack::Layer;
use lasthop_schemes::{Role, SchemeStack, Seat};

use super::{BuildError, Network};
use crate::model::{Scenario, SchemeChoice};

impl Scenario {
    /// A sentence about each scheme of this row that does nothing here, with what the scenario
    /// would need. Empty if every scheme has a place for an agent.
    pub fn idle_schemes(&self, row: &SchemeChoice) -> Result<Vec<String>, BuildError> {
        let layers = row.stack().map(SchemeStack::layers).unwrap_or_default();
        if layers.iter().all(Layer::is_nothing) {
            return Ok(Vec::new());
        }
        let network = Network::new(self)?;
        let is_idle = |layer: &&Layer| !layer.is_nothing() && !network.seats_any(layer.placement());
        Ok(layers.iter().filter(is_idle).map(about).collect())
    }
}

fn about(layer: &Layer) -> String {
    // A router of the wired network has a place only on the path to a mobile host.
    let roles = Role::ALL
        .iter()
        .filter(|(role, _)| *role != Role::Router && layer.placement().agent(Seat::any(*role)).is_some());
    let (roles, names): (Vec<Role>, Vec<&str>) = roles.copied().unzip();
    let node = match (roles.contains(&Role::MobileHost), roles.len()) {
        (true, 1) => "host",
        (true, _) => "router or host",
        (false, _) => "router",
    };
    format!(
        "{:?} does nothing here: it works at a wireless link of a node in the role {}, and the scenario has none; expected a {node} \
         with a link of kind = \"wireless\" or in an 802.11 cell",
        layer.scheme().name,
        names.join(" or ")
    )
}
