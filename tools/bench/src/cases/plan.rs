//! A measurement as a table: its options, and what each process is asked. `reports.toml` has its words and
//! the tables of its text.
//!
//! The command line, the report and the text are made of it, the same for all; its targets are those of
//! [`crate::targets`] with its name.

use super::setting::{Kind, Setting};
use crate::measure::once::{self, Answer, Ask};
use crate::measure::order;
use crate::subjects;
use crate::targets::{self, fits};
use quiescent_report::rows::{Figure, Samples, samples};
use quiescent_report::text::Table;
use quiescent_report::text::cases::{self, Column};
use quiescent_report::{Control, Error, OURS, Report, Row, verdict};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

/// A measurement.
#[derive(Debug)]
pub struct Bench {
    /// `bench NAME`.
    pub name: &'static str,
    /// Its options.
    pub settings: &'static [Setting],
    /// What is wrong with options that are each in range.
    pub check: fn(&Given) -> Result<(), String>,
    /// How it is measured.
    pub body: Body,
    /// How much [`Cell::load`] there may be at the same time.
    pub capacity: fn(&Given) -> u64,
    /// Figures that are made of those of the same round.
    pub derived: fn(&[Heard]) -> Vec<(&'static str, Figure)>,
    /// What is said about the run beside its options.
    pub describe: fn(&Given, &mut Report),
    /// Whether our other kinds of readers (`quiescent-…`) have rows with their ratio to `quiescent`.
    pub ratios: bool,
    /// What is said below them.
    pub remarks: fn(&Report) -> String,
}

impl Bench {
    /// What most have.
    pub(crate) const USUAL: Bench = Bench {
        name: "",
        settings: &[],
        check: |_| Ok(()),
        body: Body::Here(|_, _| Ok(Vec::new())),
        capacity: |_| 1,
        derived: |_| Vec::new(),
        describe: |_, _| (),
        ratios: false,
        remarks: |_| String::new(),
    };
}

/// How something is measured.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// By processes that are asked: the questions of a round; the time that a slow library takes for one on a
    /// busy machine, several times over; what measures, in the process that was asked.
    Asked(fn(&Given) -> Vec<Cell>, fn(&Ask) -> Duration, Answer),
    /// By threads of this process.
    Here(fn(&Given, Control<'_>) -> Result<Vec<Row>, Error>),
}

/// What a process of this subject said.
pub type Heard = (&'static str, Vec<Figure>);

/// A question to a process.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Who it is about.
    pub subject: &'static str,
    /// What.
    pub ask: Ask,
    /// How much of the machine it takes: what is timed finely, or uses a whole CPU, is alone.
    pub load: u64,
    /// Asked once, after all rounds.
    pub once: bool,
}

impl Cell {
    /// A process that is alone on the machine, in every round, and is asked with all settings.
    pub fn of(given: &Given, subject: &'static str, case: impl Into<String>) -> Cell {
        let ask = Ask {
            bench: given.bench.name.into(),
            subject: subject.into(),
            case: case.into(),
            numbers: given.values.clone(),
        };
        Cell {
            subject,
            ask,
            load: 1,
            once: false,
        }
    }

    /// The same with this number.
    pub fn with(self, name: &str, number: u64) -> Cell {
        self.with_all(name, vec![number])
    }

    /// The same with these numbers.
    pub fn with_all(mut self, name: &str, numbers: Vec<u64>) -> Cell {
        self.ask.numbers.insert(name.into(), numbers);
        self
    }

    /// The same, taking so much of the machine.
    pub fn of_load(self, load: u64) -> Cell {
        Cell { load, ..self }
    }
}

/// What `reports.toml` says of a measurement. The head of that file says what each key means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    about: String,
    options: BTreeMap<String, String>,
    method: String,
    title: String,
    tables: Vec<Shown>,
}

/// A table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    title: String,
    cases: Vec<String>,
    metric: Option<String>,
    scale: Option<f64>,
    #[serde(default)]
    columns: Vec<(String, String)>,
}

static WORDS: LazyLock<BTreeMap<String, Words>> =
    LazyLock::new(|| toml::from_str(include_str!("reports.toml")).expect("a test reads it"));

