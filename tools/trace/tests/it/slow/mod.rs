//! The analyses against slow ones that keep no state: they look back and forward in the list of all events.
//!
//! The traces are random, with no regard to what a kernel would do: halves of pairs are missing as if events
//! had been lost, whole classes of events are missing, CPUs appear late, marks and the ends of a window lie
//! anywhere, also in the midst of events of the same time.

mod batches;
mod callbacks;
mod gps;
mod idle;
mod waits;
mod wakeups;

use proptest::prelude::*;
use quiescent_trace::{
    Analysis, Error, Figures, Filter, Findings, Kind, Options, Reader, Window, recorded,
};
use std::collections::BTreeMap;

/// Names and ids of tasks; the first one is the idle loop.
const TASKS: [(&str, u32); 5] = [
    ("<idle>", 0),
    ("a", 5),
    ("a", 6),
    ("rcuop/1", 27),
    ("rcu_preempt", 15),
];

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    IdleEntry { cpu: u32, state: u32 },
    IdleExit { cpu: u32 },
    Switch { next: usize },
    Tick,
    Timer { function: u32 },
    Softirq,
    Queue { head: u32, function: u32 },
    QueueBlock { head: u32 },
    Invoke { head: u32, function: u32 },
    InvokeBlock { head: u32 },
    Bulk { blocks: u32 },
    Offload { cpu: u32 },
    TickStop { stopped: bool },
    Wakeup { task: usize, target: u32 },
    FirstRun { task: usize, target: u32 },
    Waking { task: usize },
    BatchStart { ready: u32 },
    BatchEnd { invoked: u32 },
    Gp { what: usize },
    Mark { start: bool },
    Wait(waits::Step),
    Other,
}

/// `rcu_grace_period`'s words.
const GP: [&str; 7] = [
    "newreq", "start", "fqswait", "fqsstart", "fqsend", "end", "cpuqs",
];

#[derive(Debug, Clone, Copy)]
struct Entry {
    time_us: u64,
    cpu: u32,
    task: usize,
    /// The third letter of the flags.
    context: char,
    what: What,
}

/// A trace and what is asked of it.
#[derive(Debug, Clone)]
struct Case {
    entries: Vec<Entry>,
    /// Both ends of the window, us.
    asked: Option<(Option<u64>, Option<u64>)>,
    /// Lines about lost events stand before these.
    lost: Vec<usize>,
}

impl Case {
    fn text(&self) -> String {
        let mut text = String::new();
        for (i, entry) in self.entries.iter().enumerate() {
            if self.lost.contains(&i) {
                text += &format!("CPU:{} [LOST 3 EVENTS]\n", entry.cpu);
            }
            let (task, pid) = TASKS[entry.task];
            text += &format!(
                "{task:>16}-{pid:<5} [{:03}] d.{}1. {:5}.{:06}: {}\n",
                entry.cpu,
                entry.context,
                entry.time_us / 1_000_000,
                entry.time_us % 1_000_000,
                entry.words()
            );
        }
        text
    }

    fn run(&self, kind: Kind) -> Result<Findings, Error> {
        let text = self.text();
        let (from, to) = self.asked.unwrap_or_default();
        let filter = Filter {
            from_ns: from.map(|us| us * 1000),
            to_ns: to.map(|us| us * 1000),
            ..Filter::default()
        };
        let mut reader = Reader::new("generated", text.as_bytes());
        let mut analysis = Analysis::new(kind, filter);
        while let Some(record) = reader.next_record()? {
            analysis.feed(&record);
        }
        let found = analysis.finish(reader.summary())?;
        let about = &found.about;
        assert_eq!(about.unparsed.count() + about.undecoded.count(), 0);
        assert_eq!(about.lost, 3 * self.lost.len() as u64);
        Ok(found)
    }

    /// Places of the marks that count.
    fn marks(&self) -> (Option<usize>, Option<usize>) {
        let at = |start| {
            self.entries
                .iter()
                .position(|e| e.what == What::Mark { start })
        };
        match (at(true), at(false)) {
            (Some(start), Some(end)) if end < start => (None, Some(end)),
            marks => marks,
        }
    }

