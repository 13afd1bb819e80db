//! The one JSON form of every command, and its parser.
//!
//! ```json
//! {"schema":"quiescent/1","command":"bench read","seed":1,"options":{},"host":{},
//!  "rows":[{"subject":"quiescent","case":"empty","metric":"cpu_ns","unit":"ns/pair",
//!           "n":5,"median":1.4,"min":1.3,"max":1.9}]}
//! ```
//!
//! `subject` is what was measured, `case` the variant, `metric` the quantity. A single value has `n: 1` and
//! `median = min = max`. A percentile is a metric of its own. [`Report::from_json`] refuses a report that
//! breaks these rules. `docs/tools.md`, "Rows", describes each field.

use super::{Host, stats};
use crate::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The value of `schema`.
pub const SCHEMA: &str = "quiescent/1";

/// The results of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The command in words, such as `bench read`.
    pub command: String,
    /// The seed that repeats the run: it selects the first subject of the rotation.
    pub seed: u64,
    /// Every option in force, given or not, and how the figures were made.
    pub options: BTreeMap<String, Value>,
    /// The machine.
    pub host: Host,
    /// The figures.
    pub rows: Vec<Row>,
}

/// One figure: the samples of one subject in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The subject: `quiescent`, a peer's name, `published`, `model`, `kernel`, `recorded`.
    pub subject: String,
    /// The variant.
    pub case: String,
    /// The quantity; ends in its unit where it has one.
    pub metric: String,
    /// The unit, as a text.
    pub unit: String,
    /// Number of samples.
    pub n: u64,
    /// Median of the samples.
    pub median: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
}

impl Row {
    /// A row over `samples`; `None` without samples.
    pub fn of(
        subject: &str,
        case: &str,
        metric: &str,
        unit: &str,
        samples: &[f64],
    ) -> Option<Self> {
        let summary = stats::summary(samples)?;
        Some(Row {
            subject: subject.into(),
            case: case.into(),
            metric: metric.into(),
            unit: unit.into(),
            n: summary.n,
            median: tidy(summary.median),
            min: tidy(summary.min),
            max: tidy(summary.max),
        })
    }

    /// A row of one value.
    pub fn single(subject: &str, case: &str, metric: &str, unit: &str, value: f64) -> Option<Self> {
        Row::of(subject, case, metric, unit, &[value])
    }

    fn check(&self) -> Result<(), String> {
        let texts = [&self.subject, &self.case, &self.metric, &self.unit];
        if texts.iter().any(|text| text.is_empty()) {
            return Err("`subject`, `case`, `metric` or `unit` is empty".into());
        }
        if self.n == 0 {
            return Err("`n` is 0: a row without samples must be left out".into());
        }
        let (min, median, max) = (self.min, self.median, self.max);
        match min <= median && median <= max && (self.n > 1 || min == max) {
            true => Ok(()),
            false => Err(format!(
                "min {min} <= median {median} <= max {max} does not hold, or they differ for `n` 1"
            )),
        }
    }
}

