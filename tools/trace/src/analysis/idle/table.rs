//! The tables of idle CPUs.

use super::Idle;
use crate::analysis::findings::{Findings, Table, count, ms};
use crate::analysis::own::{Own, Tally};
use std::collections::BTreeMap;

impl Idle {
    /// The table by CPU, and which CPUs it shows.
    pub(super) fn cpus_table(&self, findings: &mut Findings, own: &Own) -> Vec<u32> {
        let mut table = Table::new("Idle by CPU", "CPU ", &["CPU", "source"]);
        let mut add = |labels: [&str; 2], of: [&Tally; 2], idle, lengths: [Option<f64>; 3]| {
            let [avg, p50, max] = lengths.map(ms);
            let ([entries, ticks], rates) = (of.map(|it| it.n), of.map(|it| own.rate(it)));
            let figures = [
                ("entries", "idle_entries", "count", count(entries)),
                ("per s", "idle_entries_per_s", "1/s", rates[0]),
                ("idle %", "idle_pct", "%", idle),
                ("avg ms", "idle_ms_avg", "ms", avg),
                ("p50 ms", "idle_ms_p50", "ms", p50),
                ("max ms", "idle_ms_max", "ms", max),
                ("ticks on idle", "idle_ticks", "count", count(ticks)),
                ("per s", "idle_ticks_per_s", "1/s", rates[1]),
            ];
            table.add(&labels, &figures);
        };
        let (mut shown, mut all) = (Vec::new(), <[Tally; 2]>::default());
        for (number, cpu) in self.cpus.iter() {
            let (lengths, of, by) = cpu.segments();
            if !of.seen || !self.lost.wants(number) {
                continue;
            }
            shown.push(number);
            let mut one = <[Tally; 2]>::default();
            for (at, n) in [of.entries, cpu.ticks].into_iter().enumerate() {
                one[at].add_n(number, n);
                all[at].join(&one[at]);
            }
            let idle = share(of.idle_ns(own.of(number)), own.ns([number].into_iter()));
            let labels = number.to_string();
            let lengths = [lengths.mean(), lengths.median(), lengths.max()];
            add([&labels, by], one.each_ref(), idle, lengths);
        }
        add(["(all)", ""], all.each_ref(), None, [None; 3]);
        findings.tables.push(table);
        shown
    }

    pub(super) fn states_table(&self, findings: &mut Findings, own: &Own, shown: &[u32]) {
        let mut states: BTreeMap<u32, (Tally, u64, f64, u64)> = BTreeMap::new();
        let mut cpus = Vec::new();
        for (number, cpu) in shown
            .iter()
            .filter_map(|number| Some((*number, self.cpus.get(*number)?)))
            .filter(|(_, cpu)| cpu.by_event.seen)
        {
            cpus.push(number);
            for (state, of) in &cpu.states {
                let sum = states.entry(*state).or_default();
                sum.0.add_n(number, of.entries);
                sum.1 += of.idle_ns(own.of(number));
                sum.2 += of.lengths.sum();
                sum.3 += of.lengths.n;
            }
        }
        let title = "Idle states, all CPUs with cpu_idle";
        let mut table = Table::new(title, "state ", &["state"]);
        for (state, (entries, idle, sum, n)) in states {
            let residency = share(idle, own.ns(cpus.iter().copied()));
            let mean = ms((n > 0).then(|| sum / n as f64));
            let figures = [
                ("entries", "idle_entries", "count", count(entries.n)),
                ("per s", "idle_entries_per_s", "1/s", own.rate(&entries)),
                ("residency %", "residency_pct", "%", residency),
                ("avg ms", "idle_ms_avg", "ms", mean),
            ];
            table.add(&[&state.to_string()], &figures);
        }
        findings.show([table]);
    }

    pub(super) fn ticks_table(&self, findings: &mut Findings, own: &Own) {
        let figures = |of: &Tally| {
            [
                ("ticks", "idle_ticks", "count", count(of.n)),
                ("per s", "idle_ticks_per_s", "1/s", own.rate(of)),
            ]
        };
        let title = "Ticks that hit idle CPUs, and what for";
        let mut table = Table::new(title, "tick ", &["reason", "which"]);
        for ((reason, which), n) in &self.ticks {
            table.add(&[reason, self.names.name(*which)], &figures(n));
        }
        table.sort_by(0);
        let title = "Ticks that could not be stopped";
        let mut refused = Table::new(title, "tick_stop ", &["needed by"]);
        for (dependency, n) in &self.refused {
            refused.add(&[self.names.name(*dependency)], &figures(n));
        }
        if !refused.rows.is_empty() {
            refused.add(&["(stopped)"], &figures(&self.stopped));
        }
        findings.show([table, refused]);
    }
}

/// A time as a percentage of the time of some CPUs.
pub(crate) fn share(ns: u64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| ns as f64 * 100.0 / whole)
}