    fn inside(&self, i: usize) -> bool {
        match self.asked {
            Some((from, to)) => {
                let time = self.entries[i].time_us;
                from.is_none_or(|from| time >= from) && to.is_none_or(|to| time <= to)
            }
            None => {
                let (start, end) = self.marks();
                start.is_none_or(|start| i >= start) && end.is_none_or(|end| i < end)
            }
        }
    }

    fn is_after(&self, i: usize) -> bool {
        match self.asked {
            Some((_, to)) => to.is_some_and(|to| self.entries[i].time_us > to),
            None => self.marks().1.is_some_and(|end| i >= end),
        }
    }

    /// The window as far as the trace reaches, us; none if nothing of the trace lies in it.
    fn window(&self) -> Option<(u64, u64)> {
        let (first, last) = (self.entries[0].time_us, self.entries.last()?.time_us);
        let at = |mark: Option<usize>| mark.map(|i| self.entries[i].time_us);
        let (start, end) = match self.asked {
            Some(asked) => asked,
            None => (at(self.marks().0), at(self.marks().1)),
        };
        let (start, end) = (
            start.unwrap_or(first).max(first),
            end.unwrap_or(last).min(last),
        );
        (start <= end).then_some((start, end))
    }

    /// Places of events, in order.
    fn places(&self) -> std::ops::Range<usize> {
        0..self.entries.len()
    }

    /// What a model is held against; none if its window has no time in it.
    fn figures(&self) -> Result<Option<Figures>, TestCaseError> {
        let Some((start, end)) = self.window().filter(|(start, end)| start < end) else {
            return Ok(None);
        };
        let window = self.asked.map(|_| Window {
            start_ns: start * 1000,
            end_ns: end * 1000,
        });
        let (text, hz) = (self.text(), Some(1000));
        recorded(
            &mut Reader::new("generated", text.as_bytes()),
            Options { window, hz },
        )
        .map(|it| Some(it.1))
        .map_err(|error| TestCaseError::fail(error.to_string()))
    }

    /// Its analysis of this kind has exactly the figures of `slow` in the tables whose rows have such names.
    fn compare(
        &self,
        kind: Kind,
        prefixes: &[&str],
        slow: impl Fn(&Case, (u64, u64)) -> Table,
    ) -> Result<(), TestCaseError> {
        let found = self.run(kind);
        let Some(window) = self.window() else {
            prop_assert!(found.is_err(), "no window, and {:?}", found);
            return Ok(());
        };
        let found = found.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut ours = Table::default();
        for table in &found.tables {
            for row in &table.rows {
                let case = table.case(row);
                if !prefixes.iter().any(|prefix| case.starts_with(prefix)) {
                    continue;
                }
                for (column, figure) in table.columns.iter().zip(&row.figures) {
                    ours.put(&case, column.metric, *figure);
                }
            }
        }
        let theirs = slow(self, window);
        let keys = ours.0.keys().chain(theirs.0.keys());
        // A CPU that was called twice, and wrote nothing, has a shorter time: `forms.rs` tests rates over it.
        let mut doubts = found.about.doubts.iter();
        let cut = doubts.any(|it| it.starts_with("CPUs cover"));
        for key in
            keys.filter(|key| !cut || !(key.1.ends_with("_per_s") || key.1.ends_with("_pct")))
        {
            let (ours, theirs) = (ours.0.get(key), theirs.0.get(key));
            let near = match (ours, theirs) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 + b.abs() * 1e-9,
                _ => false,
            };
            prop_assert!(
                near,
                "{:?}: {:?}, expected {:?}\nwindow {:?} of\n{}",
                key,
                ours,
                theirs,
                window,
                self.text()
            );
        }
        Ok(())
    }
}

