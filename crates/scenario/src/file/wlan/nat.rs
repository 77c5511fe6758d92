//! Access points that translate the addresses of clients that roam.

use lasthop_config::FileError;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::named::Named;
use crate::file::nat::{self, NatTable};
use crate::file::reader::Reader;
use crate::model::{NodeModel, RoamingNat};

/// How access points translate the addresses of their clients.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RoamingNatTable {
    /// Whether they translate, and what becomes of a client's translations when it roams.
    kind: RoamingNatName,
    /// With "two-level": the router whose `nat` translates the whole site. Default: the only router with `nat`.
    central: Option<String>,
    /// The settings of each access point's translator, as in a node's `nat`, but without `outside`.
    settings: Option<NatTable>,
}

/// Whether access points translate, and what becomes of a client's translations when it roams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RoamingNatName {
    /// They do not translate: they are bridges, and a client has one address in the whole site.
    #[default]
    None,
    /// Each translates on its own. A connection does not survive that its client roams.
    Independent,
    /// A client's translations follow it from access point to access point, and the central translator, which translates
    /// again, redirects its own to them.
    TwoLevel,
}

impl Named for RoamingNatTable {
    type Name = RoamingNatName;
    const SCHEMA: &'static str = "RoamingNat";
    const EXPECTED: &'static str =
        "\"none\", \"independent\", \"two-level\", or a table with one of them as \"kind\"";

    fn named(kind: RoamingNatName) -> Self {
        Self { kind, ..Self::default() }
    }
}

/// The translation of a cell's access points.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    (table, hands_over): (Option<&RoamingNatTable>, bool),
    nodes: &[NodeModel],
) -> Result<Option<RoamingNat>, FileError> {
    let Some(table) = table.filter(|table| table.kind != RoamingNatName::None) else { return Ok(None) };
    let key = |key| ["wlans", name, "roaming", "nat", key];
    let is_on_two_levels = table.kind == RoamingNatName::TwoLevel;
    if is_on_two_levels && !hands_over {
        let problem = "with two levels, a client's translations are handed over; expected true";
        return Err(reader.fail(&["wlans", name, "roaming", "hand-off"], problem));
    }
    if table.central.is_some() && !is_on_two_levels {
        return Err(reader.fail(&key("central"), "has no effect without kind = \"two-level\"; leave it out"));
    }
    let settings = table.settings.clone().unwrap_or_default();
    if settings.outside.is_some() {
        let key = ["wlans", name, "roaming", "nat", "settings", "outside"];
        let problem = "an access point's clients are inside, and all others outside; leave it out";
        return Err(reader.fail(&key, problem));
    }
    let config = nat::settings(reader, &key("settings"), &settings)?;
    let central =
        if is_on_two_levels { Some(central(reader, name, table.central.as_deref(), nodes)?) } else { None };
    Ok(Some(RoamingNat { config, central }))
}

/// The central translator: the one that is named, or the only one.
fn central(
    reader: &Reader<'_>,
    name: &str,
    named: Option<&str>,
    nodes: &[NodeModel],
) -> Result<usize, FileError> {
    if let Some(named) = named {
        let key = ["wlans", name, "roaming", "nat", "central"];
        let (node, _) = reader.node(&key, named)?;
        if nodes[node].nat.is_none() {
            let problem = format!("{named:?} does not translate; expected a router with `nat`");
            return Err(reader.fail(&key, problem));
        }
        return Ok(node);
    }
    let mut translators = (0..nodes.len()).filter(|node| nodes[*node].nat.is_some());
    let problem = match (translators.next(), translators.next()) {
        (Some(only), None) => return Ok(only),
        (Some(one), Some(other)) => format!(
            "{:?} and {:?} translate; expected `central`, the one that translates the whole site",
            nodes[one].name, nodes[other].name
        ),
        (None, _) => "no router translates the whole site; expected one with `nat`".to_owned(),
    };
    Err(reader.fail(&["wlans", name, "roaming", "nat"], problem))
}
