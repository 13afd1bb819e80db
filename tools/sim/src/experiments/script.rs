//! Experiments that are files: runs of workloads, and figures that are computed of them.
//!
//! `docs/model.md`, *Experiments of your own*, says how to write one. Those of `data/experiments` are part of
//! the program. Everything that can be wrong in a file is found before its runs, but for figures that a run
//! does not have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::claims::{Bound, Shown};
use super::expression::{Expression, Reference, Sentence, Values};
use super::{Basis, Judged, Outcome, Part, Source, data, loads, states};
use crate::base::error::{Error, nearest};
use crate::input::options::MachineKind;
use crate::load::settings;
use crate::load::workload::{Plan, Workload};
use crate::record::stats::Stats;
use crate::show::report::{About, Figure, figures};
use crate::text::file::{BuiltIn, File, built_in, names};

/// The files that are part of the program.
pub(super) const BUILT_IN: BuiltIn = built_in! {
    "experiments":
    "accelerate" "tab-switch" "bridge" "cpu-overhead" "fast-no-hz" "boot-selinux" "ftrace-start-stop"
    "percpu-ref" "memory-pressure" "lazy-side-effects" "real-time" "nohz-full" "flood" "local-video"
    "lazy-power" "jiffies-power" "home-screen-swipe"
};

/// Runs of a variant, at most.
const MOST_SEEDS: u64 = 10_000;

/// An experiment's file.
#[derive(Debug)]
pub struct Script {
    /// Its name, which is the file's without its ending.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    file: File,
    contents: Contents,
    published: Value,
    plans: BTreeMap<String, Plan>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    about: String,
    /// Of runs that name none.
    workload: Option<String>,
    /// Runs of each variant.
    #[serde(default = "one")]
    seeds: Spanned<u64>,
    /// Figures of others, beside those of `data/published-figures.json`.
    #[serde(default)]
    published: serde_json::Map<String, Value>,
    /// Settings and parameters, by the name of the run.
    runs: BTreeMap<Spanned<String>, Spanned<String>>,
    figure: Vec<Spanned<Entry>>,
    #[serde(default)]
    notes: Vec<Spanned<Sentence>>,
    /// Runs whose idle states are shown: case and run.
    #[serde(default)]
    states: Vec<Spanned<Case>>,
}

fn one() -> Spanned<u64> {
    Spanned::new(0..0, 1)
}

/// A case in words, and the run that is `it` there.
type Case = (String, String);

/// Figures of one case, or of several.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    case: Option<String>,
    #[serde(default)]
    each: Vec<Spanned<Case>>,
    /// Name and unit.
    what: Option<(String, String)>,
    is: Option<Spanned<Expression>>,
    at_least: Option<Spanned<Expression>>,
    at_most: Option<Spanned<Expression>>,
    says: Option<String>,
    /// The real figure, and how far the model may be off, as a share of it.
    real: Option<Spanned<Expression>>,
    within: Option<Spanned<Expression>>,
    #[serde(default)]
    basis: Basis,
    #[serde(default)]
    source: Source,
    /// Name, unit and expression of figures that stand beside.
    #[serde(default)]
    rows: Vec<(String, String, Spanned<Expression>)>,
    note: Option<Spanned<Sentence>>,
}

impl Entry {
    /// All expressions, and where they stand.
    fn expressions(&self) -> impl Iterator<Item = (usize, &Expression)> {
        let own = [
            &self.is,
            &self.at_least,
            &self.at_most,
            &self.real,
            &self.within,
        ];
        let own = own
            .into_iter()
            .flatten()
            .chain(self.rows.iter().map(|it| &it.2));
        let own = own.map(|it| (it.span().start, it.get_ref()));
        own.chain(self.note.iter().flat_map(placed))
    }

    /// What does not go together.
    fn wrong(&self) -> Option<&'static str> {
        let bound = self.at_least.is_some() || self.at_most.is_some();
        match () {
            () if self.what.is_some() != self.is.is_some() => Some("`what` and `is` go together"),
            () if bound != self.says.is_some() => {
                Some("a claim has `says`, and `at_least` or `at_most` or both")
            }
            () if self.real.is_some() != self.within.is_some() => {
                Some("`real` and `within`, such as 0.15, go together")
            }
            () if self.is.is_none() && (bound || self.real.is_some()) => {
                Some("give `what = [\"NAME\", \"UNIT\"]` and `is`")
            }
            () if self.case.is_some() && !self.each.is_empty() => Some("give `case` or `each`"),
            () if bound && self.real.is_some() => {
                Some("give `says` or `real`: one verdict a figure")
            }
            () => None,
        }
    }
}

/// The expressions of a sentence, at its place.
fn placed(it: &Spanned<Sentence>) -> impl Iterator<Item = (usize, &Expression)> {
    let at = it.span().start;
    it.get_ref().expressions().map(move |it| (at, it))
}

