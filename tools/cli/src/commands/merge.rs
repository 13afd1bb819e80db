//! `merge`: the shards of one run, joined to the report that the run on one machine would have had.
//!
//! Rows of a sweep and of many recordings are those of the shards, in the order of the batch. Counts of
//! `torture --sim` are added up. Everything else in the reports has to be the same: otherwise the shards are
//! of different runs, and nothing is printed.

#[cfg(target_os = "linux")]
use super::linux::torture::machines;
use super::shard::{Note, Piece, SHARD};
use super::sim::saved_rows;
use super::whatif::FILES;
use crate::arguments::shard::Merge;
use crate::show::file::Permit;
use crate::show::output;
use crate::show::paper::Paper;
use quiescent_report::command::read_text_of;
use quiescent_report::text::Table;
use quiescent_report::text::number::short;
use quiescent_report::{Error, Report, Row};
use serde_json::Value;
use std::collections::BTreeMap;
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
    let permit = Permit::of(options.page.force.force, &inputs);
    let paper = Paper::settle(options.page.html.as_deref(), options.json, permit)?;
    let mut left = MOST;
    let parts = inputs.iter().map(|it| Part::read(it, &mut left));
    let mut parts = parts.collect::<Result<Vec<Part>, Error>>()?;
    check(&parts)?;
    parts.sort_by_key(|it| it.note.number);
    let code = parts
        .iter()
        .map(|it| it.note.code)
        .max()
        .unwrap_or_default();
    let (report, text) = match parts[0].report.command.as_str() {
        #[cfg(target_os = "linux")]
        machines::NAME => machines::merge(parts)?,
        _ => {
            let report = in_turn(parts);
            let text = table(&report);
            (report, text)
        }
    };
    paper.put(&report, &text, options.json, false)?;
    Ok(code)
}

impl Part {
    /// Reads a shard of at most so many bytes, of which the next one has those that are left.
    fn read(path: &Path, left: &mut u64) -> Result<Part, Error> {
        let name = path.display().to_string();
        let remedy = "give what `--shard K/N --json` has printed";
        let wrong = |why: String| Error::Usage(format!("{name}: {why}; {remedy}"));
        let text = read_text_of(path, *left).map_err(|why| wrong(why.to_string()))?;
        *left -= text.len() as u64;
        let report = Report::from_json(&text);
        let mut report = report.map_err(|why| Error::Usage(format!("{name}: {why}")))?;
        let note = report.options.remove(SHARD);
        let note = note.ok_or_else(|| wrong("this is a report, and no shard of one".into()))?;
        let note: Note = serde_json::from_value(note).map_err(|why| wrong(why.to_string()))?;
        let rows = note
            .pieces
            .iter()
            .try_fold(0_usize, |sum, it| sum.checked_add(it.rows));
        let pieces = note.pieces.iter().map(|it| it.number);
        let has_all = || {
            let own = (note.number - 1..note.all).step_by(note.of as usize);
            pieces.eq(own) && rows == Some(report.rows.len())
        };
        match (1..=note.of).contains(&note.number) && (note.counted != Value::Null || has_all()) {
            true => Ok(Part { name, report, note }),
            false => Err(wrong(
                "its shard and its rows do not belong together".into(),
            )),
        }
    }

    /// What all shards of a run have in common.
    fn facts(&self) -> BTreeMap<&str, Value> {
        let options = self.report.options.iter();
        let options = options.filter(|it| !OWN.contains(&it.0.as_str()));
        let mut facts: BTreeMap<_, _> = options.map(|it| (it.0.as_str(), it.1.clone())).collect();
        facts.insert("the command", self.report.command.as_str().into());
        facts.insert("the seed", self.report.seed.into());
        facts.insert("the number of shards", self.note.of.into());
        facts.insert("the number of pieces", self.note.all.into());
        facts
    }
}

/// Options in which the shards of one run differ.
const OWN: [&str; 6] = [
    "failing_seeds",
    "files",
    "finding",
    "machines",
    "stopped",
    "trace_points_never_reached",
];

/// Are these all shards of one run, each once?
fn check(parts: &[Part]) -> Result<(), Error> {
    let (first, facts) = (&parts[0], parts[0].facts());
    for part in parts {
        let (name, own) = (&part.name, part.facts());
        let mut keys = facts.keys().chain(own.keys());
        if let Some(key) = keys.find(|key| facts.get(*key) != own.get(*key)) {
            let value = |it: &BTreeMap<&str, Value>| {
                let text = it.get(key).map_or("not there".to_owned(), Value::to_string);
                text.chars().take(60).collect::<String>()
            };
            return Err(Error::Usage(format!(
                "{} and {name} are shards of different runs: {key} is {} and {}; give those of one run",
                first.name,
                value(&facts),
                value(&own)
            )));
        }
        let (number, of) = (part.note.number, part.note.of);
        if part.report.options.get("stopped") != Some(&false.into()) {
            let why =
                format!("{name}: shard {number}/{of} was stopped before its end; run it again");
            return Err(Error::Usage(why));
        }
        let mut twins = parts.iter().filter(|it| it.note.number == number);
        if let (Some(one), Some(two)) = (twins.next(), twins.next()) {
            let names = format!("{} and {}", one.name, two.name);
            let why = format!("{names} are both shard {number}/{of}; give each once");
            return Err(Error::Usage(why));
        }
    }
    let of = first.note.of;
    let is_there = |number: &u64| parts.iter().any(|it| it.note.number == *number);
    match (1..=of).find(|number| !is_there(number)) {
        Some(missing) => Err(Error::Usage(format!(
            "shard {missing}/{of} is missing: {} of {of} files are here; give all of the run",
            parts.len()
        ))),
        None => Ok(()),
    }
}

/// The rows of all pieces, in the order of the batch.
fn in_turn(parts: Vec<Part>) -> Report {
    let mut report = parts[0].report.clone();
    let mut pieces: Vec<(Piece, Vec<Row>, Value)> = Vec::new();
    for mut part in parts {
        let mut rows = part.report.rows.into_iter();
        let mut files = match part.report.options.remove(FILES) {
            Some(Value::Array(files)) => files.into_iter(),
            _ => Vec::new().into_iter(),
        };
        for piece in part.note.pieces {
            let own = rows.by_ref().take(piece.rows).collect();
            pieces.push((piece, own, files.next().unwrap_or_default()));
        }
    }
    pieces.sort_by_key(|it| it.0.number);
    let mut values = Vec::new();
    let mut files = Vec::new();
    report.rows.clear();
    for (piece, rows, file) in pieces {
        report.rows.extend(rows);
        values.push(piece.values);
        files.push(file);
    }
    if report.options.contains_key(FILES) {
        report.option(FILES, files);
    }
    if let [first, second] = &values[..] {
        let workload = report.options.get("workload").and_then(Value::as_str);
        let saved = saved_rows(workload.unwrap_or_default(), first, second);
        report.rows.extend(saved);
    }
    report
}

/// All rows, as they are.
fn table(report: &Report) -> String {
    let heads = [
        "subject", "case", "metric", "unit", "n", "median", "min", "max",
    ];
    let mut table = Table::new(&heads, 4);
    for it in &report.rows {
        let words = [&it.subject, &it.case, &it.metric, &it.unit].map(String::clone);
        let figures = [it.median, it.min, it.max].map(short);
        table.row(words.into_iter().chain([it.n.to_string()]).chain(figures));
    }
    table.within(output::columns())
}
