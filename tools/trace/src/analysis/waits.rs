//! Who waited for RCU: for a grace period, for an expedited one, for all callbacks.
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
//! number. A wait whose end was lost otherwise is not counted, but in a note.
//!
//! A wait counts if it is over in the window. Grace periods, scans and the last holdout are those that ended
//! during it (`holdout`): expedited ones for an expedited wait, which has neither of the others. Filters
//! select the task, and the CPU on which the wait began.

use super::bounded::{Names, Waiting};
use super::findings::Findings;
use super::holdout::Course;
use super::own::Own;
use super::{Part, Seen};
use crate::{Error, Event, Record, Role, role};

mod counts;
mod stacks;
mod table;

use counts::{Long, WaitCounts};
use stacks::Stacks;

/// Workers in RCU's work item at a time.
const WORKERS_MOST: usize = 4096;

/// RCU's work item that wakes those who wait.
const WORK: &str = "rcu_sr_normal_gp_cleanup_work";

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Call {
    Normal,
    Expedited,
    Barrier,
}

/// How a wait was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Request,
    Callback,
    Thread,
    Work,
    Expedited,
    Barrier,
}

/// In the order of the numbers of [`By`].
const WAYS: [(By, &str); 6] = [
    (By::Request, "rcu_sr_normal"),
    (By::Callback, "wakeme_after_rcu"),
    (By::Thread, "woken by rcu_preempt"),
    (By::Work, "woken by rcu_sr_normal"),
    (By::Expedited, "rcu_exp_grace_period"),
    (By::Barrier, "rcu_barrier"),
];

impl By {
    fn call(self) -> Call {
        match self {
            By::Request | By::Callback | By::Thread | By::Work => Call::Normal,
            By::Expedited => Call::Expedited,
            By::Barrier => Call::Barrier,
        }
    }
}

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// By pid.
    open: Waiting<u32, Open>,
    workers: Option<Waiting<u32, ()>>,
    course: Course,
    passed: Passed,
    /// Of the grace period that ended last.
    holdout: Option<String>,
    /// The expedited number that ended last.
    reached: Option<i64>,
    names: Names,
    stacks: Stacks,
    counts: WaitCounts,
}

/// What has ended so far.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    gps: u64,
    scans: u64,
    expedited: u64,
}

/// A wait that is not over, or a task that sleeps for a reason that is not known yet.
#[derive(Debug)]
struct Open {
    by: Option<By>,
    task: u32,
    cpu: u32,
    from: u64,
    inside: bool,
    since: Passed,
    /// The expedited number that ends it.
    cookie: i64,
    /// The task has slept since.
    slept: bool,
    woken: bool,
    /// It ran again after its number had been reached, without `done`.
    back: Option<u64>,
    stack: Option<u32>,
}

