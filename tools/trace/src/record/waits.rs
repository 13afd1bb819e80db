//! Who waits for RCU: for a grace period, for an expedited one, for all callbacks.
//!
//! | wait | recognised by | begins | is over |
//! |---|---|---|---|
//! | normal | `rcu_sr_normal` | the task writes `request` | the task runs again |
//! | normal | `wakeme_after_rcu` | the task queues this callback | the task runs again |
//! | normal | `woken by rcu_preempt` | the task sleeps (state `D`) | the task runs again |
//! | normal | `woken by rcu_sr_normal` | the same; a work item of RCU's wakes it | the task runs again |
//! | expedited | `rcu_exp_grace_period` | the task writes `snap` | the task writes `done` |
//! | barrier | `rcu_barrier` | the task writes `Begin` | the task writes `Inc2` or `EarlyExit` |
//!
//! A task has one wait at a time. It runs again when `sched_switch` says so after it slept; without that
//! event, at the first thing that it writes after its wake-up, and at `complete` of `rcu_sr_normal` if it
//! never slept. If `done` was lost, an expedited wait is over when the task ran again after the `end` of its
//! number; that is known when it queues a callback, waits or leaves its CPU.

use crate::base::waiting::Waiting;
use crate::{Event, Record, Role, role};

/// Workers in RCU's work item at a time.
const WORKERS_MOST: usize = 4096;

/// RCU's work item that wakes those who wait.
const WORK: &str = "rcu_sr_normal_gp_cleanup_work";

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Awaited {
    /// A grace period.
    GracePeriod,
    /// An expedited one.
    Expedited,
    /// All callbacks: `rcu_barrier`.
    Callbacks,
}

/// How a wait was recognised: see the table above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Request,
    Callback,
    Thread,
    Work,
    Expedited,
    Barrier,
}

impl By {
    pub(crate) fn what(self) -> Awaited {
        match self {
            By::Request | By::Callback | By::Thread | By::Work => Awaited::GracePeriod,
            By::Expedited => Awaited::Expedited,
            By::Barrier => Awaited::Callbacks,
        }
    }
}

/// A wait, or a sleep that may be one.
#[derive(Debug)]
pub struct Wait<T> {
    pub(crate) by: Option<By>,
    /// Since when, in nanoseconds.
    pub from: u64,
    /// What its owner knows of it.
    pub of: T,
    /// The expedited number that ends it.
    cookie: i64,
    /// The task has slept since.
    slept: bool,
    woken: bool,
    /// It ran again after its number had been reached, without `done`.
    back: Option<u64>,
}

impl<T> Wait<T> {
    /// For what; none if that is not known.
    pub fn what(&self) -> Option<Awaited> {
        self.by.map(By::what)
    }
}

/// What happened to the wait of a task.
#[derive(Debug)]
pub enum Edge<T> {
    /// It is known to be one.
    Known,
    /// It was over at this time, in nanoseconds.
    Over(Wait<T>, u64),
    /// Its end is not in the trace.
    Lost,
}

/// Follows waits through a trace, in bounded memory. `T` is what is kept of each.
#[derive(Debug)]
pub struct WaitFollow<T> {
    /// By pid.
    pub(crate) open: Waiting<u32, Wait<T>>,
    workers: Waiting<u32, (), WORKERS_MOST>,
    /// The expedited number that ended last.
    reached: Option<i64>,
    edges: Vec<(u32, Edge<T>)>,
}

impl<T> Default for WaitFollow<T> {
    fn default() -> Self {
        WaitFollow {
            open: Waiting::default(),
            workers: Waiting::default(),
            reached: None,
            edges: Vec::new(),
        }
    }
}

impl<T> WaitFollow<T> {
    /// The next event; `of` makes what is kept of a wait of this task. What happened to which task's wait.
    pub fn see(
        &mut self,
        record: &Record<'_>,
        event: &Event<'_>,
        mut of: impl FnMut(&str) -> T,
    ) -> Vec<(u32, Edge<T>)> {
        self.writes(record, event);
        match *event {
            Event::Switch {
                prev,
                prev_pid,
                state,
                next_pid,
                ..
            } => {
                self.leaves(record, (prev, prev_pid), state, &mut of);
                self.comes(record, next_pid);
            }
            Event::Wakeup { pid, .. } | Event::Waking { pid, .. } => self.woken(record, pid),
            Event::Callback {
                function: "wakeme_after_rcu",
                ..
            } => self.begins(record, By::Callback, 0, &mut of),
            Event::Callback { .. } | Event::Kvfree { .. } => self.goes_on(record),
            Event::Expedited { seq, what } => match what {
                "snap" => self.begins(record, By::Expedited, seq, &mut of),
                "done" => self.says_over(record, Awaited::Expedited),
                "end" => self.reached = Some(seq),
                _ => {}
            },
            Event::Barrier { what: "Begin" } => self.begins(record, By::Barrier, 0, &mut of),
            Event::Barrier {
                what: "Inc2" | "EarlyExit",
            } => self.says_over(record, Awaited::Callbacks),
            Event::Synchronize { what: "request" } => self.begins(record, By::Request, 0, &mut of),
            Event::Synchronize { what: "complete" } => {
                self.says_over(record, Awaited::GracePeriod);
            }
            Event::Work { function: WORK } => {
                self.workers.insert(record.pid, ());
            }
            Event::Other if record.event() == "workqueue_execute_end" => {
                self.workers.remove(&record.pid);
            }
            _ => {}
        }
        std::mem::take(&mut self.edges)
    }

