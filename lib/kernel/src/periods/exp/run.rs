//! The steps of an expedited grace period: fence, set-up, selection, interrupts, waiting, end.
//!
//! Selection reads each CPU twice. The first scan credits CPUs that are outside and keeps the stamps of the
//! others; the second, just before the interrupt, credits those whose stamp has changed, which saves an
//! interrupt. An interrupt that cannot be delivered means that the CPU is going offline or coming online: it
//! is credited if it is offline, and asked again a tick later otherwise.

use super::{ExpEffects, ExpNext, ExpPhase, trace_exp};
use crate::periods::event::ExpEvent;
use crate::periods::global::Global;
use crate::periods::host::{CpuId, Host, LeafId, Now};
use crate::periods::polled::GpKind;
use crate::periods::tree::bits;

impl Global {
    /// Does the next piece of the expedited grace period; `on` is the CPU on which the caller runs, if it
    /// takes part. Only the driver calls this.
    ///
    /// # Panics
    /// If none was begun.
    pub fn exp_step(&mut self, on: Option<CpuId>, now: Now, host: &impl Host) -> ExpEffects {
        self.now.ns = self.now.ns.max(now.ns);
        self.now.jiffies = self.now.jiffies.max(now.jiffies);
        match self.exp.phase {
            ExpPhase::Idle => panic!("exp_step without a grace period: exp_begin first"),
            ExpPhase::Fence => ExpEffects::only(ExpNext::Fence),
            ExpPhase::Reset(node) => self.exp_reset(node, host),
            ExpPhase::Select(leaf) => self.exp_select(leaf, on, host),
            ExpPhase::Ask { leaf, cpus } => self.exp_ask(leaf, cpus, on, host),
            ExpPhase::Asked { leaf, cpus } => self.exp_interrupts(leaf, cpus),
            ExpPhase::Wait => self.exp_wait(host),
        }
    }

    /// The fence requested by [`ExpNext::Fence`] has been issued, beginning after that answer.
    pub fn exp_fenced(&mut self, host: &impl Host) {
        if self.exp.phase != ExpPhase::Fence {
            return; // no grace period waits for this fence: no effect
        }
        trace_exp(self.exp_seq.end(), ExpEvent::Reset, host);
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        self.exp.phase = ExpPhase::Reset(tree.nodes.len() - 1);
    }

    /// Sets up one node; its children are set up already.
    fn exp_reset(&mut self, node: usize, host: &impl Host) -> ExpEffects {
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        if tree.is_leaf(node) {
            let leaf = node - tree.geometry().first_leaf();
            tree.nodes[node].exp.expmask = host.present(leaf) & tree.room(node);
            tree.nodes[node].blkd.exp_begins();
        }
        let n = tree.nodes[node];
        if let (false, Some((parent, bit))) = (n.exp_finished(), n.parent) {
            tree.nodes[parent as usize].exp.expmask |= bit;
        }
        self.exp.phase = if node > 0 {
            ExpPhase::Reset(node - 1)
        } else {
            trace_exp(self.exp_seq.end(), ExpEvent::Select, host);
            ExpPhase::Select(0)
        };
        ExpEffects::only(ExpNext::Again)
    }

    /// The first scan of the CPUs of one leaf.
    fn exp_select(&mut self, leaf: LeafId, on: Option<CpuId>, host: &impl Host) -> ExpEffects {
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let node = tree.leaf_node(leaf);
        let lo = tree.nodes[node].lo;
        let present = host.present(leaf);
        let mut credited = 0;
        for bit in bits(tree.nodes[node].exp.expmask) {
            let cpu = lo + bit;
            let own = on == Some(cpu) && host.own_quiescent(cpu);
            if own || present & 1 << bit == 0 {
                credited |= 1 << bit;
                continue;
            }
            let seen = host.observe(cpu);
            tree.scan[cpu as usize].exp_snap = seen.stamp;
            credited |= u64::from(seen.outside) << bit;
        }
        tree.credit_exp(node, credited);
        let cpus = tree.nodes[node].exp.expmask;
        self.exp.phase = ExpPhase::Ask { leaf, cpus };
        ExpEffects::only(ExpNext::Again)
    }

