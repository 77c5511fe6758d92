//! How `lasthop try` runs flows between real hosts.

use std::collections::BTreeSet;
use std::time::Duration;

/// How `lasthop try` runs a scenario's flows between real hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Whether the flows run all at once, and not one at a time.
    pub together: bool,
    /// Congestion controls of the hosts' kernel. For flows one at a time: each flow runs with each;
    /// never empty. For flows together: one for all, one for each, or none: then each has that of
    /// its own table `tcp`. Sessions have that of the run where there is one, else their own.
    pub congestion: Vec<String>,
    /// How long a flow or session runs at most, the settling included; from the last start of all
    /// that run together.
    pub duration: Duration,
    /// How much of the start of a flow without a size does not count; less than `duration`, and
    /// from the same moment on.
    pub settle: Duration,
    /// Settings of the hosts' kernels: paths below `/proc/sys/net`, and what to write there.
    pub sysctl: Vec<(String, String)>,
    /// Indices of the nodes that are no real hosts: they and the flows between them stay in the
    /// model, as background.
    pub simulated: BTreeSet<usize>,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            together: false,
            congestion: vec!["cubic".to_owned()],
            duration: Duration::from_secs(12),
            settle: Duration::from_secs(2),
            sysctl: Vec::new(),
            simulated: BTreeSet::new(),
        }
    }
}
