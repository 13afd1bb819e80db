//! `merge`: the shards of one run, joined to the report that the run on one machine would have had.
//!
//! Rows of a sweep and of many recordings are those of the shards, in the order of the batch. Counts of
//! `torture --sim` are added up. Everything else in the reports has to be the same: otherwise the shards are
//! of different runs, and nothing is printed.

#[cfg(target_os = "linux")]
use super::linux::torture::machines;
use super::shard::{COUNTED, Note, SHARD};
use super::sim::{saved_rows, screen};
use super::whatif::FILES;
use crate::arguments::shard::{Merge, Shard};
use crate::show::output::{self, DONE};
use crate::show::paper::Paper;
use quiescent_report::command::read_text_of;
use quiescent_report::{Error, Report};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::mem::take;
use std::path::Path;

/// The most bytes of all shards together. A thousand variants have a tenth of it.
const MOST: u64 = 512 << 20;

/// A shard's file, its report without the note, and the note.
pub struct Part {
    pub name: String,
    pub report: Report,
    pub note: Note,
}

/// Runs the command; returns the exit code.
pub fn run(options: &Merge) -> Result<u8, Error> {
    let inputs: Vec<&Path> = options.files.iter().map(|it| it.as_path()).collect();
    let paper = Paper::of(&options.page, options.json, &inputs)?;
    let mut left = MOST;
    let parts = inputs.iter().map(|it| Part::read(it, &mut left));
    let mut parts = parts.collect::<Result<Vec<Part>, Error>>()?;
    check(&parts)?;
    parts.sort_by_key(|it| it.note.shard.number);
    let (report, text, code) = match parts[0].report.command.as_str() {
        #[cfg(target_os = "linux")]
        COUNTED => machines::merge(parts)?,
        #[cfg(not(target_os = "linux"))]
        COUNTED => {
            let why = format!("shards of {COUNTED} are merged on Linux alone; merge them there");
            return Err(Error::Usage(why));
        }
        _ => in_turn(parts),
    };
    paper.put(&report, &text)?;
    Ok(code)
}

impl Part {
    /// Reads a shard of at most so many bytes, of which the next one has those that are left.
    fn read(path: &Path, left: &mut u64) -> Result<Part, Error> {
        let name = path.display().to_string();
        let wrong = |why: &dyn Display| {
            let remedy = "give what `--shard K/N --json` has printed";
            Error::Usage(format!("{name}: {why}; {remedy}"))
        };
        let text = read_text_of(path, *left).map_err(|why| wrong(&why))?;
        *left -= text.len() as u64;
        let mut report = Report::from_json(&text).map_err(|why| wrong(&why))?;
        let note = report.options.remove(SHARD);
        let note = note.ok_or_else(|| wrong(&"this is a report, and no shard of one"))?;
        let note: Note = serde_json::from_value(note).map_err(|why| wrong(&why))?;
        if report.options.get("stopped") != Some(&false.into()) {
            let Shard { number, of } = note.shard;
            let why = format!("{name}: shard {number}/{of} was stopped; run it again");
            return Err(Error::Usage(why));
        }
        match note.is_of(&report) {
            true => Ok(Part { name, report, note }),
            false => Err(wrong(&"its shard and its rows do not belong together")),
        }
    }

    /// What all shards of a run have in common.
    fn facts(&self) -> BTreeMap<&str, Value> {
        let options = self.report.options.iter();
        let options = options.filter(|it| !OWN.split(' ').any(|own| own == it.0));
        let mut facts: BTreeMap<_, _> = options.map(|it| (it.0.as_str(), it.1.clone())).collect();
        facts.insert("the command", self.report.command.as_str().into());
        facts.insert("the seed", self.report.seed.into());
        facts.insert("the number of shards", self.note.shard.of.into());
        facts.insert("the number of pieces", self.note.all.into());
        facts
    }
}

/// Options in which the shards of one run differ.
const OWN: &str = "failing_seeds files finding machines stopped trace_points_never_reached";

/// Are these all shards of one run, each once?
fn check(parts: &[Part]) -> Result<(), Error> {
    let wrong = |why: String| Err(Error::Usage(why));
    let (first, facts, of) = (&parts[0].name, parts[0].facts(), parts[0].note.shard.of);
    for part in parts {
        let (name, own, number) = (&part.name, part.facts(), part.note.shard.number);
        let mut keys = facts.keys().chain(own.keys());
        if let Some(key) = keys.find(|key| facts.get(*key) != own.get(*key)) {
            let value = |it: &BTreeMap<&str, Value>| {
                let text = it.get(key).map_or("not there".to_owned(), Value::to_string);
                text.chars().take(60).collect::<String>()
            };
            let (one, two) = (value(&facts), value(&own));
            let why = format!(
                "{first} and {name} are shards of different runs: {key} is {one} and {two}"
            );
            return wrong(why + "; give those of one run");
        }
        let mut twins = parts.iter().filter(|it| it.note.shard.number == number);
        if let (Some(one), Some(two)) = (twins.next(), twins.next()) {
            let names = format!("{} and {}", one.name, two.name);
            return wrong(format!(
                "{names} are both shard {number}/{of}; give each once"
            ));
        }
    }
    let is_there = |number: &u64| parts.iter().any(|it| it.note.shard.number == *number);
    match (1..=of).find(|number| !is_there(number)) {
        Some(missing) => wrong(format!(
            "shard {missing}/{of} is missing; give all of the run"
        )),
        None => Ok(()),
    }
}

/// The rows of all pieces, in the order of the batch, and the screen of the run; the highest exit code.
fn in_turn(mut parts: Vec<Part>) -> (Report, String, u8) {
    let code = parts.iter().fold(DONE, |code, it| code.max(it.note.code));
    let all = parts[0].note.all;
    let taken = parts.iter_mut().map(|it| {
        let files = it.report.options.get_mut(FILES);
        let files = take(
            files
                .and_then(Value::as_array_mut)
                .unwrap_or(&mut Vec::new()),
        );
        let (pieces, rows) = (take(&mut it.note.pieces), take(&mut it.report.rows));
        (pieces.into_iter(), rows.into_iter(), files.into_iter())
    });
    let mut taken: Vec<_> = taken.collect();
    let of = taken.len() as u64;
    let mut report = parts.swap_remove(0).report;
    let (mut files, mut values, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for piece in 0..all {
        let (pieces, rows, names) = &mut taken[(piece % of) as usize];
        let own = pieces.next().expect("its pieces have been counted");
        report.rows.extend(rows.take(own.rows));
        values.push(own.values);
        said.push(own.said);
        files.extend(names.next());
    }
    if report.options.contains_key(FILES) {
        report.option(FILES, files);
    }
    if let [first, second] = &values[..] {
        let workload = report.options.get("workload").and_then(Value::as_str);
        let saved = saved_rows(workload.unwrap_or_default(), first, second);
        report.rows.extend(saved);
    }
    let text = match report.options.contains_key(FILES) {
        true => said.concat().concat(),
        false => screen(&report, &said, output::columns()),
    };
    (report, text, code)
}
