//! Walks over the tree that skip unoccupied nodes.
//!
//! With [`skip_empty`](crate::Config::skip_empty) the cost of a grace period depends on present CPUs, not on
//! the size of the tree: a node without occupied leaves below is neither set up nor ended, and a scan steps
//! from one leaf that still owes to the next. Both walks follow the set bits of the parents' masks,
//! `qsmaskinit` or `qsmask`: a step goes up until there is a bit further right, and down along the lowest
//! bits. O(levels) a step.
//!
//! # Skipped nodes
//! A skipped node does not take part in a grace period. So
//! * its numbers are updated when it [joins](Tree::join) again (they might have wrapped round by then, and be
//!   taken for new ones);
//! * no request is noted there, because the end of the grace period does not visit it: a request enters at
//!   the first node above that takes part ([`Tree::entry`]). The root always does;
//! * it makes no report: its masks are empty.
//!
//! A request that was noted at a node before the node was skipped is not lost. It was noted before the leaf
//! was visited in [`Phase::Hotplug`](crate::Phase::Hotplug), so either the end of the previous grace period
//! has seen it, or all nodes up to the root were between grace periods, and the root has noted it, too.

use super::{Node, Tree};
use crate::common::host::{Host, LeafId};

/// Leaves in a group: bits of a word of [`Host::occupied`].
const GROUP: usize = 64;

impl Tree {
    /// Do grace periods visit this node?
    pub(crate) fn takes_part(&self, node: usize) -> bool {
        let n = &self.nodes[node];
        !self.sparse || node == 0 || n.qsmaskinit != 0 || n.wait_blkd_tasks
    }

    /// A node takes part again from the grace period on that is being set up.
    pub(super) fn join(&mut self, node: usize) {
        if self.sparse {
            // The number of the last grace period that ended, as at all nodes that took part.
            let last = self.nodes[0].gp_seq;
            if node != 0 {
                self.nodes[node].gp_seq = last;
                self.nodes[node].gp_seq_needed = last;
                self.nodes[node].completedqs = last;
            }
        }
    }

    /// The node at which a request from this leaf enters the tree.
    pub(crate) fn entry(&self, leaf: LeafId) -> usize {
        let mut node = self.leaf_node(leaf);
        while !self.takes_part(node)
            && let Some((parent, _)) = self.nodes[node].parent
        {
            node = parent as usize;
        }
        node
    }

    /// The first leaf from `from` on at which a CPU may have arrived or left. O(groups).
    pub(crate) fn occupied_from(&self, from: LeafId, host: &impl Host) -> Option<LeafId> {
        let groups = self.leaves().div_ceil(GROUP);
        let mut above = u64::MAX << (from % GROUP);
        for group in from / GROUP..groups {
            let mask = host.occupied(group) & above;
            if mask != 0 {
                let leaf = group * GROUP + mask.trailing_zeros() as usize;
                return (leaf < self.leaves()).then_some(leaf);
            }
            above = u64::MAX;
        }
        None
    }

    /// The leaf that a grace period visits if it starts now and visits no other, and no node but those above
    /// it. In a tree with several leaves that is not sparse, there is none.
    pub(crate) fn only_leaf(&self, host: &impl Host) -> Option<LeafId> {
        if self.nodes.len() == 1 {
            return Some(0);
        }
        let leaf = self.occupied_from(0, host).filter(|_| self.sparse)?;
        if self.occupied_from(leaf + 1, host).is_some() {
            return None;
        }
        let mut node = self.leaf_node(leaf);
        while let Some((parent, bit)) = self.nodes[node].parent {
            node = parent as usize;
            if self.nodes[node].qsmaskinit != bit {
                return None;
            }
        }
        Some(leaf)
    }

    /// The node that a grace period visits after `node`: breadth first, from the root to the last leaf.
    #[inline]
    pub(crate) fn after(&self, node: usize) -> Option<usize> {
        match node + 1 >= self.nodes.len() {
            true => None, // also of a tree of one node, which most are
            false => self.after_one(node),
        }
    }

    /// The same, for a node that is not the last.
    fn after_one(&self, node: usize) -> Option<usize> {
        if !self.sparse {
            return Some(node + 1);
        }
        let level = self.geometry.node(node).level;
        let below = || {
            let deeper = level + 1 < self.geometry.levels();
            deeper.then(|| self.down(0, level + 1, participants))?
        };
        self.right_of(node, participants).or_else(below)
    }

