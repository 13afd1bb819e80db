//! The combining tree: the CPUs that still owe a quiescent state, and requests for grace periods.
//!
//! A leaf has a bit for each of its CPUs, an inner node one for each child. Bits are set when a grace period
//! is initialised and cleared by reports; a node whose mask empties clears its bit in the parent, and when
//! the root's mask is empty every CPU has passed through a quiescent state.
//!
//! # Invariants
//! * A parent's bit is set in `qsmask` exactly while the child is not finished and both nodes show the
//!   same `gp_seq` (checked by [`Tree::check`] in tests). A node is finished when its `qsmask` is empty
//!   and, at a leaf, no preempted reader blocks the grace period (`blocked`).
//! * A report counts only for the grace period under whose number it was noted.
//! * `gp_seq_needed` never goes back, and a request is recorded at every node up to the one where the
//!   funnel stopped, so that at most one requester a grace period reaches the root.
//!
//! Walks are loops over parent links: no recursion, at most four levels.

use alloc::vec::Vec;

use crate::periods::blocked::Blkd;
use crate::periods::event::{Event, FutureEvent};
use crate::periods::exp::ExpNode;
use crate::periods::geometry::{Geometry, GeometryError, GeometryParams};
use crate::periods::host::{CpuId, Host, LeafId};
use quiescent_engine::seq::Seq;

/// One node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The newest grace period that this node knows.
    pub gp_seq: Seq,
    /// The furthest grace period requested through this node.
    pub gp_seq_needed: Seq,
    /// The last grace period for which the node had all its quiescent states.
    pub completedqs: Seq,
    /// Participants of grace periods: CPUs (leaf) or non-empty children.
    pub qsmaskinit: u64,
    /// Holdouts of the current grace period.
    pub qsmask: u64,
    /// Leaves: CPUs that owe too many callbacks (`cbovldmask`).
    pub overloaded: u64,
    /// Preempted readers queued here (leaves only).
    pub blkd: Blkd,
    /// Its part in expedited grace periods.
    pub exp: ExpNode,
    /// This leaf has no CPU left and takes part for its preempted readers.
    pub wait_blkd_tasks: bool,
    /// The lowest CPU below it; a copy from the geometry.
    pub lo: u32,
    /// Its parent, and its bit in the parent's masks.
    pub parent: Option<(u32, u64)>,
}

impl Node {
    /// Nothing below this node blocks the grace period any more.
    pub fn finished(&self) -> bool {
        self.qsmask == 0 && !self.blkd.holds_gp()
    }
}

/// A scan's record of a CPU. A scan writes about *other* CPUs, so this is not in their own records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CpuScan {
    /// The stamp in the first scan of this grace period.
    pub snap: u64,
    /// The stamp in the first scan of this expedited grace period.
    pub exp_snap: u64,
    /// The CPU has to report its next quiescent state to the expedited grace period (`cpu_no_qs.exp`).
    pub exp_owed: bool,
    /// An interrupt was posted to complete an unlock ([`Later::IrqWork`](crate::blocked::Later)).
    pub work_pending: bool,
}

/// The reason why a tree could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// The geometry is impossible.
    Geometry(GeometryError),
    /// The allocator refused the memory.
    OutOfMemory {
        /// The number of CPUs it was requested for.
        cpus: u32,
    },
}

impl core::fmt::Display for TreeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            TreeError::Geometry(e) => e.fmt(f),
            TreeError::OutOfMemory { cpus } => write!(
                f,
                "no memory for the tree of {cpus} CPUs: free some, or register fewer threads"
            ),
        }
    }
}

impl core::error::Error for TreeError {}

/// The nodes and scan records of a number of CPUs. Built by the host with no lock held and handed to
/// [`Global::grow`](crate::Global::grow).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    geometry: Geometry,
    pub(crate) nodes: Vec<Node>,
    pub(crate) scan: Vec<CpuScan>,
    /// Requests to each CPU; empty for hosts that make none.
    pub(crate) asked: Vec<crate::periods::requests::Record>,
}

