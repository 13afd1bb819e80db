//! Grace periods: how long, how many scans, who was still waited for after the first one.
//!
//! A grace period lies between `start` and `end`. Each `fqsend` ends a scan and is written by the
//! grace-period thread on its own CPU. Who is waited for is read off the leaf nodes: `rcu_grace_period_init`
//! sets the mask of a node, each `rcu_quiescent_state_report` says what is left of it. So a set of holdouts
//! is what the kernel had, and not what a count of scan events suggests. Bits of inner nodes are no CPUs: the
//! leaves are the nodes with the highest level.

use crate::{CpuSet, Distribution, Event, Record, Window};
use serde::Serialize;
use std::collections::BTreeMap;

/// One grace period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GracePeriod {
    /// When it started, ns.
    pub start_ns: u64,
    /// When it ended; `None` if it was running when the trace or the window ended.
    pub end_ns: Option<u64>,
    /// Scans that ended.
    pub scans: u32,
    /// What the first scan left; `None` if there was none.
    pub first_scan: Option<FirstScan>,
}

/// What a first scan left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FirstScan {
    /// When it ended, ns.
    pub time_ns: u64,
    /// The CPU of the grace-period thread then.
    pub kthread_cpu: u32,
    /// The CPUs that were waited for on.
    pub holdouts: CpuSet,
}

/// First scans by what they left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Holdouts {
    /// No CPU.
    pub none: u64,
    /// Only the CPU of the grace-period thread.
    pub gp_kthread_cpu_only: u64,
    /// That CPU, and others.
    pub gp_kthread_cpu_and_others: u64,
    /// Only others.
    pub other_cpus_only: u64,
}

impl Holdouts {
    fn add(&mut self, scan: &FirstScan) {
        let own = scan.holdouts.contains(scan.kthread_cpu);
        let class = match (own, scan.holdouts.len() - usize::from(own)) {
            (false, 0) => &mut self.none,
            (true, 0) => &mut self.gp_kthread_cpu_only,
            (true, _) => &mut self.gp_kthread_cpu_and_others,
            (false, _) => &mut self.other_cpus_only,
        };
        *class += 1;
    }
}

/// Follows grace periods through a trace.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// Masks of nodes that are waited for, by level and first CPU.
    nodes: BTreeMap<(u32, u32), u64>,
    now: Option<GracePeriod>,
    /// The end of the one before, if that was whole, and the same for the one that runs.
    ended: Option<u64>,
    before: Option<u64>,
    gap: Distribution,
    seen: Vec<GracePeriod>,
}

impl Follow {
    /// Forgets what started.
    pub(crate) fn reset(&mut self) {
        (self.now, self.ended, self.gap) = (None, None, Distribution::default());
        self.seen.clear();
    }

    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>, inside: bool) {
        match *event {
            Event::GracePeriod { what: "start", .. } => {
                self.close(None);
                self.nodes.clear();
                self.before = self.ended.take();
                self.now = inside.then_some(GracePeriod {
                    start_ns: record.time_ns,
                    end_ns: None,
                    scans: 0,
                    first_scan: None,
                });
            }
            Event::GracePeriod { what: "fqsend", .. } => self.scanned(record),
            Event::GracePeriod { what: "end", .. } => {
                self.ended = None;
                self.close(inside.then_some(record.time_ns));
            }
            Event::NodeInit {
                level,
                first_cpu,
                mask,
            } => self.mask(level, first_cpu, mask),
            Event::Report {
                level,
                first_cpu,
                left,
                ..
            } => self.mask(level, first_cpu, left),
            _ => {}
        }
    }

    fn mask(&mut self, level: u32, first_cpu: u32, mask: u64) {
        self.nodes.insert((level, first_cpu), mask);
    }

    fn scanned(&mut self, record: &Record<'_>) {
        let Some(now) = &mut self.now else {
            return;
        };
        now.scans += 1;
        if now.first_scan.is_some() {
            return;
        }
        let leaf = self.nodes.keys().next_back().map_or(0, |(level, _)| *level);
        let mut holdouts = CpuSet::default();
        for (&(_, first_cpu), &mask) in self.nodes.range((leaf, 0)..) {
            holdouts.insert_mask(first_cpu, mask);
        }
        now.first_scan = Some(FirstScan {
            time_ns: record.time_ns,
            kthread_cpu: record.cpu,
            holdouts,
        });
    }

    fn close(&mut self, end_ns: Option<u64>) {
        if let Some(mut gp) = self.now.take() {
            gp.end_ns = end_ns;
            self.ended = end_ns;
            if let (Some(before), Some(_)) = (self.before, end_ns) {
                self.gap.add(gp.start_ns.saturating_sub(before));
            }
            self.seen.push(gp);
        }
    }

    pub(crate) fn finish(mut self, window: Window) -> Figures {
        self.close(None);
        let mut figures = Figures::default();
        for gp in &self.seen {
            if let Some(scan) = gp
                .first_scan
                .as_ref()
                .filter(|s| window.contains(s.time_ns))
            {
                figures.holdouts.add(scan);
            }
            let Some(end) = gp.end_ns else {
                continue;
            };
            figures.count += 1;
            figures.duration.add(end.saturating_sub(gp.start_ns));
            *figures.scans.entry(gp.scans).or_insert(0) += 1;
        }
        figures.gap = self.gap;
        figures.all = self.seen;
        figures
    }
}

/// What grace periods looked like in a window.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) count: u64,
    pub(crate) duration: Distribution,
    pub(crate) gap: Distribution,
    pub(crate) scans: BTreeMap<u32, u64>,
    pub(crate) holdouts: Holdouts,
    pub(crate) all: Vec<GracePeriod>,
}

#[cfg(test)]
mod tests;
