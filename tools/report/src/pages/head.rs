//! The head of every page: when and where the run was made, how to repeat it, and whether it was stopped.

use crate::html::layout::Fact;
use crate::{Occasion, Report};
use serde_json::Value;
use std::time::Duration;

/// The text about a run that was stopped.
pub fn alarm(occasion: &Occasion) -> Option<(String, String)> {
    let more = "the run was stopped. Figures that are missing here were not measured.";
    occasion.stopped.then(|| ("Incomplete".into(), more.into()))
}

/// Time, command and place; the machine and its kernel.
pub fn facts(report: &Report, occasion: &Occasion) -> Vec<Fact> {
    let began = humantime::format_rfc3339_seconds(occasion.began).to_string();
    let began = began.replace('T', " ").replace('Z', " UTC");
    let took = match occasion.elapsed {
        short if short < Duration::from_secs(10) => {
            Duration::from_millis(short.as_millis() as u64 / 100 * 100)
        }
        long => Duration::from_secs(long.as_secs()),
    };
    let took = humantime::format_duration(took);
    let mut facts = vec![
        Fact::text("Measured", format!("{began}, took {took}")),
        Fact::code("Again", occasion.again(report.seed)),
        Fact::text("Version", occasion.version.as_str()),
        Fact::text("Seed", report.seed.to_string()),
        Fact::text("Machine", report.host.line()),
    ];
    for (name, value) in &report.host.more {
        let said = match value {
            // These are in the machine's line.
            _ if name == "build" => continue,
            // Absent subjects have a section of their own, with the remedy.
            Value::Object(_) | Value::Array(_) => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        facts.push(Fact::text(name.as_str(), said));
    }
    facts
}
