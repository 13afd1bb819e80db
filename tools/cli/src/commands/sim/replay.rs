//! `sim replay --set trace=FILE`: a machine that lives through a kernel's trace, as `whatif` has it without
//! a change.
//!
//! The machine is the one of the trace, as `whatif` infers it; what no event shows (the idle loop) is chosen
//! so that it fits. `--set` changes it. The output compares the kernel's figures with the model's; `--trace`
//! writes what the model lived through, on the clock of the recorded trace, so that every analysis of `trace`
//! can be held against the same one of the recording.

use super::{TRACE, put};
use crate::arguments::sim::Sim;
use crate::commands::{usage, whatif};
use crate::show::file::{self, Permit};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, FINDING, Printed, STOPPED};
use crate::show::progress::Bar;
use quiescent_report::text::number::short;
use quiescent_report::text::{Table, folded};
use quiescent_report::{Error, Report, Row};
use quiescent_sim::whatif::{Feed, Line, Origin, Trace, lines, origins};
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
        (options.shard.is_some(), "--shard"),
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
    let (base, given) = trace.with(options.seed, &sets)?;
    let name = file.display().to_string();
    let remedy = "its times have a step, or it is too long: record a shorter one";
    trace.check_amount(&name, &base, Feed::of(1), remedy)?;
    let Some(fit) = trace.fitted(&base, &given, stopped) else {
        return Ok(STOPPED);
    };
    let stats = match &output {
        None => trace.run(&fit.options, 1, stopped),
        Some(place) => match trace.run_kept(&fit.options, stopped) {
            None => None,
            Some((machine, stats)) => {
                place.fill(|mut out| machine.write_trace(&mut out))?;
                Some(stats)
            }
        },
    };
    let Some(stats) = stats else {
        return Ok(STOPPED);
    };
    let lines = lines(&trace, &stats, &stats);
    let inferred = trace.inferred.settings();
    let origins = origins(&fit.options, &given, &fit.chosen, &inferred);
    let report = report(&name, &fit.options, &origins, &trace, &lines);
    let text = || {
        let written = options.trace.as_deref();
        let written = written.map(|path| compared(path, file, &trace));
        text(&report, &origins, &trace, &lines) + &written.unwrap_or_default()
    };
    output::print(&Printed::either(options.json, || &report, text))?;
    Ok(match trace.unread {
        0 => DONE,
        _ => FINDING,
    })
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

fn report(
    file: &str,
    machine: &Options,
    origins: &[Origin],
    trace: &Trace,
    lines: &[Line],
) -> Report {
    let mut report = Report::new("sim", machine.seed);
    report.option("workload", NAME);
    report.option("trace", file);
    put(&mut report, settings::listed(machine));
    let warnings = trace.damage.iter().cloned();
    let warnings: Vec<String> = warnings.chain(settings::warnings(machine)).collect();
    report.option("warnings", warnings);
    let from = origins.iter().map(|it| (it.0.to_owned(), it.2.into()));
    report.option("origins", from.collect::<serde_json::Map<_, _>>());
    report.option("callbacks", trace.doings.calls());
    report.option("unread", trace.unread);
    for it in lines {
        let row = |subject, value| Row::single(subject, NAME, it.metric, it.unit, value);
        let recorded = it.recorded.and_then(|value| row("recorded", value));
        report
            .rows
            .extend(recorded.into_iter().chain(row("model", it.modelled)));
    }
    report
}

/// What the words behind settings mean.
const LEGEND: &str = "
trace: the trace tells it; fitted: no event shows it, and it fits best; --set gives what is neither.
";

fn text(report: &Report, origins: &[Origin], trace: &Trace, lines: &[Line]) -> String {
    let mut table = Table::new(&["", "recorded", "model", "ratio"], 1);
    for it in lines {
        table.row([
            format!("{} ({})", it.metric, it.unit),
            it.recorded.map_or("-".into(), short),
            short(it.modelled),
            it.ratio().map_or(String::new(), |it| format!("{it:.3}")),
        ]);
    }
    let set = origins
        .iter()
        .map(|it| format!("{}={} ({})", it.0, it.1, it.2));
    let set: Vec<String> = set.collect();
    let recorded = &trace.recorded;
    let head = format!(
        "{} CPUs at {} ticks a second, {} callbacks queued in {:.1} s; {}\n\n",
        recorded.cpus,
        recorded.hz,
        trace.doings.calls(),
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
