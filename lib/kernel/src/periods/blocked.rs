//! Preempted readers: the CPU is free, and the task blocks its leaf.
//!
//! A task that is switched out in the middle of a section leaves its CPU quiescent, so the CPU no longer
//! represents the section. The task is therefore queued at the CPU's leaf, *before* the CPU may note a
//! quiescent state, and stays there until its outermost section ends, on whichever CPU. A leaf is finished
//! only when its mask is empty **and** no queued reader blocks the grace period.
//!
//! ```text
//!   blkd_tasks of a leaf:   head ── t4 ── t7 ── t2 ── t9 (tail)
//!                                         │     │
//!                           gp_tasks ─────┘     └──── exp_tasks
//! ```
//!
//! New entries go towards the head, old ones are towards the tail. `gp_tasks` points to the newest entry
//! that blocks the normal grace period in flight: that one and **everything behind it** block it. `exp_tasks`
//! does the same for the expedited one. One pointer replaces a mark on every task: the start of a grace
//! period takes all queued readers in one store.
//!
//! # Invariants
//! * A reader whose section is older than a grace period is represented by a CPU that owes, or is queued at
//!   or behind that grace period's pointer.
//! * Pointers point into their own leaf's list, and are empty when no grace period of their kind is in
//!   flight.
//! * A task is in at most one list. Its link stores the list, so the task may run, and end its section, on
//!   any CPU.
//!
//! # Correctness
//! Let R be a section that is open when the grace period starts. If R's task is queued by then, the set-up of
//! its leaf takes the whole list. If not, R runs on a CPU that is in the masks and owes until R's task is
//! switched out; then R is placed so that the pointer covers it (`QueuePlace`). Newer readers may be behind
//! a pointer, too: that delays a grace period and is never wrong. A report stops at a leaf with blocking
//! readers; the call that removes the last of them continues it ([`Global::read_unlock`]).
//!
//! A CPU that goes offline leaves its readers queued. A leaf whose last CPU has left takes part in grace
//! periods as long as readers are queued there (`wait_blkd_tasks`, decided when a grace period starts). That
//! includes a leaf whose CPU arrived, read and left between two starts.
//!
//! # Memory
//! The lists are links in a table that the host provides ([`Tasks`], [`Global::grow_tasks`]), one link for
//! each task that can be preempted in a section at the same time. Nothing is allocated here.
//!
//! # Omitted
//! Priority boosting: it makes a grace period end sooner, and nothing above depends on it.

use crate::periods::event::Event;
use crate::periods::global::Global;
use crate::periods::host::{CpuId, Effects, Host, Next};
use crate::periods::tree::{Node, Tree};
pub(crate) use list::Blkd;
use list::NONE;
pub use list::{NoTasks, TaskId, Tasks};

mod list;

/// What is disabled at the end of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disabled {
    /// Nothing: the slow path may run.
    Nothing,
    /// Preemption, or bottom halves.
    Preemption,
    /// Interrupts.
    Irqs,
}

/// The result of an unlock's slow path.
#[allow(clippy::large_enum_variant, reason = "effects are short-lived values")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "effects not carried out are lost wake-ups"]
pub enum Unlocked {
    /// The unlock is complete.
    Done(Effects),
    /// The unlock is deferred to the next context switch, tick, idle entry or soft interrupt on this CPU,
    /// which calls [`Global::read_unlock`] again, with nothing disabled. Until then the reader stays queued.
    Later(Later),
}

/// The event that bounds the delay of an unlock's slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Later {
    /// Nothing urgent waits: request a reschedule.
    Resched,
    /// An expedited grace period waits: raise the soft interrupt.
    Softirq,
    /// An expedited grace period waits, and interrupts are off: request a reschedule, and post an interrupt
    /// to this CPU that fires when they are on.
    IrqWork,
    /// That interrupt was posted already and has not fired: no second one is posted, since it could repeat
    /// without end.
    Pending,
}

impl Tree {
    /// Takes over the readers queued at the leaves of an older tree, between grace periods, and the work
    /// requested there. False, without a change, if this tree lacks one of these leaves.
    pub(crate) fn adopt_leaves(&mut self, old: &Tree) -> bool {
        let fits = |(leaf, node): (usize, &Node)| leaf < self.leaves() || !node.blkd.any();
        if !old.leaf_nodes().enumerate().all(fits) {
            return false;
        }
        let first = self.geometry().first_leaf();
        for (node, from) in self.nodes[first..].iter_mut().zip(old.leaf_nodes()) {
            node.blkd = from.blkd;
            node.exp.poll_rq = from.exp.poll_rq;
        }
        true
    }

