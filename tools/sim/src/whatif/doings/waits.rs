//! What threads wait for that only RCU can end, and when that is over.
//!
//! | [`Awaited`] | begins | is over |
//! |---|---|---|
//! | a grace period | `rcu_sr_normal … request`, or a queued `wakeme_after_rcu` | the thread runs again |
//! | an expedited one | `rcu_exp_grace_period … snap` | the thread says `done` |
//! | all callbacks | `rcu_barrier Begin` | the thread says `Inc2`, or `EarlyExit` |
//!
//! What the thread does between the two (it sleeps for a mutex, visits CPUs, checks its number) belongs to
//! the wait, and the model's wait does it by itself: it is no step, and no wake-up in it begins a run. If
//! `done` was lost, the wait is over when the thread runs again after the `end` of its number.
//!
//! **Who drives** an expedited grace period (`reset`, `select`, `startwait`, `end`, `endwake`, and does not
//! wait itself) is a kernel's work item, and the model has a thread for it. Runs in which it does nothing
//! else are left out; where it ran is kept, as for RCU's other threads.
//!
//! **`ksoftirqd`** that executes RCU's soft interrupt is the model's own as well, and is left out likewise.

use quiescent_kernel::CpuId;
use quiescent_trace::{Event, Record};

use super::{Follow, Run, Step, is_outside, last};

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A grace period.
    GracePeriod,
    /// An expedited one.
    Expedited,
    /// All callbacks: `rcu_barrier`.
    Callbacks,
}

/// A wait, as it was in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// For what.
    pub what: Awaited,
    /// Since when, in nanoseconds.
    pub from: u64,
    /// Until when.
    pub until: u64,
}

/// A wait that is not over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    what: Awaited,
    from: u64,
    /// The expedited sequence number that ends it.
    cookie: i64,
    /// The thread has slept since.
    pub slept: bool,
    /// It ran again after its number had been reached, without `done`.
    back: Option<u64>,
}

/// How expedited grace periods go.
#[derive(Debug, Default)]
pub(super) struct Driving {
    /// The number that ended last.
    ended: Option<i64>,
    /// Runs of drivers, and of `ksoftirqd` with RCU's soft interrupt: the life, and the run in it.
    runs: Vec<(usize, usize)>,
}

impl Follow {
    /// Handles an event about waits.
    pub(super) fn wait_events(&mut self, record: &Record<'_>, event: &Event<'_>) {
        match *event {
            Event::Callback {
                function: "wakeme_after_rcu",
                ..
            } => self.begins_wait(record, Awaited::GracePeriod, 0),
            Event::Synchronize { what: "request" } => {
                self.begins_wait(record, Awaited::GracePeriod, 0);
            }
            Event::Expedited { seq, what: "snap" } => {
                self.begins_wait(record, Awaited::Expedited, seq);
            }
            Event::Expedited { what: "done", .. } => self.says_over(record, Awaited::Expedited),
            Event::Expedited { seq, what } => {
                if what == "end" {
                    self.driving.ended = Some(seq);
                    self.out.expedited.push(record.time_ns);
                }
                self.drives(record);
            }
            Event::Barrier { what: "Begin" } => self.begins_wait(record, Awaited::Callbacks, 0),
            Event::Barrier {
                what: "Inc2" | "EarlyExit",
            } => self.says_over(record, Awaited::Callbacks),
            Event::Invoke {
                function: "rcu_barrier_callback",
                ..
            } => self.out.barrier_callbacks += 1,
            _ => {}
        }
    }

    fn begins_wait(&mut self, record: &Record<'_>, what: Awaited, cookie: i64) {
        if !is_outside(record.task, record.pid) {
            return;
        }
        let before = self
            .of(record.pid)
            .and_then(|(now, _)| Some((now.waits?, now.since)));
        match before {
            Some((it, _)) if it.what == what && what == Awaited::GracePeriod => {
                return; // its own callback, which the wait will queue
            }
            // The end of the wait before was lost.
            Some((it, since)) => self.wait_over(record.pid, it.back.unwrap_or(since)),
            None => {}
        }
        self.step(record, |_| Step::Wait { what, until: None });
        if let Some((now, _)) = self.of(record.pid) {
            now.waits = Some(Waiting {
                what,
                from: record.time_ns,
                cookie,
                slept: false,
                back: None,
            });
        }
    }

