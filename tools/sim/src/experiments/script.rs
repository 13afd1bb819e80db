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

use super::claims::{Bound, Claim, Shown};
use super::expression::{self, Expression, Reference, Sentence, Values};
use super::replays::{Replay, Traces};
use super::run::{self, Load, Planned, Run};
use super::{Basis, Comparison, Line, Listing, Outcome, Part, Source, data};
use crate::base::error::{Error, nearest};
use crate::kernel::machine::Machine;
use crate::load::settings;
use crate::load::workload::Workload;
use crate::text::file::{BuiltIn, File, built_in, names};
use crate::text::values::time;

/// The files that are part of the program.
pub(super) const BUILT_IN: BuiltIn = built_in! {
    "experiments":
    "unseen-synchronize" "kernel-synchronize" "kernel-callbacks" "whatif-as-recorded" "whatif"
    "early-qs-v2" "early-qs-rfc" "accelerate" "tab-switch" "bridge" "cpu-overhead" "fast-no-hz"
    "boot-selinux" "ftrace-start-stop"
    "percpu-ref" "memory-pressure" "lazy-side-effects" "real-time" "nohz-full" "flood" "local-video"
    "lazy-power" "jiffies-power" "display-pipeline" "home-screen-swipe" "chromeos-idle"
    "android-static-image" "android-batches"
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
    /// Of each run one plan, or one for each seed.
    plans: BTreeMap<String, Vec<Planned>>,
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
    /// Tables of functions or threads.
    #[serde(default)]
    listing: Vec<Spanned<Lines>>,
}

fn one() -> Spanned<u64> {
    Spanned::new(0..0, 1)
}

/// A case in words, and the run that is `it` there.
type Case = (String, String);