    /// What the task waits for, as far as is known.
    pub fn what(&self, pid: u32) -> Option<Awaited> {
        self.open.get(&pid)?.what()
    }

    /// Does it wait?
    pub fn waits(&self, pid: u32) -> bool {
        self.what(pid).is_some()
    }

    /// The task that ran begins to wait.
    fn begins(&mut self, record: &Record<'_>, by: By, cookie: i64, of: &mut impl FnMut(&str) -> T) {
        if !is_outside(record.task(), record.pid) {
            return;
        }
        if let Some(before) = self.open.get(&record.pid) {
            match (before.by, before.back) {
                // Its own callback.
                (Some(it), _)
                    if it.what() == Awaited::GracePeriod && by == By::Callback && !before.slept =>
                {
                    return;
                }
                (Some(_), Some(back)) => self.over(record.pid, back),
                (Some(_), None) => self.edges.push((record.pid, Edge::Lost)),
                (None, _) => {}
            }
        }
        self.opens(record, (record.task(), record.pid), Some(by), cookie, of);
        self.edges.push((record.pid, Edge::Known));
    }

    fn opens(
        &mut self,
        record: &Record<'_>,
        (task, pid): (&str, u32),
        by: Option<By>,
        cookie: i64,
        of: &mut impl FnMut(&str) -> T,
    ) {
        let open = Wait {
            by,
            from: record.time_ns,
            of: of(task),
            cookie,
            slept: by.is_none(),
            woken: false,
            back: None,
        };
        self.open.insert(pid, open);
    }

    /// A task leaves its CPU.
    fn leaves(
        &mut self,
        record: &Record<'_>,
        (task, pid): (&str, u32),
        state: &str,
        of: &mut impl FnMut(&str) -> T,
    ) {
        // The return of a sleep that is no wait was not seen.
        if self.open.get(&pid).is_some_and(|open| open.by.is_none()) {
            self.open.remove(&pid);
        }
        let Some(open) = self.open.get_mut(&pid) else {
            if state.starts_with('D') && is_outside(task, pid) {
                self.opens(record, (task, pid), None, 0, of);
            }
            return;
        };
        if let Some(back) = open.back {
            return self.over(pid, back);
        }
        open.slept |= !state.starts_with('R');
    }

    /// A task runs.
    fn comes(&mut self, record: &Record<'_>, pid: u32) {
        let (now, reached) = (record.time_ns, self.reached);
        let Some(open) = self.open.get_mut(&pid).filter(|open| open.slept) else {
            return;
        };
        match open.what() {
            None => {
                self.open.remove(&pid);
            }
            Some(Awaited::GracePeriod) => self.over(pid, now),
            Some(Awaited::Expedited) if open.back.is_none() => {
                let is_over = reached.is_some_and(|it| it.wrapping_sub(open.cookie) >= 0);
                open.back = is_over.then_some(now);
            }
            Some(Awaited::Expedited | Awaited::Callbacks) => {}
        }
    }

    /// A task is woken by the one that runs.
    fn woken(&mut self, record: &Record<'_>, pid: u32) {
        let in_task = !record.flags().interrupt();
        let works = || self.workers.get(&record.pid).is_some();
        let by = match role(record.task()) {
            Role::GracePeriods if in_task => Some(By::Thread),
            _ if in_task && works() => Some(By::Work),
            _ => None,
        };
        let Some(open) = self.open.get_mut(&pid) else {
            return;
        };
        let known = open.by.is_some();
        open.by = open.by.or(by);
        (open.slept, open.woken) = (true, known);
        match (known, by) {
            (false, Some(_)) => self.edges.push((pid, Edge::Known)),
            (false, None) => drop(self.open.remove(&pid)),
            _ => {}
        }
    }

    /// The task that ran wrote something: if it was woken and no switch is traced, it runs again.
    fn writes(&mut self, record: &Record<'_>, event: &Event<'_>) {
        let is_its_own = !record.flags().interrupt()
            && !matches!(event, Event::Switch { .. } | Event::Stack { .. });
        let Some(open) = self.open.get(&record.pid).filter(|_| is_its_own) else {
            return;
        };
        if open.woken && open.what() == Some(Awaited::GracePeriod) {
            self.over(record.pid, record.time_ns);
        }
    }

    /// The task that ran does something else: if its wait was over without a word, it is over now.
    fn goes_on(&mut self, record: &Record<'_>) {
        let back = self.open.get(&record.pid).and_then(|open| open.back);
        if let Some(back) = back.filter(|_| !record.flags().interrupt()) {
            self.over(record.pid, back);
        }
    }

    fn says_over(&mut self, record: &Record<'_>, what: Awaited) {
        let open = self.open.get(&record.pid);
        if open.is_some_and(|open| open.what() == Some(what)) {
            self.over(record.pid, record.time_ns);
        }
    }

    /// The wait of a task was over at that time.
    fn over(&mut self, pid: u32, at: u64) {
        let open = self.open.remove(&pid);
        self.edges
            .extend(open.map(|open| (pid, Edge::Over(open, at))));
    }
}

/// None of RCU's threads that run grace periods and callbacks, and not the idle loop.
pub fn is_outside(task: &str, pid: u32) -> bool {
    pid != 0 && !role(task).serves_callbacks()
}
