//! Readers that were preempted: the CPU is free, the task holds its leaf.
//!
//! A task that is switched out in the middle of a section leaves its CPU quiescent, so the CPU can no
//! longer vouch for the section. The task is therefore queued at the CPU's leaf, *before* the CPU may
//! note a quiescent state, and stays there until its outermost section ends, wherever it runs by then
//! (behaviour §11). A leaf is finished only when its mask is empty **and** no queued reader is in the way.
//!
//! ```text
//!   blkd_tasks of a leaf:   head ── t4 ── t7 ── t2 ── t9 (tail)
//!                                         │     │
//!                           gp_tasks ─────┘     └──── exp_tasks
//! ```
//!
//! New entries go towards the head, old ones are towards the tail. `gp_tasks` points to the newest entry
//! that blocks the normal grace period in flight: that one and **everything behind it** block it. So does
//! `exp_tasks` for the expedited one. One pointer instead of a mark on every task: the start of a grace
//! period takes all queued readers in one store.
//!
//! # Invariants
//! * A reader whose section is older than a grace period is counted by a CPU that owes, or stands at or
//!   behind that grace period's pointer.
//! * Pointers point into their own leaf's list, and are empty when no grace period of their kind is in
//!   flight.
//! * A task is in at most one list; the list it is in is remembered, so it may run, and end its section,
//!   on any CPU.
//!
//! # Why it is right
//! Let R be a section that is open when the grace period starts. If R's task is queued by then, the setting
//! up of its leaf takes the whole list. If not, R runs on a CPU that is in the masks and owes until it is
//! switched out; then R is placed so that the pointer covers it ([`Place`]). Newer readers may end up
//! behind a pointer as well: that delays a grace period and is never wrong. A report that finds readers in
//! the way stops at the leaf; whoever empties the set carries it on ([`Global::read_unlock`]).
//!
//! A CPU that goes offline leaves its readers where they are. A leaf whose last CPU is gone takes part
//! in grace periods for as long as readers are queued there (`wait_blkd_tasks`, decided when a grace period
//! starts). That includes one whose CPU came, read and left between two starts.
//!
//! # Memory
//! The lists are links in a table that the host hands in ([`Tasks`], [`Global::grow_tasks`]), one a task
//! that can be preempted in a section at the same time. Nothing is allocated here.
//!
//! # What is left out
//! Priority boosting: it makes a grace period end sooner and is not needed for any of the above.

use alloc::vec::Vec;

use crate::event::Event;
use crate::global::Global;
use crate::host::{CpuId, Effects, Host, LeafId, Next};
use crate::tree::Tree;

/// Number of a task that was preempted in a section: an index that the host gives it for as long as it is
/// queued. Traces print it as the process number.
pub type TaskId = u32;

const NONE: u32 = u32::MAX;

/// Links of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Link {
    /// Towards the head.
    newer: u32,
    /// Towards the tail.
    older: u32,
    /// Where it is queued.
    leaf: u32,
}

/// Links for a number of tasks. Built by the host with no lock held and handed to
/// [`Global::grow_tasks`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tasks {
    links: Vec<Link>,
}

/// No memory for a table of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTasks {
    /// Tasks it was to serve.
    pub tasks: u32,
}

impl core::fmt::Display for NoTasks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "no memory for the links of {} preempted readers: free some, or allow fewer tasks",
            self.tasks
        )
    }
}

impl core::error::Error for NoTasks {}

impl Tasks {
    pub(crate) const fn none() -> Tasks {
        Tasks { links: Vec::new() }
    }

    /// For tasks `0..tasks`, none of them queued.
    ///
    /// # Errors
    /// No memory. Allocates one array, linear in `tasks`.
    pub fn new(tasks: u32) -> Result<Tasks, NoTasks> {
        let mut links = Vec::new();
        links
            .try_reserve_exact(tasks as usize)
            .map_err(|_| NoTasks { tasks })?;
        let unqueued = Link {
            newer: NONE,
            older: NONE,
            leaf: NONE,
        };
        links.resize(tasks as usize, unqueued);
        Ok(Tasks { links })
    }