/// A run's results.
struct Run {
    figures: Vec<Figure>,
    stats: Vec<Stats>,
    parameters: Vec<(String, String)>,
}

impl Run {
    fn of(plan: &Plan, seeds: u64, seed: u64) -> Run {
        let seeds = (0..seeds).map(|n| match seeds {
            1 => seed,
            _ => seed.wrapping_mul(1000).wrapping_add(n),
        });
        let (stats, shrunk): (Vec<_>, Vec<_>) = seeds.map(|seed| Run::one(plan, seed)).unzip();
        let mut figures = figures(&stats);
        let mut own = |metric, values| {
            figures.push(Figure {
                about: About::Run,
                metric,
                unit: "",
                values,
            });
        };
        let each = |of: fn(&Stats) -> f64| stats.iter().map(of).collect();
        own("seconds", each(Stats::seconds));
        own("rcu_ns", each(|it| it.totals.rcu_ns as f64));
        own("lock_waits", each(|it| it.totals.lock_waits as f64));
        own("lock_wait_ns", each(|it| it.totals.lock_wait_ns as f64));
        own("flushed_by_shrinker", shrunk);
        if plan.options.kind == MachineKind::Kernel {
            own("left", each(|it| it.left as f64));
            own("too_early", each(|it| it.early as f64));
        }
        Run {
            figures,
            stats,
            parameters: plan.parameters.clone(),
        }
    }

    /// A run, and how many callbacks the shrinker flushed.
    fn one(plan: &Plan, seed: u64) -> (Stats, f64) {
        let mut plan = plan.clone();
        plan.options.seed = seed;
        if plan.options.kind == MachineKind::Threads {
            let stats = plan.run(|| false).expect("no caller stops the plan");
            return (stats, 0.0);
        }
        let mut machine = plan.machine();
        plan.run_on(&mut machine, || false);
        let mut stats = machine.stats();
        (stats.left, stats.early) = (machine.owed(), machine.too_early());
        (stats, machine.counts()["shrunk"] as f64)
    }

    fn values(&self, metric: &str, about: &str) -> Values {
        match metric {
            "parameter" => {
                let found = self.parameters.iter().filter(|it| it.0 == about);
                found.filter_map(|it| it.1.parse().ok()).collect()
            }
            "woken" => {
                let each = self.stats.iter();
                each.map(|it| it.wakeups_of(about) as f64).collect()
            }
            _ => {
                let fits =
                    |it: &&Figure| it.metric == metric && is_about(&it.about.case(""), about);
                let fit = self.figures.iter().filter(fits);
                fit.flat_map(|it| it.values.iter().copied()).collect()
            }
        }
    }
}

/// Is a figure about that? `*` at the end stands for anything.
fn is_about(case: &str, about: &str) -> bool {
    let case = case.trim_start_matches(", ");
    case == about
        || about
            .strip_suffix('*')
            .is_some_and(|start| case.starts_with(start))
}

/// Published figures at the end of a path; of a list all, unless the path has a number.
fn published(it: &Value, path: &[&str]) -> Values {
    match (it, path) {
        (Value::Number(it), []) => it.as_f64().into_iter().collect(),
        (Value::Array(all), [first, rest @ ..]) if first.parse::<usize>().is_ok() => {
            let found = first.parse().ok().and_then(|at: usize| all.get(at));
            found.map_or(Values::new(), |it| published(it, rest))
        }
        (Value::Array(all), path) => all.iter().flat_map(|it| published(it, path)).collect(),
        (Value::Object(all), [first, rest @ ..]) => all
            .get(*first)
            .map_or(Values::new(), |it| published(it, rest)),
        _ => Values::new(),
    }
}

impl Script {
    /// Those of this name, or in the file of this path, or in the folder of this path.
    ///
    /// # Errors
    /// If there are none, or a file is wrong; with the line and the column.
    pub fn named(path: &Path) -> Result<Vec<Script>, Error> {
        let none = |why: String| Error::NotFound {
            what: "experiment",
            name: path.display().to_string(),
            why,
            known: names(BUILT_IN),
        };
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(|why| none(why.to_string()))?;
            files = entries.filter_map(|it| Some(it.ok()?.path())).collect();
            files.retain(|it| it.extension().is_some_and(|it| it == "toml"));
            files.sort();
            if files.is_empty() {
                return Err(none("no file there ends in .toml".into()));
            }
        }
        let read = |path: PathBuf| {
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            let file = File::find("experiments", &path, BUILT_IN).map_err(none)?;
            Script::of(&stem.to_string_lossy(), file)
        };
        files.into_iter().map(read).collect()
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is wrong; with the line and the column.
    pub fn read(name: &str, file: &str, text: String) -> Result<Script, Error> {
        let file = file.into();
        Script::of(name, File { name: file, text })
    }

