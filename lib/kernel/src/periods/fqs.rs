//! Force-quiescent-state scans, and the waits between them.
//!
//! A scan reads every CPU that still owes a quiescent state, one leaf a step. The **first** scan takes a
//! snapshot: a CPU found outside is credited at once (one observation suffices); the stamps of the others are
//! kept. **Later** scans credit a CPU that is outside *or* whose stamp has changed. The stamp alone would
//! wait for ever for a reader that left and stayed out; being outside alone would wait for ever for a reader
//! that is inside at every scan, section after section.
//!
//! Between scans the grace-period thread sleeps whole ticks.

use crate::periods::config::EarlyQs;
use crate::periods::event::{Event, FqsEvent, GpEvent};
use crate::periods::global::{Global, Phase};
use crate::periods::host::{Effects, Host, Next};
use crate::periods::tree::{Node, bits};

/// The state of the waits and scans of one grace period.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fqs {
    /// Jiffy of the next scan.
    pub force_at: u64,
    /// Scans begun in this grace period; 2 stands for more, since only the first one differs.
    scans: u8,
}

impl Fqs {
    pub(crate) const fn new() -> Fqs {
        Fqs {
            force_at: 0,
            scans: 0,
        }
    }

    pub(crate) fn gp_started(&mut self) {
        *self = Fqs::new();
    }
}

impl Global {
    /// The tick at which a grace-period thread that sleeps scans next.
    pub fn next_scan_at(&self) -> u64 {
        self.fqs.force_at
    }

    /// The driver returns from a wait.
    pub(crate) fn wait(&mut self, host: &impl Host) -> Effects {
        if self.all_quiescent() {
            return Effects::only(self.begin_cleanup());
        }
        let now = self.force || self.urgency.scan_now;
        if !now && self.now.jiffies < self.fqs.force_at {
            // A stray wake-up: the old deadline is kept.
            self.trace_gp(GpEvent::Fqswaitsig, host);
            let left = self.paced((self.fqs.force_at - self.now.jiffies).max(1));
            self.trace_gp(GpEvent::Fqswait, host);
            return Effects::only(Next::Sleep(left));
        }
        self.begin_scan(host);
        Effects::only(Next::Again)
    }

    fn begin_scan(&mut self, host: &impl Host) {
        self.phase = Phase::Scan(0);
        self.counts.scans += 1;
        self.fqs.scans = (self.fqs.scans + 1).min(2);
        self.urgency.scan_begins();
        self.stall_scan_begins();
        self.trace_gp(GpEvent::Fqsstart, host);
        if self.fqs.scans == 1 && self.config.early_qs == EarlyQs::Scan {
            self.report_own(host);
        }
    }

    /// One leaf of a scan.
    pub(crate) fn scan(&mut self, leaf: usize, host: &impl Host) -> Effects {
        self.counts.leaves_scanned += 1;
        let first = self.fqs.scans == 1;
        let seq = self.gp_seq;
        let stage = if first { None } else { self.stage() };
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let Node { lo, qsmask, .. } = tree.nodes[tree.leaf_node(leaf)];
        let (mut credited, mut held) = (0u64, 0u64);
        self.urgency.saw(tree.is_overloaded(leaf));
        for bit in bits(qsmask) {
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
        if leaf + 1 < tree.leaves() {
            self.phase = Phase::Scan(leaf + 1);
            return Effects {
                nudge,
                ..Effects::only(Next::Again)
            };
        }
        self.force = false;
        self.urgency.scan_ended(first);
        self.trace_gp(GpEvent::Fqsend, host);
        Effects {
            nudge,
            ..self.begin_wait(false, host)
        }
    }
}

#[cfg(test)]
mod tests;