impl Entry {
    fn words(&self) -> String {
        let task = |task: usize| {
            let (name, pid) = TASKS[task];
            format!("comm={name} pid={pid} prio=120")
        };
        match self.what {
            What::IdleEntry { cpu, state } => format!("cpu_idle: state={state} cpu_id={cpu}"),
            What::IdleExit { cpu } => format!("cpu_idle: state=4294967295 cpu_id={cpu}"),
            What::Switch { next } => {
                let ((prev, prev_pid), (next, next_pid)) = (TASKS[self.task], TASKS[next]);
                format!(
                    "sched_switch: prev_comm={prev} prev_pid={prev_pid} prev_prio=120 prev_state=S ==> \
                     next_comm={next} next_pid={next_pid} next_prio=120"
                )
            }
            What::Tick => {
                "hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1".to_owned()
            }
            What::Timer { function } => {
                format!("timer_expire_entry: timer=ff function=t{function} now=42 baseclk=42")
            }
            What::Softirq => "softirq_entry: vec=9 [action=RCU]".to_owned(),
            What::Queue { head, function } => {
                format!("rcu_callback: rcu_preempt rhp={head:x} func=f{function} 1")
            }
            What::QueueBlock { head } => {
                format!("rcu_kvfree_callback: rcu_preempt rhp={head:x} func=8 1")
            }
            What::Invoke { head, function } => {
                format!("rcu_invoke_callback: rcu_preempt rhp={head:x} func=f{function}")
            }
            What::InvokeBlock { head } => {
                format!("rcu_invoke_kvfree_callback: rcu_preempt rhp={head:x} func=8")
            }
            What::Bulk { blocks } => {
                format!("rcu_invoke_kfree_bulk_callback: rcu_preempt bulk=0x1 nr_records={blocks}")
            }
            What::Offload { cpu } => format!("rcu_nocb_wake: rcu_preempt {cpu} DoWake"),
            What::TickStop { stopped } => {
                let dependency = if stopped { "NONE" } else { "RCU" };
                format!(
                    "tick_stop: success={} dependency={dependency}",
                    u32::from(stopped)
                )
            }
            What::Wakeup { task: t, target } => {
                format!("sched_wakeup: {} target_cpu={target:03}", task(t))
            }
            What::FirstRun { task: t, target } => {
                format!("sched_wakeup_new: {} target_cpu={target:03}", task(t))
            }
            What::Waking { task: t } => format!("sched_waking: {} target_cpu=001", task(t)),
            What::BatchStart { ready } => {
                format!("rcu_batch_start: rcu_preempt CBs={ready} bl=10")
            }
            What::BatchEnd { invoked } => {
                format!("rcu_batch_end: rcu_preempt CBs-invoked={invoked} idle=....")
            }
            What::Gp { what } => format!("rcu_grace_period: rcu_preempt 5 {}", GP[what]),
            What::Mark { start: true } => "tracing_mark_write: WORKLOAD_START x".to_owned(),
            What::Mark { start: false } => "tracing_mark_write: WORKLOAD_END".to_owned(),
            What::Wait(step) => step.words(self.task),
            What::Other => "workqueue_queue_work: x".to_owned(),
        }
    }
}