    /// The last preempted reader that blocked this leaf has left: reports the leaf, with no bit to clear.
    pub(crate) fn report_readers<H: Host>(&mut self, leaf: usize, host: &H) {
        let gp_seq = self.nodes[leaf].gp_seq;
        if H::TRACES {
            self.trace_report(leaf, 0, gp_seq, host);
        }
        let n = &mut self.nodes[leaf];
        if !n.finished() {
            return; // CPUs still owe: the last of them continues the report
        }
        n.completedqs = gp_seq;
        if let Some((parent, bit)) = n.parent {
            self.report(parent as usize, bit, gp_seq, host);
        }
    }
}

impl Global {
    /// Provides room for more tasks, at any time. The old table is returned, so that it can be freed with no
    /// lock held.
    ///
    /// # Errors
    /// Returns the new table if it is not larger.
    pub fn grow_tasks(&mut self, mut larger: Tasks) -> Result<Tasks, Tasks> {
        let old = self.tasks.links.len();
        if larger.links.len() <= old {
            return Err(larger);
        }
        larger.links[..old].copy_from_slice(&self.tasks.links);
        Ok(core::mem::replace(&mut self.tasks, larger))
    }

    /// The table of preempted readers.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// `cpu` switches from one task to another. `preempted` is the task switched out, if it is in a section
    /// and not queued yet: it is queued, and after this call the CPU may note its quiescent state. A
    /// quiescent state that the CPU owes to an expedited grace period is reported at once.
    ///
    /// There is a tree by now (a kernel has one from boot on). A CPU without a place in it arrived after the
    /// grace period in flight started; its readers are queued at the first leaf.
    ///
    /// # Panics
    /// If there is no tree, the task is queued already, or the table has no room for it.
    pub fn context_switch(
        &mut self,
        cpu: CpuId,
        preempted: Option<TaskId>,
        host: &impl Host,
    ) -> Effects {
        if let Some(task) = preempted {
            self.enqueue_reader(cpu, task, host);
        }
        // The reader, if there is one, is in the list now: the CPU is free.
        Effects {
            wake_exp: self.report_exp_owed(cpu),
            ..Effects::only(Next::Done)
        }
    }

    fn enqueue_reader(&mut self, cpu: CpuId, task: TaskId, host: &impl Host) {
        let tree = self
            .tree
            .as_mut()
            .expect("a reader was preempted before there is a tree: grow one first");
        assert!(
            task < self.tasks.len(),
            "no room for task {task}: grow_tasks first"
        );
        assert!(
            self.tasks.leaf_of(task).is_none(),
            "task {task} was preempted in a section, and is queued already"
        );
        let (leaf, bit) = match tree.place_of(cpu) {
            Some((leaf, bit)) => (leaf, 1 << bit),
            None => (0, 0),
        };
        let node = tree.leaf_node(leaf);
        let n = &mut tree.nodes[node];
        let (owes, owes_exp) = (n.qsmask & bit != 0, n.exp.expmask & bit != 0);
        n.blkd.insert(&mut self.tasks, task, leaf, owes, owes_exp);
        host.trace(&Event::PreemptTask {
            // The grace period that the reader blocks.
            gp_seq: if owes { n.gp_seq } else { n.gp_seq.snap() },
            pid: task,
        });
    }

    /// The slow path of the outermost unlock on `cpu`: its task was preempted in the section (`task` is
    /// queued), or an expedited grace period left a hint ([`exp_interrupt`](Global::exp_interrupt)).
    ///
    /// The reader no longer blocks its leaf; if it was the last blocking one there, the leaf is reported up
    /// the tree. A quiescent state owed to an expedited grace period is reported. If something was disabled
    /// at the unlock, nothing is done yet: see [`Unlocked::Later`].
    ///
    /// # Panics
    /// If the task is not queued.
    pub fn read_unlock(
        &mut self,
        cpu: CpuId,
        task: Option<TaskId>,
        disabled: Disabled,
        host: &impl Host,
    ) -> Unlocked {
        if disabled != Disabled::Nothing {
            return Unlocked::Later(self.defer_unlock(cpu, task, disabled));
        }
        let tree = self.tree.as_mut();
        if let Some(record) = tree.and_then(|tree| tree.scan.get_mut(cpu as usize)) {
            record.work_pending = false;
        }
        let wake_exp = self.report_exp_owed(cpu);
        let mut effects = match task {
            Some(task) => self.dequeue_reader(task, host),
            None => Effects::only(Next::Done),
        };
        effects.wake_exp |= wake_exp;
        Unlocked::Done(effects)
    }

