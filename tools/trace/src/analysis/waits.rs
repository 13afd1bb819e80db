//! Who waited for RCU. Waits are followed in `record/waits.rs`, which says how each kind is recognised.
//!
//! A wait counts if it is over in the window. Grace periods, scans and the last holdout are those that ended
//! during it (`holdout`): expedited ones for an expedited wait, which has neither of the others. Filters
//! select the task, and the CPU on which the wait began.

use super::bounded::Names;
use super::findings::Findings;
use super::holdout::Course;
use super::own::Own;
use super::{Part, Seen};
use crate::record::waits::By;
use crate::{Awaited, Edge, Error, Event, Wait, WaitFollow};

mod counts;
mod stacks;
mod table;

use counts::{Long, WaitCounts};
use stacks::Stacks;

/// In the order of the numbers of [`By`].
const WAYS: [(By, &str); 6] = [
    (By::Request, "rcu_sr_normal"),
    (By::Callback, "wakeme_after_rcu"),
    (By::Thread, "woken by rcu_preempt"),
    (By::Work, "woken by rcu_sr_normal"),
    (By::Expedited, "rcu_exp_grace_period"),
    (By::Barrier, "rcu_barrier"),
];

/// Events that tell of waits.
const TELLING: [&str; 4] = [
    "rcu_callback",
    "rcu_sr_normal",
    "rcu_exp_grace_period",
    "rcu_barrier",
];

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    follow: WaitFollow<Of>,
    course: Course,
    passed: Passed,
    /// Of the grace period that ended last.
    holdout: Option<String>,
    names: Names,
    stacks: Stacks,
    counts: WaitCounts,
    /// Which of [`TELLING`] are in the trace.
    recorded: [bool; TELLING.len()],
}

/// What has ended so far.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    gps: u64,
    scans: u64,
    expedited: u64,
}

/// What is kept of a wait.
#[derive(Debug)]
struct Of {
    task: u32,
    cpu: u32,
    inside: bool,
    since: Passed,
    stack: Option<u32>,
}

impl Part for Waits {
    fn reset(&mut self) {
        self.counts = WaitCounts::default();
        let open = self.follow.open.values_mut();
        open.for_each(|open| open.of.inside = false);
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let (record, names, passed) = (seen.record, &mut self.names, self.passed);
        let edges = self.follow.see(record, seen.event, |task| Of {
            task: names.number(task),
            cpu: record.cpu,
            inside: seen.inside,
            since: passed,
            stack: None,
        });
        for (pid, edge) in edges {
            match edge {
                Edge::Over(wait, at) => self.over(seen, pid, &wait, at),
                Edge::Lost => self.counts.lost += u64::from(seen.inside),
                Edge::Known => {}
            }
        }
        self.passed.scans += u64::from(self.course.see(record, seen.event));
        let telling = match seen.event {
            Event::Callback { .. } => Some(0),
            Event::Synchronize { .. } => Some(1),
            Event::Expedited { .. } => Some(2),
            Event::Barrier { .. } => Some(3),
            _ => None,
        };
        telling.inspect(|&at| self.recorded[at] = true);
        match *seen.event {
            Event::Expedited { what: "end", .. } => self.passed.expedited += 1,
            Event::GracePeriod { what: "end", .. } => {
                self.passed.gps += 1;
                self.holdout = self.course.brief();
            }
            Event::Stack { frames } => {
                let open = self.follow.open.get_mut(&record.pid);
                if let Some(open) = open.filter(|open| open.of.stack.is_none()) {
                    open.of.stack = self.stacks.number(frames);
                }
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
    /// The wait of a task was over at that time.
    fn over(&mut self, seen: &Seen<'_>, pid: u32, wait: &Wait<Of>, at: u64) {
        let Some(by) = wait.by.filter(|_| seen.inside) else {
            return;
        };
        let of = &wait.of;
        let wanted = seen.filter.cpu(of.cpu) && seen.filter.thread(self.names.name(of.task), pid);
        if !wanted {
            return;
        }
        let since = of.since;
        let (gps, scans, holdout) = match by.what() {
            Awaited::GracePeriod | Awaited::Callbacks => {
                let gps = self.passed.gps - since.gps;
                let holdout = self.holdout.clone().filter(|_| gps > 0);
                (gps, self.passed.scans - since.scans, holdout)
            }
            Awaited::Expedited => (self.passed.expedited - since.expedited, 0, None),
        };
        self.counts.add(Long {
            span: (wait.from, at),
            task: (of.task, pid),
            by,
            gps,
            scans,
            holdout,
            stack: of.stack,
        });
    }
}

#[cfg(test)]
mod tests;
