//! Reports to the expedited grace period: from the interrupt, and from the quiescent state after it.
//!
//! The handler of the interrupt finds the CPU in one of three situations. Outside of every section the CPU is
//! quiescent, and reports at once. Otherwise the CPU is *flagged*, and its next quiescent state is reported:
//! the end of the section (which gets a hint to check), a context switch, or the end of the stretch with
//! preemption disabled.
//!
//! An unflagged CPU makes no report: it would prove nothing more, and would take a lock. Departures are the
//! exception.

use crate::periods::global::Global;
use crate::periods::host::CpuId;
use crate::periods::tree::{CpuScan, Node, Tree, bits};

/// The situation that the interrupt found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupted {
    /// No section, and preemption and bottom halves enabled; or the idle loop. (A kernel without
    /// preemption: the idle loop, or a place where it could be preempted.)
    Quiescent,
    /// No section, but preemption or bottom halves disabled, which may be a section of the old kind. (A
    /// kernel without preemption: all other places.)
    Disabled,
    /// A section.
    Section,
}

/// The action of the handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "effects not carried out are lost wake-ups"]
pub struct Handled {
    /// Ask for a reschedule: the context switch reports. (A kernel without preemption sets `urgent_qs`
    /// too.)
    pub resched: bool,
    /// The running task's outermost unlock takes its slow path
    /// ([`read_unlock`](Global::read_unlock)).
    pub hint: bool,
    /// Wake the driver of the expedited grace period.
    pub wake_exp: bool,
}

impl Node {
    /// Nothing below this node blocks the expedited grace period any more.
    pub fn exp_finished(&self) -> bool {
        self.exp.expmask == 0 && !self.blkd.holds_exp()
    }
}

impl Tree {
    /// Clears `mask` at `node`, and continues upwards once the node is finished. Bits that are clear are
    /// ignored, and so is a parent that is not set up yet. O(levels).
    pub(crate) fn report_exp(&mut self, mut node: usize, mut mask: u64) {
        loop {
            let n = &mut self.nodes[node];
            if n.exp.expmask & mask == 0 {
                return;
            }
            n.exp.expmask &= !mask;
            let (true, Some((parent, bit))) = (n.exp_finished(), n.parent) else {
                return;
            };
            mask = bit;
            node = parent as usize;
        }
    }

    /// The same for CPUs of a leaf that were found quiescent: their flags are cleared, too.
    pub(crate) fn credit_exp(&mut self, leaf: usize, cpus: u64) {
        let lo = self.nodes[leaf].lo;
        for bit in bits(cpus) {
            self.scan[(lo + bit) as usize].exp_owed = false;
        }
        self.report_exp(leaf, cpus);
    }

    /// The last preempted reader that blocked this leaf has left.
    pub(crate) fn report_exp_readers(&mut self, leaf: usize) {
        let n = &self.nodes[leaf];
        if let (true, Some((parent, bit))) = (n.exp_finished(), n.parent) {
            self.report_exp(parent as usize, bit);
        }
    }

    fn place_exp(&self, cpu: CpuId) -> Option<(usize, u64)> {
        let (leaf, bit) = self.place_of(cpu)?;
        Some((self.leaf_node(leaf), 1 << bit))
    }
}

impl Global {
    /// The handler of the interrupt requested by [`ExpNext::Ask`](super::ExpNext::Ask) runs on `cpu`. A late
    /// interrupt, for a CPU that has already been reported, does nothing.
    pub fn exp_interrupt(&mut self, cpu: CpuId, at: Interrupted) -> Handled {
        let nothing = Handled::default();
        let Some(tree) = &mut self.tree else {
            return nothing;
        };
        let Some((node, bit)) = tree.place_exp(cpu) else {
            return nothing;
        };
        if tree.nodes[node].exp.expmask & bit == 0 {
            return nothing;
        }
        if at == Interrupted::Quiescent {
            let wake_exp = self.reported_exp(|tree| tree.credit_exp(node, bit));
            return Handled {
                wake_exp,
                ..nothing
            };
        }
        tree.scan[cpu as usize].exp_owed = true;
        Handled {
            resched: at == Interrupted::Disabled,
            hint: at == Interrupted::Section,
            ..nothing
        }
    }

    /// `cpu` is outside of every section, or its section has been queued: the quiescent state that it owes is
    /// reported. True if the driver has to be woken.
    pub(crate) fn report_exp_owed(&mut self, cpu: CpuId) -> bool {
        let record = self.tree.as_ref().and_then(|t| t.scan.get(cpu as usize));
        record.is_some_and(|record| record.exp_owed) && self.report_exp_cpu(cpu)
    }

    /// The same, whether the CPU was flagged or not.
    pub(crate) fn report_exp_cpu(&mut self, cpu: CpuId) -> bool {
        let place = self.tree.as_ref().and_then(|tree| tree.place_exp(cpu));
        let Some((node, bit)) = place else {
            return false;
        };
        self.reported_exp(|tree| tree.credit_exp(node, bit))
    }

    /// A report from outside the driver: if it was the last one, the driver is to be woken.
    pub(crate) fn reported_exp(&mut self, report: impl FnOnce(&mut Tree)) -> bool {
        let tree = self.tree.as_mut().expect("a report has a node");
        let owed = !tree.nodes[0].exp_finished();
        report(tree);
        owed && tree.nodes[0].exp_finished()
    }

    /// The CPUs that the expedited grace period waits for.
    pub fn exp_holdouts(&self) -> impl Iterator<Item = CpuId> + '_ {
        let leaves = self.tree.iter().flat_map(Tree::leaf_nodes);
        leaves.flat_map(|leaf| bits(leaf.exp.expmask).map(|bit| leaf.lo + bit))
    }

    /// Asserts the invariants of the masks. For tests and checkers; linear in nodes and CPUs.
    ///
    /// # Panics
    /// If one is violated.
    pub fn check_expedited(&self) {
        let Some(tree) = &self.tree else { return };
        let set_up_from = match self.exp.phase {
            super::ExpPhase::Idle | super::ExpPhase::Fence => tree.nodes.len(),
            super::ExpPhase::Reset(node) => node + 1,
            _ => 0,
        };
        for (i, node) in tree.nodes.iter().enumerate() {
            let owed = node.parent.map(|(parent, bit)| {
                let parent = &tree.nodes[parent as usize];
                parent.exp.expmask & bit != 0
            });
            if i < set_up_from {
                assert!(!owed.unwrap_or(false), "node {i} is not set up");
            } else if let Some(owed) = owed {
                assert_eq!(owed, !node.exp_finished(), "node {i} and its parent");
            }
            let none = i >= set_up_from || !tree.is_leaf(i) || node.exp_finished();
            assert!(none, "leaf {i} owes, but is not set up");
        }
        for (cpu, CpuScan { exp_owed, .. }) in tree.scan.iter().enumerate() {
            let owes = tree.place_exp(cpu as CpuId);
            let owes = owes.is_some_and(|(node, bit)| tree.nodes[node].exp.expmask & bit != 0);
            assert!(!exp_owed || owes, "CPU {cpu} is flagged and owes nothing");
        }
    }
}
