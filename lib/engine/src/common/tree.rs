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

mod bits;
mod walk;

pub(crate) use bits::Bits;

use alloc::vec::Vec;

use crate::common::geometry::{Geometry, GeometryError, GeometryParams};
use crate::common::host::{CpuId, LeafId};
use crate::common::seq::Seq;

/// One node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The newest grace period that this node knows.
    pub gp_seq: Seq,
    /// The furthest grace period requested through this node.
    pub gp_seq_needed: Seq,
    /// Participants of grace periods: CPUs (leaf) or non-empty children.
    pub qsmaskinit: u64,
    /// Holdouts of the current grace period.
    pub qsmask: u64,
    /// The lowest CPU below it; a copy from the geometry.
    pub lo: u32,
    /// Its parent, and its bit in the parent's masks.
    pub parent: Option<(u32, u64)>,
}

impl Node {
    /// Nothing below this node blocks the grace period any more.
    pub fn finished(&self) -> bool {
        self.qsmask == 0
    }
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
    /// The stamp of each CPU in the first scan of this grace period.
    pub(crate) scan: Vec<u64>,
    /// Nodes without occupied leaves below are skipped ([`skip_empty`](crate::Config::skip_empty)).
    pub(crate) sparse: bool,
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
            qsmaskinit: 0,
            qsmask: 0,
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
        scan.resize(cpus as usize, 0);
        Ok(Tree {
            geometry,
            nodes,
            scan,
            sparse: false,
        })
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

    pub(crate) fn is_leaf(&self, node: usize) -> bool {
        node >= self.geometry.first_leaf()
    }

    /// All CPUs have passed through a quiescent state, and no preempted reader blocks the grace period.
    pub(crate) fn all_quiescent(&self) -> bool {
        self.nodes[0].finished()
    }

    /// Takes over sequence numbers when this tree replaces an older one between grace periods.
    pub(crate) fn adopt(&mut self, gp_seq: Seq, needed: Seq) {
        for node in &mut self.nodes {
            node.gp_seq = gp_seq;
            node.gp_seq_needed = needed;
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
        let was_empty = n.qsmaskinit == 0;
        let present = present & self.room(node);
        self.nodes[node].qsmaskinit = present;
        if was_empty {
            self.join(node);
        }
        let now_empty = present == 0;
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
            if before == 0 {
                self.join(node);
            }
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

    /// Sets up one node for the grace period `gp_seq`.
    pub(crate) fn init_node(&mut self, node: usize, gp_seq: Seq) {
        let n = &mut self.nodes[node];
        n.qsmask = n.qsmaskinit;
        n.gp_seq = gp_seq;
    }

    /// Clears `mask` at `node`, and continues upwards once the node is finished. A report for another grace
    /// period than the node's is ignored, and so are bits that are clear. O(levels).
    pub(crate) fn report(&mut self, mut node: usize, mut mask: u64, gp_seq: Seq) {
        loop {
            let n = &mut self.nodes[node];
            if n.gp_seq != gp_seq || n.qsmask & mask == 0 {
                return;
            }
            n.qsmask &= !mask;
            if !self.nodes[node].finished() {
                return;
            }
            let Some((parent, bit)) = self.nodes[node].parent else {
                return;
            };
            mask = bit;
            node = parent as usize;
        }
    }

    /// The request funnel: records that `wanted` is needed, from `leaf` upwards.
    /// Returns true if the request reached an idle root: a grace period has to be started.
    pub(crate) fn request(&mut self, leaf: LeafId, wanted: Seq, global: Seq) -> bool {
        let start = self.entry(leaf);
        let mut node = start;
        loop {
            let n = self.nodes[node];
            let in_flight = n.gp_seq.state() != 0;
            if n.gp_seq_needed.ge(wanted)
                || n.gp_seq.started(wanted)
                || (node != start && in_flight)
            {
                break;
            }
            self.nodes[node].gp_seq_needed = wanted;
            if in_flight {
                // The end of that grace period checks the requests again.
                break;
            }
            let Some((parent, _)) = self.nodes[node].parent else {
                if global.state() != 0 {
                    break;
                }
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
    pub(crate) fn clean_node(&mut self, node: usize, new: Seq) -> bool {
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
        more
    }

    /// The CPUs that still owe a quiescent state, once the masks are set up. Linear in leaves with holdouts.
    pub(crate) fn holdouts(&self) -> impl Iterator<Item = CpuId> + '_ {
        let leaves = core::iter::successors(self.owing_from(0), |&leaf| self.owing_from(leaf + 1));
        leaves.flat_map(move |leaf| {
            let node = self.leaf_node(leaf);
            let Node { lo, qsmask, .. } = self.nodes[node];
            Bits(qsmask).map(move |bit| lo + bit)
        })
    }
}