impl Shown {
    fn table(&'static self, report: &Report) -> Table {
        let wanted = |case: &str| self.cases.iter().any(|pattern| fits(pattern, case));
        match &self.metric {
            Some(metric) => cases::of_cases(report, metric, self.scale.unwrap_or(1.0), wanted),
            None => {
                let columns = self
                    .columns
                    .iter()
                    .map(|(head, metric)| Column(head, metric));
                cases::of_metrics(report, wanted, &columns.collect::<Vec<_>>())
            }
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Given {
    bench: &'static Bench,
    /// The program that can [`crate::cases::serve`]: this program itself.
    pub program: PathBuf,
    /// Where the rotation of subjects starts.
    pub seed: u64,
    /// Only these subjects, when not empty.
    pub only: Vec<String>,
    /// Only these cases of `bench retire`, when not empty.
    pub cases: Vec<String>,
    values: BTreeMap<String, Vec<u64>>,
}

impl Given {
    /// The value of a setting.
    pub fn of(&self, name: &str) -> u64 {
        self.all(name)[0]
    }

    /// All values of a setting that has several.
    pub fn all(&self, name: &str) -> &[u64] {
        let values = self.values.get(name);
        values.unwrap_or_else(|| panic!("bench {}: no setting {name}", self.bench.name))
    }

    /// Whether a switch is set; one that there is not is not.
    pub fn is(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|it| it[0] != 0)
    }

    /// The same with this value.
    pub fn with(self, name: &str, value: u64) -> Self {
        self.with_all(name, vec![value])
    }

    /// The same with these values.
    pub fn with_all(mut self, name: &str, values: Vec<u64>) -> Self {
        self.all(name);
        self.values.insert(name.into(), values);
        self
    }

    fn check(&self) -> Result<(), Error> {
        for it in self.bench.settings {
            let (values, (least, most)) = (self.all(it.name), it.range);
            let wrong = values.iter().find(|value| !(least..=most).contains(value));
            if values.is_empty() || wrong.is_some() {
                let value = wrong.map_or("nothing".into(), u64::to_string);
                let remedy = it.remedy();
                return Err(Error::Usage(format!("{}: {value}: {remedy}", it.name)));
            }
        }
        (self.bench.check)(self).map_err(Error::Usage)
    }
}

impl Bench {
    /// The usual measurement, by `program`.
    pub fn usual(&'static self, program: PathBuf) -> Given {
        Given {
            bench: self,
            program,
            seed: 1,
            only: Vec::new(),
            cases: Vec::new(),
            values: self
                .settings
                .iter()
                .map(|it| (it.name.into(), it.usual()))
                .collect(),
        }
    }

    fn words(&self) -> &'static Words {
        &WORDS[self.name]
    }

    /// What it measures, as the command line says it.
    pub fn about(&self) -> &'static str {
        &self.words().about
    }

