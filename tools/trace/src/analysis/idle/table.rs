//! The tables of idle CPUs.

use super::Idle;
use crate::Window;
use crate::analysis::findings::{Findings, Table, count, ms};
use crate::analysis::per_second;
use std::collections::BTreeMap;

impl Idle {
    /// The table by CPU, and which CPUs it shows.
    pub(super) fn cpus_table(&self, findings: &mut Findings, window: Window) -> Vec<u32> {
        let mut table = Table::new(
            "Idle by CPU",
            "CPU ",
            &["CPU", "source"],
            &[
                ("entries", "idle_entries", "count"),
                ("per s", "idle_entries_per_s", "1/s"),
                ("idle %", "idle_pct", "%"),
                ("avg ms", "idle_ms_avg", "ms"),
                ("p50 ms", "idle_ms_p50", "ms"),
                ("max ms", "idle_ms_max", "ms"),
                ("ticks on idle", "idle_ticks", "count"),
                ("per s", "idle_ticks_per_s", "1/s"),
            ],
        );
        let mut shown = Vec::new();
        let (mut entries, mut ticks) = (0, 0);
        for (number, cpu) in self.cpus.iter() {
            let (lengths, of, by) = cpu.segments();
            if !of.seen || !self.lost.wants(number) {
                continue;
            }
            shown.push(number);
            entries += of.entries;
            ticks += cpu.ticks;
            table.row(
                &[&number.to_string(), by],
                &[
                    count(of.entries),
                    per_second(of.entries, window),
                    share(of.idle_ns(window), window, 1),
                    ms(lengths.mean()),
                    ms(lengths.median()),
                    ms(lengths.max()),
                    count(cpu.ticks),
                    per_second(cpu.ticks, window),
                ],
            );
        }
        let (entries_rate, ticks_rate) = (per_second(entries, window), per_second(ticks, window));
        let all = [
            count(entries),
            entries_rate,
            None,
            None,
            None,
            None,
            count(ticks),
            ticks_rate,
        ];
        table.row(&["(all)", ""], &all);
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
        let mut table = Table::new(
            "Idle states, all CPUs with cpu_idle",
            "state ",
            &["state"],
            &[
                ("entries", "idle_entries", "count"),
                ("per s", "idle_entries_per_s", "1/s"),
                ("residency %", "residency_pct", "%"),
                ("avg ms", "idle_ms_avg", "ms"),
            ],
        );
        for (state, (entries, idle, sum, n)) in states {
            let mean = (n > 0).then(|| sum / n as f64);
            table.row(
                &[&state.to_string()],
                &[
                    count(entries),
                    per_second(entries, window),
                    share(idle, window, cpus),
                    ms(mean),
                ],
            );
        }
        if !table.rows.is_empty() {
            findings.tables.push(table);
        }
    }

    pub(super) fn ticks_table(&self, findings: &mut Findings, window: Window) {
        let columns = [
            ("ticks", "idle_ticks", "count"),
            ("per s", "idle_ticks_per_s", "1/s"),
        ];
        let mut table = Table::new(
            "Ticks that hit idle CPUs, and what for",
            "tick ",
            &["reason", "which"],
            &columns,
        );
        for ((reason, which), n) in &self.ticks {
            table.row(
                &[reason, self.names.name(*which)],
                &[count(*n), per_second(*n, window)],
            );
        }
        table.sort_by(0);
        let mut refused = Table::new(
            "Ticks that could not be stopped",
            "tick_stop ",
            &["needed by"],
            &columns,
        );
        for (dependency, n) in &self.refused {
            refused.row(
                &[self.names.name(*dependency)],
                &[count(*n), per_second(*n, window)],
            );
        }
        if !refused.rows.is_empty() {
            refused.row(
                &["(stopped)"],
                &[count(self.stopped), per_second(self.stopped, window)],
            );
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
