//! The directions of links: "down" is toward the node `near`, where the command's client is, and
//! "up" is away from it. A file calls them `forward` and `backward`, after the order in which it
//! names the link's nodes.

use std::collections::VecDeque;

use lasthop_scenario::Scenario;

/// The directions of a scenario's links.
pub(super) struct Ways {
    /// The name of each link, and whether "down" is `forward`; `None` if neither end is nearer.
    links: Vec<(String, Option<bool>)>,
}

impl Ways {
    pub(super) fn from_scenario(scenario: &Scenario) -> Self {
        let distances = distances(scenario);
        let links = scenario.links.iter().map(|link| {
            let (first, second) = (distances[link.ends.0], distances[link.ends.1]);
            let is_forward = first.zip(second).filter(|(first, second)| first != second);
            (link.name().to_owned(), is_forward.map(|(first, second)| second < first))
        });
        Self { links: links.collect() }
    }

    /// Translates a key such as `hop.down.rate` to that of a file, `hop.forward.rate`. Other keys
    /// are returned unchanged.
    pub(super) fn file_key(&self, key: &str) -> Result<String, String> {
        let steps: Vec<&str> = key.split('.').map(str::trim).collect();
        let steps = steps.strip_prefix(&["links"]).unwrap_or(&steps);
        let [link, way @ ("down" | "up"), rest @ ..] = steps else { return Ok(key.to_owned()) };
        let (Some((_, is_forward)), false) =
            (self.links.iter().find(|(name, _)| name == link), rest.is_empty())
        else {
            return Ok(key.to_owned());
        };
        let down_is_forward = is_forward.ok_or_else(|| {
            format!("{key}: neither end of {link:?} is nearer to \"near\"; expected {link}.forward or {link}.backward")
        })?;
        let way = if (*way == "down") == down_is_forward { "forward" } else { "backward" };
        Ok([&[*link, way], rest].concat().join("."))
    }
}

/// The distance of each node from `near`, in links; `None` without a path.
fn distances(scenario: &Scenario) -> Vec<Option<usize>> {
    let cells = scenario.wlans.iter().flat_map(|cell| {
        let nodes: Vec<usize> = cell.stations.iter().map(|station| station.node).collect();
        let first = nodes.first().copied();
        nodes.into_iter().filter_map(move |node| first.map(|first| (first, node)))
    });
    let pairs: Vec<(usize, usize)> = scenario.links.iter().map(|link| link.ends).chain(cells).collect();
    let mut distances = vec![None; scenario.nodes.len()];
    let near = scenario.nodes.iter().position(|node| node.name == "near");
    let mut next: VecDeque<(usize, usize)> = near.map(|near| (near, 0)).into_iter().collect();
    while let Some((node, distance)) = next.pop_front() {
        if distances[node].is_some() {
            continue;
        }
        distances[node] = Some(distance);
        let others = pairs.iter().filter_map(|(one, other)| match node {
            node if node == *one => Some(*other),
            node if node == *other => Some(*one),
            _ => None,
        });
        next.extend(others.map(|other| (other, distance + 1)));
    }
    distances
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lasthop_scenario::{Overrides, file};

    use super::*;

    const FILE: &str = r#"
nodes.near.kind = "external"
nodes.far.kind = "external"
nodes.router.kind = "router"
links.air = { between = ["near", "router"], rate = "1 Mbit/s" }
links.wire = { between = ["far", "router"], rate = "1 Mbit/s" }
"#;

    #[test]
    fn down_is_toward_the_command_whatever_order_the_file_has() {
        let scenario =
            file::parse(FILE, "link.toml", Path::new(""), &Overrides::default()).expect("a scenario");
        let ways = Ways::from_scenario(&scenario);
        for (key, meant) in [
            ("air.down.rate", "air.backward.rate"),
            ("air.up.rate", "air.forward.rate"),
            ("links.wire.down.loss", "wire.forward.loss"),
            (" wire . up . delay ", "wire.backward.delay"),
            ("air.rate", "air.rate"),
            ("air.forward.rate", "air.forward.rate"),
            ("moon.down.rate", "moon.down.rate"),
            ("air.down", "air.down"),
        ] {
            assert_eq!(ways.file_key(key).as_deref(), Ok(meant), "{key}");
        }
    }
}