    /// What the command line says of an option.
    pub fn help(&self, setting: &Setting) -> &'static str {
        &self.words().options[setting.name]
    }

    /// `bench NAME`.
    pub fn command(&self) -> String {
        format!("bench {}", self.name)
    }

    /// Measures and reports, with the targets. When stopped, the report has what was measured until then.
    ///
    /// # Errors
    /// [`Error::Usage`] for options out of range; [`Error::Failed`] when a measuring thread or process cannot
    /// be had, dies or hangs.
    pub fn run(&self, given: &Given, control: Control<'_>) -> Result<Report, Error> {
        let mut report = self.measure(given, control)?;
        let targets = targets::of(&report, Some(self.name));
        report.rows.extend(verdict::rows(&targets));
        report.option("targets", verdict::json(&targets));
        Ok(report)
    }

    /// The same without the targets.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn measure(&self, given: &Given, control: Control<'_>) -> Result<Report, Error> {
        given.check()?;
        let rows = match self.body {
            Body::Asked(cells, patience, _) => self.ask(cells(given), patience, given, control)?,
            Body::Here(measure) => measure(given, control)?,
        };
        let mut report = Report::new(&self.command(), given.seed);
        for setting in self.settings {
            report.option(setting.name, setting.reported(given.all(setting.name)));
        }
        report.option("method", &*self.words().method);
        subjects::note(&mut report, given.is("compare"));
        (self.describe)(given, &mut report);
        report.rows = rows;
        if self.ratios {
            let ratios = ratios(&report);
            report.rows.extend(ratios);
        }
        Ok(report)
    }

    fn ask(
        &self,
        mut cells: Vec<Cell>,
        patience: fn(&Ask) -> Duration,
        given: &Given,
        control: Control<'_>,
    ) -> Result<Vec<Row>, Error> {
        cells
            .retain(|it| given.only.is_empty() || given.only.iter().any(|name| name == it.subject));
        let rounds = given.values.get("rounds").map_or(1, |it| it[0]);
        let once = cells.iter().filter(|it| it.once).count() as u64;
        let all = rounds * (cells.len() as u64 - once) + once;
        control.progress.begin(&self.command(), all);
        let mut samples = Samples::default();
        let mut named = vec![Vec::new(); cells.len()];
        for round in 0..=rounds {
            let places = order::round(cells.len(), round, given.seed);
            let places: Vec<usize> = places
                .filter(|it| cells[*it].once == (round == rounds))
                .collect();
            let mut said: Vec<Heard> = Vec::new();
            for wave in waves(&places, &cells, (self.capacity)(given)) {
                let asks: Vec<&Ask> = wave.iter().map(|place| &cells[*place].ask).collect();
                once::together(
                    &given.program,
                    &asks,
                    patience,
                    control,
                    |asked, figures: Vec<Figure>| {
                        let cases = figures.iter().map(|it| it.case.clone());
                        named[wave[asked]].extend(cases.filter(|it| !it.contains(", thread ")));
                        said.push((cells[wave[asked]].subject, figures));
                    },
                )?;
            }
            for (subject, figure) in (self.derived)(&said) {
                samples.add(subject, vec![figure]);
            }
            for (subject, figures) in said {
                samples.add(subject, figures);
            }
        }
        control.progress.end();
        let names = samples::distinct(cells.iter().map(|it| it.subject.to_owned()));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(samples.rows(&names, &samples::distinct(named.into_iter().flatten())))
    }

    /// The tables of a report, without the targets.
    pub fn figures(&self, report: &Report) -> String {
        let words = self.words();
        let mut text = format!("{}\n", self.filled(&words.title, report));
        for shown in &words.tables {
            let title = self.filled(&shown.title, report);
            text += &shown.table(report).titled(&title);
        }
        text + &(self.remarks)(report)
    }

    /// The report as text.
    pub fn text(&self, report: &Report) -> String {
        let targets = targets::of(report, Some(self.name));
        self.figures(report) + &verdict::section(&targets)
    }

    /// With the values of options in the place of their names in braces.
    fn filled(&self, text: &str, report: &Report) -> String {
        let mut text = text.to_owned();
        // A report of several measurements has the options of each under its name.
        let own = report
            .options
            .get(&self.command())
            .and_then(Value::as_object);
        for setting in self.settings {
            let braces = format!("{{{}}}", setting.name);
            let value = own.and_then(|own| own.get(setting.name));
            let value = value
                .or(report.options.get(setting.name))
                .and_then(Value::as_u64);
            let value = value.map_or("?".into(), |value| match setting.kind {
                Kind::Seconds => (value as f64 / 1e3).to_string(),
                _ => value.to_string(),
            });
            text = text.replace(&braces, &value);
        }
        text
    }
}

/// Splits cells into waves, in order: each holds at least one, and no more load than `capacity` unless it is
/// only one. Processes that sleep nearly always do not disturb each other, and waiting for them one after
/// another would take an hour.
fn waves(places: &[usize], cells: &[Cell], capacity: u64) -> Vec<Vec<usize>> {
    let mut waves: Vec<(u64, Vec<usize>)> = Vec::new();
    for &place in places {
        let more = cells[place].load;
        match waves.last_mut() {
            Some((load, wave)) if load.saturating_add(more) <= capacity => {
                *load += more;
                wave.push(place);
            }
            _ => waves.push((more, vec![place])),
        }
    }
    waves.into_iter().map(|(_, wave)| wave).collect()
}

