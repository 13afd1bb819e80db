//! The results of an analysis: tables of figures, and notes on their reliability.
//!
//! All analyses have this form, so one writer makes the text and one the JSON. A figure that is not known is
//! absent. Figures that need a clock with a unit are removed here, in one place, when the trace has none.

use super::spread::Spread;
use serde::Serialize;
use std::fmt::Display;

/// Everything that one analysis found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// What was read, and what of it is missing or doubtful.
    pub about: super::About,
    /// The tables, the most important first.
    pub tables: Vec<Table>,
    /// What the reader of the tables must know: what was given up, what was assumed.
    pub notes: Vec<String>,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// What it shows, in words.
    pub title: String,
    /// What stands before the labels of a row when it is named alone; empty for the main table.
    pub prefix: &'static str,
    /// Heads of the columns with words.
    pub labels: Vec<&'static str>,
    /// Columns with figures.
    pub columns: Vec<Column>,
    /// The rows, in the order in which they are to be shown.
    pub rows: Vec<Line>,
}

/// A column of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its head in a text.
    pub head: &'static str,
    /// Its name in JSON, which ends in the unit.
    pub metric: &'static str,
    /// Its unit; `count` for a number of things.
    pub unit: &'static str,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Its words, one for each label.
    pub labels: Vec<String>,
    /// Its figures, one for each column; nothing where it is not known.
    pub figures: Vec<Option<f64>>,
}

/// A column's head, metric and unit, and the figure of a row.
pub(crate) type Figure = (&'static str, &'static str, &'static str, Option<f64>);

impl Table {
    /// A table without rows. Its first row says what its columns are.
    pub(crate) fn new(title: &str, prefix: &'static str, labels: &[&'static str]) -> Self {
        Table {
            title: title.to_owned(),
            prefix,
            labels: labels.to_vec(),
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// A row whose figures say what their columns are, which is the same in all rows.
    pub(crate) fn add(&mut self, labels: &[&str], figures: &[Figure]) {
        if self.columns.is_empty() {
            let columns = figures.iter();
            let columns = columns.map(|&(head, metric, unit, _)| Column { head, metric, unit });
            self.columns = columns.collect();
        }
        debug_assert_eq!(
            (labels.len(), figures.len()),
            (self.labels.len(), self.columns.len())
        );
        self.rows.push(Line {
            labels: labels.iter().map(|l| (*l).to_owned()).collect(),
            figures: figures.iter().map(|it| it.3).collect(),
        });
    }

    /// The name of a row by itself: unique in all tables of an analysis.
    ///
    /// ```
    /// use quiescent_trace::{Analysis, Filter, Kind, Reader};
    ///
    /// let text = "\
    ///   a-1 [000] d..2. 1.0: sched_wakeup: comm=rcuog/0 pid=9 prio=120 target_cpu=000
    ///   a-1 [000] d..2. 1.5: sched_wakeup: comm=rcuog/0 pid=9 prio=120 target_cpu=000
    /// ";
    /// let mut reader = Reader::new("example", text.as_bytes());
    /// let mut analysis = Analysis::new(Kind::Wakeups, Filter::default());
    /// while let Some(record) = reader.next_record()? {
    ///     analysis.feed(&record);
    /// }
    /// let findings = analysis.finish(reader.summary())?;
    /// let threads = &findings.tables[0];
    /// assert_eq!(threads.case(&threads.rows[0]), "rcuog/0");
    /// assert_eq!(threads.figure("rcuog/0", "interval_us_avg"), Some(500_000.0));
    /// # Ok::<(), quiescent_trace::Error>(())
    /// ```
    pub fn case(&self, row: &Line) -> String {
        format!("{}{}", self.prefix, row.labels.join(" "))
            .trim_end()
            .to_owned()
    }

    /// The figure of a row by its case and metric.
    pub fn figure(&self, case: &str, metric: &str) -> Option<f64> {
        let column = self.columns.iter().position(|c| c.metric == metric)?;
        let row = self.rows.iter().find(|row| self.case(row) == case)?;
        row.figures.get(column).copied().flatten()
    }

    /// Whether it shows nothing: no row has a figure other than zero.
    pub fn is_empty(&self) -> bool {
        let mut figures = self.rows.iter().flat_map(|row| &row.figures);
        figures.all(|figure| figure.is_none_or(|it| it == 0.0))
    }

    /// Sorts rows: by this column, the largest first, then by words.
    pub(crate) fn sort_by(&mut self, column: usize) {
        let key = |line: &Line| line.figures.get(column).copied().flatten().unwrap_or(-1.0);
        self.rows.sort_by(|a, b| {
            key(b)
                .total_cmp(&key(a))
                .then_with(|| a.labels.cmp(&b.labels))
        });
    }
}

impl Findings {
    /// Drops the figures that need a unit of time, and says so.
    pub(crate) fn without_times(&mut self) {
        for table in &mut self.tables {
            for (place, column) in table.columns.iter().enumerate() {
                if column.unit != "count" {
                    table
                        .rows
                        .iter_mut()
                        .for_each(|row| row.figures[place] = None);
                }
            }
        }
    }

    /// A note about what a [`Spread`] left out, if it did.
    pub(crate) fn about_spreads<'a>(
        &mut self,
        what: &str,
        spreads: impl Iterator<Item = &'a Spread>,
    ) {
        let (mut coarse, mut given_up) = (0, 0);
        for spread in spreads {
            coarse += u64::from(spread.is_coarse());
            given_up += u64::from(spread.is_given_up());
        }
        let most = super::spread::DISTINCT_MOST;
        if coarse > 0 {
            self.notes.push(format!(
                "{what}: percentiles of {coarse} rows with more than {most} different values are up to 1/128 \
                 too low"
            ));
        }
        let most = super::spread::VALUES_MOST;
        if given_up > 0 {
            self.notes.push(format!(
                "{what}: percentiles of {given_up} rows were given up: all rows together had more than \
                 {most} different values"
            ));
        }
    }

    /// Adds the tables that have a row.
    pub(crate) fn show<const N: usize>(&mut self, tables: [Table; N]) {
        let shown = tables.into_iter().filter(|it| !it.rows.is_empty());
        self.tables.extend(shown);
    }

    /// A note about so many of something, if there are any.
    pub(crate) fn say(&mut self, n: u64, what: impl Display) {
        if n > 0 {
            self.notes.push(format!("{n} {what}"));
        }
    }

    /// A note about entries that were given up, if any were.
    pub(crate) fn about_evicted(&mut self, what: &str, evicted: u64) {
        let most = super::bounded::WAITING_MOST;
        let why = format_args!("{what} were given up: more than {most} waited at once");
        self.say(evicted, why);
    }

    /// A note about CPUs that have no row, if there were any.
    pub(crate) fn about_cpus(&mut self, refused: u64) {
        let what = "CPUs with numbers above 8191, which no kernel has, were left out";
        self.notes.extend((refused > 0).then(|| what.to_owned()));
    }

    /// A note about names that were put together, if any were.
    pub(crate) fn about_names(&mut self, refused: u64) {
        let (most, row) = (super::bounded::NAMES_MOST, super::bounded::OTHERS);
        let why = "events had a name beyond the first";
        self.say(
            refused,
            format_args!("{why} {most}: they are in the row `{row}`"),
        );
    }
}

/// A count as a figure.
pub(crate) fn count(n: u64) -> Option<f64> {
    Some(n as f64)
}

/// Nanoseconds as microseconds.
pub(crate) fn us(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / 1e3)
}

/// Nanoseconds as milliseconds.
pub(crate) fn ms(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / 1e6)
}

#[cfg(test)]
mod tests;
