//! `sim replay --set trace=FILE`: a machine that replays a kernel's trace.
//!
//! The machine is the one of the trace, as `whatif` infers it: CPUs, ticks, jiffies, offloading, laziness,
//! the early report, and whether CPUs execute at the same time where ticks show it; what no event shows (the
//! idle loop) is chosen so that it fits. `--set` changes it. Callbacks are queued when they were and RCU's
//! threads run where they ran. Waits without a callback in the trace (expedited ones, barriers) are not
//! replayed: that is a finding, as are lines that could not be read. The output compares the kernel's figures
//! of that time with the model's; `--trace` writes what the model lived through, on the clock of the recorded
//! trace, so that every analysis of `trace` can be held against the same one of the recording.

use super::{TRACE, usage};
use crate::arguments::sim::Sim;
use crate::commands::whatif;
use crate::show::file::{self, Permit};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, FINDING, Printed, STOPPED};
use crate::show::progress::Bar;
use quiescent_report::text::number::short;
use quiescent_report::text::{Table, folded};
use quiescent_report::{Error, Report, Row};
use quiescent_sim::replay::{self, Background, Pair, pairs};
use quiescent_sim::whatif::{Feed, Origin, Trace, origins};
use quiescent_sim::{Options, settings};
use quiescent_trace::Options as Known;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The workload's name.
pub const NAME: &str = "replay";

/// Runs the command; returns the exit code.
pub fn run(options: &Sim) -> Result<u8, Error> {
    let wanted = [
        (!options.sweep.is_empty(), "--sweep"),
        (options.seeds != 1, "--seeds"),
    ];
    if let Some((_, option)) = wanted.iter().find(|it| it.0) {
        let why = format!("sim {NAME} takes no {option}: it makes one run, with --set and --seed");
        return Err(Error::Usage(why));
    }
    let version = options.kernel.as_deref().map(|it| ("kernel", it));
    let mut sets: Vec<_> = version.into_iter().collect();
    let mut file = None;
    for set in &options.set {
        match settings::assignment(set).map_err(usage)? {
            ("trace", value) => file = Some(Path::new(value)),
            set => sets.push(set),
        }
    }
    let Some(file) = options.recorded.as_deref().or(file) else {
        let why = format!(
            "sim {NAME} needs a trace: give --set trace=FILE (ftrace text or Perfetto, plain or .xz; \
             trace.dat; `-` is standard input), or --recorded FILE"
        );
        return Err(Error::Usage(why));
    };
    let inputs = [file];
    let permit = Permit::of(options.force.force, &inputs);
    let output = options.trace.as_deref();
    let output = output.map(|path| file::settle(&TRACE, path, permit));
    let output = output.transpose()?;
    let stop = stop_flag()?;
    let bar = Bar::new(options.quiet);
    let Some(trace) = whatif::read(file, Known::default(), &stop, &bar)? else {
        return Ok(STOPPED);
    };
    let stopped = || stop.load(Ordering::Relaxed);
    let Some(machine) = Machine::of(options.seed, file, &trace, &sets, stopped)? else {
        return Ok(STOPPED);
    };
    let mut run = replay::machine(&trace.recorded, machine.options.clone());
    if output.is_some() {
        run.keep_trace();
    }
    run.run(trace.recorded.window.end_ns);
    if let Some(place) = &output {
        let (mut out, file) = place.open()?;
        let written = run.write_trace(&mut out);
        written.map_err(|why| place.failed(why))?;
        file.keep()?;
    }
    let pairs = pairs(&trace, &run.stats(), &Background::default());
    let report = report(&file.display().to_string(), &machine, &trace, &pairs);
    let printed = match options.json {
        true => Printed::json(&report),
        false => {
            let written = options
                .trace
                .as_deref()
                .map(|path| compared(path, file, &trace));
            let text = text(&report, &machine, &trace, &pairs);
            Printed::text(text + &written.unwrap_or_default())
        }
    };
    output::print(&printed)?;
    Ok(
        match trace.unread == 0 && trace.waits_without_callback() == 0 {
            true => DONE,
            false => FINDING,
        },
    )
}

/// The machine of a trace, changed by settings.
struct Machine {
    options: Options,
    /// The settings that matter most, and where each is from.
    origins: Vec<Origin>,
    warnings: Vec<String>,
}

