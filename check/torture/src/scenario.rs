//! Scenarios: files with the actors of a run, and the parts that it stresses.
//!
//! A scenario is a file in TOML. Those in `data/torture` are part of the program; any other is given by its
//! path.
//!
//! ```toml
//! about = "one sentence"
//! stresses = ["the parts that it stresses"]
//! fence = "membarrier"        # or "fenced"; the library chooses if left out
//! slots = 62                  # threads with a slot of their own (64 n - 2); others share
//! kinds = ["synchronize"]     # ways to wait that writers choose from; all if left out
//! expects = ["hand_overs"]    # counters of the library that have to move in a run that is long enough
//! [actors]                    # threads of each role; 0 if left out
//! reader = 2
//! writer = 2
//! [delays]
//! section_us = 20000          # one section in `section_every` sleeps for up to so long
//! section_every = 2000
//! writer_us = 1000            # how long writers and fakes rest, at most
//! signal_us = 400             # the same between two signals
//! pause_ms = 1500             # all pause together for up to so long; 0: never
//! [library]                   # its settings at the start; defaults if left out
//! owners_run_closures = false
//! inherit_callbacks = false
//! memory_pressure = true
//! budget_bytes = 67108864
//! budget_callbacks = 1048576
//! stall_after_ms = 10000
//! lazy_ms = 10000
//! prompt_ms = 50
//! ```
//!
//! The thread host has no configurable fan-out: its leaves are groups of 64 threads. `slots` limits their
//! number, and the number of threads decides how many are used.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use quiescent::tuning::{FLUSH, FlushTimes, PROMPT};
use quiescent::{FenceMode, Runner};
use serde::Deserialize;
use toml::Spanned;

use crate::book::counter::{self, COUNTERS, Counter};
use crate::book::kind::Kind;
use crate::book::options::{Delays, Options};
use crate::book::role::{Cast, ROLES, Role};

macro_rules! built_in {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../data/torture/", $name, ".toml")))),*]
    };
}

/// The files that are part of the program, in the order in which they are run.
const BUILT_IN: [(&str, &str); 30] = built_in!(
    "TREE01" "TREE02" "TREE03" "TREE04" "TREE05" "TREE06" "TREE07" "TREE08" "TREE09" "TREE10"
    "LAZY01" "LAZY02" "LAZY03" "LAZY04" "DROP01" "FORK01" "FORK02" "BUSY01" "BUSY02" "STALL01" "SOLE01"
    "BARR01" "FENCE01" "MAP01" "SRCU-N" "SRCU-P" "SRCU-T" "DOMAIN-N" "DOMAIN-P" "DOMAIN-T"
);

/// The largest number of threads of a scenario.
const MOST_THREADS: usize = 2000;

/// An error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no scenario with this name, nor such a file.
    Unknown {
        /// The name as it was given.
        name: String,
        /// The reason why the file cannot be read.
        why: String,
    },
    /// The file is wrong.
    File {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The error and the remedy.
        why: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unknown { name, why } => {
                let known: Vec<&str> = names().collect();
                write!(
                    f,
                    "`{name}`: no such scenario, and as a file: {why}; give one of {}, or the path of a file",
                    known.join(", ")
                )
            }
            Error::File {
                file,
                line,
                column,
                why,
            } => write!(f, "{file}: line {line}, column {column}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// A scenario, as read from its file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, or its path.
    pub name: String,
    /// The text of its file, if it is in one.
    pub text: Option<String>,
    /// Its description, a sentence.
    pub about: String,
    /// The parts that it stresses.
    pub stresses: Vec<String>,
    /// The options of its runs.
    options: Options,
}

/// The names of the scenarios that are part of the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.into_iter().map(|it| it.0)
}

