//! Static routes: shortest paths by hop count, as the thesis has it, and ways given by hand.

use std::collections::VecDeque;

/// For each node, the interface to take towards each destination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    nodes: usize,
    /// `interface[node * nodes + destination]`; `NONE` where there is no way.
    interface: Vec<u16>,
}

const NONE: u16 = u16::MAX;

impl Routes {
    /// Routes over `neighbours[node]`, the far end of each of a node's interfaces. Of several shortest ways the one through the
    /// interface that was added first is taken.
    pub(crate) fn shortest(neighbours: &[Vec<usize>]) -> Self {
        let nodes = neighbours.len();
        let mut interface = vec![NONE; nodes * nodes];
        let mut distance = vec![usize::MAX; nodes];
        let mut frontier = VecDeque::new();
        // Links go both ways, so distances from a destination are distances to it.
        for destination in 0..nodes {
            distance.fill(usize::MAX);
            distance[destination] = 0;
            frontier.push_back(destination);
            while let Some(node) = frontier.pop_front() {
                for &next in &neighbours[node] {
                    if distance[next] == usize::MAX {
                        distance[next] = distance[node] + 1;
                        frontier.push_back(next);
                    }
                }
            }
            for (node, ends) in neighbours.iter().enumerate() {
                let first_hop = ends.iter().position(|&next| distance[next] < distance[node]);
                if let Some(first_hop) = first_hop {
                    interface[node * nodes + destination] = first_hop as u16;
                }
            }
        }
        Self { nodes, interface }
    }

    /// Takes another interface than the one on the shortest way.
    pub(crate) fn set(&mut self, node: usize, destination: usize, interface: usize) {
        if let Some(entry) = self.interface.get_mut(node * self.nodes + destination) {
            *entry = interface as u16;
        }
    }

    /// The interface to take at `node` towards `destination`.
    #[inline]
    pub(crate) fn interface(&self, node: usize, destination: usize) -> Option<usize> {
        match self.interface.get(node * self.nodes + destination) {
            None | Some(&NONE) => None,
            Some(&interface) => Some(interface as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_taken_and_the_first_of_equal_ones() {
        // 0 - 1 - 2 - 3, 0 - 4 - 3, and 5 alone.
        let routes = Routes::shortest(&[vec![1, 4], vec![0, 2], vec![1, 3], vec![2, 4], vec![0, 3], vec![]]);
        assert_eq!(routes.interface(0, 3), Some(1));
        assert_eq!(routes.interface(0, 2), Some(0));
        assert_eq!(routes.interface(0, 5), None);
        assert_eq!(routes.interface(0, 0), None);
        assert_eq!(routes.interface(1, 3), Some(1));
    }
}
