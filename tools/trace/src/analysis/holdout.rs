//! The course of the grace period that runs: its scans, and the report that left no holdout.
//!
//! The last report is the one that leaves no bit in the root (`rcu_quiescent_state_report`). The last holdout
//! is what that report cleared, on its leaf: found by a scan if the grace-period thread wrote it while it
//! scanned, else reported by the CPU itself, or by the task that it waited for.

use crate::base::map::Map;
use crate::base::names::short;
use crate::{CpuSet, Event, Record, Role, role};

/// Of the grace period that runs, or of the one that ended last.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// By CPU, its last report on a leaf: the leaf's level, its first CPU, what was cleared.
    reports: Map<u32, (u32, u32, u64)>,
    scanning: bool,
    /// Scans that ended.
    scans: u64,
    /// The last report; none so far.
    pub(crate) last: Option<Last>,
}

/// The last holdout's report.
#[derive(Debug, Clone)]
pub(crate) struct Last {
    pub(crate) time_ns: u64,
    pub(crate) holdouts: CpuSet,
    by_scan: bool,
    /// It was written by a task outside of interrupts: a reader that was preempted ends its section so.
    reader: Option<String>,
}

impl Course {
    /// The next event. Whether it ends a scan.
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>) -> bool {
        match *event {
            Event::GracePeriod { what: "start", .. } => *self = Course::default(),
            Event::GracePeriod {
                what: "fqsstart", ..
            } => self.scanning = true,
            Event::GracePeriod { what: "fqsend", .. } => {
                let ends = std::mem::take(&mut self.scanning);
                self.scans += u64::from(ends);
                return ends;
            }
            Event::Report {
                level,
                first_cpu,
                cleared,
                left,
            } => self.reported(record, (level, first_cpu, cleared), left),
            _ => {}
        }
        false
    }

    fn reported(&mut self, record: &Record<'_>, of: (u32, u32, u64), left: u64) {
        // The highest level seen from a CPU at one time is the leaf.
        let (level, first_cpu, cleared) = of;
        let before = self.reports.get(&record.cpu);
        if before.is_none_or(|(deepest, ..)| level >= *deepest) {
            self.reports.insert(record.cpu, (level, first_cpu, cleared));
        }
        if level != 0 || left != 0 {
            return;
        }
        let (_, first_cpu, cleared) = self.reports.get(&record.cpu).copied().unwrap_or(of);
        let mut holdouts = CpuSet::default();
        holdouts.insert_mask(first_cpu, cleared);
        let of_rcu = role(record.task()) != Role::Other;
        let is_task = record.pid != 0 && !record.flags().interrupt();
        self.last = Some(Last {
            time_ns: record.time_ns,
            holdouts,
            by_scan: self.scanning
                && role(record.task()) == Role::GracePeriods
                && !record.flags().softirq(),
            reader: (is_task && !of_rcu).then(|| short(record.task()).to_owned()),
        });
    }

    /// The last holdout in a word or two: the task, or the CPU and how its quiescent state was found.
    pub(crate) fn brief(&self) -> Option<String> {
        let last = self.last.as_ref()?;
        if let Some(reader) = &last.reader {
            return Some(reader.clone());
        }
        let how = match last.by_scan {
            true => format!("scan {}", self.scans),
            false => "reported".to_owned(),
        };
        Some(format!("{} ({how})", last.cpus("several")))
    }
}

impl Last {
    pub(crate) fn named(&self, scans: u64) -> String {
        let who = self.cpus("several CPUs");
        match self.by_scan {
            true => format!("{who}, found by scan {scans}"),
            false => format!("{who}, reported"),
        }
    }

    fn cpus(&self, several: &str) -> String {
        match self.holdouts.len() {
            1 => format!("CPU {}", self.holdouts.iter().next().unwrap_or(0)),
            _ => several.to_owned(),
        }
    }
}
