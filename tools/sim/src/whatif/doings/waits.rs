//! What threads wait for that only RCU can end, and when that is over: as [`WaitFollow`] has it.
//!
//! What the thread does between the two (it sleeps for a mutex, visits CPUs, checks its number) belongs to
//! the wait, and the model's wait does it by itself: it is no step, and no wake-up in it begins a run. A wait
//! that only its end shows, a wake-up by the grace-period thread, begins when the thread leaves its CPU.
//!
//! **Who drives** an expedited grace period (`reset`, `select`, `startwait`, `end`, `endwake`, and does not
//! wait itself) is a kernel's work item, and the model has a thread for it. Runs in which it does nothing
//! else are left out; where it ran is kept, as for RCU's other threads.
//!
//! **`ksoftirqd`** that executes RCU's soft interrupt is the model's own as well, and is left out likewise.

use quiescent_kernel::CpuId;
use quiescent_trace::{Awaited, Edge, Event, Record, Wait};

use super::{Follow, Run, Step, is_outside, last};

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

impl Follow {
    /// Handles an event about waits.
    pub(super) fn wait_events(&mut self, record: &Record<'_>, event: &Event<'_>) {
        for (pid, edge) in self.waits.see(record, event, |_| ()) {
            match edge {
                Edge::Known => self.begins_wait(record, pid),
                Edge::Over(wait, at) => self.wait_over(pid, &wait, at),
                Edge::Lost => {}
            }
        }
        match *event {
            Event::Expedited { what, .. } if !matches!(what, "snap" | "done") => {
                if what == "end" {
                    self.out.expedited.push(record.time_ns);
                }
                self.drives(record);
            }
            Event::Invoke {
                function: "rcu_barrier_callback",
                ..
            } => self.out.barrier_callbacks += 1,
            _ => {}
        }
    }

    fn begins_wait(&mut self, record: &Record<'_>, pid: u32) {
        let Some(what) = self.waits.what(pid) else {
            return;
        };
        let wait = Step::Wait { what, until: None };
        if record.pid == pid {
            self.step(record, (record.task(), pid), |_| wait);
        } else if let Some(run) = self.of(pid).and_then(|(_, life)| life.runs.last_mut()) {
            run.steps.push(wait);
        }
    }

    /// The thread's wait was over at that time.
    fn wait_over(&mut self, pid: u32, wait: &Wait<()>, at: u64) {
        let Some((now, life)) = self.of(pid) else {
            return;
        };
        (now.since, now.asleep) = (at, false);
        if let Some(Step::Wait { until, .. }) = last(life) {
            *until = Some(at);
        }
        self.out.waits.extend(wait.what().map(|what| Waited {
            what,
            from: wait.from,
            until: at,
        }));
    }

    /// An expedited grace period is driven here, by a waiter or by a work item.
    fn drives(&mut self, record: &Record<'_>) {
        let cpu = record.cpu;
        if self.waits.waits(record.pid) {
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
        if is_outside(record.task(), record.pid) {
            let run = self.of(record.pid).and_then(|(now, life)| {
                let last = life.runs.len().checked_sub(1)?;
                Some((now.life, last))
            });
            self.driving.extend(run);
        }
    }

    /// Leaves out RCU's own work in other threads: the model produces it.
    pub(super) fn leave_out_models_own(&mut self) {
        let mut driven = std::mem::take(&mut self.driving);
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
