//! Interrupts that end the halt of a CPU and leave nothing behind: other timers' (`hrtimer_expire_entry` of
//! anything but the tick), and those that no event names (a clock that goes off a little early and is set
//! again, a device).
//!
//! Recognized by a CPU that leaves its halt and halts again with nothing in between but such a timer: no
//! tick, no soft interrupt, no wake-up, no other task, no event of RCU. They are external input, as threads'
//! wake-ups are, and each is a pass of the idle loop. On an idle machine they are most of all passes
//! (`classic-idle`: 54 of 82).

use std::collections::HashMap;

use quiescent_kernel::CpuId;
use quiescent_trace::{Event, Record};

/// What a CPU has done since it halted.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// When it left its halt, in nanoseconds.
    left: Option<u64>,
    /// More than an interrupt happened.
    more: bool,
}

/// Follows the halts of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Halts {
    since: HashMap<CpuId, Since>,
}

impl Halts {
    /// The next event: an interrupt alone has ended a halt on this CPU, at this time.
    pub fn see(&mut self, record: &Record<'_>, event: &Event<'_>) -> Option<(CpuId, u64)> {
        match *event {
            Event::IdleExit { cpu } => {
                if let Some(it) = self.since.get_mut(&cpu) {
                    it.left = it.left.or(Some(record.time_ns));
                }
            }
            Event::IdleEntry { cpu, .. } => {
                let halted = Since {
                    left: None,
                    more: false,
                };
                let before = self.since.insert(cpu, halted)?;
                return before.left.filter(|_| !before.more).map(|at| (cpu, at));
            }
            Event::Hrtimer { .. } | Event::Mark { .. } | Event::Other => {}
            _ => {
                if let Some(it) = self.since.get_mut(&record.cpu) {
                    it.more = true;
                }
            }
        }
        None
    }
}