    fn says_over(&mut self, record: &Record<'_>, what: Awaited) {
        let waits = self.of(record.pid).and_then(|it| it.0.waits);
        if waits.is_some_and(|it| it.what == what) {
            self.wait_over(record.pid, record.time_ns);
        }
    }

    /// The thread's wait was over at that time.
    fn wait_over(&mut self, pid: u32, at: u64) {
        let Some((now, life)) = self.of(pid) else {
            return;
        };
        let Some(waiting) = now.waits.take() else {
            return;
        };
        now.since = at;
        if let Some(Step::Wait { until, .. }) = last(life) {
            *until = Some(at);
        }
        self.out.waits.push(Waited {
            what: waiting.what,
            from: waiting.from,
            until: at,
        });
    }

    /// The thread runs again.
    pub(super) fn came_back(&mut self, pid: u32, time: u64) {
        let ended = self.driving.ended;
        let Some(it) = self.of(pid).and_then(|it| it.0.waits.as_mut()) else {
            return;
        };
        match it.what {
            Awaited::GracePeriod if it.slept => self.wait_over(pid, time),
            Awaited::Expedited if it.slept && it.back.is_none() => {
                let reached = ended.is_some_and(|ended| ended.wrapping_sub(it.cookie) >= 0);
                it.back = reached.then_some(time);
            }
            _ => {}
        }
    }

    /// The thread does something else: if its wait was over without a word, it is over now.
    pub(super) fn goes_on(&mut self, pid: u32) {
        let back = self.of(pid).and_then(|it| it.0.waits?.back);
        if let Some(back) = back {
            self.wait_over(pid, back);
        }
    }

    /// An expedited grace period is driven here, by a waiter or by a work item.
    fn drives(&mut self, record: &Record<'_>) {
        let cpu = record.cpu;
        if self.of(record.pid).is_some_and(|it| it.0.waits.is_some()) {
            return;
        }
        self.is_models_own(record);
        let places = &mut self.out.driver;
        if places.last().is_none_or(|it| it.1 != cpu) {
            places.push((record.time_ns, cpu));
        }
    }

    /// What the task does now is RCU's own work.
    pub(super) fn is_models_own(&mut self, record: &Record<'_>) {
        if is_outside(record.task, record.pid) {
            let run = self.of(record.pid).and_then(|(now, life)| {
                let last = life.runs.len().checked_sub(1)?;
                Some((now.life, last))
            });
            self.driving.runs.extend(run);
        }
    }

    /// Leaves out RCU's own work in other threads: the model produces it.
    pub(super) fn leave_out_models_own(&mut self) {
        let mut driven = std::mem::take(&mut self.driving.runs);
        driven.sort_unstable();
        driven.dedup();
        for (life, run) in driven.into_iter().rev() {
            let runs = &mut self.out.lives[life].runs;
            if is_only_work(&runs[run]) {
                runs.remove(run);
            }
        }
        self.out.lives.retain(|it| !it.runs.is_empty());
    }
}

fn is_only_work(run: &Run) -> bool {
    run.steps.iter().all(|it| matches!(it, Step::Busy(_)))
}

/// Where RCU's work item for expedited grace periods is, in the model: a thread of this name.
pub const DRIVER: &str = "kworker/rcu_exp";

/// Threads that only this crate's own machine has, for what a kernel's work items do.
pub(super) fn is_models(task: &str) -> bool {
    task == DRIVER || task == "kworker/rcu" || task.starts_with("rcu_exp_")
}

/// Where it was driven: from when on, in nanoseconds, on which CPU.
pub type Driven = Vec<(u64, CpuId)>;