    fn of(name: &str, file: File) -> Result<Script, Error> {
        let contents: Contents = file.read()?;
        let seeds = &contents.seeds;
        if !(1..=MOST_SEEDS).contains(seeds.get_ref()) {
            let why = format!("`seeds = {}`: give 1 to {MOST_SEEDS}", seeds.get_ref());
            return Err(file.wrong(seeds.span().start, why));
        }
        let plan = |(name, sets): (&Spanned<String>, &Spanned<String>)| {
            let plan = contents.plan(sets.get_ref());
            let wrong = |why: Error| file.wrong(sets.span().start, why.to_string());
            Ok((name.get_ref().clone(), plan.map_err(wrong)?))
        };
        let plans = contents.runs.iter().map(plan);
        let plans = plans.collect::<Result<_, Error>>()?;
        let published = data::all_published().experiments.remove(name);
        let mut published = published.unwrap_or_default();
        match &mut published {
            Value::Object(all) => all.extend(contents.published.clone()),
            other => *other = contents.published.clone().into(),
        }
        let it = Script {
            name: kept(name),
            about: kept(&contents.about),
            file,
            published,
            plans,
            contents,
        };
        it.check().map(|()| it)
    }

    /// Looks for runs and published figures that are not there.
    fn check(&self) -> Result<(), Error> {
        let no = |at: usize, why: &str| Err(self.wrong(at, why.into()));
        for it in &self.contents.states {
            self.known(it.span().start, &it.get_ref().1)?;
        }
        for it in &self.contents.notes {
            placed(it).try_for_each(|(at, it)| self.refers(at, it, false))?;
        }
        for entry in &self.contents.figure {
            let (at, it) = (entry.span().start, entry.get_ref());
            if let Some(why) = it.wrong() {
                return no(at, why);
            }
            for case in &it.each {
                self.known(case.span().start, &case.get_ref().1)?;
            }
            let each = !it.each.is_empty();
            it.expressions()
                .try_for_each(|(at, it)| self.refers(at, it, each))?;
        }
        Ok(())
    }

    /// Does a file's expression name what is there?
    fn refers(&self, at: usize, it: &Expression, each: bool) -> Result<(), Error> {
        for (it, may) in it.figures() {
            match &*it.run {
                "it" if each => {}
                "published" if may || !self.published(it).is_empty() => {}
                "published" => {
                    let why = format!("`published.{}`: no such figure is published", it.metric);
                    return Err(self.wrong(at, why + "; give it in [published]"));
                }
                run => self.known(at, run)?,
            }
        }
        Ok(())
    }

    fn known(&self, at: usize, run: &str) -> Result<(), Error> {
        if self.plans.contains_key(run) {
            return Ok(());
        }
        let near = nearest(run, self.plans.keys().map(String::as_str));
        let why = format!("`{run}` is no run of [runs]; did you mean `{near}`?");
        Err(self.wrong(at, why))
    }

    fn wrong(&self, at: usize, why: String) -> Error {
        self.file.wrong(at, why)
    }

    fn published(&self, it: &Reference) -> Values {
        let path: Vec<&str> = it.metric.split('.').collect();
        let about = (!it.about.is_empty()).then_some(&*it.about);
        published(&self.published, &[&path[..], about.as_slice()].concat())
    }

    /// Its outcome, with its name.
    pub(super) fn part(&self, seed: u64) -> Result<Part, Error> {
        Ok(Part {
            name: self.name,
            what: self.about,
            outcome: self.run(seed)?,
        })
    }

    /// Runs it.
    ///
    /// # Errors
    /// If a run does not have a figure that the file names.
    pub fn run(&self, seed: u64) -> Result<Outcome, Error> {
        let seeds = *self.contents.seeds.get_ref();
        let runs = self
            .plans
            .iter()
            .map(|(name, plan)| (&**name, Run::of(plan, seeds, seed)));
        let runs: BTreeMap<&str, Run> = runs.collect();
        let mut outcome = Outcome::default();
        for entry in &self.contents.figure {
            self.entry(entry.get_ref(), &runs, &mut outcome)?;
        }
        let of = |it: &Reference| self.values(&runs, "", it);
        for it in &self.contents.notes {
            placed(it).try_for_each(|(at, it)| self.has(at, it, &runs, ""))?;
            outcome.notes.push(it.get_ref().text(&of));
        }
        for it in &self.contents.states {
            let (case, run) = it.get_ref();
            let Some(found) = states(case.clone(), &runs[&**run].stats[0]) else {
                let why = format!("`{run}` has no idle states; set idle_table");
                return Err(self.wrong(it.span().start, why));
            };
            outcome.states.push(found);
        }
        self.workloads()
            .into_iter()
            .for_each(|it| loads::notes(it, &mut outcome));
        Ok(outcome)
    }