/// Figures by case and metric; what is not known is not there.
#[derive(Debug, Default)]
struct Table(BTreeMap<(String, &'static str), f64>);

impl Table {
    fn put(&mut self, case: &str, metric: &'static str, figure: Option<f64>) {
        if let Some(figure) = figure {
            let before = self.0.insert((case.to_owned(), metric), figure);
            assert_eq!(before, None, "{case} {metric}: one figure");
        }
    }

    /// A count and its rate.
    fn rate(&mut self, case: &str, metrics: [&'static str; 2], n: usize, (start, end): (u64, u64)) {
        self.put(case, metrics[0], Some(n as f64));
        let known = end > start;
        let rate = known.then(|| n as f64 * 1e6 / (end - start) as f64);
        self.put(case, metrics[1], rate);
    }
}

fn mean(values: &[u64]) -> Option<f64> {
    let known = !values.is_empty();
    known.then(|| values.iter().sum::<u64>() as f64 / values.len() as f64)
}

fn percentile(values: &[u64], p: usize) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values
        .get(values.len() * p / 100)
        .map(|value| *value as f64)
}

fn least(values: &[u64]) -> Option<f64> {
    values.iter().min().map(|value| *value as f64)
}

fn most(values: &[u64]) -> Option<f64> {
    values.iter().max().map(|value| *value as f64)
}

/// Microseconds as milliseconds.
fn ms(us: Option<f64>) -> Option<f64> {
    us.map(|us| us / 1e3)
}

/// So many traces; one that fails is printed, and kept in no file.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

/// One event of these kinds, by their places in the list; a number more makes its words.
fn what(kind: usize, a: u32, b: usize) -> What {
    let (cpu, function, head, task) = (a % 3, a % 2, a % 5, b % TASKS.len());
    match kind {
        0 => What::IdleEntry {
            cpu,
            state: b as u32 % 3,
        },
        1 => What::IdleExit { cpu },
        2 => What::Switch { next: task },
        3 => What::Tick,
        4 => What::Timer { function },
        5 => What::Softirq,
        6 => What::Queue {
            head,
            function: b as u32 % 2,
        },
        7 => What::QueueBlock { head },
        8 => What::Invoke {
            head,
            function: b as u32 % 2,
        },
        9 => What::InvokeBlock { head },
        10 => What::Bulk { blocks: a },
        11 => What::Offload { cpu },
        12 => What::TickStop { stopped: a < 10 },
        13 => What::Wakeup { task, target: cpu },
        14 => What::FirstRun { task, target: cpu },
        15 => What::Waking { task },
        16 => What::BatchStart { ready: a },
        17 => What::BatchEnd { invoked: a },
        18 => What::Gp { what: b % GP.len() },
        19 => What::Wait(waits::step(a, b)),
        _ => What::Other,
    }
}

/// Traces of these kinds of events, each with a random part of the kinds, and events of no meaning.
fn cases(kinds: &'static [usize]) -> impl Strategy<Value = Case> {
    let entry = (
        (0..kinds.len() + 1, 0u32..20, 0usize..35),
        (0u64..3, 0u32..4, 0..TASKS.len(), 0usize..4),
    );
    let places = || prop::option::weighted(0.4, 0usize..80);
    let asked = prop::option::weighted(
        0.4,
        (prop::option::of(0u64..70), prop::option::of(0u64..110)),
    );
    (
        prop::collection::vec(entry, 1..80),
        prop::collection::vec(prop::bool::weighted(0.85), kinds.len() + 1),
        (places(), places()),
        asked,
        prop::collection::vec(0usize..80, 0..3),
    )
        .prop_map(move |(drawn, kept, marks, asked, lost)| {
            let half = drawn.len() / 2;
            let mut time_us = 999_990;
            let mut entries = Vec::new();
            for (i, ((kind, a, b), (step, cpu, task, context))) in drawn.into_iter().enumerate() {
                time_us += step;
                let mut what = match kinds.get(kind) {
                    Some(number) if kept[kind] => what(*number, a, b),
                    _ => What::Other,
                };
                for (mark, start) in [(marks.0, true), (marks.1, false)] {
                    if mark == Some(i) {
                        what = What::Mark { start };
                    }
                }
                entries.push(Entry {
                    time_us,
                    // One of them is silent in the first half.
                    cpu: if cpu == 3 && i < half { 2 } else { cpu },
                    task,
                    context: ['.', '.', 'h', 's'][context],
                    what,
                });
            }
            let asked = asked.map(|(from, to)| {
                let at = |us: u64| 999_985 + us;
                (from.map(at), to.map(at))
            });
            let mut lost: Vec<usize> = lost.into_iter().filter(|i| *i < entries.len()).collect();
            lost.sort_unstable();
            lost.dedup();
            Case {
                entries,
                asked: asked.filter(|asked| *asked != (None, None)),
                lost,
            }
        })
}
