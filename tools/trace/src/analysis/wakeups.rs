//! Threads by their wake-ups.
//!
//! A wake-up is a `sched_wakeup`. Not counted are `sched_waking` (the same wake-up, seen from the waker) and
//! `sched_wakeup_new` (a thread's first run). An interval lies between two wake-ups of the same thread, both
//! in the window. A thread is identified by its id and name. Filters select the woken thread and the CPU on
//! which it will run.

use super::bounded::OTHERS;
use super::chains::Chains;
use super::findings::{Findings, Table, count, us};
use super::spread::Spread;
use super::{Part, Seen, per_second};
use crate::base::map::Map;
use crate::base::names::short;
use crate::{Error, Event, Window};

/// Threads that have a row of their own.
const THREADS_MOST: usize = 1 << 14;

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    threads: Map<u32, Vec<Woken>>,
    rows: usize,
    /// Wake-ups of threads beyond the bound.
    others: u64,
    new: u64,
    chains: Chains,
}

/// A thread that was woken.
#[derive(Debug)]
struct Woken {
    name: String,
    n: u64,
    last: u64,
    intervals: Spread,
}

impl Part for Wakeups {
    fn reset(&mut self) {
        self.threads.clear();
        (self.rows, self.others, self.new) = (0, 0, 0);
        self.chains.reset();
    }

    fn see(&mut self, seen: &Seen<'_>) {
        if let Event::Wakeup {
            task,
            pid,
            target,
            new,
        } = *seen.event
            && seen.inside
            && seen.filter.cpu(target)
            && seen.filter.thread(task, pid)
        {
            match new {
                true => self.new += 1,
                false => self.woken(task, pid, seen.record.time_ns),
            }
        }
        self.chains.see(seen);
    }

    fn finish(self: Box<Self>, findings: &mut Findings, window: Window) -> Result<(), Error> {
        findings.tables.push(self.table(window));
        findings.say(self.new, "threads ran for the first time: no wake-ups");
        let why = "wake-ups of threads beyond the first";
        let row = format_args!("{why} {THREADS_MOST}: they are in the row `{OTHERS}`");
        findings.say(self.others, row);
        self.chains.finish(findings);
        Ok(())
    }
}

impl Wakeups {
    fn woken(&mut self, task: &str, pid: u32, now: u64) {
        let task = short(task);
        let same = self.threads.entry(pid).or_default();
        let Some(thread) = same.iter_mut().find(|t| t.name == task) else {
            if self.rows >= THREADS_MOST {
                self.others += 1;
                if same.is_empty() {
                    self.threads.remove(&pid);
                }
                return;
            }
            self.rows += 1;
            same.push(Woken {
                name: task.to_owned(),
                n: 1,
                last: now,
                intervals: Spread::default(),
            });
            return;
        };
        thread.n += 1;
        thread.intervals.span(thread.last, now);
        thread.last = now;
    }

    fn table(&self, window: Window) -> Table {
        let mut table = Table::new(
            "Threads by wake-ups",
            "",
            &["thread"],
            &[
                ("pid", "pid", "count"),
                ("wakeups", "wakeups", "count"),
                ("per s", "wakeups_per_s", "1/s"),
                ("min us", "interval_us_min", "us"),
                ("max us", "interval_us_max", "us"),
                ("avg us", "interval_us_avg", "us"),
            ],
        );
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
            table.row(
                &[&name],
                &[
                    count(u64::from(pid)),
                    count(t.n),
                    per_second(t.n, window),
                    us(t.intervals.min()),
                    us(t.intervals.max()),
                    us(t.intervals.mean()),
                ],
            );
        }
        if self.others > 0 {
            table.row(
                &[OTHERS],
                &[
                    None,
                    count(self.others),
                    per_second(self.others, window),
                    None,
                    None,
                    None,
                ],
            );
        }
        table.sort_by(1);
        let n = self.others + all().map(|(_, t)| t.n).sum::<u64>();
        table.row(
            &["(all)"],
            &[None, count(n), per_second(n, window), None, None, None],
        );
        table
    }
}

#[cfg(test)]
mod tests;