    /// The first leaf from `from` on that still owes a quiescent state or holds a preempted reader. Only
    /// while the masks of a grace period are set up.
    pub(crate) fn owing_from(&self, from: LeafId) -> Option<LeafId> {
        if from >= self.leaves() {
            return None;
        }
        let node = self.leaf_node(from);
        let found = match self.nodes[node].finished() {
            false => Some(node),
            true if node == 0 => None,
            true => self.right_of(node, owing),
        };
        found.map(|node| node - self.geometry.first_leaf())
    }

    /// The first leaf of a scan, counted from `from`: any, unless finished ones are skipped.
    pub(crate) fn scan_from(&self, from: LeafId) -> Option<LeafId> {
        match self.sparse {
            true => self.owing_from(from),
            false => (from < self.leaves()).then_some(from),
        }
    }

    /// The next node on the same level whose bit is set.
    fn right_of(&self, node: usize, mask: fn(&Node) -> u64) -> Option<usize> {
        let (mut at, mut levels) = (node, 0);
        loop {
            let (parent, bit) = self.nodes[at].parent?;
            at = parent as usize;
            let right = mask(&self.nodes[at]) & !(bit | (bit - 1));
            if right != 0 {
                let child = self.geometry.child(at, right.trailing_zeros());
                return self.down(child, levels, mask);
            }
            levels += 1;
        }
    }

    /// So many levels down along the lowest bits.
    fn down(&self, mut node: usize, levels: u8, mask: fn(&Node) -> u64) -> Option<usize> {
        for _ in 0..levels {
            let bits = mask(&self.nodes[node]);
            if bits == 0 {
                return None;
            }
            node = self.geometry.child(node, bits.trailing_zeros());
        }
        Some(node)
    }
}

fn participants(node: &Node) -> u64 {
    node.qsmaskinit
}

fn owing(node: &Node) -> u64 {
    node.qsmask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::geometry::GeometryParams;
    use crate::common::seq::Seq;

    /// Eight CPUs in four leaves below two nodes. The root has numbers of later grace periods than the
    /// others.
    fn tree(sparse: bool) -> (Tree, Seq) {
        let geometry = GeometryParams {
            leaf_fanout: 2,
            inner_fanout: 2,
            exact: true,
        };
        let mut tree = Tree::new(8, geometry).expect("eight CPUs fit");
        tree.sparse = sparse;
        let last = (0..3).fold(Seq::INITIAL, |seq, _| seq.start().end());
        tree.nodes[0].gp_seq = last;
        (tree, last)
    }

    fn numbers(tree: &Tree) -> [bool; 7] {
        core::array::from_fn(|node| {
            let n = &tree.nodes[node];
            let all = [n.gp_seq, n.gp_seq_needed, n.completedqs];
            all == [tree.nodes[0].gp_seq; 3]
        })
    }

    #[test]
    fn a_leaf_that_joins_and_all_that_join_with_it_know_what_the_root_knows() {
        let (mut tree, _) = tree(true);
        tree.apply_hotplug(0, 1);
        assert_eq!(
            numbers(&tree),
            [false, true, false, true, false, false, false]
        );
        // A node above that has taken part before keeps its requests.
        let asked = tree.nodes[0].gp_seq.start().end();
        tree.nodes[1].gp_seq_needed = asked;
        tree.apply_hotplug(1, 2);
        assert_eq!(
            numbers(&tree),
            [false, false, false, true, true, false, false]
        );
        assert_eq!(tree.nodes[1].gp_seq_needed, asked);
        tree.apply_hotplug(3, 1);
        assert_eq!(
            numbers(&tree),
            [false, false, true, true, true, false, true]
        );
    }

    #[test]
    fn in_a_tree_that_is_not_sparse_every_node_takes_part() {
        let (dense, _) = tree(false);
        assert!((0..7).all(|node| dense.takes_part(node)));
        assert!((0..4).all(|leaf| dense.entry(leaf) == dense.leaf_node(leaf)));
        let (mut sparse, _) = tree(true);
        sparse.apply_hotplug(0, 1);
        let takes_part: [bool; 7] = core::array::from_fn(|node| sparse.takes_part(node));
        assert_eq!(takes_part, [true, true, false, true, false, false, false]);
        assert_eq!([0, 1, 2, 3].map(|leaf| sparse.entry(leaf)), [3, 1, 0, 0]);
    }

    #[test]
    fn a_tree_that_takes_anothers_place_knows_the_numbers() {
        let (mut tree, last) = tree(false);
        let (asked, expedited) = (last.start().end(), Seq::ZERO.start().end());
        tree.adopt(last, asked, expedited);
        for node in &tree.nodes {
            let numbers = [node.gp_seq, node.gp_seq_needed, node.completedqs];
            assert_eq!(numbers, [last, asked, last]);
            assert_eq!(node.exp.exp_seq_rq, expedited);
        }
    }
}