impl Tree {
    /// A tree for `cpus` CPUs, idle.
    ///
    /// # Errors
    /// An impossible geometry, or no memory. Allocates two arrays, linear in `cpus`.
    pub fn new(cpus: u32, params: GeometryParams) -> Result<Tree, TreeError> {
        let geometry = Geometry::new(cpus, params).map_err(TreeError::Geometry)?;
        let oom = |_| TreeError::OutOfMemory { cpus };
        let mut nodes = Vec::new();
        nodes.try_reserve_exact(geometry.nodes()).map_err(oom)?;
        let idle = Node {
            gp_seq: Seq::INITIAL,
            gp_seq_needed: Seq::INITIAL,
            completedqs: Seq::INITIAL,
            qsmaskinit: 0,
            qsmask: 0,
            overloaded: 0,
            blkd: Blkd::new(),
            exp: ExpNode::new(),
            wait_blkd_tasks: false,
            lo: 0,
            parent: None,
        };
        nodes.resize(geometry.nodes(), idle);
        for (i, node) in nodes.iter_mut().enumerate() {
            let span = geometry.node(i);
            node.lo = span.lo;
            node.parent = span.parent.map(|parent| (parent as u32, span.mask));
        }
        let mut scan = Vec::new();
        scan.try_reserve_exact(cpus as usize).map_err(oom)?;
        scan.resize(cpus as usize, CpuScan::default());
        Ok(Tree {
            geometry,
            nodes,
            scan,
            asked: Vec::new(),
        })
    }

