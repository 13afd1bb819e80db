//! A diagnosis as text.

use super::{Finding, Severity};
use crate::Machine;
use crate::state::cpus::listed;
use quiescent_report::text::folded;
use std::fmt::Write as _;

/// What stands in front of what a finding says.
const INDENT: usize = 12;

/// Machine, threads, findings, and how many of each kind; in lines of at most `width` columns where words can
/// be parted.
///
/// ```
/// use quiescent_live::{Machine, diagnose, doctor};
///
/// let machine = Machine::here();
/// let text = doctor::text(&machine, &diagnose(&machine), 80);
/// assert!(text.contains(&machine.release));
/// ```
pub fn text(machine: &Machine, findings: &[Finding], width: usize) -> String {
    let mut text = head(machine, width);
    for it in findings {
        let _ = writeln!(text, "\n{}: {}", it.severity.words(), it.about);
        for (word, what) in [
            ("asked", &it.asked),
            ("in force", &it.in_force),
            ("remedy", &it.remedy),
        ] {
            if !what.is_empty() {
                let line = format!("  {word:<10}{what}");
                text += &(folded(&line, width, INDENT) + "\n");
            }
        }
    }
    let counts = Severity::ALL.map(|kind| {
        let count = findings.iter().filter(|it| it.severity == kind).count();
        format!("{count} {}", kind.words())
    });
    let _ = writeln!(text, "\n{}", counts.join(", "));
    text
}

fn head(machine: &Machine, width: usize) -> String {
    let cpus = |list: &Option<Vec<u32>>| list.as_deref().map_or("not known".to_owned(), listed);
    let hz = machine.hz.as_ref();
    let hz = hz.map_or("not known".to_owned(), |(hz, from)| {
        format!("{hz} ({from})")
    });
    let about = format!(
        "Linux {}; CPUs on line {}, possible {}; ticks a second {hz}; configuration: {}",
        machine.release,
        cpus(&machine.online),
        cpus(&machine.possible),
        machine.config_file(),
    );
    let mut text = folded(&about, width, 2) + "\n\n";
    let Some(tasks) = &machine.tasks else {
        return text + "RCU's threads are not to be seen.\n";
    };
    let names = tasks.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "{:<names$} {:>7}  {:<10} {:<12} serves",
        "RCU's thread", "pid", "may run on", "policy"
    );
    for it in tasks {
        let allowed = cpus(&it.allowed);
        let policy = it.policy.as_deref().unwrap_or("not known");
        let serves = it.serves(tasks);
        let line = format!(
            "{:<names$} {:>7}  {allowed:<10} {policy:<12} {serves}",
            it.name, it.pid
        );
        text += &(folded(&line, width, INDENT) + "\n");
    }
    text
}
