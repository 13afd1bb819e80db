//! The tables of waits, and the notes about them.

use super::counts::Tally;
use super::{WAYS, Waits};
use crate::Awaited;
use crate::analysis::findings::{Figure, Findings, Table, count, ms};
use crate::analysis::spread::Spread;
use crate::base::map::Map;

/// Kinds of waits, in the order of their rows.
const CALLS: [(Awaited, &str); 3] = [
    (Awaited::GracePeriod, "normal"),
    (Awaited::Expedited, "expedited"),
    (Awaited::Callbacks, "barrier"),
];

fn name(call: Awaited) -> &'static str {
    CALLS[call as usize].1
}

impl Waits {
    pub(super) fn tables(&self, findings: &mut Findings) {
        findings.tables.push(self.tasks());
        findings.show([self.ways(), self.longest(), self.frames()]);
    }

    fn tasks(&self) -> Table {
        let mut table = Table::new("Who waited", "", &["task", "wait"]);
        let mut pids: Map<u32, Vec<u32>> = Map::default();
        for (task, pid, _) in self.counts.tasks.keys() {
            let same = pids.entry(*task).or_default();
            if !same.contains(pid) {
                same.push(*pid);
            }
        }
        for ((task, pid, call), tally) in &self.counts.tasks {
            // Two tasks of one name differ in their ids.
            let task = match pids.get(task).map_or(0, Vec::len) {
                0 | 1 => self.names.name(*task).to_owned(),
                _ => format!("{}-{pid}", self.names.name(*task)),
            };
            table.add(
                &[&task, name(*call)],
                &self.figures(Some(*pid), *call, tally),
            );
        }
        table.sort_by(2);
        for (call, name) in CALLS {
            if let Some(tally) = self.counts.all.get(&call) {
                table.add(&["(all)", name], &self.figures(None, call, tally));
            }
        }
        table
    }

    fn figures(&self, pid: Option<u32>, call: Awaited, tally: &Tally) -> [Figure; 8] {
        let waits = &tally.waits;
        let n = waits.n;
        let [gps, scans] = self.passed_during(call, tally.gps, tally.scans);
        let each = |passed: Option<u64>| passed.filter(|_| n > 0).map(|it| it as f64 / n as f64);
        let total = ms((n > 0).then(|| waits.sum()));
        [
            ("pid", "pid", "count", pid.map(f64::from)),
            ("waits", "waits", "count", count(n)),
            ("total ms", "wait_ms_total", "ms", total),
            ("p50 ms", "wait_ms_p50", "ms", ms(waits.median())),
            ("avg ms", "wait_ms_avg", "ms", ms(waits.mean())),
            ("max ms", "wait_ms_max", "ms", ms(waits.max())),
            ("gps", "gps_per_wait", "count", each(gps)),
            ("scans", "scans_per_wait", "count", each(scans)),
        ]
    }

    /// Grace periods and scans, where the trace shows them.
    fn passed_during(&self, call: Awaited, gps: u64, scans: u64) -> [Option<u64>; 2] {
        match call {
            Awaited::GracePeriod | Awaited::Callbacks => {
                [gps, scans].map(|it| (self.passed.gps > 0).then_some(it))
            }
            Awaited::Expedited => [(self.passed.expedited > 0).then_some(gps), None],
        }
    }

    fn ways(&self) -> Table {
        let labels = ["wait", "recognised by"];
        let mut table = Table::new("How they were recognised", "seen ", &labels);
        for ((by, words), n) in WAYS.iter().zip(self.counts.ways) {
            if n > 0 {
                let waits = ("waits", "waits", "count", count(n));
                table.add(&[name(by.what()), words], &[waits]);
            }
        }
        table
    }