/// Rounds to six significant digits: more is noise, and makes reports hard to read and to compare.
fn tidy(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl Report {
    /// An empty report about this machine.
    pub fn new(command: &str, seed: u64) -> Self {
        Report {
            schema: SCHEMA.into(),
            command: command.into(),
            seed,
            options: BTreeMap::new(),
            host: Host::here(),
            rows: Vec::new(),
        }
    }

    /// Notes an option in force.
    pub fn option(&mut self, name: &str, value: impl Into<Value>) {
        self.options.insert(name.into(), value.into());
    }

    /// Whether it says that its run was stopped.
    pub fn is_stopped(&self) -> bool {
        self.options.get("stopped") == Some(&true.into())
    }

    /// The row of a subject, case and metric.
    pub fn find(&self, subject: &str, case: &str, metric: &str) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.subject == subject && row.case == case && row.metric == metric)
    }

    /// The median of a subject, case and metric.
    pub fn median(&self, subject: &str, case: &str, metric: &str) -> Option<f64> {
        self.find(subject, case, metric).map(|row| row.median)
    }

    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .expect("strings, numbers and maps with string keys always serialise")
    }

    /// The rows alone: an object of JSON a line.
    pub fn to_json_lines(&self) -> String {
        let line =
            |row| serde_json::to_string(row).expect("texts and numbers always serialise") + "\n";
        self.rows.iter().map(line).collect()
    }

    /// Parses and checks a report.
    ///
    /// # Errors
    /// [`Error::Failed`] when the text is no JSON, has another schema, or a row breaks the rules of the form;
    /// the message names the row.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let remedy = "expected the output of a `quiescent … --json` command";
        let report: Report =
            serde_json::from_str(text).map_err(|why| Error::failed("report", why, remedy))?;
        report.check()?;
        Ok(report)
    }

    /// Checks the rules of the form.
    ///
    /// # Errors
    /// [`Error::Failed`] names the first row that breaks one.
    pub fn check(&self) -> Result<(), Error> {
        if self.schema != SCHEMA {
            let why = format!("schema is `{}`", self.schema);
            return Err(Error::failed(
                "report",
                why,
                "this reader knows `quiescent/1`",
            ));
        }
        for (index, row) in self.rows.iter().enumerate() {
            row.check().map_err(|why| {
                let place = format!(
                    "report row {index} ({}, {}, {})",
                    row.subject, row.case, row.metric
                );
                Error::failed(place, why, "see docs/tools.md, \"Rows\"")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new("bench read", 7);
        report.option("threads", 2);
        report.rows.extend(Row::of(
            "ck",
            "empty",
            "cpu_ns",
            "ns/pair",
            &[3.0, 1.0, 2.0],
        ));
        report
    }

    #[test]
    fn there_and_back() {
        let report = report();
        assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    }

    #[test]
    fn a_line_for_each_row() {
        let mut report = report();
        report.rows.push(report.rows[0].clone());
        let lines = report.to_json_lines();
        let rows: Result<Vec<Row>, _> = lines.lines().map(serde_json::from_str).collect();
        assert_eq!(rows.unwrap(), report.rows);
    }

    #[test]
    fn the_top_level_is_the_designs() {
        let value: Value = serde_json::from_str(&report().to_json()).unwrap();
        let keys: Vec<&str> = value
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let mut expected = ["schema", "command", "seed", "options", "host", "rows"];
        let mut keys = keys;
        keys.sort_unstable();
        expected.sort_unstable();
        assert_eq!(keys, expected);
        for key in ["kernel", "cpus", "model"] {
            assert!(!value["host"][key].is_null(), "host.{key}");
        }
        let mut row: Vec<&String> = value["rows"][0].as_object().unwrap().keys().collect();
        row.sort_unstable();
        assert_eq!(
            row,
            [
                "case", "max", "median", "metric", "min", "n", "subject", "unit"
            ]
        );
    }

    #[test]
    fn broken_reports_are_refused_by_name() {
        let mut wrong = report();
        wrong.schema = "quiescent/9".into();
        assert!(
            Report::from_json(&wrong.to_json())
                .unwrap_err()
                .to_string()
                .contains("quiescent/9")
        );

        let mut wrong = report();
        wrong.rows[0].median = 99.0;
        let text = Report::from_json(&wrong.to_json()).unwrap_err().to_string();
        assert!(text.contains("ck, empty, cpu_ns"), "{text}");

        let mut wrong = report();
        wrong.rows[0].n = 0;
        assert!(Report::from_json(&wrong.to_json()).is_err());
        let mut wrong = report();
        wrong.rows[0].n = 1;
        assert!(Report::from_json(&wrong.to_json()).is_err());
        assert!(Report::from_json("{").is_err());
    }

    #[test]
    fn figures_are_tidied() {
        assert_eq!(tidy(1.23456789), 1.23457);
        assert_eq!(tidy(0.0), 0.0);
        assert_eq!(tidy(123456789.0), 123457000.0);
    }
}
