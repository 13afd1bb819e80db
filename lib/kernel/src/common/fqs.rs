//! Force-quiescent-state scans, and the waits between them.
//!
//! A scan reads every CPU that still owes a quiescent state, one leaf a step. The **first** scan takes a
//! snapshot: a CPU found outside is credited at once (one observation suffices); the stamps of the others are
//! kept. **Later** scans credit a CPU that is outside *or* whose stamp has changed. The stamp alone would
//! wait for ever for a reader that left and stayed out; being outside alone would wait for ever for a reader
//! that is inside at every scan, section after section.
//!
//! # Between scans
//! A kernel sleeps whole ticks ([`Pace::Jiffies`]). A thread host has no self-reports to wait for, so the
//! first scan follows initialisation at once, and then ([`Pace::Direct`]):
//!
//! ```text
//! scan → spin, scan … → flag holdouts → spin, scan … → flag, arm → fence → scan → flag, arm → sleep
//!        (Before)                       (After)         (Arming)   (Fence) (Armed)            (Asleep)
//! ```
//!
//! *No lost wake-up.* The driver sleeps only if (1) a fence was issued after the last flag that was newly
//! set, (2) a scan after that fence still found holdouts, and (3) a last check found all their flags still
//! set, with the sleeper already declared (`arm`). A reader that ends its section stores its word, then loads
//! its flag. If it missed the flag, that load came before the fence, so the scan sees the word. If it saw the
//! flag it clears it with a locked instruction before it reads the sleeper's word: either (3) sees the flag
//! cleared, or the reader sees the sleeper. A handler inside lock or unlock may clear a flag and then have
//! its interrupted code's stale store hide the change of generation; therefore (3) reads the flags and not
//! only the words.

use crate::common::config::{EarlyQs, Pace};
use crate::common::event::{Event, FqsEvent, GpEvent};
use crate::common::global::{Global, Interest, Phase};
use crate::common::host::{Effects, FenceCause, Host, Next, Until};

/// The state of the grace period between scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Waits a number of ticks.
    Ticks,
    /// The driver spins; the flags are not set yet.
    Before,
    /// The driver is setting the flags.
    Flag,
    /// The driver spins; the flags are set.
    After,
    /// The driver is setting the flags again and declaring itself asleep.
    Arming,
    /// The driver is issuing the fence after which every reader sees the flags.
    Fence,
    /// The fence was issued: one more scan before sleep.
    Armed,
    /// The driver sleeps.
    Asleep,
}

/// The state of the waits and scans of one grace period.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fqs {
    /// Jiffy of the next scan.
    pub force_at: u64,
    /// Scans begun in this grace period; 2 stands for more, since only the first one differs.
    scans: u8,
    /// Spins so far in the current stage.
    spins: u32,
    stage: Wait,
    /// Flags were newly set since the last fence.
    fence_owed: bool,
    expedited: bool,
}

impl Fqs {
    pub(crate) const fn new() -> Fqs {
        Fqs {
            force_at: 0,
            scans: 0,
            spins: 0,
            stage: Wait::Before,
            fence_owed: false,
            expedited: false,
        }
    }

    pub(crate) fn gp_started(&mut self, expedited: bool) {
        *self = Fqs {
            expedited,
            ..Fqs::new()
        };
    }
}

impl Global {
    /// The tick at which a grace-period thread that sleeps scans next.
    pub fn next_scan_at(&self) -> u64 {
        self.fqs.force_at
    }

    /// The driver returns from a wait.
    pub(crate) fn wait(&mut self, wait: Wait, host: &impl Host) -> Effects {
        if self
            .tree
            .as_ref()
            .expect("a grace period has a tree")
            .all_quiescent()
        {
            return Effects::only(self.begin_cleanup());
        }
        match wait {
            Wait::Ticks => {
                let now = self.force || self.urgency.scan_now;
                if !now && self.now.jiffies < self.fqs.force_at {
                    // A stray wake-up: the old deadline is kept.
                    self.trace_gp(GpEvent::Fqswaitsig, host);
                    let left = self.paced((self.fqs.force_at - self.now.jiffies).max(1));
                    self.trace_gp(GpEvent::Fqswait, host);
                    return Effects::only(Next::Sleep(Until::Jiffies(left)));
                }
                self.begin_scan(host);
                Effects::only(Next::Again)
            }
            // It neither flags nor sleeps: it scans once, and keeps the stage.
            Wait::Flag | Wait::Arming | Wait::Fence if self.is_passing() => {
                self.fqs.fence_owed |= wait == Wait::Fence;
                self.begin_scan(host);
                Effects::only(Next::Again)
            }
            // A poller that continues here will not sleep; the next driver issues the fence.
            Wait::Arming | Wait::Fence if self.is_poller() => {
                self.fqs.fence_owed |= wait == Wait::Fence;
                self.begin_scan(host);
                Effects::only(Next::Again)
            }
            // A new driver continues here: it repeats the old one's pending action.
            Wait::Flag => Effects::only(Next::FlagHoldouts { arm: false }),
            Wait::Arming => Effects::only(Next::FlagHoldouts { arm: true }),
            Wait::Fence => Effects::only(Next::Fence(FenceCause::Flag)),
            Wait::Before | Wait::After | Wait::Armed | Wait::Asleep => {
                self.begin_scan(host);
                Effects::only(Next::Again)
            }
        }
    }

