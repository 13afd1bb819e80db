//! Does an idle CPU keep its tick until it has had one?
//!
//! Where it does (`idle_loop=retain`) a CPU whose task has gone to sleep has a tick at the next jiffy, if
//! nothing has ended the halt before. Where it does not (`classic`) that tick comes only if a timer of its
//! own is due then. So of all idle times that began behind a task and lasted into the next jiffy the share
//! with a tick at its beginning is one (in the shared traces: each of 5 500), or nearly nothing (at most 3 %
//! of 32 to 4 000). Between [`FEW`] and [`MOST`] it is unknown: a governor that expects a short halt keeps
//! the tick as well.
//!
//! A CPU that is not offloaded keeps its tick while it has callbacks, so such idle times do not count.

use std::collections::BTreeMap;

use quiescent_kernel::CpuId;
use quiescent_trace::{Event, Record, Recorded};

use super::MANY;
use crate::input::options::IdleLoop;

/// Up to this share with a tick, in per cent, ticks are stopped at once; from [`MOST`] on they are retained.
const FEW: u64 = 30;
const MOST: u64 = 80;

/// So many idle times are enough.
const ENOUGH: usize = 50_000;

/// A tick begins so long after the jiffy at most, in nanoseconds: several CPUs may take theirs in turn.
const LATE: u64 = 200_000;

/// An idle time.
#[derive(Clone, Copy, Debug)]
struct Idle {
    cpu: CpuId,
    /// A task left the CPU then, in nanoseconds.
    since: u64,
    /// The first tick in it.
    tick: Option<u64>,
    /// When it was over.
    until: u64,
    /// The CPU had callbacks when it began.
    owes: bool,
}

/// Follows the idle times of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Retained {
    now: BTreeMap<CpuId, Idle>,
    owed: BTreeMap<CpuId, u64>,
    all: Vec<Idle>,
}

impl Retained {
    pub fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        let (cpu, time) = (record.cpu, record.time_ns);
        match *event {
            Event::Callback { .. } | Event::Kvfree { .. } => {
                *self.owed.entry(cpu).or_default() += 1;
            }
            Event::Invoke { .. } => {
                let owed = self.owed.entry(cpu).or_default();
                *owed = owed.saturating_sub(1);
            }
            Event::Switch { next_pid: 0, .. } => {
                let idle = Idle {
                    cpu,
                    since: time,
                    tick: None,
                    until: time,
                    owes: self.owed.get(&cpu).is_some_and(|it| *it > 0),
                };
                self.now.insert(cpu, idle);
            }
            Event::Switch { .. } => self.over(cpu, time),
            Event::Tick { .. } => {
                if let Some(it) = self.now.get_mut(&cpu) {
                    it.tick.get_or_insert(time);
                }
            }
            // What ends the halt ends the idle time, though the task comes a little later.
            Event::Wakeup { target, .. } => self.over(target, time),
            _ => {}
        }
    }

    fn over(&mut self, cpu: CpuId, time: u64) {
        let ended = self.now.remove(&cpu).filter(|_| self.all.len() < ENOUGH);
        self.all.extend(ended.map(|it| Idle { until: time, ..it }));
    }

    /// What the idle times tell.
    pub fn finish(&self, recorded: &Recorded) -> Option<IdleLoop> {
        let jiffy = 1_000_000_000 / u64::from(recorded.hz.max(1));
        let counts = |it: &&Idle| !it.owes || recorded.offloaded.contains(it.cpu);
        let (mut all, mut with) = (0, 0);
        for it in self.all.iter().filter(counts) {
            let next = (it.since / jiffy + 1) * jiffy;
            if it.until > next + LATE {
                all += 1;
                with += u64::from(it.tick.is_some_and(|tick| tick < next + LATE));
            }
        }
        match 100 * with {
            _ if all < MANY => None,
            share if share >= MOST * all => Some(IdleLoop::Retain),
            share if share <= FEW * all => Some(IdleLoop::Classic),
            _ => None,
        }
    }
}
