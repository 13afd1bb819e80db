//! Callbacks by function, by the task that queued them, by system call.
//!
//! A callback is identified by its head, from `rcu_callback` to `rcu_invoke_callback`. Counted are `queued`
//! and `invoked` in the window; a delay counts if both lie in it. `unseen` callbacks were invoked without a
//! queueing in the trace; `left` ones were queued in the window and not invoked before the trace ends. Blocks
//! of `kvfree_rcu` are the row `kvfree`, those freed in bulk `kvfree (bulk)`: an array of them has no head.
//!
//! **Lazy** is known as in `arrival.rs`: where the trace shows laziness at all, a callback of an offloaded
//! CPU is lazy if no event of offloading follows it, or if it opens a bypass list. Elsewhere it is not known.
//!
//! **System calls.** Where they are traced, a callback that a task queued outside of interrupts belongs to
//! the one it is in.
//!
//! Filters select the CPU and the task that queued a callback; callbacks with no queueing in the trace are
//! then left out.

use super::bounded::{NAMES_MOST, Names, Waiting, row};
use super::findings::{Figure, Findings, Table, count, ms};
use super::origin::context;
use super::own::Own;
use super::spread::{Room, Spread};
use super::{Part, Seen};
use crate::base::map::Map;
use crate::record::callbacks::{Follow, Pending, Was};
use crate::{Error, Event, Queued};

/// Tasks whose system call is followed.
const TASKS_MOST: usize = 1 << 14;

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Callbacks {
    names: Names,
    follow: Follow<Source>,
    /// By task, the name of the system call that it is in.
    calls: Option<Waiting<u32, u32, TASKS_MOST>>,
    counts: CallbackCounts,
    /// For the delays of all rows.
    room: Room,
}

/// Where a callback comes from.
#[derive(Debug, Clone, Copy, Default)]
struct Source {
    function: u32,
    task: u32,
    call: Option<u32>,
    cpu: u32,
    wanted: bool,
}

/// Counts of the window.
#[derive(Debug)]
struct CallbackCounts {
    functions: Map<u32, CallbackFigures>,
    tasks: Map<(u32, u32), CallbackFigures>,
    calls: Map<(u32, u32), CallbackFigures>,
    all: CallbackFigures,
    refused: u64,
}

impl Default for CallbackCounts {
    fn default() -> Self {
        let delay = Spread::apart();
        CallbackCounts {
            functions: Map::default(),
            tasks: Map::default(),
            calls: Map::default(),
            all: CallbackFigures {
                delay,
                ..CallbackFigures::default()
            },
            refused: 0,
        }
    }
}

/// Callbacks of one row.
#[derive(Debug, Default)]
struct CallbackFigures {
    queued: u64,
    lazy: u64,
    invoked: u64,
    unseen: u64,
    left: u64,
    delay: Spread,
}

impl Part for Callbacks {
    fn reset(&mut self) {
        self.counts = CallbackCounts::default();
        self.room = Room::default();
        self.follow.reset();
    }

    fn see(&mut self, seen: &Seen<'_>) {
        match *seen.event {
            Event::SysEnter { call } => {
                let call = self.names.number(call);
                let calls = self.calls.get_or_insert_default();
                calls.insert(seen.record.pid, call);
            }
            Event::SysExit => {
                if let Some(calls) = &mut self.calls {
                    calls.remove(&seen.record.pid);
                }
            }
            _ => {}
        }
        let (names, calls) = (&mut self.names, &self.calls);
        let of = |function: &str| source(seen, names, calls.as_ref(), function);
        match self.follow.see(seen.record, seen.event, seen.inside, of) {
            Some(Was::Queued(_, of)) if seen.inside && of.wanted => {
                self.counts.rows(&of).for_each(|it| it.queued += 1);
            }
            Some(Was::Invoked(function, queued)) => self.invoked(seen, function, queued),
            Some(Was::Bulk(blocks)) => self.unseen(seen, "kvfree (bulk)", blocks),
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, findings: &mut Findings, _: &Own) -> Result<(), Error> {
        let left = self.follow.waiting.values().copied();
        let left: Vec<_> = left.filter(|it| it.inside && it.of.wanted).collect();
        for queued in left {
            let lazy = self.is_lazy(&queued);
            for of in self.counts.rows(&queued.of) {
                of.left += 1;
                of.lazy += u64::from(lazy);
            }
        }
        self.tables(findings);
        findings.about_evicted("callbacks that waited", self.follow.waiting.evicted);
        findings.about_names(self.names.refused);
        let what = "callbacks were queued again without having been invoked in between";
        findings.say(self.follow.again, what);
        let what = "callbacks had no room in the tables of tasks and system calls";
        let what = format_args!("{what} ({NAMES_MOST} rows each)");
        findings.say(self.counts.refused, what);
        if !self.follow.ways.lazy {
            findings.notes.push(
                "laziness does not show in this trace: no rcu_nocb_wake event tells of it"
                    .to_owned(),
            );
        }
        let counts = &self.counts;
        let spreads = counts.functions.values().chain(counts.tasks.values());
        let spreads = spreads.chain(counts.calls.values());
        findings.about_spreads("delays", spreads.map(|of| &of.delay));
        Ok(())
    }
}

impl Callbacks {
    fn invoked(&mut self, seen: &Seen<'_>, function: &str, queued: Option<Pending<Source>>) {
        if !seen.inside {
            if let Some(queued) = queued.filter(|it| it.inside && it.of.wanted) {
                // Invoked behind the window: how it was queued is known all the same.
                let lazy = self.is_lazy(&queued);
                self.counts
                    .rows(&queued.of)
                    .for_each(|of| of.lazy += u64::from(lazy));
            }
            return;
        }
        let Some(queued) = queued else {
            self.unseen(seen, function, 1);
            return;
        };
        if !queued.of.wanted {
            return;
        }
        let known = queued.inside;
        let lazy = known && self.is_lazy(&queued);
        for of in self.counts.rows(&queued.of) {
            of.invoked += 1;
            of.lazy += u64::from(lazy);
            if known {
                let room = &mut self.room;
                of.delay.between(queued.time_ns, seen.record.time_ns, room);
            }
        }
    }

