//! `sim replay --set trace=FILE`: a machine that replays a kernel's trace.
//!
//! The trace has the number of CPUs, the rate of ticks, the time and CPU of each queued callback, and the
//! CPUs of RCU's threads. Other facts are given by `--set`: the kernel parameters, whether CPUs executed at
//! the same time. The output compares the kernel's figures of that time with the model's.

use super::usage;
use crate::arguments::sim::Sim;
use crate::show::output::{self, DONE};
use quiescent_report::text::Table;
use quiescent_report::text::number::short;
use quiescent_report::{Error, Report, Row};
use quiescent_sim::experiments::replays::{Background, Pair, pairs};
use quiescent_sim::{Options, Smp, replay, settings};
use quiescent_trace::{Figures, Recorded};

/// The workload's name.
pub const NAME: &str = "replay";

/// Runs the command; returns the exit code.
pub fn run(options: &Sim) -> Result<u8, Error> {
    let wanted = [
        (!options.sweep.is_empty(), "--sweep"),
        (options.seeds != 1, "--seeds"),
        (options.trace.is_some(), "--trace"),
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
            ("trace", value) => file = Some(value),
            set => sets.push(set),
        }
    }
    let Some(file) = file else {
        let why = format!(
            "sim {NAME} needs a trace: give --set trace=FILE (ftrace text, plain or .xz; `-` is standard \
             input)"
        );
        return Err(Error::Usage(why));
    };
    let (recorded, figures) = read(file)?;
    let machine = machine(options, &recorded, &sets)?;
    let mut run = replay::machine(&recorded, machine.clone());
    run.run(recorded.window.end_ns);
    let pairs = pairs(&figures, &run.stats(), &Background::default());
    let report = report(file, &machine, &recorded, &pairs);
    let printed = match options.json {
        true => report.to_json() + "\n",
        false => text(&report, &recorded, &pairs),
    };
    output::print(printed.as_bytes()).map(|()| DONE)
}

fn read(file: &str) -> Result<(Recorded, Figures), Error> {
    let wrong = |why: quiescent_trace::Error| Error::Usage(why.to_string());
    let input = quiescent_trace::open(file).map_err(wrong)?;
    replay::read(file, input).map_err(wrong)
}

/// The machine: from the trace, changed by the settings.
fn machine(options: &Sim, recorded: &Recorded, sets: &[(&str, &str)]) -> Result<Options, Error> {
    let base = Options {
        smp: Smp::Serial,
        seed: options.seed,
        nocbs: recorded.offloaded.iter().collect(),
        lazy: recorded.lazy,
        ..Options::kernel_6_12(recorded.cpus, recorded.hz)
    };
    let mut machine = replay::options(recorded, base);
    settings::apply(&mut machine, sets).map_err(usage)?;
    Ok(machine)
}

fn report(file: &str, machine: &Options, recorded: &Recorded, pairs: &[Pair]) -> Report {
    let mut report = Report::new("sim", machine.seed);
    report.option("workload", NAME);
    report.option("trace", file);
    for (key, value) in settings::listed(machine) {
        match value.parse::<u64>() {
            Ok(number) => report.option(key, number),
            Err(_) => report.option(key, value),
        }
    }
    report.option("warnings", settings::warnings(machine));
    report.option("arrivals", recorded.arrivals.len());
    report.option("undecoded", recorded.undecoded.count());
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

fn text(report: &Report, recorded: &Recorded, pairs: &[Pair]) -> String {
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
    let set = [
        "smp",
        "idle_loop",
        "early_qs",
        "rcu_nocbs",
        "rcu_lazy",
        "jiffies_till_first_fqs",
    ];
    let set = set.map(|key| {
        format!(
            "{key}={}",
            report.options[key].to_string().trim_matches('"')
        )
    });
    let mut text = format!(
        "{} CPUs at {} ticks a second, {} callbacks queued in {:.1} s; {}\n\n{}",
        recorded.cpus,
        recorded.hz,
        recorded.arrivals.len(),
        recorded.window.seconds(),
        set.join(" "),
        table.render()
    );
    text += "\nThe trace does not contain the kernel's parameters: give them with --set. smp=parallel is for \
             traces of hardware.\nTicks and idle entries of the model lack the recorded machine's work other \
             than callbacks.\n";
    for warning in report.options["warnings"].as_array().into_iter().flatten() {
        text += &format!("warning: {}\n", warning.as_str().unwrap_or_default());
    }
    text
}
