//! How flows and sessions run between real hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::quantity::Text;
use super::reader::Reader;
use crate::model::{FlowModel, RateControl, SessionModel, Trial};
use lasthop_config::{Document, FileError};
use schemars::JsonSchema;
use serde::Deserialize;

const MAX_CONGESTION_CONTROLS: usize = 20;
/// Linux allows 15 characters and a zero (`TCP_CA_NAME_MAX`).
const LONGEST_CONGESTION_CONTROL: usize = 15;

/// How `lasthop try` runs flows between real hosts. Sessions between these hosts run at the same
/// time, in every run. The simulator ignores this table.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TryTable {
    /// Whether each flow runs by itself, or all flows run at the same time, for example to measure
    /// their fairness to each other; default "one-by-one". Sessions take part in every run.
    flows: Option<Gathering>,
    /// Congestion controls of the hosts' kernel, 1 to 20. With flows one by one, each flow runs
    /// with each congestion control, one row of the table per combination; default `["cubic"]`.
    /// With flows together, one congestion control for all or one for each, in the order of the
    /// flows; by default each flow uses its own, `tcp.congestion`. Sessions use the congestion
    /// control of the run if there is one, otherwise their own. A scheme with its own
    /// `tcp.congestion` uses that for all flows and sessions.
    congestion: Option<Vec<String>>,
    /// The longest duration of a flow or session, "1 s" to "1 h", including the time that is left
    /// out at the start. Flows and sessions of one run all end this long after the last of them has
    /// started. Default "12 s".
    duration: Option<Text<Duration>>,
    /// Time at the start of a flow without a size that is left out of its goodput, less than
    /// `duration`; default "2 s". With flows together it counts from the last start.
    settle: Option<Text<Duration>>,
    /// Settings of the hosts' kernels under `net.`, such as `"ipv4.tcp_sack" = "0"`.
    #[serde(default)]
    sysctl: BTreeMap<String, String>,
    /// Nodes, or groups, that are not real hosts. They, and the flows between them, stay in the
    /// model as background to each run.
    #[serde(default)]
    simulated: Vec<String>,
    /// Who chooses the rates of data frames where the stations of cells have the kernel's Wi-Fi, in simulated time;
    /// default "fixed".
    rate_control: Option<RateControlChoice>,
    /// The time at which the processes of the gateways are killed, as by a crash, in simulated time; by default they run
    /// to the end. The prediction's gateways lose their agents then.
    gateway_crash: Option<Text<Duration>>,
    /// Nodes, or groups, whose kernel is not that of the run, in simulated time: versions, such as "6.1". With `--set`
    /// also paths, as `--kernel` takes them.
    #[serde(default)]
    kernels: BTreeMap<String, String>,
}

/// Who chooses the rates of data frames.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RateControlChoice {
    /// All have the rate of their cell.
    Fixed,
    /// The kernel, as its rate control finds best (minstrel).
    Kernel,
}

/// Which flows run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Gathering {
    /// One at a time.
    #[default]
    OneByOne,
    /// All flows, each from its `start` on.
    Together,
}