/// Our other kinds of readers over those of the process, in each case that both have.
fn ratios(report: &Report) -> Vec<Row> {
    let ratio = |row: &Row| {
        let ours = report.find(OURS, &row.case, &row.metric)?;
        let metric = format!("{}_ratio", row.metric);
        // Where it is 0, noise was larger.
        (ours.median > 0.0).then(|| {
            Row::single(
                &row.subject,
                &row.case,
                &metric,
                "times",
                row.median / ours.median,
            )
        })?
    };
    let is_one = |row: &&Row| {
        let metrics = ["cpu_ns", "latency_us", "instructions"];
        row.subject.starts_with("quiescent-") && metrics.contains(&row.metric.as_str())
    };
    report
        .rows
        .iter()
        .filter(is_one)
        .filter_map(ratio)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture;

    #[test]
    fn waves_are_filled_in_order() {
        let loads = |loads: &[u64]| {
            let given = crate::cases::retire::RETIRE.usual("true".into());
            let cell = |load: &u64| Cell::of(&given, "ck", "push").of_load(*load);
            let cells: Vec<Cell> = loads.iter().map(cell).collect();
            let places: Vec<usize> = (0..cells.len()).collect();
            let waves = waves(&places, &cells, 10).into_iter();
            let load = |wave: Vec<usize>| wave.into_iter().map(|it| cells[it].load).collect();
            waves.map(load).collect::<Vec<Vec<u64>>>()
        };
        assert_eq!(loads(&[0, 4, 5, 1, 9]), [vec![0, 4, 5, 1], vec![9]]);
        assert_eq!(loads(&[99, 99]), [[99], [99]]);
        assert!(loads(&[]).is_empty());
    }

    #[test]
    fn every_value_out_of_range_is_refused_before_anything_is_measured() {
        for bench in crate::cases::all() {
            for setting in bench.settings {
                let usual = || bench.usual("/nowhere/x".into());
                let above = setting.range.1.saturating_add(1);
                let mut wrong = vec![vec![], vec![above]];
                wrong.extend((setting.range.0 > 0).then(|| vec![0]));
                for values in wrong.into_iter().filter(|it| *it != [u64::MAX]) {
                    let error = bench.run(&usual().with_all(setting.name, values), Control::none());
                    let error = error.unwrap_err();
                    assert!(matches!(error, Error::Usage(_)), "{error}");
                    assert!(error.to_string().contains("give"), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_stopped_run_reports_nothing_and_a_silent_process_is_an_error() {
        for bench in crate::cases::all() {
            let given = bench.usual("true".into());
            let report = bench.run(&given, Control::cancelled()).unwrap();
            report.check().unwrap();
            assert!(report.rows.is_empty(), "{}", bench.name);
            if matches!(bench.body, Body::Asked(..)) {
                let error = bench.run(&given, Control::none()).unwrap_err();
                assert!(
                    error.to_string().contains("measuring process for"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn ratios_are_of_the_same_case_and_metric() {
        let report = fixture::report(&[
            (OURS, "empty", "cpu_ns", 2.0),
            ("quiescent-srcu", "empty", "cpu_ns", 5.0),
            ("quiescent-srcu", "ended elsewhere", "cpu_ns", 5.0),
            (OURS, "nested", "cpu_ns", 0.0),
            ("quiescent-srcu", "nested", "cpu_ns", 1.0),
            ("ck", "empty", "cpu_ns", 9.0),
        ]);
        let rows = ratios(&report);
        let found = rows.iter().map(|it| (&*it.case, &*it.metric, it.median));
        assert_eq!(found.collect::<Vec<_>>(), [("empty", "cpu_ns_ratio", 2.5)]);
    }

    #[test]
    fn words_are_of_measurements_and_each_table_has_columns() {
        let all = crate::cases::all();
        for (name, words) in &*WORDS {
            let bench = all.iter().find(|it| it.name == name);
            assert!(bench.is_some() || cfg!(not(target_os = "linux")), "{name}");
            let settings = bench.into_iter().flat_map(|it| it.settings);
            let mut named: Vec<&str> = settings
                .filter(|it| !it.option.is_empty())
                .map(|it| it.name)
                .collect();
            named.sort_unstable();
            assert!(named.is_empty() || words.options.keys().eq(named), "{name}");
            for it in &words.tables {
                assert!(it.metric.is_some() == it.columns.is_empty(), "{it:?}");
                assert!(it.metric.is_some() || it.scale.is_none(), "{it:?}");
            }
        }
    }

    #[test]
    fn tables_of_a_report_are_of_its_own_cases() {
        let value = |case, metric| fixture::report(&[(OURS, case, metric, 7.5)]);
        for bench in crate::cases::all() {
            let none = bench.text(&value("nothing", "nothing"));
            assert!(!none.contains("7.5"), "{none}");
            let own = &bench.words().tables[0];
            if let Some(metric) = own.metric.as_ref()
                && own.scale.is_none()
                && own.cases.iter().any(|it| fits(it, "empty"))
            {
                let text = bench.figures(&value("empty", metric));
                assert!(text.contains("7.50"), "{text}");
            }
        }
    }
}
