//! Threads by their wake-ups.
//!
//! A wake-up is a `sched_wakeup`. Not counted are `sched_waking` (the same wake-up, seen from the waker) and
//! `sched_wakeup_new` (a thread's first run). An interval lies between two wake-ups of the same thread, both
//! in the window. A thread is identified by its id and name. Filters select the woken thread and the CPU on
//! which it will run.

use super::bounded::OTHERS;
use super::chains::Chains;
use super::findings::{Findings, Table, count, us};
use super::own::{Own, Tally};
use super::spread::Spread;
use super::{Part, Seen};
use crate::base::map::Map;
use crate::base::names::short;
use crate::{Error, Event, Record};

/// Threads that have a row of their own.
const THREADS_MOST: usize = 1 << 14;

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    threads: Map<u32, Vec<Woken>>,
    rows: usize,
    /// Wake-ups of threads beyond the bound.
    others: Tally,
    new: u64,
    chains: Chains,
}

/// A thread that was woken.
#[derive(Debug)]
struct Woken {
    name: String,
    n: Tally,
    last: u64,
    intervals: Spread,
}

impl Part for Wakeups {
    fn reset(&mut self) {
        self.threads.clear();
        (self.rows, self.others, self.new) = (0, Tally::default(), 0);
        self.chains.reset();
    }

    fn see(&mut self, seen: &Seen<'_>) {
        if let Event::Wakeup {
            task,
            pid,
            target,
            new,
        } = *seen.event
            && seen.wants(target, task, pid)
        {
            match new {
                true => self.new += 1,
                false => self.woken(task, pid, seen.record),
            }
        }
        self.chains.see(seen);
    }

    fn finish(self: Box<Self>, findings: &mut Findings, own: &Own) -> Result<(), Error> {
        findings.tables.push(self.table(own));
        findings.say(self.new, "threads ran for the first time: no wake-ups");
        let why = "wake-ups of threads beyond the first";
        let row = format_args!("{why} {THREADS_MOST}: they are in the row `{OTHERS}`");
        findings.say(self.others.n, row);
        self.chains.finish(findings);
        Ok(())
    }
}

impl Wakeups {
    fn woken(&mut self, task: &str, pid: u32, record: &Record<'_>) {
        let now = record.time_ns;
        let task = short(task);
        let same = self.threads.entry(pid).or_default();
        let Some(thread) = same.iter_mut().find(|t| t.name == task) else {
            if self.rows >= THREADS_MOST {
                self.others.add(record.cpu);
                if same.is_empty() {
                    self.threads.remove(&pid);
                }
                return;
            }
            self.rows += 1;
            let mut n = Tally::default();
            n.add(record.cpu);
            same.push(Woken {
                name: task.to_owned(),
                n,
                last: now,
                intervals: Spread::default(),
            });
            return;
        };
        thread.n.add(record.cpu);
        thread.intervals.span(thread.last, now);
        thread.last = now;
    }

    fn table(&self, own: &Own) -> Table {
        let mut table = Table::new("Threads by wake-ups", "", &["thread"]);
        let mut add = |name: &str, pid: Option<u32>, n: &Tally, intervals: &Spread| {
            let rate = own.rate(n);
            let figures = [
                ("pid", "pid", "count", pid.map(f64::from)),
                ("wakeups", "wakeups", "count", count(n.n)),
                ("per s", "wakeups_per_s", "1/s", rate),
                ("min us", "interval_us_min", "us", us(intervals.min())),
                ("max us", "interval_us_max", "us", us(intervals.max())),
                ("avg us", "interval_us_avg", "us", us(intervals.mean())),
            ];
            table.add(&[name], &figures);
        };
        let mut names: Map<&str, u32> = Map::default();
        let all = || {
            self.threads
                .iter()
                .flat_map(|(pid, same)| same.iter().map(move |t| (*pid, t)))
        };
        all().for_each(|(_, t)| *names.entry(&t.name).or_insert(0) += 1);
        for (pid, t) in all() {
            // Two threads of one name differ in their ids.
            let name = match names.get(t.name.as_str()) {
                Some(1) | None => t.name.clone(),
                Some(_) => format!("{}-{pid}", t.name),
            };
            add(&name, Some(pid), &t.n, &t.intervals);
        }
        let none = Spread::default();
        if self.others.n > 0 {
            add(OTHERS, None, &self.others, &none);
        }
        let n = [&self.others].into_iter().chain(all().map(|(_, t)| &t.n));
        add("(all)", None, &n.collect(), &none);
        // The sum stays last.
        let sum = table.rows.pop();
        table.sort_by(1);
        table.rows.extend(sum);
        table
    }
}

#[cfg(test)]
mod tests;
