//! `doctor`: reads a machine's files, applies the rules, and prints the findings.

use crate::arguments::linux::doctor::Doctor;
use crate::show::output::{self, DONE, FINDING, Printed, USAGE};
use quiescent_live::{Finding, Machine, Severity, diagnose, doctor, files::Root, listed};
use quiescent_report::{Error, Report, Row};
use serde_json::{Value, json};
use std::path::Path;

/// Runs the command; returns the exit code.
pub fn run(options: &Doctor) -> Result<u8, Error> {
    if options.clean {
        return clean(options.json);
    }
    let is_here = |it: &&Path| it.canonicalize().is_ok_and(|it| it == Path::new("/"));
    let folder = options.root.as_deref().filter(|it| !is_here(it));
    let machine = folder.map_or_else(|| Ok(Machine::here()), copied)?;
    let findings = diagnose(&machine);
    let report = || report(options, &machine, &findings);
    let text = || doctor::text(&machine, &findings, output::columns());
    output::print(&Printed::either(options.json, report, text))?;
    Ok(code(&findings))
}

/// Removes what is left of recorders that have ended.
fn clean(json: bool) -> Result<u8, Error> {
    let tracing = quiescent_live::tracing(false).map_err(|why| why.of("doctor --clean"))?;
    let cleaned = quiescent_live::clean(&tracing).map_err(|why| why.of("doctor --clean"))?;
    let parts = [
        ("removed", &cleaned.removed),
        ("kept, its recorder lives", &cleaned.kept),
        ("failed, it may be in use", &cleaned.failed),
    ];
    let mut report = Report::new("doctor", 0);
    let mut text = String::new();
    for (what, names) in parts {
        report.option(what.split(',').next().unwrap_or(what), names.clone());
        text.extend(names.iter().map(|it| format!("{what}: {it}\n")));
    }
    if text.is_empty() {
        text.push_str("nothing is left of a recorder\n");
    }
    output::print(&Printed::either(json, || &report, || text))?;
    Ok(match cleaned.failed.is_empty() {
        true => DONE,
        false => FINDING,
    })
}

/// The exit code: something is wrong; nothing could be read; or neither.
fn code(findings: &[Finding]) -> u8 {
    let is_bad = |it: &Finding| it.severity == Severity::WithoutEffect;
    let is_unknown = |it: &Finding| it.severity == Severity::CannotTell;
    match findings.iter().any(is_bad) {
        true => FINDING,
        false if findings.iter().all(is_unknown) => USAGE,
        false => DONE,
    }
}

/// The files of another machine.
fn copied(folder: &Path) -> Result<Machine, Error> {
    let root = Root::new(folder);
    if ["/proc", "/sys"].iter().any(|it| root.has(it)) {
        return Ok(Machine::read(root));
    }
    let why = match folder.is_dir() {
        true => "it has neither proc/ nor sys/",
        false => "there is no such folder",
    };
    Err(Error::Usage(format!(
        "--root {}: {why}; copy the machine's files below it, named as they are there: docs/tools.md has a \
         script",
        folder.display()
    )))
}

fn report(options: &Doctor, machine: &Machine, findings: &[Finding]) -> Report {
    let mut report = Report::new("doctor", 0);
    let root = options.root.as_ref();
    report.option(
        "root",
        root.map_or("/".into(), |it| it.display().to_string()),
    );
    report.option("findings", findings.iter().map(finding).collect::<Value>());
    report.option("machine", about(machine));
    for kind in Severity::ALL {
        let count = findings.iter().filter(|it| it.severity == kind).count();
        let row = Row::single("kernel", kind.words(), "findings", "findings", count as f64);
        report.rows.extend(row);
    }
    report
}

fn finding(it: &Finding) -> Value {
    json!({
        "about": it.about,
        "severity": it.severity.words(),
        "asked": it.asked,
        "in_force": it.in_force,
        "remedy": it.remedy,
    })
}

fn about(machine: &Machine) -> Value {
    let tasks = machine.tasks.as_deref();
    let threads = tasks.map(|tasks| {
        let thread = |it: &quiescent_live::Task| {
            json!({
                "name": it.name,
                "pid": it.pid,
                "serves": it.serves(tasks),
                "allowed": it.allowed.as_deref().map(listed),
                "policy": it.policy,
            })
        };
        tasks.iter().map(thread).collect::<Value>()
    });
    json!({
        "kernel": machine.release,
        "config": machine.config.as_ref().map(|it| &it.1),
        "command_line": machine.command,
        "hz": machine.hz.as_ref().map(|it| it.0),
        "possible": machine.possible.as_deref().map(listed),
        "online": machine.online.as_deref().map(listed),
        "offloaded": machine.offloaded().as_deref().map(listed),
        "threads": threads,
    })
}