impl Scenario {
    /// The scenario with this name, or in the file at this path.
    ///
    /// # Errors
    /// If there is neither, or the file has an error.
    pub fn named(name: impl AsRef<Path>) -> Result<Scenario, Error> {
        let path = name.as_ref();
        let name = &path.to_string_lossy();
        if let Some((name, text)) = BUILT_IN.iter().find(|it| it.0 == name) {
            return Scenario::read(name, &format!("data/torture/{name}.toml"), text);
        }
        let text = quiescent_report::read_text(path).map_err(|why| Error::Unknown {
            name: name.to_string(),
            why: why.to_string(),
        })?;
        let scenario = Scenario::read(name, name, &text)?;
        Ok(Scenario {
            text: Some(text),
            ..scenario
        })
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The first error, with its line and column.
    pub fn read(name: &str, file: &str, text: &str) -> Result<Scenario, Error> {
        let wrong = |(span, why): Wrong| place(file, text, span, why);
        let parsed: File = toml::from_str(text)
            .map_err(|why| (why.span().unwrap_or(0..0), why.message().to_owned()))
            .map_err(wrong)?;
        parsed.scenario(name).map_err(wrong)
    }

    /// The options of a run of it.
    pub fn options(&self) -> Options {
        self.options.clone()
    }
}

/// The place of an error, and its text.
type Wrong = (Range<usize>, String);

fn place(file: &str, text: &str, span: Range<usize>, why: String) -> Error {
    let before = text.get(..span.start).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    Error::File {
        file: file.into(),
        line: before.matches('\n').count() + 1,
        column: before[start..].chars().count() + 1,
        why: why.replace('\n', " "),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    stresses: Vec<String>,
    fence: Option<FenceName>,
    slots: Option<Spanned<u32>>,
    kinds: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    expects: Vec<Spanned<String>>,
    actors: Spanned<BTreeMap<Spanned<String>, usize>>,
    #[serde(default)]
    delays: Delays,
    #[serde(default)]
    library: Library,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FenceName {
    Membarrier,
    Fenced,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Library {
    owners_run_closures: bool,
    inherit_callbacks: bool,
    memory_pressure: Option<bool>,
    budget_bytes: Option<u64>,
    budget_callbacks: Option<u64>,
    stall_after_ms: Option<u64>,
    lazy_ms: Option<u64>,
    prompt_ms: Option<u64>,
}

impl File {
    fn scenario(self, name: &str) -> Result<Scenario, Wrong> {
        let mut library = self.library.options();
        library.fence = self.fence.map(|fence| match fence {
            FenceName::Membarrier => FenceMode::Membarrier,
            FenceName::Fenced => FenceMode::Fenced,
        });
        library.max_threads = self.slots()?;
        let expects: Result<_, Wrong> = self.expects.iter().map(expected).collect();
        let options = Options {
            name: name.into(),
            kinds: self.kinds()?,
            expects: expects?,
            cast: cast(&self.actors)?,
            delays: self.delays,
            flush: self.library.flush(),
            library,
            ..Options::default()
        };
        Ok(Scenario {
            name: name.into(),
            text: None,
            about: self.about,
            stresses: self.stresses,
            options,
        })
    }

    fn slots(&self) -> Result<Option<u32>, Wrong> {
        let Some(slots) = &self.slots else {
            return Ok(None);
        };
        match *slots.as_ref() {
            1..=65_534 => Ok(Some(*slots.as_ref())),
            _ => Err((slots.span(), "slots: give 1 to 65534".into())),
        }
    }

    fn kinds(&self) -> Result<Vec<Kind>, Wrong> {
        let Some(names) = &self.kinds else {
            return Ok(Kind::ALL.to_vec());
        };
        if names.as_ref().is_empty() {
            let why = "kinds: writers need one; leave it out for all";
            return Err((names.span(), why.into()));
        }
        let kind = |name: &Spanned<String>| {
            let kind = name.as_ref().parse();
            kind.map_err(|_| unknown(name, "way", &Kind::ALL.map(Kind::name)))
        };
        names.as_ref().iter().map(kind).collect()
    }
}

impl Library {
    fn options(&self) -> quiescent::Options {
        let mut options = quiescent::Options::new()
            .inherit_callbacks(self.inherit_callbacks)
            .memory_pressure(self.memory_pressure.unwrap_or(true));
        options.closures = self.owners_run_closures.then_some(Runner::Owner);
        options.budget_bytes = self.budget_bytes;
        options.budget_callbacks = self.budget_callbacks;
        options.stall_after = self.stall_after_ms.map(Duration::from_millis);
        options
    }

    fn flush(&self) -> Option<FlushTimes> {
        let times = FlushTimes {
            lazy: self.lazy_ms.map_or(FLUSH, Duration::from_millis),
            prompt: self.prompt_ms.map_or(PROMPT, Duration::from_millis),
        };
        (self.lazy_ms.is_some() || self.prompt_ms.is_some()).then_some(times)
    }
}

fn unknown(name: &Spanned<String>, what: &str, known: &[&str]) -> Wrong {
    let known = known.join(", ");
    let why = format!("`{}`: no such {what}; there are: {known}", name.as_ref());
    (name.span(), why)
}

fn expected(name: &Spanned<String>) -> Result<Counter, Wrong> {
    let known = COUNTERS.map(|it| it.name);
    counter::named(name.as_ref()).ok_or_else(|| unknown(name, "counter", &known))
}

fn cast(actors: &Spanned<BTreeMap<Spanned<String>, usize>>) -> Result<Cast, Wrong> {
    let mut cast = Cast([0; ROLES]);
    for (name, count) in actors.as_ref() {
        let Ok(role) = name.as_ref().parse::<Role>() else {
            return Err(unknown(name, "actor", &Role::ALL.map(Role::name)));
        };
        if *count > MOST_THREADS {
            let why = format!("{count} threads are too many: give 0 to {MOST_THREADS}");
            return Err((name.span(), why));
        }
        cast.set(role, *count);
    }
    match cast.0.iter().sum::<usize>() {
        1..=MOST_THREADS => Ok(cast),
        _ => {
            let why = format!("actors: give 1 to {MOST_THREADS} threads in all");
            Err((actors.span(), why))
        }
    }
}

#[cfg(test)]
mod tests;