    /// Makes room for requests to each CPU.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn keep_asked(&mut self) -> Result<(), TreeError> {
        let cpus = self.geometry.nr_cpus();
        self.asked
            .try_reserve_exact(cpus as usize)
            .map_err(|_| TreeError::OutOfMemory { cpus })?;
        self.asked.resize(cpus as usize, Default::default());
        Ok(())
    }

    /// Its shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn leaves(&self) -> usize {
        self.geometry.leaves()
    }

    /// Index of a leaf's node.
    pub(crate) fn leaf_node(&self, leaf: LeafId) -> usize {
        self.geometry.first_leaf() + leaf
    }

    /// The leaves' nodes, the first leaf first.
    pub(crate) fn leaf_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes[self.geometry.first_leaf()..].iter()
    }

    pub(crate) fn is_leaf(&self, node: usize) -> bool {
        node >= self.geometry.first_leaf()
    }

    /// All CPUs have passed through a quiescent state, and no preempted reader blocks the grace period.
    pub(crate) fn all_quiescent(&self) -> bool {
        self.nodes[0].finished()
    }

    /// Takes over sequence numbers when this tree replaces an older one between grace periods.
    pub(crate) fn adopt(&mut self, gp_seq: Seq, needed: Seq, exp_seq: Seq) {
        for node in &mut self.nodes {
            node.gp_seq = gp_seq;
            node.gp_seq_needed = needed;
            node.completedqs = gp_seq;
            node.exp.exp_seq_rq = exp_seq;
        }
    }

    /// The leaf and bit of `cpu`, if the tree was made for it.
    pub(crate) fn place_of(&self, cpu: CpuId) -> Option<(LeafId, u32)> {
        (cpu < self.geometry.nr_cpus()).then(|| self.geometry.leaf_of(cpu))
    }

    /// Applies buffered arrivals and departures to a leaf's participants.
    ///
    /// A CPU without a place in this tree arrived after the grace period started; the next one includes it,
    /// and grows the tree first. A leaf with no CPU left stays as long as preempted readers are queued there.
    /// If the leaf becomes empty or occupied, the change continues upwards until a parent does not change.
    pub(crate) fn apply_hotplug(&mut self, leaf: LeafId, present: u64) {
        let mut node = self.leaf_node(leaf);
        let n = &self.nodes[node];
        let was_empty = n.qsmaskinit == 0 && !n.wait_blkd_tasks;
        let present = present & self.room(node);
        self.nodes[node].qsmaskinit = present;
        let waits = present == 0 && self.nodes[node].blkd.any();
        self.nodes[node].wait_blkd_tasks = waits;
        let now_empty = present == 0 && !waits;
        if was_empty == now_empty {
            return;
        }
        while let Some((parent, bit)) = self.nodes[node].parent {
            node = parent as usize;
            let before = self.nodes[node].qsmaskinit;
            let after = if now_empty {
                before & !bit
            } else {
                before | bit
            };
            self.nodes[node].qsmaskinit = after;
            if (before == 0) == (after == 0) {
                return;
            }
        }
    }

    /// The bits of a leaf for which this tree has CPUs.
    pub(crate) fn room(&self, leaf: usize) -> u64 {
        match self.geometry.nr_cpus() - self.nodes[leaf].lo {
            room @ 0..64 => (1 << room) - 1,
            _ => u64::MAX,
        }
    }

    /// Sets up one node for the grace period `gp_seq`. Every reader queued at a leaf blocks it, if the leaf
    /// takes part: the CPUs of a leaf that does not have arrived since, and their readers are newer.
    pub(crate) fn init_node<H: Host>(&mut self, node: usize, gp_seq: Seq, host: &H) {
        let n = &mut self.nodes[node];
        n.qsmask = n.qsmaskinit;
        if n.qsmaskinit != 0 || n.wait_blkd_tasks {
            n.blkd.gp_begins();
        }
        n.gp_seq = gp_seq;
        if !H::TRACES {
            return;
        }
        let span = self.geometry.node(node);
        host.trace(&Event::GracePeriodInit {
            gp_seq,
            level: span.level,
            lo: span.lo,
            hi: span.hi,
            qsmask: self.nodes[node].qsmask,
        });
    }

    /// Clears `mask` at `node`, and continues upwards once the node is finished. A report for another grace
    /// period than the node's is ignored, and so are bits that are clear. O(levels).
    pub(crate) fn report<H: Host>(
        &mut self,
        mut node: usize,
        mut mask: u64,
        gp_seq: Seq,
        host: &H,
    ) {
        loop {
            let n = &mut self.nodes[node];
            if n.gp_seq != gp_seq || n.qsmask & mask == 0 {
                return;
            }
            n.qsmask &= !mask;
            if H::TRACES {
                self.trace_report(node, mask, gp_seq, host);
            }
            if !self.nodes[node].finished() {
                return;
            }
            self.nodes[node].completedqs = gp_seq;
            let Some((parent, bit)) = self.nodes[node].parent else {
                return;
            };
            mask = bit;
            node = parent as usize;
        }
    }

    /// The request funnel: records that `wanted` is needed, from `leaf` upwards.
    /// Returns true if the request reached an idle root: a grace period has to be started.
    pub(crate) fn request(
        &mut self,
        leaf: LeafId,
        wanted: Seq,
        global: Seq,
        host: &impl Host,
    ) -> bool {
        let start = self.leaf_node(leaf);
        let mut node = start;
        self.trace_request(node, wanted, FutureEvent::Startleaf, host);
        loop {
            let n = self.nodes[node];
            let in_flight = n.gp_seq.state() != 0;
            if n.gp_seq_needed.ge(wanted)
                || n.gp_seq.started(wanted)
                || (node != start && in_flight)
            {
                self.trace_request(node, wanted, FutureEvent::Prestarted, host);
                break;
            }
            self.nodes[node].gp_seq_needed = wanted;
            if in_flight {
                // The end of that grace period checks the requests again.
                self.trace_request(node, wanted, FutureEvent::Startedleaf, host);
                break;
            }
            let Some((parent, _)) = self.nodes[node].parent else {
                if global.state() != 0 {
                    self.trace_request(node, wanted, FutureEvent::Startedleafroot, host);
                    break;
                }
                self.trace_request(node, wanted, FutureEvent::Startedroot, host);
                return true;
            };
            node = parent as usize;
        }
        let later = self.nodes[node].gp_seq_needed;
        if !self.nodes[start].gp_seq_needed.ge(later) {
            self.nodes[start].gp_seq_needed = later;
        }
        false
    }

    /// Ends the grace period at one node; true if another one was requested through it.
    pub(crate) fn clean_node(&mut self, node: usize, new: Seq, host: &impl Host) -> bool {
        let n = &mut self.nodes[node];
        assert!(
            n.finished(),
            "a grace period ended with holdouts at node {node}"
        );
        n.gp_seq = new;
        let more = !new.ge(n.gp_seq_needed);
        if !more {
            n.gp_seq_needed = new;
        }
        let event = if more {
            FutureEvent::CleanupMore
        } else {
            FutureEvent::Cleanup
        };
        self.trace_request(node, self.nodes[node].gp_seq_needed, event, host);
        more
    }

    /// The CPUs that still owe a quiescent state, once the masks are set up. Linear in leaves.
    pub(crate) fn holdouts(&self) -> impl Iterator<Item = CpuId> + '_ {
        let leaves = self.leaf_nodes();
        leaves.flat_map(|leaf| bits(leaf.qsmask).map(move |bit| leaf.lo + bit))
    }

    /// The node that a grace period visits after `node`: breadth first, from the root to the last leaf.
    pub(crate) fn after(&self, node: usize) -> Option<usize> {
        (node + 1 < self.nodes.len()).then_some(node + 1)
    }

    pub(crate) fn trace_report<H: Host>(&self, node: usize, mask: u64, gp_seq: Seq, host: &H) {
        let span = self.geometry.node(node);
        host.trace(&Event::QuiescentStateReport {
            gp_seq,
            mask,
            qsmask: self.nodes[node].qsmask,
            level: span.level,
            lo: span.lo,
            hi: span.hi,
            gp_tasks: self.nodes[node].blkd.holds_gp(),
        });
    }

    pub(crate) fn trace_request<H: Host>(
        &self,
        node: usize,
        wanted: Seq,
        event: FutureEvent,
        host: &H,
    ) {
        if !H::TRACES {
            return;
        }
        let span = self.geometry.node(node);
        host.trace(&Event::FutureGracePeriod {
            gp_seq: self.nodes[node].gp_seq,
            wanted,
            level: span.level,
            lo: span.lo,
            hi: span.hi,
            event,
        });
    }

    /// Asserts the invariant between parents and children. For tests and checkers; linear in nodes.
    ///
    /// # Panics
    /// If it is violated.
    pub fn check(&self) {
        for i in 1..self.nodes.len() {
            let span = self.geometry.node(i);
            let parent = &self.nodes[span.parent.expect("only the root has none")];
            if parent.gp_seq == self.nodes[i].gp_seq {
                let owed = parent.qsmask & span.mask != 0;
                assert_eq!(
                    owed,
                    !self.nodes[i].finished(),
                    "node {i} and its parent disagree"
                );
            }
        }
    }
}

/// The set bits of a mask, lowest first.
pub(crate) fn bits(mask: u64) -> impl Iterator<Item = u32> {
    let without_lowest = |mask: &u64| Some(mask & mask.wrapping_sub(1));
    let masks = core::iter::successors(Some(mask), without_lowest);
    masks.take_while(|&mask| mask != 0).map(u64::trailing_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_takes_anothers_place_knows_the_numbers() {
        let mut tree = Tree::new(8, GeometryParams::default()).expect("eight CPUs fit");
        let last = (0..3).fold(Seq::INITIAL, |seq, _| seq.start().end());
        let (asked, expedited) = (last.start().end(), Seq::ZERO.start().end());
        tree.adopt(last, asked, expedited);
        for node in &tree.nodes {
            let numbers = [node.gp_seq, node.gp_seq_needed, node.completedqs];
            assert_eq!(numbers, [last, asked, last]);
            assert_eq!(node.exp.exp_seq_rq, expedited);
        }
    }
}