    fn longest(&self) -> Table {
        let labels = ["no", "task", "wait", "last holdout"];
        let mut table = Table::new("The longest", "longest ", &labels);
        let stacks = self.stacks_by_time();
        for (place, wait) in self.counts.longest.iter().enumerate() {
            let (task, pid) = wait.task;
            let who = format!("{}-{pid}", self.names.name(task));
            let call = wait.by.what();
            let [gps, scans] = self.passed_during(call, wait.gps, wait.scans);
            let stack = stacks.iter().position(|it| Some(*it) == wait.stack);
            let labels = [
                &(place + 1).to_string(),
                &who,
                name(call),
                wait.holdout.as_deref().unwrap_or("-"),
            ];
            let stack = stack.and_then(|place| count(place as u64 + 1));
            let figures = [
                ("start s", "start_s", "s", Some(wait.span.0 as f64 / 1e9)),
                ("ms", "wait_ms", "ms", ms(Some(wait.duration() as f64))),
                ("gps", "gps", "count", gps.and_then(count)),
                ("scans", "scans", "count", scans.and_then(count)),
                ("stack", "stack", "count", stack),
            ];
            table.add(&labels, &figures);
        }
        table
    }

    /// Numbers of stacks: the one with most time first.
    fn stacks_by_time(&self) -> Vec<u32> {
        let mut all: Vec<(u32, f64)> = self
            .counts
            .stacks
            .iter()
            .map(|(stack, waits)| (*stack, waits.sum()))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.into_iter().map(|it| it.0).collect()
    }

    /// A row for each function, the innermost one first.
    fn frames(&self) -> Table {
        let labels = ["stack", "frame", "function"];
        let mut table = Table::new("Stacks of those who waited", "stack ", &labels);
        for (place, stack) in self.stacks_by_time().into_iter().enumerate() {
            let waits = self.counts.stacks.get(&stack);
            let total = ms(waits.map(Spread::sum));
            let figures = [
                ("waits", "waits", "count", waits.and_then(|it| count(it.n))),
                ("total ms", "wait_ms_total", "ms", total),
            ];
            for (depth, frame) in self.stacks.frames(stack).iter().enumerate() {
                let labels = [&(place + 1).to_string(), &depth.to_string(), frame.as_str()];
                table.add(&labels, &figures);
            }
        }
        table
    }

    /// What the trace may lack, if it lacks anything. A trace has no event of what did not happen.
    fn none_found(&self) -> String {
        let telling = super::TELLING.into_iter().zip(self.recorded);
        let (with, without): (Vec<_>, Vec<_>) = telling.partition(|it| it.1);
        let [with, without] =
            [with, without].map(|them| them.iter().map(|it| it.0).collect::<Vec<_>>().join(", "));
        match (with.is_empty(), without.is_empty()) {
            (_, true) => "no wait was found: no task waited in this part of the trace".to_owned(),
            (true, false) => format!("no wait was found: record {without}"),
            (false, false) => format!(
                "no wait was found: {with} of the trace show none; it has no {without}, which show others \
                 if they are recorded"
            ),
        }
    }

    pub(super) fn notes(&self, findings: &mut Findings) {
        let counts = &self.counts;
        let open = self.follow.open.values();
        let unfinished = open
            .filter(|it| it.what().is_some() && it.of.inside)
            .count();
        let what = "waits began in the window and were not over at its end";
        findings.say(unfinished as u64, what);
        findings.say(
            counts.lost,
            "waits have no end in the trace and were left out",
        );
        findings.say(counts.refused, "waits had no room in the table of tasks");
        let what = "stacks beyond the first 512 different ones were left out";
        findings.say(self.stacks.refused, what);
        if counts.all.is_empty() {
            findings.notes.push(self.none_found());
        } else if self.stacks.seen == 0 {
            let how = "no stacks: write `stacktrace if prev_state == 2` to \
                       events/sched/sched_switch/trigger";
            findings.notes.push(how.to_owned());
        }
        findings.about_evicted(
            "waits, or sleeps that could be waits,",
            self.follow.open.evicted,
        );
        findings.about_names(self.names.refused);
        let spreads = counts.tasks.values().chain(counts.all.values());
        findings.about_spreads("waits", spreads.map(|tally| &tally.waits));
    }
}
