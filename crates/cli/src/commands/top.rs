//! Carries out `top`: on a terminal a live view, else intervals as text, or one document about all of them.

mod kernel;

use super::code;
use crate::arguments::top::Top;
use crate::interrupt::stop_flag;
use crate::output::{self, DONE};
use quiescent_bench::{Error, Report, Row};
use quiescent_live::Rung;
use quiescent_top::{Interval, Order, Process, Source, View, text};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Columns of a text that goes nowhere in particular.
const WIDTH: usize = 120;

/// Ctrl-C is looked for so often.
const LOOK: Duration = Duration::from_millis(50);

/// Does it; the exit code.
pub fn run(options: &Top) -> Result<u8, Error> {
    let Some(pid) = options.pid else {
        return kernel::run(options);
    };
    show(
        options,
        options.sort,
        Origin::Process,
        &mut Process::new(pid),
    )
}

/// What kind of thing is looked at.
#[derive(Clone, Copy)]
enum Origin {
    Process,
    Kernel(Rung),
}

fn show(options: &Top, sort: Order, origin: Origin, source: &mut dyn Source) -> Result<u8, Error> {
    let unreadable = |why| unreadable(origin, why);
    let view = View {
        order: sort,
        reversed: false,
        filter: options.filter.clone(),
    };
    let live = !options.batch
        && !options.json
        && options.intervals.is_none()
        && io::stdout().is_terminal()
        && io::stdin().is_terminal();
    if live {
        quiescent_top::watch(source, view, options.delay).map_err(unreadable)?;
        return Ok(DONE);
    }
    let stop = stop_flag()?;
    let most = options.intervals.or(options.json.then_some(1));
    let mut figures = Figures::default();
    let report = |figures: &Figures| figures.report(options, sort, origin).to_json() + "\n";
    let mut before = source.read().map_err(unreadable)?;
    let mut count = 0;
    while most.is_none_or(|most| count < most) && pause(&stop, before.at + options.delay) {
        let now = match source.read() {
            Ok(now) => now,
            // Of what is gone, what was counted is printed first.
            Err(why) if options.json && count > 0 => {
                output::print(report(&figures).as_bytes())?;
                return Err(unreadable(why));
            }
            Err(why) => return Err(unreadable(why)),
        };
        let interval = Interval::between(&before, &now);
        if options.json {
            match origin {
                Origin::Process => figures.add(&interval, &view),
                Origin::Kernel(_) => figures.add_kernel(&interval, &view),
            }
        } else {
            let about = source.about();
            let head = format!("{about}, {:.1} s\n", interval.length.as_secs_f64());
            let body = text(&interval, &view, WIDTH);
            if !output::print_on(format!("{head}{body}\n").as_bytes())? {
                return Ok(DONE);
            }
        }
        before = now;
        count += 1;
    }
    if options.json {
        output::print(report(&figures).as_bytes())?;
    }
    Ok(code(&stop))
}

/// Waits until then; false if it was stopped.
fn pause(stop: &AtomicBool, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if stop.load(Ordering::Relaxed) || left.is_zero() {
            return !stop.load(Ordering::Relaxed);
        }
        std::thread::sleep(left.min(LOOK));
    }
}

fn unreadable(origin: Origin, why: io::Error) -> Error {
    let remedy = match origin {
        Origin::Process => "look for it with `pgrep -a NAME`",
        Origin::Kernel(_) => "--by rates needs /proc only",
    };
    Error::failed("top", why, remedy)
}

/// A row of the report: case, metric, unit.
type Key = (String, &'static str, &'static str);

/// Figures of all intervals.
#[derive(Default)]
struct Figures {
    values: BTreeMap<Key, Vec<f64>>,
}

impl Figures {
    fn add(&mut self, interval: &Interval, view: &View) {
        let mut put = |case: &str, metric, unit, value| self.put(case, metric, unit, value);
        let (held, held_bytes) = interval.held();
        let holdouts = interval.holdouts.len();
        for (metric, unit, value) in [
            ("grace_periods_per_s", "1/s", interval.rate("grace_periods")),
            ("fences_per_s", "1/s", interval.fences_per_s()),
            ("fences_take_per_s", "1/s", interval.rate("fences_take")),
            ("scans_per_s", "1/s", interval.rate("scans")),
            ("backlog", "callbacks", held as f64),
            ("held_bytes", "bytes", held_bytes as f64),
            ("holdouts", "readers", holdouts as f64),
        ] {
            put("process", metric, unit, value);
        }
        for (of, metric) in [
            ("worker_wakeups", "wakeups_per_s"),
            ("flushes", "flushes_per_s"),
        ] {
            for (cause, rate) in interval.causes(of) {
                put(&format!("by {cause}"), metric, "1/s", rate);
            }
        }
        for row in view.rows(interval) {
            let case = match row.domain.as_str() {
                "process" => row.name.clone(),
                domain => format!("{domain}: {}", row.name),
            };
            put(&case, "queued_per_s", "1/s", row.queued_per_s);
            put(&case, "executed_per_s", "1/s", row.executed_per_s);
            put(&case, "backlog", "callbacks", row.held as f64);
            put(&case, "held_bytes", "bytes", row.held_bytes as f64);
            put(&case, "broke_per_s", "1/s", row.broke_per_s);
            if let Some(delay) = row.delay_ms {
                put(&case, "delay_ms", "ms", delay);
            }
            if let Some(lazy) = row.lazy_pct {
                put(&case, "lazy_pct", "%", lazy);
            }
        }
        self.add_threads(interval);
    }

    fn add_threads(&mut self, interval: &Interval) {
        for thread in &interval.threads {
            let case = format!("thread {} {}", thread.id, thread.name);
            self.put(&case, "wakeups_per_s", "1/s", thread.wakeups_per_s);
            self.put(&case, "cpu_pct", "%", thread.cpu_pct);
        }
    }

    /// What is no number is not known.
    fn put(&mut self, case: &str, metric: &'static str, unit: &'static str, value: f64) {
        if !value.is_nan() {
            let key = (case.to_owned(), metric, unit);
            self.values.entry(key).or_default().push(value);
        }
    }

    fn report(&self, options: &Top, sort: Order, origin: Origin) -> Report {
        let mut report = Report::new("top", 0);
        report.option("pid", options.pid);
        report.option("delay_s", options.delay.as_secs_f64());
        report.option("sort", sort.word());
        report.option("filter", options.filter.clone());
        let (subject, source, exact) = match origin {
            Origin::Process => ("quiescent", "process", true),
            Origin::Kernel(rung) => ("kernel", rung.word(), rung != Rung::Frees),
        };
        report.option("source", source);
        report.option("exact", exact);
        for ((case, metric, unit), values) in &self.values {
            let row = Row::of(subject, case, metric, unit, values);
            report.rows.extend(row);
        }
        report
    }
}