pub(super) fn read(
    reader: &Reader<'_>,
    table: TryTable,
    flows: &[FlowModel],
    sessions: &[SessionModel],
) -> Result<Trial, FileError> {
    let default = Trial::default();
    let together = table.flows.unwrap_or_default() == Gathering::Together;
    let congestion = match table.congestion {
        Some(names) if names.is_empty() || names.len() > MAX_CONGESTION_CONTROLS => {
            let problem =
                format!("{} congestion controls; expected 1 to {MAX_CONGESTION_CONTROLS}", names.len());
            return Err(reader.fail(&["try", "congestion"], problem));
        }
        Some(names) => names,
        None if together => Vec::new(),
        None => default.congestion,
    };
    for name in &congestion {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > LONGEST_CONGESTION_CONTROL || !name.chars().all(plain) {
            let problem = "expected the kernel's name of a congestion control, such as \"cubic\"";
            return Err(reader.fail(&["try", "congestion"], problem));
        }
    }
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
    let duration =
        reader.duration_in(&["try", "duration"], table.duration, default.duration, second, hour)?;
    let settle = reader.duration(&["try", "settle"], table.settle, default.settle)?;
    if settle >= duration {
        return Err(
            reader.fail(&["try", "settle"], "leaves nothing of the flow; expected less than try.duration")
        );
    }
    let sysctl =
        table.sysctl.into_iter().map(|(key, value)| match path_of(&key) {
            Some(path) => Ok((path, value)),
            None => Err(reader
                .fail(&["try", "sysctl", &key], "expected a setting below net., such as \"ipv4.tcp_sack\"")),
        });
    let simulated = table.simulated.iter().enumerate();
    let simulated = simulated.map(|(index, node)| {
        let index = index.to_string();
        reader.node(&["try", "simulated", &index], node).map(|(node, _)| node)
    });
    let simulated: BTreeSet<usize> = simulated.collect::<Result<_, _>>()?;
    let is_split = |one: usize, other: usize| simulated.contains(&one) != simulated.contains(&other);
    let problem = "one end is a real host and the other is simulated (try.simulated); expected both ends to be of the same kind";
    if let Some(flow) = flows.iter().find(|flow| is_split(flow.from, flow.to)) {
        return Err(reader.fail(&["flows", &flow.name, "to"], problem));
    }
    if let Some(session) = sessions.iter().find(|session| is_split(session.client, session.server)) {
        return Err(reader.fail(&["sessions", &session.name], problem));
    }
    let rate_control = match table.rate_control {
        None | Some(RateControlChoice::Fixed) => RateControl::Fixed,
        Some(RateControlChoice::Kernel) => RateControl::Kernel,
    };
    let gateway_crash = table.gateway_crash.map(|at| at.0);
    let kernels = kernels(reader, table.kernels, &simulated)?;
    let sysctl = sysctl.collect::<Result<_, _>>()?;
    Ok(Trial {
        together,
        congestion,
        duration,
        settle,
        sysctl,
        simulated,
        rate_control,
        gateway_crash,
        kernels,
    })
}

/// Refuses paths of kernels in a file: a kernel is a program that is run, and the file may have been downloaded.
pub(super) fn check_kernels(document: &Document<'_>) -> Result<(), FileError> {
    let is_path = |key: &[&str]| {
        document
            .get(key)
            .and_then(|value| value.get_ref().as_str())
            .is_some_and(|kernel| kernel.contains('/'))
    };
    for node in document.keys(&["try", "kernels"]) {
        let key = ["try", "kernels", node];
        if is_path(&key) && !document.is_replaced(&key) {
            let problem =
                "a path, which is for the command line (--set) only; expected a version, such as \"6.1\"";
            return Err(document.error(&key, problem));
        }
    }
    Ok(())
}

/// The kernels of nodes, which must be real hosts.
fn kernels(
    reader: &Reader<'_>,
    table: BTreeMap<String, String>,
    simulated: &BTreeSet<usize>,
) -> Result<BTreeMap<usize, String>, FileError> {
    let of_node = |(name, kernel): (String, String)| {
        let key = ["try", "kernels", name.as_str()];
        let (node, _) = reader.node(&key, &name)?;
        if simulated.contains(&node) {
            return Err(
                reader.fail(&key, "a simulated node (try.simulated) has no kernel; expected a real host")
            );
        }
        if kernel.is_empty() {
            let problem =
                "empty; expected a version, such as \"6.1\", or with --set also the path of a kernel";
            return Err(reader.fail(&key, problem));
        }
        Ok((node, kernel))
    };
    table.into_iter().map(of_node).collect()
}

/// The path of a setting below `/proc/sys/net`; `None` for a key that could lead out of that
/// directory.
fn path_of(key: &str) -> Option<String> {
    let key = key.strip_prefix("net.").unwrap_or(key);
    let is_step = |step: &str| {
        !step.is_empty() && step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    key.split('.').all(is_step).then(|| key.replace('.', "/"))
}