    /// The workloads, each once.
    fn workloads(&self) -> Vec<&str> {
        let own = self.contents.runs.values().map(|it| it.get_ref());
        let named = own.flat_map(|it| {
            it.split_whitespace()
                .filter_map(|it| it.strip_prefix("workload="))
        });
        let mut all: Vec<&str> = self
            .contents
            .workload
            .as_deref()
            .into_iter()
            .chain(named)
            .collect();
        all.dedup();
        all
    }

    /// Adds what an entry asks for.
    fn entry(
        &self,
        entry: &Entry,
        runs: &BTreeMap<&str, Run>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let name = || entry.case.clone().unwrap_or_else(|| self.name.into());
        let once = [(name(), String::new())];
        let each = entry.each.iter().map(|it| it.get_ref());
        let cases: Vec<&Case> = match entry.each.is_empty() {
            true => once.iter().collect(),
            false => each.collect(),
        };
        for (case, it) in cases {
            entry
                .expressions()
                .try_for_each(|(at, expression)| self.has(at, expression, runs, it))?;
            let of = |figure: &Reference| self.values(runs, it, figure);
            let value = |it: &Spanned<Expression>| it.get_ref().value(&of);
            if let (Some((name, unit)), Some(is)) = (&entry.what, &entry.is) {
                let (named, is) = ((kept(name), kept(unit)), value(is));
                let ends = [&entry.at_least, &entry.at_most].map(|it| it.as_ref().map(value));
                let bound = match ends {
                    [Some(least), Some(most)] => Some(Bound::Between(least, most)),
                    [Some(least), None] => Some(Bound::AtLeast(least)),
                    [None, most] => most.map(Bound::AtMost),
                };
                match (&entry.real, &entry.within, bound, &entry.says) {
                    (Some(real), Some(within), ..) => {
                        let by = Judged {
                            experiment: self.name,
                            source: entry.source,
                            allowed: value(within),
                            basis: entry.basis,
                        };
                        outcome.compare(by, &**case, named, [value(real), is]);
                    }
                    (.., Some(bound), Some(says)) => {
                        let says = kept(says);
                        outcome
                            .shown
                            .push(Shown::claimed(case, named, is, says, bound));
                    }
                    _ => outcome.shown.push(Shown::beside(case, named, is)),
                }
            }
            for (name, unit, is) in &entry.rows {
                let named = (kept(name), kept(unit));
                outcome.shown.push(Shown::beside(case, named, value(is)));
            }
            let note = entry.note.as_ref().map(|it| it.get_ref().text(&of));
            outcome.notes.extend(note.map(|it| format!("{case}: {it}")));
        }
        Ok(())
    }

    /// The values of a figure, where `it` is this run.
    fn values(&self, runs: &BTreeMap<&str, Run>, it: &str, figure: &Reference) -> Values {
        match &*figure.run {
            "published" => self.published(figure),
            "it" => runs[it].values(&figure.metric, &figure.about),
            run => runs[run].values(&figure.metric, &figure.about),
        }
    }

    /// Do the runs have its figures, where `it` is this run?
    fn has(
        &self,
        at: usize,
        expression: &Expression,
        runs: &BTreeMap<&str, Run>,
        it: &str,
    ) -> Result<(), Error> {
        for (figure, may) in expression.figures() {
            if may || !self.values(runs, it, figure).is_empty() {
                continue;
            }
            let Reference { run, metric, about } = figure;
            let run = if run == "it" { it } else { run };
            let known = runs[run].figures.iter().map(|it| it.metric);
            let near = match known.clone().any(|it| it == metric) {
                true => format!("none of `[{about}]`"),
                false => format!("did you mean `{}`?", nearest(metric, known)),
            };
            let why = format!(
                "`{run}.{metric}`: the run has no such figure; {near} (`?? 0` after it stands for none; \
                 `quiescent sim WORKLOAD --json` has all)"
            );
            return Err(self.wrong(at, why));
        }
        Ok(())
    }
}

impl Contents {
    /// The plan of a run. `jiffies=N` sets both waits.
    fn plan(&self, sets: &str) -> Result<Plan, Error> {
        let mut workload = self.workload.as_deref();
        let mut all = Vec::new();
        for set in sets.split_whitespace() {
            match settings::assignment(set)? {
                ("workload", name) => workload = Some(name),
                ("jiffies", value) => {
                    all.push(("jiffies_till_first_fqs", value));
                    all.push(("jiffies_till_next_fqs", value));
                }
                set => all.push(set),
            }
        }
        let none = || Error::Machine("give `workload = \"NAME\"`, or workload=NAME here".into());
        Workload::named(workload.ok_or_else(none)?)?.plan(&all)
    }
}

/// The text for as long as the process is: rows name their experiment and metric so, and each file is read
/// once.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
