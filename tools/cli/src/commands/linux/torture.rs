//! `torture`: scenarios in turn, each in a process of its own.
//!
//! Findings are printed at the end, with the last events of the run; progress is printed at once, unless one
//! document was requested.

pub mod machines;
mod report;

use crate::arguments::linux::torture::Torture;
use crate::commands::{this_program, usage};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, FINDING, Printed, STOPPED};
use crate::show::paper::Paper;
use crate::show::progress::Bar;
use quiescent_report::text::folded;
use quiescent_report::{Error, Progress, Report};
use quiescent_torture::campaign::{Campaign, CampaignEvent, Run};
use quiescent_torture::scenario::{Scenario, names};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// The program of a run, beside this one.
const PROGRAM: &str = "quiescent-torture-run";

/// Runs the command; returns the exit code.
pub fn run(options: &Torture) -> Result<u8, Error> {
    if options.list {
        let scenarios: Result<Vec<_>, _> = names().map(Scenario::named).collect();
        let scenarios = scenarios.map_err(usage)?;
        let (json, text) = (|| list_json(&scenarios), || list(&scenarios));
        let listed = Printed::either(options.json, json, text);
        return output::print(&listed).map(|()| DONE);
    }
    if options.machines.sim {
        return machines::run(options);
    }
    let campaign = campaign(options)?;
    let paper = Paper::of(&options.page, options.json, &[])?;
    let stop = stop_flag()?;
    let live = !options.quiet && !options.json && !paper.is_output();
    let printer = Printer {
        comment: match options.tap {
            true => Some("# "),
            false => live.then_some(""),
        },
        tap: options.tap,
        bar: Bar::new(options.quiet),
    };
    printer.begin(&campaign)?;
    let mut failed = None;
    let (mut turn, mut seconds) = (0, 0);
    let runs = campaign.run(&stop, |event| {
        let printed = match event {
            CampaignEvent::Tick(gone) => {
                let gone = gone.as_secs().min(campaign.duration.as_secs());
                printer.bar.advance(gone.saturating_sub(seconds));
                seconds = gone;
                Ok(())
            }
            CampaignEvent::Begin(_) => Ok(()),
            CampaignEvent::Line(request, line) => {
                printer.print(&format!("{:<8}{line}\n", request.scenario))
            }
            CampaignEvent::End(run) => {
                turn += 1;
                printer.end(run, turn)
            }
        };
        if let Err(why) = printed {
            failed.get_or_insert(why);
            stop.store(true, Ordering::Relaxed); // the output is closed: no need to continue
        }
    })?;
    printer.bar.end();
    if let Some(why) = failed {
        return Err(why);
    }
    let stopped = stop.load(Ordering::Relaxed);
    let report = report::json(&campaign, &runs, stopped);
    let text = report::text(&campaign, &runs, stopped);
    paper.tables(|| match (options.json, options.tap) {
        (true, _) => Printed::json(&report),
        (_, true) => Printed::text(format!("1..{}\n", runs.len())),
        _ => Printed::text(&text),
    })?;
    let lines: String = runs.iter().map(report::line).collect();
    paper.write(&report, &(lines + &text), stopped)?;
    Ok(match (runs.iter().all(Run::is_good), stopped) {
        (false, _) => FINDING,
        (true, true) => STOPPED,
        (true, false) => DONE,
    })
}

/// The request, checked before anything runs.
fn campaign(options: &Torture) -> Result<Campaign, Error> {
    let request = options.run.request(""); // each run has its own
    let scenarios: Result<Vec<Scenario>, _> = match options.scenario.is_empty() {
        true => names().map(Scenario::named).collect(),
        false => options.scenario.iter().map(Scenario::named).collect(),
    };
    let mut scenarios = scenarios.map_err(usage)?;
    if options.scenario.is_empty() {
        // A duration that is too short for all scenarios starts with another one each time.
        let first = request.seed % scenarios.len() as u64;
        scenarios.rotate_left(first as usize);
    }
    Ok(Campaign {
        program: program()?,
        scenarios,
        duration: request.duration,
        request,
    })
}

fn program() -> Result<PathBuf, Error> {
    let program = this_program()?.with_file_name(PROGRAM);
    match program.try_exists() {
        Ok(true) => Ok(program),
        _ => {
            let what = format!("cannot find {}", program.display());
            let remedy = "it belongs beside `quiescent`: build or install both again";
            Err(Error::failed(what, "no such file", remedy))
        }
    }
}

/// The scenarios, and the parts that each stresses.
fn list(scenarios: &[Scenario]) -> String {
    let mut text = String::new();
    for it in scenarios {
        text += &format!("{:<8} {}\n", it.name, it.about);
        for stressed in &it.stresses {
            text += &format!("         - {stressed}\n");
        }
    }
    folded(&text, output::columns(), 11)
}

/// The same as one line of JSON: in `options`, a list of objects.
fn list_json(scenarios: &[Scenario]) -> Report {
    let scenarios = scenarios
        .iter()
        .map(|it| json!({ "name": it.name, "about": it.about, "stresses": it.stresses }));
    let mut report = Report::new("torture --list", 0);
    report.option("scenarios", scenarios.collect::<Vec<_>>());
    report
}

/// Prints the progress.
struct Printer {
    /// Before each line; none if nothing is printed.
    comment: Option<&'static str>,
    tap: bool,
    bar: Bar,
}

impl Printer {
    fn print(&self, text: &str) -> Result<(), Error> {
        let Some(comment) = self.comment else {
            return Ok(());
        };
        let text = Printed::text(format!("{comment}{text}"));
        self.bar.aside(|| output::print(&text))
    }

    fn begin(&self, campaign: &Campaign) -> Result<(), Error> {
        let (all, reach) = (campaign.scenarios.len(), campaign.reach());
        let scenarios = match reach < all {
            true => format!("{reach} of {all} scenarios (a longer --duration reaches more)"),
            false => format!("{all} scenarios"),
        };
        let (seed, time) = (campaign.request.seed, campaign.duration.as_secs_f64());
        if self.tap {
            output::print(&Printed::text("TAP version 13\n"))?;
        }
        self.print(&format!("seed {seed}, {scenarios}, {time} s\n"))?;
        self.bar.begin("torture", campaign.duration.as_secs());
        Ok(())
    }

    fn end(&self, run: &Run, turn: usize) -> Result<(), Error> {
        match self.tap {
            true => {
                let point = Printed::text(report::tap(run, turn));
                self.bar.aside(|| output::print(&point))
            }
            false => self.print(&report::line(run)),
        }
    }
}