    /// The second scan of those of one leaf that were inside.
    fn exp_ask(
        &mut self,
        leaf: LeafId,
        cpus: u64,
        on: Option<CpuId>,
        host: &impl Host,
    ) -> ExpEffects {
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let node = tree.leaf_node(leaf);
        let lo = tree.nodes[node].lo;
        let present = host.present(leaf);
        let mut credited = 0;
        for bit in bits(cpus & tree.nodes[node].exp.expmask) {
            let cpu = lo + bit;
            let own = on == Some(cpu) && host.own_quiescent(cpu);
            let seen = host.observe(cpu);
            let changed = seen.outside || seen.stamp != tree.scan[cpu as usize].exp_snap;
            if own || changed || present & 1 << bit == 0 {
                credited |= 1 << bit;
            }
        }
        tree.credit_exp(node, credited);
        let cpus = cpus & tree.nodes[node].exp.expmask;
        if cpus == 0 {
            return self.exp_next_leaf(leaf, host);
        }
        self.exp_interrupts(leaf, cpus)
    }

    fn exp_interrupts(&mut self, leaf: LeafId, cpus: u64) -> ExpEffects {
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        let lo = tree.nodes[tree.leaf_node(leaf)].lo;
        self.exp.phase = ExpPhase::Asked { leaf, cpus };
        ExpEffects::only(ExpNext::Ask { lo, cpus })
    }

    /// [`ExpNext::Ask`] has been done, but these CPUs could not be interrupted. An interrupt that was
    /// accepted will be handled, unless the CPU reports its departure before that: from its report on
    /// ([`departed`](Global::departed)) a CPU refuses.
    ///
    /// # Panics
    /// If no CPU was to be interrupted.
    pub fn exp_asked(&mut self, refused: u64, host: &impl Host) -> ExpEffects {
        let ExpPhase::Asked { leaf, cpus } = self.exp.phase else {
            panic!("exp_asked, but no CPU was to be asked");
        };
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let node = tree.leaf_node(leaf);
        let refused = refused & cpus & tree.nodes[node].exp.expmask;
        let gone = refused & !host.present(leaf);
        tree.credit_exp(node, gone);
        let cpus = refused & !gone;
        if cpus == 0 {
            return self.exp_next_leaf(leaf, host);
        }
        trace_exp(self.exp_seq.end(), ExpEvent::Selectofl, host);
        self.exp.phase = ExpPhase::Ask { leaf, cpus };
        ExpEffects::only(ExpNext::Sleep(Some(1)))
    }

    fn exp_next_leaf(&mut self, leaf: LeafId, host: &impl Host) -> ExpEffects {
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        if leaf + 1 < tree.leaves() {
            self.exp.phase = ExpPhase::Select(leaf + 1);
            return ExpEffects::only(ExpNext::Again);
        }
        trace_exp(self.exp_seq.end(), ExpEvent::Startwait, host);
        self.exp.phase = ExpPhase::Wait;
        self.exp.hold_ticks_at = Some(self.now.jiffies + 1);
        self.stall_exp_asked();
        ExpEffects::only(ExpNext::Again)
    }

    /// All CPUs were interrupted.
    fn exp_wait(&mut self, host: &impl Host) -> ExpEffects {
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        if tree.nodes[0].exp_finished() {
            return self.exp_end(host);
        }
        let (stalled, until_stall) = self.claim_exp_stall(host);
        let now = self.now.jiffies;
        let hold_ticks = self.exp.hold_ticks_at.is_some_and(|at| now >= at);
        if hold_ticks {
            self.exp.hold_ticks_at = None;
        }
        let until_hold = self.exp.hold_ticks_at.map(|at| at - now);
        let ticks = [until_hold, until_stall].into_iter().flatten().min();
        ExpEffects {
            hold_ticks,
            stalled,
            ..ExpEffects::only(ExpNext::Sleep(ticks))
        }
    }

    fn exp_end(&mut self, host: &impl Host) -> ExpEffects {
        if self.exp.waking.is_some() {
            // The wake-ups of the previous one are not done: the end of this one waits for them.
            return ExpEffects::only(ExpNext::Sleep(None));
        }
        self.exp_seq = self.exp_seq.end();
        trace_exp(self.exp_seq, ExpEvent::End, host);
        self.polled.ended(GpKind::Expedited);
        self.exp.phase = ExpPhase::Idle;
        self.exp.hold_ticks_at = None;
        self.stall.exp_ended();
        self.exp.waking = Some((self.exp_seq, 0));
        self.counts.expedited += 1;
        ExpEffects {
            publish: Some(self.exp_seq),
            ..ExpEffects::only(ExpNext::Done)
        }
    }
}