impl Part for Waits {
    fn reset(&mut self) {
        self.counts = WaitCounts::default();
        self.open.values_mut().for_each(|open| open.inside = false);
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let record = seen.record;
        self.writes(seen);
        self.passed.scans += u64::from(self.course.see(record, seen.event));
        match *seen.event {
            Event::Switch {
                prev,
                prev_pid,
                state,
                next_pid,
                ..
            } => {
                self.leaves(seen, (prev, prev_pid), state);
                self.comes(seen, next_pid);
            }
            Event::Wakeup { pid, .. } | Event::Waking { pid, .. } => self.woken(record, pid),
            Event::Callback {
                function: "wakeme_after_rcu",
                ..
            } => self.begins(seen, By::Callback, 0),
            Event::Expedited { seq, what } => self.expedited(seen, seq, what),
            Event::Barrier { what: "Begin" } => self.begins(seen, By::Barrier, 0),
            Event::Barrier {
                what: "Inc2" | "EarlyExit",
            } => self.says_over(seen, Call::Barrier),
            Event::GracePeriod { what: "end", .. } => {
                self.passed.gps += 1;
                self.holdout = self.course.brief();
            }
            Event::Synchronize { what: "request" } => self.begins(seen, By::Request, 0),
            Event::Synchronize { what: "complete" } => self.says_over(seen, Call::Normal),
            Event::Work { function: WORK } => {
                self.workers().insert(record.pid, ());
            }
            Event::Stack { frames } => {
                let open = self.open.get_mut(&record.pid);
                if let Some(open) = open.filter(|open| open.stack.is_none()) {
                    open.stack = self.stacks.number(frames);
                }
            }
            Event::Other if record.event == "workqueue_execute_end" => {
                self.workers().remove(&record.pid);
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, findings: &mut Findings, _: &Own) -> Result<(), Error> {
        self.tables(findings);
        self.notes(findings);
        Ok(())
    }
}

impl Waits {
    fn workers(&mut self) -> &mut Waiting<u32, ()> {
        self.workers
            .get_or_insert_with(|| Waiting::new(WORKERS_MOST))
    }

    /// The task that ran begins to wait.
    fn begins(&mut self, seen: &Seen<'_>, by: By, cookie: i64) {
        let record = seen.record;
        if !is_outside(record.task, record.pid) {
            return;
        }
        if let Some(before) = self.open.get(&record.pid) {
            match (before.by, before.back) {
                // Its own callback.
                (Some(it), _)
                    if it.call() == Call::Normal && by == By::Callback && !before.slept =>
                {
                    return;
                }
                (Some(_), Some(back)) => self.over(seen, record.pid, back),
                (Some(_), None) => self.counts.lost += u64::from(seen.inside),
                (None, _) => {}
            }
        }
        self.opens(seen, (record.task, record.pid), Some(by), cookie);
    }

    fn opens(&mut self, seen: &Seen<'_>, (task, pid): (&str, u32), by: Option<By>, cookie: i64) {
        let open = Open {
            by,
            task: self.names.number(task),
            cpu: seen.record.cpu,
            from: seen.record.time_ns,
            inside: seen.inside,
            since: self.passed,
            cookie,
            slept: by.is_none(),
            woken: false,
            back: None,
            stack: None,
        };
        self.open.insert(pid, open);
    }

    /// A task leaves its CPU.
    fn leaves(&mut self, seen: &Seen<'_>, (task, pid): (&str, u32), state: &str) {
        let Some(open) = self.open.get_mut(&pid) else {
            if state.starts_with('D') && is_outside(task, pid) {
                self.opens(seen, (task, pid), None, 0);
            }
            return;
        };
        if let Some(back) = open.back {
            return self.over(seen, pid, back);
        }
        open.slept |= !state.starts_with('R');
        if open.by.is_none() {
            // Its return was not seen.
            self.open.remove(&pid);
            self.leaves(seen, (task, pid), state);
        }
    }

    /// A task runs.
    fn comes(&mut self, seen: &Seen<'_>, pid: u32) {
        let (now, reached) = (seen.record.time_ns, self.reached);
        let Some(open) = self.open.get_mut(&pid).filter(|open| open.slept) else {
            return;
        };
        match open.by.map(By::call) {
            None => {
                self.open.remove(&pid);
            }
            Some(Call::Normal) => self.over(seen, pid, now),
            Some(Call::Expedited) if open.back.is_none() => {
                let is_over = reached.is_some_and(|it| it.wrapping_sub(open.cookie) >= 0);
                open.back = is_over.then_some(now);
            }
            Some(Call::Expedited | Call::Barrier) => {}
        }
    }

    /// A task is woken by the one that runs.
    fn woken(&mut self, record: &Record<'_>, pid: u32) {
        let in_task = !record.flags.softirq() && !record.flags.hardirq();
        let works = || {
            self.workers
                .as_ref()
                .is_some_and(|it| it.get(&record.pid).is_some())
        };
        let by = match role(record.task) {
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
        if open.by.is_none() {
            self.open.remove(&pid);
        }
    }

    /// The task that ran wrote something: if it was woken and no switch is traced, it runs again.
    fn writes(&mut self, seen: &Seen<'_>) {
        let record = seen.record;
        let is_its_own = !record.flags.softirq()
            && !record.flags.hardirq()
            && !matches!(seen.event, Event::Switch { .. } | Event::Stack { .. });
        let Some(open) = self.open.get(&record.pid).filter(|_| is_its_own) else {
            return;
        };
        if open.woken && open.by.is_some_and(|by| by.call() == Call::Normal) {
            self.over(seen, record.pid, record.time_ns);
        }
    }

    fn expedited(&mut self, seen: &Seen<'_>, seq: i64, what: &str) {
        match what {
            "snap" => self.begins(seen, By::Expedited, seq),
            "done" => self.says_over(seen, Call::Expedited),
            "end" => {
                self.passed.expedited += 1;
                self.reached = Some(seq);
            }
            _ => {}
        }
    }

    fn says_over(&mut self, seen: &Seen<'_>, call: Call) {
        let pid = seen.record.pid;
        let by = self.open.get(&pid).and_then(|open| open.by);
        if by.is_some_and(|by| by.call() == call) {
            self.over(seen, pid, seen.record.time_ns);
        }
    }

    /// The wait of a task was over at that time.
    fn over(&mut self, seen: &Seen<'_>, pid: u32, at: u64) {
        let Some(open) = self.open.remove(&pid) else {
            return;
        };
        let Some(by) = open.by.filter(|_| seen.inside) else {
            return;
        };
        let wanted =
            seen.filter.cpu(open.cpu) && seen.filter.thread(self.names.name(open.task), pid);
        if !wanted {
            return;
        }
        let (call, since) = (by.call(), open.since);
        let (gps, scans, holdout) = match call {
            Call::Normal | Call::Barrier => {
                let gps = self.passed.gps - since.gps;
                let holdout = self.holdout.clone().filter(|_| gps > 0);
                (gps, self.passed.scans - since.scans, holdout)
            }
            Call::Expedited => (self.passed.expedited - since.expedited, 0, None),
        };
        self.counts.add(Long {
            span: (open.from, at),
            task: (open.task, pid),
            by,
            gps,
            scans,
            holdout,
            stack: open.stack,
        });
    }
}

/// None of RCU's own threads, and not the idle loop.
fn is_outside(task: &str, pid: u32) -> bool {
    let of_rcu = matches!(
        role(task),
        Role::GracePeriods | Role::OffloadGroup | Role::OffloadInvoker
    );
    pid != 0 && !of_rcu
}

#[cfg(test)]
mod tests;