    /// Tasks it has room for.
    pub fn len(&self) -> u32 {
        self.links.len() as u32
    }

    /// Has it room for none?
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The leaf at which this task is queued.
    pub fn leaf_of(&self, task: TaskId) -> Option<LeafId> {
        let leaf = self.links.get(task as usize)?.leaf;
        (leaf != NONE).then_some(leaf as LeafId)
    }

    /// A list from this entry to its end.
    fn from(&self, first: u32) -> impl Iterator<Item = TaskId> + '_ {
        let mut next = first;
        core::iter::from_fn(move || {
            let task = (next != NONE).then_some(next)?;
            next = self.links[task as usize].older;
            Some(task)
        })
    }
}

/// The readers queued at one leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Blkd {
    head: u32,
    tail: u32,
    gp_tasks: u32,
    exp_tasks: u32,
}

/// Where a new entry goes (behaviour §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In front of everything: it blocks nothing that waits already.
    Head,
    /// Behind everything: both pointers, wherever they are, cover it.
    Tail,
    /// Just behind `exp_tasks`.
    AfterExp,
    /// Just behind `gp_tasks`.
    AfterGp,
}

impl Place {
    /// The place of a reader whose CPU owes a quiescent state to the normal or to the expedited grace
    /// period, in a list where these have a pointer. Imprecise on purpose: four facts decide, the order of
    /// the pointers does not. Where one of the two has to wait for too many, it is the normal one.
    pub(crate) fn choose(gp_tasks: bool, exp_tasks: bool, owes: bool, owes_exp: bool) -> Place {
        match (owes, owes_exp) {
            (false, false) => Place::Head,
            (true, false) if gp_tasks => Place::AfterGp,
            // A pointer at the new head covers the expedited one's readers too: only the normal one waits.
            (true, false) if exp_tasks => Place::Head,
            (true, true) if gp_tasks && exp_tasks => Place::Tail,
            (_, true) if exp_tasks => Place::AfterExp,
            _ => Place::Tail,
        }
    }
}

impl Blkd {
    pub(crate) const fn new() -> Blkd {
        Blkd {
            head: NONE,
            tail: NONE,
            gp_tasks: NONE,
            exp_tasks: NONE,
        }
    }

    /// Is any reader queued?
    pub(crate) fn any(&self) -> bool {
        self.head != NONE
    }

    /// Is one in the way of the normal grace period?
    pub(crate) fn holds_gp(&self) -> bool {
        self.gp_tasks != NONE
    }

    /// A normal grace period is set up at this leaf.
    pub(crate) fn gp_begins(&mut self) {
        self.gp_tasks = self.head;
    }

    /// Queues `task`; its CPU owes what is said.
    fn insert(&mut self, tasks: &mut Tasks, task: TaskId, leaf: LeafId, owes: bool, exp: bool) {
        let (gp_set, exp_set) = (self.gp_tasks != NONE, self.exp_tasks != NONE);
        let newer = match Place::choose(gp_set, exp_set, owes, exp) {
            Place::Head => NONE,
            Place::Tail => self.tail,
            Place::AfterExp => self.exp_tasks,
            Place::AfterGp => self.gp_tasks,
        };
        let older = if newer == NONE {
            self.head
        } else {
            tasks.links[newer as usize].older
        };
        let leaf = leaf as u32;
        tasks.links[task as usize] = Link { newer, older, leaf };
        self.set_neighbours(tasks, newer, older, task, task);
        if owes && !gp_set {
            self.gp_tasks = task;
        }
        if exp && !exp_set {
            self.exp_tasks = task;
        }
    }