/// A table of a run's functions or threads: those whose case begins with `about`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    case: String,
    run: String,
    about: String,
    /// Lines whose names begin so are left out.
    without: Option<String>,
    /// More lines: a name, and what it is about.
    #[serde(default)]
    also: Vec<(String, String)>,
    /// Name, unit, the run's metric, and where the published figures are by the names of the lines.
    columns: Vec<(String, String, String, String)>,
}

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
    /// The publication has words only: the bound is this project's.
    #[serde(default)]
    words: bool,
    /// The facts, if what is said is known to be wrong.
    contradicted: Option<String>,
    /// The real figure, and how far the model may be off, as a share of it.
    real: Option<Spanned<Expression>>,
    within: Option<Spanned<Expression>>,
    /// Of replays: this figure beside the real one, or all that decide (`*`).
    measured: Option<String>,
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

    /// What a claim's figure has to keep.
    fn bound(&self, value: impl Fn(&Spanned<Expression>) -> f64) -> Option<Bound> {
        match [&self.at_least, &self.at_most].map(|it| it.as_ref().map(&value)) {
            [Some(least), Some(most)] => Some(Bound::Between(least, most)),
            [Some(least), None] => Some(Bound::AtLeast(least)),
            [None, most] => most.map(Bound::AtMost),
        }
    }

    /// What does not go together.
    fn wrong(&self) -> Option<&'static str> {
        let bound = self.at_least.is_some() || self.at_most.is_some();
        match () {
            () if self.what.is_some() != self.is.is_some() => Some("`what` and `is` go together"),
            () if bound != self.says.is_some() => {
                Some("a claim has `says`, and `at_least` or `at_most` or both")
            }
            () if !bound && (self.words || self.contradicted.is_some()) => {
                Some("`words` and `contradicted` are about a claim, which has `says` and a bound")
            }
            () if self.measured.is_some() && (self.real.is_some() || self.each.is_empty()) => {
                Some("`measured` goes with `each`, and without `real`")
            }
            () if (self.real.is_some() || self.measured.is_some()) != self.within.is_some() => {
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

/// Published figures at the end of a path; of a list all, unless the path has a number.
fn published(it: &Value, path: &[&str]) -> Values {
    match (it, path) {
        (Value::Number(it), []) => it.as_f64().into_iter().collect(),
        (Value::Array(all), [first, rest @ ..]) if first.parse::<usize>().is_ok() => {
            let found = first.parse().ok().and_then(|at: usize| all.get(at));
            found.map_or(Values::new(), |it| published(it, rest))
        }
        (Value::Object(all), []) => all.values().flat_map(|it| published(it, path)).collect(),
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
        let traces = Traces::default();
        let plan = |(name, sets): (&Spanned<String>, &Spanned<String>)| {
            let wrong = |why: String| file.wrong(sets.span().start, why);
            let sets = Sentence::read(sets.get_ref()).map_err(wrong)?;
            let vary = sets.expressions().next().is_some();
            let mut figures = sets.expressions().flat_map(Expression::figures);
            if figures.any(|(it, _)| (&*it.run, &*it.metric) != ("run", "number")) {
                return Err(wrong(
                    "settings of a run know no figure but run.number".into(),
                ));
            }
            let each = 0..if vary { *seeds.get_ref() } else { 1 };
            let plans = each.map(|n| contents.plan(&sets.text(&|_| vec![n as f64]), &traces));
            let plans = plans.collect::<Result<_, Error>>();
            let plans: Vec<Planned> = plans.map_err(|why| wrong(why.to_string()))?;
            Ok((name.get_ref().clone(), plans))
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
        for it in &self.contents.listing {
            self.known(it.span().start, &it.get_ref().run)?;
            if it.get_ref().columns.is_empty() {
                return no(it.span().start, "a table has `columns`");
            }
        }
        for it in &self.contents.notes {
            placed(it).try_for_each(|(at, it)| self.refers(at, it, ""))?;
        }
        for entry in &self.contents.figure {
            let (at, it) = (entry.span().start, entry.get_ref());
            if let Some(why) = it.wrong() {
                return no(at, why);
            }
            for case in &it.each {
                self.known(case.span().start, &case.get_ref().1)?;
            }
            for case in self.cases(it) {
                it.expressions()
                    .try_for_each(|(at, it)| self.refers(at, it, &case.1))?;
            }
        }
        Ok(())
    }

    /// The cases of an entry, and the run that is `it` there, if there is one.
    fn cases(&self, entry: &Entry) -> Vec<Case> {
        if entry.each.is_empty() {
            let name = entry.case.clone().unwrap_or_else(|| self.name.into());
            return vec![(name, String::new())];
        }
        entry.each.iter().map(|it| it.get_ref().clone()).collect()
    }

    /// Does a file's expression name what is there, where `case` is the run that is `it`?
    fn refers(&self, at: usize, it: &Expression, case: &str) -> Result<(), Error> {
        for (it, may) in it.figures() {
            match &*it.run {
                "it" if !case.is_empty() => {}
                "published" if may || !self.published(it, case).is_empty() => {}
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

    fn published(&self, it: &Reference, case: &str) -> Values {
        let path: Vec<&str> = it.metric.split('.').collect();
        let about = if it.about == "it" { case } else { &*it.about };
        let about = (!about.is_empty()).then_some(about);
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
            .map(|(name, plans)| (&**name, Run::of(plans, seeds, seed)));
        let runs: BTreeMap<&str, Run> = runs.collect();
        let mut outcome = Outcome::default();
        for entry in &self.contents.figure {
            self.entry(entry, &runs, &mut outcome)?;
        }
        let listings = self.contents.listing.iter();
        let listing = |it: &Spanned<Lines>| self.listing(it.get_ref(), &runs[&*it.get_ref().run]);
        outcome.listings = listings.map(listing).collect();
        let of = |it: &Reference| self.values(&runs, "", it);
        for it in &self.contents.notes {
            placed(it).try_for_each(|(at, it)| self.has(at, it, &runs, ""))?;
            outcome.notes.push(it.get_ref().text(&of));
        }
        outcome.notes.extend(self.assumed()?);
        Ok(outcome)
    }

    /// A table, the line with the largest first figure first.
    fn listing(&self, it: &Lines, run: &Run) -> Listing {
        let first = run
            .figures
            .iter()
            .filter(|figure| figure.metric == it.columns[0].2);
        let named = first.filter_map(|figure| {
            let about = run::name(&figure.about);
            let name = about.strip_prefix(&it.about)?.strip_prefix(' ')?.to_owned();
            let without = it
                .without
                .as_deref()
                .is_some_and(|start| name.starts_with(start));
            (!without).then_some((name, about))
        });
        let mut named: Vec<(String, String)> = named.collect();
        named.sort();
        named.dedup();
        named.extend(it.also.iter().cloned());
        let line = |(name, about): (String, String)| {
            let published = it.columns.iter().map(|column| {
                let path: Vec<&str> = column.3.split('.').chain([&*name]).collect();
                published(&self.published, &path).first().copied()
            });
            let model = it
                .columns
                .iter()
                .map(|it| expression::number(run.values(&it.2, &about)));
            Line {
                published: published.collect(),
                model: model.collect(),
                name,
            }
        };
        let mut lines: Vec<Line> = named.into_iter().map(line).collect();
        lines.sort_by(|a, b| b.model[0].total_cmp(&a.model[0]));
        let columns = it.columns.iter().map(|it| (kept(&it.0), kept(&it.1)));
        Listing {
            case: it.case.clone(),
            about: kept(&it.about),
            columns: columns.collect(),
            lines,
        }
    }

    /// What the workloads assume, each once, and what was fitted.
    fn assumed(&self) -> Result<Vec<String>, Error> {
        let own = self.contents.runs.values().map(|it| it.get_ref());
        let words = own.flat_map(|it| it.split_whitespace());
        let named = words.filter_map(|it| it.strip_prefix("workload="));
        let mut all: Vec<&str> = self
            .contents
            .workload
            .as_deref()
            .into_iter()
            .chain(named)
            .collect();
        all.dedup();
        let mut said = Vec::new();
        for it in all {
            let it = Workload::named(it)?;
            said.extend(it.assumes().iter().map(|it| format!("assumed: {it}")));
            said.extend(it.fitted().iter().map(|it| format!("fitted: {it}")));
        }
        Ok(said)
    }

    /// Adds what an entry asks for.
    fn entry(
        &self,
        entry: &Spanned<Entry>,
        runs: &BTreeMap<&str, Run>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let (at, entry) = (entry.span().start, entry.get_ref());
        for (case, it) in &self.cases(entry) {
            entry
                .expressions()
                .try_for_each(|(at, expression)| self.has(at, expression, runs, it))?;
            let of = |figure: &Reference| self.values(runs, it, figure);
            let value = |it: &Spanned<Expression>| it.get_ref().value(&of);
            let within = entry.within.as_ref().map(value);
            let compare = |(metric, unit), real, model| Comparison {
                experiment: self.name,
                case: case.clone(),
                metric,
                unit,
                source: entry.source,
                real,
                model,
                allowed: within.unwrap_or(f64::NAN),
                basis: entry.basis,
            };
            if let Some(metric) = &entry.measured {
                let pairs = runs[&**it].pairs.iter();
                let those = pairs.filter(|it| metric == "*" || metric == it.0);
                let compared = those.map(|it| compare((it.0, it.1), it.2, it.3));
                let before = outcome.comparisons.len();
                outcome.comparisons.extend(compared);
                if outcome.comparisons.len() == before {
                    let why = format!("`measured = {metric}`: `{it}` is no replay that has it");
                    return Err(self.wrong(at, why));
                }
            }
            if let (Some((name, unit)), Some(is)) = (&entry.what, &entry.is) {
                let (named, is) = ((kept(name), kept(unit)), value(is));
                match (&entry.real, entry.bound(value), &entry.says) {
                    (Some(real), ..) => outcome.comparisons.push(compare(named, value(real), is)),
                    (_, Some(bound), Some(says)) => {
                        let claim = Claim {
                            says: kept(says),
                            bound,
                            words: entry.words,
                            contradicted: entry.contradicted.as_deref().map(kept),
                        };
                        outcome.shown.push(Shown {
                            basis: entry.basis,
                            claim: Some(claim),
                            ..Shown::beside(case, named, is)
                        });
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
            "published" => self.published(figure, it),
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
    /// The plan of a run: settings and parameters, and what only files may say.
    fn plan(&self, sets: &str, traces: &Traces) -> Result<Planned, Error> {
        let (mut workload, mut all) = (self.workload.as_deref(), Vec::new());
        let (mut warm_up, mut length, mut counted, mut keep) = (None, None, None, None);
        let mut replay = None;
        for set in sets.split_whitespace() {
            let (key, value) = settings::assignment(set)?;
            let ns = || {
                let ns = time(value).filter(|it| *it <= 86_400_000_000_000);
                ns.ok_or_else(|| Error::value(key, value, "a time such as 10ms, up to a day"))
            };
            match key {
                "workload" => workload = Some(value),
                "replay" => replay = Some(value),
                "warm_up" => warm_up = Some(ns()?),
                "length" => length = Some(ns()?),
                "counted" => counted = Some(ns()?),
                "keep" => {
                    keep = Some(match value {
                        "calls" => Machine::keep_calls,
                        "trace" => Machine::keep_trace,
                        _ => return Err(Error::value(key, value, "calls or trace")),
                    });
                }
                "jiffies" => {
                    all.push(("jiffies_till_first_fqs", value));
                    all.push(("jiffies_till_next_fqs", value));
                }
                _ => all.push((key, value)),
            }
        }
        if let Some(trace) = replay {
            return Ok(Planned::Replay(Box::new(Replay::of(trace, &all, traces)?)));
        }
        let none = || Error::Machine("give `workload = \"NAME\"`, or workload=NAME here".into());
        let mut plan = Workload::named(workload.ok_or_else(none)?)?.plan(&all)?;
        plan.warm_up = warm_up.unwrap_or(plan.warm_up);
        plan.length = length.unwrap_or(plan.length);
        Ok(Planned::Load(Box::new(Load {
            plan,
            counted,
            keep,
        })))
    }
}

/// The text for as long as the process is: rows name their experiment and metric so, and each file is read
/// once.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
