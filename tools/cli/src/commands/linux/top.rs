//! `top`: on a terminal a live view, otherwise intervals as text, or one document about all of them.

mod figures;
mod simulated;

use crate::arguments::linux::top::Top;
use crate::commands::{code, usage};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, Printed};
use figures::Figures;
use quiescent_live::Rung;
use quiescent_report::Error;
use quiescent_sim::{Workload, settings};
use quiescent_top::{Interval, Kernel, Order, Process, Source, View, text};
use simulated::{Pace, Simulated};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval of checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command; returns the exit code.
pub fn run(options: &Top) -> Result<u8, Error> {
    if options.kernel {
        return kernel(options);
    }
    if let Some(workload) = &options.sim {
        let pace = match is_live(options) {
            true => Pace::Real,
            false => Pace::Step(options.delay),
        };
        let mut source = simulated(options, workload, pace)?;
        return show(options, options.sort, &SIMULATED, &mut source);
    }
    let mut source = Process::new(options.pid.unwrap_or_default());
    show(options, options.sort, &PROCESS, &mut source)
}

/// `--kernel`: the source, and notes about it.
fn kernel(options: &Top) -> Result<u8, Error> {
    let source = Kernel::new(options.by, options.mount);
    let mut source = source.map_err(|why| why.of("top --kernel"))?;
    let (rung, why) = (source.rung(), source.why());
    let note = match why.is_empty() {
        true => String::new(),
        false => format!("note: no better source than `{}`: {why}\n", rung.word()),
    };
    // A live view would cover it: then it comes after.
    let is_live = is_live(options);
    let tell = |is_now: bool| output::tell_folded(if is_now { &note } else { "" });
    tell(!is_live);
    // This source does not know what is queued, so nothing can be sorted by it.
    let sort = match (rung, options.sort) {
        (Rung::Frees, Order::Queued) => Order::Executed,
        (_, sort) => sort,
    };
    let origin = Origin {
        subject: "kernel",
        source: rung.word(),
        exact: rung != Rung::Frees,
        takes_time: true,
        remedy: "--by rates needs /proc only",
    };
    let shown = show(options, sort, &origin, &mut source);
    tell(is_live);
    output::tell_folded(&super::record::left(&source.end()));
    shown
}

/// What is said of a source.
struct Origin {
    /// Of its rows.
    subject: &'static str,
    source: &'static str,
    exact: bool,
    /// An interval passes by itself.
    takes_time: bool,
    /// When it cannot be read.
    remedy: &'static str,
}

const PROCESS: Origin = Origin {
    subject: "quiescent",
    source: "process",
    exact: true,
    takes_time: true,
    remedy: "find it with `pgrep -af NAME` (without -f only the first 15 letters of a name count)",
};

const SIMULATED: Origin = Origin {
    subject: "model",
    source: "simulated",
    exact: true,
    takes_time: false,
    remedy: "a simulated machine can always be read",
};

/// The output is on a terminal that can be drawn on.
fn is_live(options: &Top) -> bool {
    let asked = options.batch || options.json || options.intervals.is_some();
    let is_dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
    !asked && !is_dumb && std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

fn show(options: &Top, sort: Order, origin: &Origin, source: &mut dyn Source) -> Result<u8, Error> {
    let unreadable = |why| Error::failed("top", why, origin.remedy);
    let view = View {
        order: sort,
        reversed: false,
        filter: options.filter.clone(),
    };
    if is_live(options) {
        quiescent_top::watch(source, view, options.delay).map_err(unreadable)?;
        return Ok(DONE);
    }
    let stop = stop_flag()?;
    let most = options.intervals.or(options.json.then_some(1));
    let mut figures = Figures::default();
    let mut failed = None;
    let mut before = source.read().map_err(unreadable)?;
    let mut count = 0;
    while most.is_none_or(|most| count < most)
        && pause(&stop, origin.takes_time.then(|| before.at + options.delay))
    {
        let now = match source.read() {
            Ok(now) => now,
            Err(why) => {
                failed = Some(unreadable(why));
                break;
            }
        };
        let interval = Interval::between(&before, &now);
        if options.json {
            figures.add(&interval, &view);
        } else {
            let about = source.about();
            let head = format!("{about}, {:.1} s\n", interval.length.as_secs_f64());
            let body = text(&interval, &view, output::columns());
            if !output::print_on(&Printed::text(format!("{head}{body}\n")))? {
                return Ok(DONE);
            }
        }
        before = now;
        count += 1;
    }
    // When the source has ended, the figures counted so far are printed first.
    if options.json && (failed.is_none() || count > 0) {
        let report = figures.report(options, sort, origin);
        output::print(&Printed::json(&report))?;
    }
    failed.map_or_else(|| Ok(code(&stop)), Err)
}

/// The machine of a workload, with all settings.
fn simulated(options: &Top, workload: &Path, pace: Pace) -> Result<Simulated, Error> {
    let workload = Workload::named(workload).map_err(usage)?;
    let sets = settings::assignments(&options.set).map_err(usage)?;
    let mut plan = workload.plan(&sets).map_err(usage)?;
    if let Some(seed) = options.seed {
        plan.options.seed = seed;
    }
    Ok(Simulated::new(&workload.name, &plan, pace))
}

/// Waits until then, if the source needs the time; false if it was stopped.
fn pause(stop: &AtomicBool, until: Option<Instant>) -> bool {
    loop {
        let left = until.map_or(Duration::ZERO, |it| {
            it.saturating_duration_since(Instant::now())
        });
        if stop.load(Ordering::Relaxed) || left.is_zero() {
            return !stop.load(Ordering::Relaxed);
        }
        std::thread::sleep(left.min(LOOK));
    }
}