    /// Invoked, and no queueing of them is in the trace.
    fn unseen(&mut self, seen: &Seen<'_>, function: &str, n: u64) {
        if !seen.inside || seen.filter.selects() {
            return;
        }
        let function = self.names.number(function);
        let row = self.counts.functions.entry(function).or_default();
        for of in [row, &mut self.counts.all] {
            of.invoked += n;
            of.unseen += n;
        }
    }

    /// Lazy, if laziness is on at all.
    fn is_lazy(&self, queued: &Pending<Source>) -> bool {
        self.follow.offloading.is(queued.of.cpu) && queued.how != Queued::Main
    }

    fn tables(&self, findings: &mut Findings) {
        let name = |number: u32| self.names.name(number);
        let mut functions = Table::new("Callbacks by function", "", &["function"]);
        for (function, of) in &self.counts.functions {
            functions.add(&[name(*function)], &self.figures(of));
        }
        functions.sort_by(0);
        functions.add(&["(all)"], &self.figures(&self.counts.all));
        let by = |title: &str, prefix, label, rows: &Map<(u32, u32), CallbackFigures>| {
            let mut table = Table::new(title, prefix, &[label, "function"]);
            for ((first, function), of) in rows {
                table.add(&[name(*first), name(*function)], &self.figures(of));
            }
            table.sort_by(0);
            table
        };
        let (tasks, calls) = (&self.counts.tasks, &self.counts.calls);
        let tasks = by("By the task that queued", "task ", "task", tasks);
        let title = "By the system call that queued";
        let calls = by(title, "syscall ", "system call", calls);
        findings.tables.push(functions);
        findings.show([tasks, calls]);
        if self.calls.is_none() {
            findings.notes.push(
                "no system calls in this trace: record raw_syscalls:sys_enter and sys_exit to see which \
                 ones queue".to_owned(),
            );
        }
    }

    fn figures(&self, of: &CallbackFigures) -> [Figure; 10] {
        let (delay, [p50, p99]) = (&of.delay, of.delay.percentiles([50, 99]));
        let lazy = self.follow.ways.lazy.then_some(of.lazy as f64);
        [
            ("queued", "queued", "count", count(of.queued)),
            ("invoked", "invoked", "count", count(of.invoked)),
            ("lazy", "lazy", "count", lazy),
            ("unseen", "unseen", "count", count(of.unseen)),
            ("left", "left", "count", count(of.left)),
            ("min ms", "delay_ms_min", "ms", ms(delay.min())),
            ("avg ms", "delay_ms_avg", "ms", ms(delay.mean())),
            ("p50 ms", "delay_ms_p50", "ms", ms(p50)),
            ("p99 ms", "delay_ms_p99", "ms", ms(p99)),
            ("max ms", "delay_ms_max", "ms", ms(delay.max())),
        ]
    }
}

/// Where a callback comes from that is queued now.
fn source(
    seen: &Seen<'_>,
    names: &mut Names,
    calls: Option<&Waiting<u32, u32, TASKS_MOST>>,
    function: &str,
) -> Source {
    let record = seen.record;
    let task = context(record);
    let interrupt = task == "interrupt" || task == "softirq";
    let call = calls.map(|calls| match calls.get(&record.pid) {
        _ if interrupt => names.number("(interrupt)"),
        Some(call) => *call,
        None => names.number("(none)"),
    });
    Source {
        function: names.number(function),
        task: names.number(task),
        call,
        cpu: record.cpu,
        wanted: seen.filter.cpu(record.cpu) && seen.filter.thread(record.task(), record.pid),
    }
}

impl CallbackCounts {
    /// The rows to which a callback belongs.
    fn rows(&mut self, queued: &Source) -> impl Iterator<Item = &mut CallbackFigures> {
        let function = queued.function;
        let task = row(&mut self.tasks, NAMES_MOST, (queued.task, function));
        self.refused += u64::from(task.is_none());
        let call = queued.call.and_then(|call| {
            let call = row(&mut self.calls, NAMES_MOST, (call, function));
            self.refused += u64::from(call.is_none());
            call
        });
        let function = self.functions.entry(queued.function).or_default();
        [Some(function), Some(&mut self.all), task, call]
            .into_iter()
            .flatten()
    }
}

#[cfg(test)]
mod tests;