    /// Unqueues `task`. Pointers to it move on to the next older one.
    fn remove(&mut self, tasks: &mut Tasks, task: TaskId) {
        let Link { newer, older, .. } = tasks.links[task as usize];
        self.set_neighbours(tasks, newer, older, older, newer);
        for pointer in [&mut self.gp_tasks, &mut self.exp_tasks] {
            if *pointer == task {
                *pointer = older;
            }
        }
        tasks.links[task as usize] = Link {
            newer: NONE,
            older: NONE,
            leaf: NONE,
        };
    }

    /// What `newer` has behind it, and what `older` has in front of it; past an end, it is the end itself.
    fn set_neighbours(
        &mut self,
        tasks: &mut Tasks,
        newer: u32,
        older: u32,
        behind: u32,
        front: u32,
    ) {
        match tasks.links.get_mut(newer as usize) {
            Some(link) => link.older = behind,
            None => self.head = behind,
        }
        match tasks.links.get_mut(older as usize) {
            Some(link) => link.newer = front,
            None => self.tail = front,
        }
    }
}

impl Global {
    /// Hands in room for more tasks; possible at any time. The old table comes back, so that it can be
    /// freed with no lock held.
    ///
    /// # Errors
    /// Gives the new table back if it is not larger.
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

    /// `cpu` switches from one task to another. `preempted` is the one switched out if it is in a section
    /// and is not queued yet: it is queued, and after this call the CPU may note its quiescent state.
    ///
    /// There is a tree by now (a kernel has one from boot on). A CPU that has no place in it came after
    /// the grace period in flight started; its readers are queued at the first leaf.
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
        Effects::only(Next::Done)
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
        let owes = n.qsmask & bit != 0;
        n.blkd.insert(&mut self.tasks, task, leaf, owes, false);
        host.trace(&Event::PreemptTask {
            // The grace period that has to wait for it.
            gp_seq: if owes { n.gp_seq } else { n.gp_seq.snap() },
            pid: task,
        });
    }

    /// The outermost section of a queued reader has ended: it no longer holds its leaf, and if it was the
    /// last one in the way there, that is carried up the tree. It may run on any CPU.
    ///
    /// # Panics
    /// If the task is not queued.
    pub fn read_unlock(&mut self, task: TaskId, host: &impl Host) -> Effects {
        let leaf = self.tasks.leaf_of(task).unwrap_or_else(|| {
            panic!("task {task} ends a section in which it was not preempted: it is not queued")
        });
        let tree = self.tree.as_mut().expect("it is queued in a tree");
        let node = tree.leaf_node(leaf);
        let n = &mut tree.nodes[node];
        let (held, gp_seq) = (n.blkd.holds_gp(), n.gp_seq);
        n.blkd.remove(&mut self.tasks, task);
        let emptied = held && !n.blkd.holds_gp();
        host.trace(&Event::UnlockPreemptedTask { gp_seq, pid: task });
        if emptied {
            return self.reported(|tree| tree.report_readers(node, host));
        }
        Effects::only(Next::Done)
    }

    /// The queued readers that hold the grace period in flight; the [`holdouts`](Global::holdouts) are the
    /// CPUs that do. Empty if none is in flight.
    pub fn blocked_readers(&self) -> impl Iterator<Item = TaskId> + '_ {
        let leaves = self.tree.iter().flat_map(Tree::leaf_nodes);
        leaves.flat_map(|leaf| self.tasks.from(leaf.blkd.gp_tasks))
    }

    /// All queued readers, the newest of a leaf first.
    pub fn queued_readers(&self) -> impl Iterator<Item = TaskId> + '_ {
        let leaves = self.tree.iter().flat_map(Tree::leaf_nodes);
        leaves.flat_map(|leaf| self.tasks.from(leaf.blkd.head))
    }

    /// Asserts that the lists are whole. For tests and checkers; linear in leaves and tasks.
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
            assert_eq!(seen, pointers, "a pointer of leaf {leaf} is astray");
        }
        let known = self.tasks.links.iter().filter(|link| link.leaf != NONE);
        assert_eq!(queued, known.count(), "a task is queued nowhere");
    }
}

#[cfg(test)]
mod tests;