    fn dequeue_reader(&mut self, task: TaskId, host: &impl Host) -> Effects {
        let leaf = self.tasks.leaf_of(task).unwrap_or_else(|| {
            panic!("task {task} ends a section in which it was not preempted: it is not queued")
        });
        let tree = self.tree.as_mut().expect("it is queued in a tree");
        let node = tree.leaf_node(leaf);
        let n = &mut tree.nodes[node];
        let (held, held_exp, gp_seq) = (n.blkd.holds_gp(), n.blkd.holds_exp(), n.gp_seq);
        n.blkd.remove(&mut self.tasks, task);
        let emptied = held && !n.blkd.holds_gp();
        let emptied_exp = held_exp && !n.blkd.holds_exp();
        host.trace(&Event::UnlockPreemptedTask { gp_seq, pid: task });
        if emptied {
            tree.report_readers(node, host);
        }
        if emptied_exp {
            tree.report_exp_readers(node);
        }
        // A blocked leaf blocked the root, which may be the leaf itself.
        let wake_gp = emptied && tree.all_quiescent();
        let wake_exp = emptied_exp && tree.nodes[0].exp_finished();
        self.force |= wake_gp;
        Effects {
            wake_gp,
            wake_exp,
            ..Effects::only(Next::Done)
        }
    }

    /// How an unlock that must not be completed here is deferred.
    fn defer_unlock(&mut self, cpu: CpuId, task: Option<TaskId>, disabled: Disabled) -> Later {
        let leaf = task.and_then(|task| self.tasks.leaf_of(task));
        let Some(tree) = &mut self.tree else {
            return Later::Resched;
        };
        let in_the_way = leaf.is_some_and(|leaf| {
            let node = tree.leaf_node(leaf);
            tree.nodes[node].blkd.holds_exp()
        });
        let Some(record) = tree.scan.get_mut(cpu as usize) else {
            return Later::Resched;
        };
        match (in_the_way || record.exp_owed, disabled) {
            (false, _) => Later::Resched,
            (true, Disabled::Irqs) if record.work_pending => Later::Pending,
            (true, Disabled::Irqs) => {
                record.work_pending = true;
                Later::IrqWork
            }
            (true, _) => Later::Softirq,
        }
    }

    /// The queued readers that block the grace period in flight; [`holdouts`](Global::holdouts) are the CPUs
    /// that do. Empty if none is in flight.
    pub fn blocked_readers(&self) -> impl Iterator<Item = TaskId> + '_ {
        let leaves = self.tree.iter().flat_map(Tree::leaf_nodes);
        leaves.flat_map(|leaf| self.tasks.from(leaf.blkd.gp_tasks))
    }

    /// All queued readers, the newest of a leaf first.
    pub fn queued_readers(&self) -> impl Iterator<Item = TaskId> + '_ {
        let leaves = self.tree.iter().flat_map(Tree::leaf_nodes);
        leaves.flat_map(|leaf| self.tasks.from(leaf.blkd.head))
    }

    /// Asserts that the lists are consistent. For tests and checkers; linear in leaves and tasks.
    ///
    /// # Panics
    /// If they are not.
    pub fn check_readers(&self) {
        let mut queued = 0;
        for (leaf, node) in self.tree.iter().flat_map(Tree::leaf_nodes).enumerate() {
            let (mut newer, mut seen) = (NONE, [NONE; 2]);
            for task in self.tasks.from(node.blkd.head) {
                let link = self.tasks.links[task as usize];
                assert_eq!((link.newer, link.leaf), (newer, leaf as u32), "task {task}");
                if task == node.blkd.gp_tasks {
                    seen[0] = task;
                }
                if task == node.blkd.exp_tasks {
                    seen[1] = task;
                }
                newer = task;
                queued += 1;
            }
            assert_eq!(newer, node.blkd.tail, "the tail of leaf {leaf}");
            let pointers = [node.blkd.gp_tasks, node.blkd.exp_tasks];
            assert_eq!(
                seen, pointers,
                "a pointer of leaf {leaf} does not point into its list"
            );
        }
        let known = self.tasks.links.iter().filter(|link| link.leaf != NONE);
        assert_eq!(queued, known.count(), "a task is queued nowhere");
    }
}

#[cfg(test)]
mod tests;
