//! The running kernel's RCU as a source, by the most exact method that it offers ([`Activity`]).
//!
//! A kernel counts other things than the library, and most methods do not have all columns. An unknown rate
//! is printed as `-`, not as zero. Functions whose callbacks were invoked without a queueing in the trace
//! have a row of their own, so that the delays of the others are right.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use quiescent_live::files::Root;
use quiescent_live::telemetry::What;
use quiescent_live::{Activity, FunctionCounters, Rung, softirqs};
use quiescent_trace::{Role, role};

use crate::sample::process::thread;
use crate::sample::{Function, SOFTIRQS, Sample, Source, Subject, Thread};

/// Behind the name of a function whose callbacks were not seen when they were queued.
const UNSEEN: &str = " (not seen queued)";

/// The running kernel.
#[derive(Debug)]
pub struct Kernel {
    activity: Activity,
    root: Root,
    release: String,
}

impl Kernel {
    /// By this source, or by the best there is. With `mount` tracefs is mounted if it is not, visible to this
    /// process only; this must happen before the process has a second thread.
    ///
    /// ```
    /// use quiescent_live::Rung;
    /// use quiescent_top::{Interval, Kernel, Source, View, text};
    ///
    /// let mut kernel = Kernel::new(Some(Rung::Rates), false)?;
    /// let before = kernel.read()?;
    /// let interval = Interval::between(&before, &kernel.read()?);
    /// print!("{}\n{}", kernel.about(), text(&interval, &View::default(), 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The requested source is not available; the error has the remedy.
    pub fn new(rung: Option<Rung>, mount: bool) -> Result<Kernel, quiescent_report::Error> {
        let root = Root::here();
        let release = root.line("/proc/sys/kernel/osrelease");
        Ok(Kernel {
            activity: Activity::new(rung, mount)?,
            release: release.unwrap_or_default(),
            root,
        })
    }

    /// Where its figures come from.
    pub fn rung(&self) -> Rung {
        self.activity.rung
    }

    /// Why no better source is used; empty if there is none.
    pub fn why(&self) -> &str {
        &self.activity.why
    }

    /// Ends it. What is left of it in the kernel ([`Activity::end`]).
    pub fn end(self) -> Vec<String> {
        self.activity.end()
    }

    /// RCU's threads.
    fn threads(&self) -> Vec<Thread> {
        let tasks = self.root.tasks().into_iter();
        let own = tasks.filter(|it| role(&it.1) != Role::Other);
        own.filter_map(|(pid, _)| thread(PathBuf::from(format!("/proc/{pid}"))))
            .collect()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let by_cpu = softirqs(&self.root).unwrap_or_default();
        let sum = by_cpu.iter().map(|it| it.1).sum();
        let mut counters = vec![(SOFTIRQS.to_owned(), sum)];
        let by_cpu = by_cpu.into_iter();
        counters.extend(by_cpu.map(|(cpu, count)| (format!("{SOFTIRQS}.cpu{cpu}"), count)));
        let counted = &self.activity.counters;
        match self.activity.rung {
            Rung::Events | Rung::Probes => {
                counters.push(("grace_periods".to_owned(), counted.grace_periods));
                counters.push(("scans".to_owned(), counted.scans));
            }
            Rung::Frees | Rung::Rates => {}
        }
        if self.activity.rung != Rung::Rates {
            counters.push(("lost_events".to_owned(), self.activity.lost()));
            counters.push(("unread_lines".to_owned(), counted.unread));
        }
        counters
    }
}

impl Source for Kernel {
    fn about(&self) -> String {
        format!("kernel {}, {}", self.release, self.activity.rung.words())
    }

    fn read(&mut self) -> io::Result<Sample> {
        self.activity.update()?;
        let rung = self.activity.rung;
        let functions = self.activity.counters.functions.iter();
        Ok(Sample {
            subject: Subject::Kernel,
            at: Instant::now(),
            functions: functions
                .flat_map(|(name, function)| rows(rung, name, function))
                .collect(),
            counters: self.counters(),
            threads: self.threads(),
            more_threads: 0,
            holdouts: Vec::new(),
        })
    }
}