    /// [`Next::FlagHoldouts`] has been done: this number of flags were clear and are set now.
    pub fn flagged(&mut self, newly: u32) -> Next {
        self.fqs.fence_owed |= newly > 0;
        match self.phase {
            Phase::Wait(Wait::Flag) => {
                self.fqs.stage = Wait::After;
                self.fqs.spins = 0;
                self.spin(Wait::After)
            }
            Phase::Wait(Wait::Arming) if self.fqs.fence_owed => {
                self.fqs.fence_owed = false;
                self.phase = Phase::Wait(Wait::Fence);
                Next::Fence(FenceCause::Flag)
            }
            Phase::Wait(Wait::Arming) => {
                self.phase = Phase::Wait(Wait::Asleep);
                Next::Sleep(Until::Ns(self.next_stall()))
            }
            _ => Next::Again,
        }
    }

    pub(crate) fn begin_scan(&mut self, host: &impl Host) {
        let tree = self.tree.as_ref().expect("a grace period has a tree");
        self.phase = Phase::Scan(tree.scan_from(0).unwrap_or(0));
        self.scan_begins(host);
        if self.fqs.scans == 1 && self.config.early_qs == EarlyQs::Scan {
            self.report_own(host);
        }
    }

    /// Counts a scan that begins.
    #[inline]
    pub(crate) fn scan_begins(&mut self, host: &impl Host) {
        self.counts.scans += 1;
        self.fqs.scans = (self.fqs.scans + 1).min(2);
        self.urgency.scan_begins();
        self.stall_scan_begins();
        self.trace_gp(GpEvent::Fqsstart, host);
    }

    /// One leaf of a scan.
    pub(crate) fn scan(&mut self, leaf: usize, host: &impl Host) -> Effects {
        self.counts.leaves_scanned += 1;
        let first = self.fqs.scans == 1;
        let seq = self.gp_seq;
        let (lo, owed) = self.owed(leaf);
        let stage = if first { None } else { self.stage() };
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let (mut credited, mut held) = (0u64, 0u64);
        self.urgency.saw(tree.is_overloaded(leaf));
        for bit in owed {
            let cpu = lo + bit;
            let seen = host.observe(cpu);
            let record = &mut tree.scan[cpu as usize];
            if first {
                record.snap = seen.stamp;
            }
            let changed = !first && seen.stamp != record.snap;
            if seen.outside || changed {
                host.trace(&Event::Fqs {
                    gp_seq: seq,
                    cpu,
                    event: FqsEvent::Dti,
                });
                credited |= 1 << bit;
            } else if !first && host.present(leaf) & 1 << bit == 0 {
                // It left without a report: its state would never change.
                self.counts.offline_holdouts += 1;
                credited |= 1 << bit;
            } else {
                held |= 1 << bit;
            }
        }
        tree.report(tree.leaf_node(leaf), credited, seq, host);
        let nudge = tree.press(leaf, credited, held, stage, host);
        if let Some(next) = tree.scan_from(leaf + 1) {
            self.phase = Phase::Scan(next);
            return Effects {
                nudge,
                ..Effects::only(Next::Again)
            };
        }
        self.force = false;
        self.urgency.scan_ended(first);
        self.trace_gp(GpEvent::Fqsend, host);
        if let Some(join) = self.turn_over() {
            self.begin_scan(host);
            return Effects {
                join: Some(join),
                ..Effects::only(Next::Again)
            };
        }
        Effects {
            nudge,
            ..self.begin_wait(false, host)
        }
    }

    /// The thread host's stages after a scan that found holdouts.
    pub(crate) fn pace_after_scan(&mut self) -> Effects {
        let Pace::Direct {
            spins_before_flag,
            spins_after_flag,
            expedited_factor,
            ..
        } = self.config.pace
        else {
            unreachable!("asked only where the driver paces itself");
        };
        let factor = if self.fqs.expedited {
            u32::from(expedited_factor.max(1))
        } else {
            1
        };
        let limit = |spins: u16| u32::from(spins) * factor;
        if self.is_passing() {
            self.blocked();
            self.phase = Phase::Wait(self.fqs.stage);
            return Effects::only(if self.waiters.any_waiting() {
                Next::HandOver
            } else {
                Next::Done
            });
        }
        let next = match self.fqs.stage {
            Wait::Before if self.fqs.spins < limit(spins_before_flag) => self.spin(Wait::Before),
            Wait::Before => self.flag(),
            // A poller sets the flags again, each time: a handler may have cleared one under a section whose
            // change of generation its interrupted code then hid.
            Wait::After | Wait::Armed if self.is_poller() => self.flag(),
            Wait::After if self.fqs.spins < limit(spins_after_flag) => self.spin(Wait::After),
            _ => {
                self.blocked();
                self.fqs.stage = Wait::Armed;
                self.phase = Phase::Wait(Wait::Arming);
                Next::FlagHoldouts { arm: true }
            }
        };
        Effects::only(next)
    }

    /// Holdouts are flagged once a few scans have found them.
    fn flag(&mut self) -> Next {
        self.blocked();
        self.phase = Phase::Wait(Wait::Flag);
        Next::FlagHoldouts { arm: false }
    }

    /// Spins in `stage`; a poller leaves once the holdouts are flagged.
    fn spin(&mut self, stage: Wait) -> Next {
        let Pace::Direct { spin, .. } = self.config.pace else {
            unreachable!("asked only where the driver paces itself");
        };
        self.phase = Phase::Wait(stage);
        if self.is_poller() && stage == Wait::After {
            return if self.waiters.any_waiting() {
                Next::HandOver
            } else {
                Next::Done
            };
        }
        self.fqs.spins += 1;
        Next::Spin(spin)
    }

    fn is_poller(&self) -> bool {
        self.driver.is_some_and(|d| d.interest == Interest::Poller)
    }

    fn is_passing(&self) -> bool {
        self.driver.is_some_and(|d| d.interest == Interest::Passing)
    }
}

#[cfg(test)]
mod tests;