impl Machine {
    /// None if `stopped` said so.
    fn of(
        seed: u64,
        file: &Path,
        trace: &Trace,
        sets: &[(&str, &str)],
        stopped: impl Fn() -> bool,
    ) -> Result<Option<Machine>, Error> {
        let (base, given) = trace.with(seed, sets)?;
        let name = file.display().to_string();
        let remedy = "its times have a step, or it is too long: record a shorter one";
        trace.check_amount(&name, &base, Feed::of(1), remedy)?;
        let Some(fit) = trace.fitted(&base, &given, stopped) else {
            return Ok(None);
        };
        let origins = origins(
            &fit.options,
            &given,
            &fit.chosen,
            &trace.inferred.settings(),
        );
        let mut warnings = trace.damage.clone();
        let dropped = trace.waits_without_callback();
        if dropped > 0 {
            warnings.push(format!(
                "{dropped} waits (expedited ones, barriers, calls whose callback is not in the trace) are \
                 not replayed, and the figures lack them: `quiescent whatif` replays waits"
            ));
        }
        warnings.extend(settings::warnings(&fit.options));
        Ok(Some(Machine {
            options: fit.options,
            origins,
            warnings,
        }))
    }
}

/// How the written trace is held against the recorded one: the same analysis, in the same window.
fn compared(written: &Path, recorded: &Path, trace: &Trace) -> String {
    let window = trace.recorded.window;
    let mut text = format!("\ntrace: {}; compare, for example:\n", written.display());
    for file in [recorded, written] {
        let (from, to) = (window.start_ns, window.end_ns);
        let file = file.display();
        text += &format!("  quiescent trace {file} gps --from {from}ns --to {to}ns\n");
    }
    text
}

fn report(file: &str, machine: &Machine, trace: &Trace, pairs: &[Pair]) -> Report {
    let mut report = Report::new("sim", machine.options.seed);
    report.option("workload", NAME);
    report.option("trace", file);
    for (key, value) in settings::listed(&machine.options) {
        match value.parse::<u64>() {
            Ok(number) => report.option(key, number),
            Err(_) => report.option(key, value),
        }
    }
    report.option("warnings", machine.warnings.clone());
    let from = machine
        .origins
        .iter()
        .map(|it| (it.0.to_owned(), it.2.into()));
    report.option("origins", from.collect::<serde_json::Map<_, _>>());
    report.option("arrivals", trace.recorded.arrivals.len());
    report.option("unread", trace.unread);
    report.option("waits_not_replayed", trace.waits_without_callback());
    for &(metric, unit, recorded, model) in pairs {
        report
            .rows
            .extend(Row::single("recorded", NAME, metric, unit, recorded));
        report
            .rows
            .extend(Row::single("model", NAME, metric, unit, model));
    }
    report
}

/// What the words behind settings and the last figures mean.
const LEGEND: &str = "
trace: the trace tells it; fitted: no event shows it, and it fits best; --set gives what is neither.
Ticks and idle entries of the model lack the recorded machine's work other than callbacks.
";

fn text(report: &Report, machine: &Machine, trace: &Trace, pairs: &[Pair]) -> String {
    let mut table = Table::new(&["", "recorded", "model", "ratio"], 1);
    for &(metric, unit, real, model) in pairs {
        let ratio = if real == 0.0 {
            String::new()
        } else {
            format!("{:.3}", model / real)
        };
        table.row([
            format!("{metric} ({unit})"),
            short(real),
            short(model),
            ratio,
        ]);
    }
    let recorded = &trace.recorded;
    let origins = machine.origins.iter();
    let set: Vec<String> = origins
        .map(|it| format!("{}={} ({})", it.0, it.1, it.2))
        .collect();
    let head = format!(
        "{} CPUs at {} ticks a second, {} callbacks queued in {:.1} s; {}\n\n",
        recorded.cpus,
        recorded.hz,
        recorded.arrivals.len(),
        recorded.window.seconds(),
        set.join(" "),
    );
    let mut legend = LEGEND.to_owned();
    for warning in report.options["warnings"].as_array().into_iter().flatten() {
        legend += &format!("warning: {}\n", warning.as_str().unwrap_or_default());
    }
    let width = output::columns();
    folded(&head, width, 2) + &table.within(width) + &folded(&legend, width, 2)
}
