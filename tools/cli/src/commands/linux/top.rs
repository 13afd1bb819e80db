//! `top`: on a terminal a live view, otherwise intervals as text, or one document about all of them.

mod figures;
mod kernel;
mod simulated;

use crate::arguments::linux::top::Top;
use crate::commands::code;
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, Printed};
use figures::Figures;
use quiescent_live::Rung;
use quiescent_report::Error;
use quiescent_sim::{Workload, settings};
use quiescent_top::{Interval, Order, Process, Source, View, text};
use simulated::{Pace, Simulated};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval of checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command; returns the exit code.
pub fn run(options: &Top) -> Result<u8, Error> {
    if options.kernel {
        return kernel::run(options);
    }
    if let Some(workload) = &options.sim {
        let pace = match is_live(options) {
            true => Pace::Real,
            false => Pace::Step(options.delay),
        };
        let mut source = simulated(options, workload, pace)?;
        return show(options, options.sort, Origin::Simulated, &mut source);
    }
    let mut source = Process::new(options.pid.unwrap_or_default());
    show(options, options.sort, Origin::Process, &mut source)
}

/// The kind of source.
#[derive(Clone, Copy)]
enum Origin {
    Process,
    Kernel(Rung),
    Simulated,
}

/// The output is on a terminal that can be drawn on.
fn is_live(options: &Top) -> bool {
    let asked = options.batch || options.json || options.intervals.is_some();
    let is_dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
    !asked && !is_dumb && io::stdout().is_terminal() && io::stdin().is_terminal()
}

fn show(options: &Top, sort: Order, origin: Origin, source: &mut dyn Source) -> Result<u8, Error> {
    let unreadable = |why| unreadable(origin, why);
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
    let waits = !matches!(origin, Origin::Simulated);
    let most = options.intervals.or(options.json.then_some(1));
    let mut figures = Figures::default();
    let report = |figures: &Figures| Printed::json(&figures.report(options, sort, origin));
    let mut before = source.read().map_err(unreadable)?;
    let mut count = 0;
    while most.is_none_or(|most| count < most)
        && pause(&stop, waits.then(|| before.at + options.delay))
    {
        let now = match source.read() {
            Ok(now) => now,
            // When the source has ended, the figures counted so far are printed first.
            Err(why) if options.json && count > 0 => {
                output::print(&report(&figures))?;
                return Err(unreadable(why));
            }
            Err(why) => return Err(unreadable(why)),
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
    if options.json {
        output::print(&report(&figures))?;
    }
    Ok(code(&stop))
}

/// The machine of a workload, with all settings.
fn simulated(options: &Top, workload: &Path, pace: Pace) -> Result<Simulated, Error> {
    let wrong = |why: quiescent_sim::Error| Error::Usage(why.to_string());
    let workload = Workload::named(workload).map_err(wrong)?;
    let sets = settings::assignments(&options.set).map_err(wrong)?;
    let mut plan = workload.plan(&sets).map_err(wrong)?;
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

fn unreadable(origin: Origin, why: io::Error) -> Error {
    let remedy = match origin {
        Origin::Process => {
            "find it with `pgrep -af NAME` (without -f only the first 15 letters of a name count)"
        }
        Origin::Kernel(_) => "--by rates needs /proc only",
        Origin::Simulated => "a simulated machine can always be read",
    };
    Error::failed("top", why, remedy)
}
