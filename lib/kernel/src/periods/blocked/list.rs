//! The list of preempted readers of one leaf, and the table of links that all leaves share.

use alloc::vec::Vec;

use crate::periods::host::LeafId;

/// The number of a task that was preempted in a section: an index that the host gives it as long as it is
/// queued. Traces print it as the process number.
pub type TaskId = u32;

pub(super) const NONE: u32 = u32::MAX;

/// Links of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link {
    /// The next newer entry.
    pub newer: u32,
    /// The next older entry.
    pub older: u32,
    /// The leaf at which it is queued.
    pub leaf: u32,
}

/// Links for a number of tasks. Built by the host with no lock held and handed to
/// [`Global::grow_tasks`](crate::Global::grow_tasks).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tasks {
    pub(super) links: Vec<Link>,
}

/// There was no memory for a table of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTasks {
    /// The number of tasks it was requested for.
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

    /// A table for tasks `0..tasks`, none of them queued.
    ///
    /// # Errors
    /// If there is no memory. Allocates one array, linear in `tasks`.
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

    /// The number of tasks it has room for.
    pub fn len(&self) -> u32 {
        self.links.len() as u32
    }

    /// Does it have room for none?
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The leaf at which this task is queued.
    pub fn leaf_of(&self, task: TaskId) -> Option<LeafId> {
        let leaf = self.links.get(task as usize)?.leaf;
        (leaf != NONE).then_some(leaf as LeafId)
    }

    /// Iterates over a list from this entry to its end.
    pub(super) fn from(&self, first: u32) -> impl Iterator<Item = TaskId> + '_ {
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
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) gp_tasks: u32,
    pub(super) exp_tasks: u32,
}

/// The place of a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueuePlace {
    /// At the head: it blocks no grace period that waits already.
    Head,
    /// At the tail: both pointers cover it, wherever they are.
    Tail,
    /// Just behind `exp_tasks`.
    AfterExp,
    /// Just behind `gp_tasks`.
    AfterGp,
}

impl QueuePlace {
    /// The place of a reader whose CPU owes a quiescent state to the normal or to the expedited grace period,
    /// in a list with these pointers. It depends on four facts and not on the order of the pointers, so a
    /// grace period may wait for more readers than necessary; if one of the two has to, it is the normal one.
    pub(crate) fn choose(
        gp_tasks: bool,
        exp_tasks: bool,
        owes: bool,
        owes_exp: bool,
    ) -> QueuePlace {
        match (owes, owes_exp) {
            (false, false) => QueuePlace::Head,
            (true, false) if gp_tasks => QueuePlace::AfterGp,
            // A pointer at the new head covers the expedited one's readers too: only the normal one waits
            // longer.
            (true, false) if exp_tasks => QueuePlace::Head,
            (true, true) if gp_tasks && exp_tasks => QueuePlace::Tail,
            (_, true) if exp_tasks => QueuePlace::AfterExp,
            _ => QueuePlace::Tail,
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

    /// Does a reader block the normal grace period?
    pub(crate) fn holds_gp(&self) -> bool {
        self.gp_tasks != NONE
    }

    /// Does a reader block the expedited grace period?
    pub(crate) fn holds_exp(&self) -> bool {
        self.exp_tasks != NONE
    }

    /// An expedited grace period is set up at this leaf.
    pub(crate) fn exp_begins(&mut self) {
        self.exp_tasks = self.head;
    }

    /// A normal grace period is set up at this leaf.
    pub(crate) fn gp_begins(&mut self) {
        self.gp_tasks = self.head;
    }

    /// Queues `task`; `owes` is the state of its CPU.
    pub(super) fn insert(
        &mut self,
        tasks: &mut Tasks,
        task: TaskId,
        leaf: LeafId,
        owes: bool,
        exp: bool,
    ) {
        let (gp_set, exp_set) = (self.gp_tasks != NONE, self.exp_tasks != NONE);
        let newer = match QueuePlace::choose(gp_set, exp_set, owes, exp) {
            QueuePlace::Head => NONE,
            QueuePlace::Tail => self.tail,
            QueuePlace::AfterExp => self.exp_tasks,
            QueuePlace::AfterGp => self.gp_tasks,
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

    /// Removes `task` from its list. Pointers to it move to the next older entry.
    pub(super) fn remove(&mut self, tasks: &mut Tasks, task: TaskId) {
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

    /// Sets the link behind `newer`, and the link before `older`; past an end, the end itself.
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

#[cfg(test)]
mod tests;