/// The row of a function, and a second one for those of its callbacks that were not seen queued.
fn rows(rung: Rung, name: &str, function: &FunctionCounters) -> Vec<Function> {
    let mut rows = Vec::new();
    let unseen = function.executed - function.timed;
    let mut row = |name: String, queued, executed, waited_ns| {
        rows.push(Function {
            domain: "kernel".to_owned(),
            name,
            what: What::Head,
            queued,
            lazily: None,
            executed,
            waited_ns,
            held_bytes: None,
            broke: None,
        });
    };
    if rung == Rung::Frees {
        row(name.to_owned(), None, function.executed, None);
        return rows;
    }
    if function.queued + function.timed > 0 {
        let (queued, waited_ns) = (Some(function.queued), Some(function.waited_ns));
        row(name.to_owned(), queued, function.timed, waited_ns);
    }
    if unseen > 0 {
        row(format!("{name}{UNSEEN}"), None, unseen, None);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;
    use crate::interval::{Order, View};
    use crate::text;
    use crate::text::summary::summary;
    use std::time::Duration;

    fn sample(at: Instant, counters: &[(&str, u64)], functions: Vec<Function>) -> Sample {
        Sample {
            subject: Subject::Kernel,
            at,
            functions,
            counters: counters.iter().map(|it| (it.0.to_owned(), it.1)).collect(),
            threads: Vec::new(),
            more_threads: 0,
            holdouts: Vec::new(),
        }
    }

    fn of(rung: Rung, queued: u64, executed: u64, timed: u64) -> Vec<Function> {
        let function = FunctionCounters {
            queued,
            executed,
            timed,
            waited_ns: timed * 4_000_000,
        };
        rows(rung, "i_callback", &function)
    }

    #[test]
    fn events_tell_delays_and_what_was_not_seen_is_apart() {
        let begin = Instant::now();
        let counters = |n: u64| {
            [
                (SOFTIRQS, 50 * n),
                ("softirqs.cpu1", 50 * n),
                ("grace_periods", 10 * n),
                ("lost_events", 0),
            ]
        };
        let before = sample(begin, &counters(1), of(Rung::Events, 10, 10, 10));
        let after = sample(
            begin + Duration::from_secs(1),
            &counters(2),
            of(Rung::Events, 40, 50, 20),
        );
        let interval = Interval::between(&before, &after);
        let seen = &interval.functions[0];
        assert_eq!(
            (seen.queued_per_s, seen.executed_per_s, seen.held),
            (Some(30.0), 10.0, Some(20))
        );
        assert_eq!((seen.delay_ms, seen.lazy_pct), (Some(4.0), None));
        let unseen = &interval.functions[1];
        assert!(unseen.name.ends_with(UNSEEN) && unseen.queued_per_s.is_none());
        assert_eq!((unseen.executed_per_s, unseen.delay_ms), (30.0, None));
        assert_eq!(
            summary(&interval, 120),
            [
                "held 20   executed/s 40.0   grace periods/s 10.0",
                "soft interrupts/s 50.0   by cpu1 50.0",
                "events lost: none",
            ]
        );
    }

    #[test]
    fn frees_say_nothing_of_what_is_queued() {
        let begin = Instant::now();
        let counters = [(SOFTIRQS, 5), ("lost_events", 7)];
        let before = sample(begin, &counters, Vec::new());
        let after = sample(
            begin + Duration::from_secs(1),
            &counters,
            of(Rung::Frees, 0, 9, 0),
        );
        let interval = Interval::between(&before, &after);
        let view = View {
            order: Order::Executed,
            ..View::default()
        };
        let said = text(&interval, &view, 100);
        let line = said
            .lines()
            .find(|it| it.starts_with("i_callback"))
            .expect("a row");
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            cells,
            ["i_callback", "kernel", "-", "9.00", "-", "-", "-", "-", "-"]
        );
        assert!(said.contains("events lost: 7 in all"), "{said}");
    }

    #[test]
    fn the_running_kernel_is_read_by_what_everybody_may_see() {
        let mut kernel = Kernel::new(Some(Rung::Rates), false).expect("always");
        let sample = kernel.read().expect("it is there");
        assert!(sample.functions.is_empty());
        assert!(kernel.about().contains("exact rates"));
        let said = text(&Interval::between(&sample, &sample), &View::default(), 80);
        assert!(
            said.contains("by function nothing is known") && !said.contains("executed/s"),
            "{said}"
        );
    }
}
