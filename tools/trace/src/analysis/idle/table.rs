//! The tables of idle CPUs.

use super::Idle;
use crate::Window;
use crate::analysis::findings::{Findings, Table, count, ms};
use crate::analysis::per_second;
use std::collections::BTreeMap;

impl Idle {
    /// The table by CPU, and which CPUs it shows.
    pub(super) fn cpus_table(&self, findings: &mut Findings, window: Window) -> Vec<u32> {
        let mut table = Table::new("Idle by CPU", "CPU ", &["CPU", "source"], &[]);
        let rate = |n| per_second(n, window);
        let mut add = |labels: [&str; 2], of: [u64; 2], idle, lengths: [Option<f64>; 3]| {
            let ([entries, ticks], [avg, p50, max]) = (of, lengths.map(ms));
            let figures = [
                ("entries", "idle_entries", "count", count(entries)),
                ("per s", "idle_entries_per_s", "1/s", rate(entries)),
                ("idle %", "idle_pct", "%", idle),
                ("avg ms", "idle_ms_avg", "ms", avg),
                ("p50 ms", "idle_ms_p50", "ms", p50),
                ("max ms", "idle_ms_max", "ms", max),
                ("ticks on idle", "idle_ticks", "count", count(ticks)),
                ("per s", "idle_ticks_per_s", "1/s", rate(ticks)),
            ];
            table.add(&labels, &figures);
        };
        let (mut shown, mut all) = (Vec::new(), [0, 0]);
        for (number, cpu) in self.cpus.iter() {
            let (lengths, of, by) = cpu.segments();
            if !of.seen || !self.lost.wants(number) {
                continue;
            }
            shown.push(number);
            all = [all[0] + of.entries, all[1] + cpu.ticks];
            let (labels, idle) = (number.to_string(), share(of.idle_ns(window), window, 1));
            let lengths = [lengths.mean(), lengths.median(), lengths.max()];
            add([&labels, by], [of.entries, cpu.ticks], idle, lengths);
        }
        add(["(all)", ""], all, None, [None; 3]);
        findings.tables.push(table);
        shown
    }

    pub(super) fn states_table(&self, findings: &mut Findings, window: Window, shown: &[u32]) {
        let mut states: BTreeMap<u32, (u64, u64, f64, u64)> = BTreeMap::new();
        let mut cpus = 0;
        for cpu in shown
            .iter()
            .filter_map(|cpu| self.cpus.get(*cpu))
            .filter(|cpu| cpu.by_event.seen)
        {
            cpus += 1;
            for (state, of) in &cpu.states {
                let sum = states.entry(*state).or_default();
                sum.0 += of.entries;
                sum.1 += of.idle_ns(window);
                sum.2 += of.lengths.sum();
                sum.3 += of.lengths.n;
            }
        }
        let title = "Idle states, all CPUs with cpu_idle";
        let mut table = Table::new(title, "state ", &["state"], &[]);
        for (state, (entries, idle, sum, n)) in states {
            let (rate, residency) = (per_second(entries, window), share(idle, window, cpus));
            let mean = ms((n > 0).then(|| sum / n as f64));
            let figures = [
                ("entries", "idle_entries", "count", count(entries)),
                ("per s", "idle_entries_per_s", "1/s", rate),
                ("residency %", "residency_pct", "%", residency),
                ("avg ms", "idle_ms_avg", "ms", mean),
            ];
            table.add(&[&state.to_string()], &figures);
        }
        if !table.rows.is_empty() {
            findings.tables.push(table);
        }
    }

    pub(super) fn ticks_table(&self, findings: &mut Findings, window: Window) {
        let figures = |n| {
            let rate = per_second(n, window);
            [
                ("ticks", "idle_ticks", "count", count(n)),
                ("per s", "idle_ticks_per_s", "1/s", rate),
            ]
        };
        let title = "Ticks that hit idle CPUs, and what for";
        let mut table = Table::new(title, "tick ", &["reason", "which"], &[]);
        for ((reason, which), n) in &self.ticks {
            table.add(&[reason, self.names.name(*which)], &figures(*n));
        }
        table.sort_by(0);
        let title = "Ticks that could not be stopped";
        let mut refused = Table::new(title, "tick_stop ", &["needed by"], &[]);
        for (dependency, n) in &self.refused {
            refused.add(&[self.names.name(*dependency)], &figures(*n));
        }
        if !refused.rows.is_empty() {
            refused.add(&["(stopped)"], &figures(self.stopped));
        }
        findings
            .tables
            .extend([table, refused].into_iter().filter(|t| !t.rows.is_empty()));
    }
}

/// A time as a percentage of the window of so many CPUs.
pub(crate) fn share(ns: u64, window: Window, cpus: u64) -> Option<f64> {
    let whole = window.seconds() * 1e9 * cpus as f64;
    (whole > 0.0).then(|| ns as f64 * 100.0 / whole)
}
