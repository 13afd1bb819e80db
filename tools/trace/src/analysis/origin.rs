//! The requester of a grace period, and its callback.
//!
//! A grace period with the number `s` while it runs ends with the number `w`, the next multiple of four. The
//! first requester of `w` (`rcu_future_grace_period … w … Startleaf`) is its origin; where that event is not
//! traced, it is the writer of `newreq`. A requester is a soft interrupt, `rcuog/N` for a CPU that it has
//! just checked, the grace-period thread for the CPU on which it runs, or a task that waits by itself.
//!
//! The callback is the oldest one of that CPU that had no grace period yet. A CPU's callbacks get theirs at
//! `AccWaitCB` or `AccReadyCB`. Those on a bypass list (opened by `FirstBQ`) get it later than the others: on
//! a CPU with an open one a callback is taken for hidden unless an event of offloading follows it that hidden
//! ones do not have.

use super::bounded::{Names, Waiting};
use crate::base::map::Map;
use crate::base::names::short;
use crate::event::Move;
use crate::{Event, Record, Role, role};

/// Grace periods that may be requested at a time.
const WANTED_MOST: usize = 64;

/// Threads of offload groups that are followed.
const GROUPS_MOST: usize = 4096;

/// What stands for a callback that the trace does not tell.
pub(crate) const UNTOLD: &str = "-";

/// A callback by its function and the task that queued it, and the requester of its grace period. Numbers of
/// names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Origin(pub(crate) [u32; 3]);

/// A callback: function, task.
pub(crate) type QueuedCallback = (u32, u32);

/// The oldest callbacks of a CPU that have no grace period yet.
#[derive(Debug, Default)]
struct Oldest {
    main: Option<QueuedCallback>,
    hidden: Option<QueuedCallback>,
    /// There is a bypass list.
    open: bool,
    last: Option<QueuedCallback>,
}

/// Follows requests through a trace.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    pub(crate) names: Names,
    oldest: Map<u32, Oldest>,
    /// The CPU that a thread `rcuog/N` checked last.
    checked: Waiting<u32, u32, GROUPS_MOST>,
    wanted: Waiting<i64, Origin, WANTED_MOST>,
    /// Of the latest request.
    pub(crate) pending: Option<Origin>,
    /// Of the grace period that runs.
    pub(crate) current: Option<Origin>,
    /// Of the one that ended last.
    pub(crate) ended: Option<Origin>,
}

impl Origins {
    #[inline(always)]
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        if let Some(Move::Queued { function, .. }) = event.moves() {
            return self.queued(record, function);
        }
        match *event {
            Event::NocbWake { cpu, what } => self.offload(record, cpu, what),
            Event::FutureGp {
                wanted,
                what: "Startleaf",
            } => self.asked(record, wanted),
            Event::GracePeriod { seq, what } => match what {
                "newreq" => {
                    self.asked(record, number_at_end(seq));
                    self.pending = self.wanted.get(&number_at_end(seq)).copied();
                }
                "start" => self.current = self.wanted.remove(&number_at_end(seq)),
                "end" => self.ended = self.current.take(),
                "AccWaitCB" | "AccReadyCB" => {
                    let cpu = self.cpu_of(record);
                    let oldest = self.oldest.entry(cpu).or_default();
                    if oldest.main.take().is_none() {
                        oldest.hidden = None;
                        oldest.open = false;
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// The callback that was queued last on a CPU.
    pub(crate) fn last_queued(&self, cpu: u32) -> Option<QueuedCallback> {
        self.oldest.get(&cpu)?.last
    }

    pub(crate) fn labels(&self, origin: Origin) -> [&str; 3] {
        origin.0.map(|number| self.names.name(number))
    }

    /// What stands for a request that the trace does not tell.
    pub(crate) fn untold(&mut self) -> Origin {
        Origin([self.names.number(UNTOLD); 3])
    }

    fn queued(&mut self, record: &Record<'_>, function: &str) {
        let queued = (
            self.names.number(function),
            self.names.number(context(record)),
        );
        let oldest = self.oldest.entry(record.cpu).or_default();
        oldest.last = Some(queued);
        if !oldest.open {
            oldest.main.get_or_insert(queued);
        }
    }

    fn offload(&mut self, record: &Record<'_>, cpu: u32, what: &str) {
        if what == "Check" {
            self.checked.insert(record.pid, cpu);
            return;
        }
        if cpu != record.cpu || role(record.task()) == Role::OffloadGroup {
            return;
        }
        let Some(oldest) = self.oldest.get_mut(&cpu) else {
            return;
        };
        match what {
            "FirstBQ" => {
                if oldest.main == oldest.last {
                    oldest.main = None;
                }
                oldest.hidden = oldest.last;
                oldest.open = true;
            }
            "DoWake"
            | "WakeNot"
            | "WakeNotPoll"
            | "WakeEmpty"
            | "WakeEmptyIsDeferred"
            | "WakeOvfIsDeferred" => {
                oldest.main = oldest.main.or(oldest.last);
            }
            _ => {}
        }
    }

    fn asked(&mut self, record: &Record<'_>, wanted: i64) {
        if self.wanted.get(&wanted).is_some() {
            return;
        }
        let cpu = self.cpu_of(record);
        let oldest = self.oldest.get(&cpu).and_then(|o| o.main.or(o.hidden));
        let requester = self.names.number(context(record));
        let (function, task) = oldest.unwrap_or_else(|| {
            let untold = self.names.number(UNTOLD);
            (untold, untold)
        });
        let origin = Origin([function, task, requester]);
        self.wanted.insert(wanted, origin);
    }

    /// The CPU for which a task acts.
    fn cpu_of(&self, record: &Record<'_>) -> u32 {
        match role(record.task()) {
            Role::OffloadGroup => self.checked.get(&record.pid).copied().unwrap_or(record.cpu),
            _ => record.cpu,
        }
    }
}

/// The number at the end of the grace period that runs, or of the next one if none does.
fn number_at_end(seq: i64) -> i64 {
    (seq & !3).wrapping_add(4)
}

/// A task, or the interrupt that interrupted it.
pub(crate) fn context<'a>(record: &Record<'a>) -> &'a str {
    if record.flags().hardirq() {
        "interrupt"
    } else if record.flags().softirq() {
        "softirq"
    } else {
        short(record.task())
    }
}
