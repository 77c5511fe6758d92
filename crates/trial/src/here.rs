//! Which hosts are on a kernel: those of all nodes, or of some.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The nodes whose hosts are on one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Here {
    /// All nodes.
    #[default]
    All,
    /// Those with these indices.
    Only(BTreeSet<usize>),
}

impl Here {
    /// Whether the host of a node is here.
    pub(super) fn has(&self, node: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(nodes) => nodes.contains(&node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_all_nodes_or_those_that_are_named() {
        assert!(Here::default().has(7));
        let some = Here::Only([1, 3].into());
        assert_eq!([0, 1, 2, 3].map(|node| some.has(node)), [false, true, false, true]);
    }
}
