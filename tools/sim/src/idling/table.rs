//! Tables of idle states of a machine's CPUs and its package.
//!
//! A table is a file in TOML. Those in `data/idle` are part of the program; any other file can be given by
//! its path. It names the origin of its figures and the assumptions.
//!
//! ```toml
//! about = "a processor"
//! origin = "its data sheet"
//! assumes = ["…"]
//! [[kind]]            # of CPU, in the order of their numbers; may be left out where all are alike
//! name = "big"
//! count = 4           # so many CPUs; a machine that has more begins again with the first kind
//! threads = 2         # of which so many share a core
//! [[state]]           # of a CPU, the shallowest first
//! kind = "big"
//! name = "C6"
//! exit = "220us"      # it takes so long to leave
//! target = "600us"    # it is worth it from this idle time on
//! package = "PC6"     # how deep the package may go: the deepest state, or (left out) none
//! [[package]]         # states of the package, the shallowest first
//! name = "PC6"
//! dwell = "200us"     # all CPUs have to have been idle for so long
//! exit = "0us"        # what the first CPU that wakes pays on top of its own exit
//! timer = "600us"     # no timer is programmed for an earlier time, when the last CPU goes idle
//! ```
//!
//! The package is in its state 0, named [`AWAKE`], whenever a CPU is not idle.

use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use crate::base::error::Error;
use crate::text::file::{BuiltIn, File, built_in, names, nanoseconds};

/// The name of the package's state 0.
pub const AWAKE: &str = "PC0";

/// The name of the state of a CPU, or of a core, that is not idle; waking up is part of it.
pub const BUSY: &str = "C0";

/// The files that are part of the program.
const BUILT_IN: BuiltIn = built_in! {
    "idle":
    "nehalem" "sandy-bridge" "ivy-bridge" "haswell" "broadwell" "skylake" "alder-lake"
    "alder-lake-2p8e" "alder-lake-l" "meteor-lake-l" "gracemont" "sapphire-rapids" "ice-lake-x"
    "granite-rapids" "sierra-forest" "sm8550" "gs101" "mt8195"
};

/// A file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    about: String,
    origin: String,
    #[serde(default)]
    assumes: Vec<String>,
    #[serde(default)]
    kind: Vec<Spanned<CpuKind>>,
    #[serde(default)]
    state: Vec<Spanned<IdleState>>,
    #[serde(default)]
    package: Vec<Spanned<PackageState>>,
}

const fn one() -> u32 {
    1
}

/// A table of idle states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, or the path of its file, as given.
    pub name: String,
    /// What it is a table of.
    pub about: String,
    /// Where its figures come from.
    pub origin: String,
    /// What it assumes, in words.
    pub assumes: Vec<String>,
    /// Kinds of CPU, in the order of their numbers.
    pub kinds: Vec<CpuKind>,
    /// States of the package but for [`AWAKE`], the shallowest first.
    pub package: Vec<PackageState>,
}

/// A kind of CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuKind {
    /// Its name; empty if there is one kind only.
    pub name: String,
    /// So many CPUs one after the other are of it.
    #[serde(default = "one")]
    pub count: u32,
    /// So many of them share a core.
    #[serde(default = "one")]
    pub threads: u32,
    /// Its idle states, the shallowest first.
    #[serde(skip)]
    pub states: Vec<IdleState>,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// The kind of CPU that has it.
    #[serde(default)]
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How long it takes to leave, in nanoseconds.
    #[serde(default, deserialize_with = "nanoseconds")]
    pub exit: u64,
    /// From which idle time on it is worth it, in nanoseconds.
    #[serde(default, deserialize_with = "nanoseconds")]
    pub target: u64,
    /// The deepest state of the package that it allows.
    package: Option<String>,
    /// How deep that is: 0 is [`AWAKE`], 1 the first of [`Table::package`].
    #[serde(skip)]
    pub allows: usize,
}

/// An idle state of the package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageState {
    /// Its name.
    pub name: String,
    /// How long all CPUs have to have been idle, in nanoseconds.
    #[serde(default, deserialize_with = "nanoseconds")]
    pub dwell: u64,
    /// What the CPU that wakes first pays on top of its own exit, in nanoseconds.
    #[serde(default, deserialize_with = "nanoseconds")]
    pub exit: u64,
    /// How far the next programmed timer has to be, in nanoseconds, when the last CPU goes idle.
    #[serde(default, deserialize_with = "nanoseconds")]
    pub timer: u64,
}

impl Table {
    /// The table of this name, or in the file of this path.
    ///
    /// ```
    /// use quiescent_sim::idling::Table;
    /// let table = Table::named("alder-lake")?;
    /// let deepest = table.kinds[0].states.last().expect("it has states");
    /// assert_eq!((&*deepest.name, deepest.target), ("C10", 2_000_000));
    /// # Ok::<(), quiescent_sim::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is neither, or the file is wrong.
    pub fn named(name: &str) -> Result<Arc<Table>, Error> {
        let file = File::find("idle", name.as_ref(), BUILT_IN);
        let file =
            file.map_err(|why| Error::no_file("idle_table", name, &why, &names(BUILT_IN)))?;
        Table::of(name, &file).map(Arc::new)
    }

    /// The names of those that are part of the program.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|it| it.0)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is wrong; with the line and the column.
    pub fn read(name: &str, file: &str, text: &str) -> Result<Table, Error> {
        let (file, text) = (file.into(), text.into());
        Table::of(name, &File { name: file, text })
    }

    fn of(name: &str, file: &File) -> Result<Table, Error> {
        let sheet: Sheet = file.read()?;
        let package = package(file, &sheet)?;
        Ok(Table {
            name: name.into(),
            kinds: kinds(file, &sheet, &package)?,
            package,
            about: sheet.about,
            origin: sheet.origin,
            assumes: sheet.assumes,
        })
    }

    /// Of each CPU of a machine its kind, and the number of its core.
    pub fn layout(&self, cpus: u32) -> Vec<(usize, u32)> {
        let mut all = Vec::with_capacity(cpus as usize);
        let mut core = 0;
        for kind in (0..self.kinds.len()).cycle() {
            let CpuKind { count, threads, .. } = self.kinds[kind];
            for cpu in 0..count {
                if all.len() == cpus as usize {
                    return all;
                }
                core += u32::from(cpu.is_multiple_of(threads) && !all.is_empty());
                all.push((kind, core));
            }
        }
        all
    }

    /// The name of a package's state: 0 is [`AWAKE`].
    pub fn package_name(&self, depth: usize) -> &str {
        match depth {
            0 => AWAKE,
            depth => &self.package[depth - 1].name,
        }
    }

    /// The names of all its states, beginning with that of the package that is awake.
    pub(crate) fn package_names(&self) -> Vec<&str> {
        let all = 0..=self.package.len();
        all.map(|it| self.package_name(it)).collect()
    }

    /// How deep the package's state of this name is.
    pub fn depth_of(&self, name: &str) -> Option<usize> {
        self.package_names().iter().position(|it| *it == name)
    }

    /// The name of a CPU's state, with the kind's before it where there are several: state 0 is [`BUSY`].
    pub fn state_name(&self, kind: usize, slot: usize) -> String {
        let state = match slot {
            0 => BUSY,
            slot => &self.kinds[kind].states[slot - 1].name,
        };
        match self.kinds[kind].name.as_str() {
            "" => state.into(),
            kind => format!("{kind} {state}"),
        }
    }
}

fn package(file: &File, sheet: &Sheet) -> Result<Vec<PackageState>, Error> {
    let mut all: Vec<PackageState> = Vec::new();
    for it in &sheet.package {
        let wrong = |why: String| Err(file.wrong(it.span().start, why));
        let state = it.get_ref().clone();
        if state.name == AWAKE || all.iter().any(|it| it.name == state.name) {
            return wrong(format!("`{}`: there is one already", state.name));
        }
        if let Some(last) = all.last()
            && (last.dwell > state.dwell || last.timer > state.timer)
        {
            return wrong("the deepest state comes last, with the longest dwell and timer".into());
        }
        all.push(state);
    }
    Ok(all)
}

fn kinds(file: &File, sheet: &Sheet, package: &[PackageState]) -> Result<Vec<CpuKind>, Error> {
    let mut all: Vec<CpuKind> = Vec::new();
    for it in &sheet.kind {
        let mut kind = it.get_ref().clone();
        kind.count = kind.count.clamp(1, 1 << 20);
        kind.threads = kind.threads.clamp(1, 1 << 20);
        if !kind.count.is_multiple_of(kind.threads) {
            let (count, threads) = (kind.count, kind.threads);
            let why = format!("`count = {count}` is no multiple of `threads = {threads}`");
            return Err(file.wrong(it.span().start, why));
        }
        all.push(kind);
    }
    if all.is_empty() {
        let (count, threads) = (1, 1);
        all.push(CpuKind {
            count,
            threads,
            ..CpuKind::default()
        });
    }
    for it in &sheet.state {
        let wrong = |why: String| file.wrong(it.span().start, why);
        let mut it = it.get_ref().clone();
        let Some(kind) = all.iter_mut().find(|known| known.name == it.kind) else {
            let why = format!("`kind = {}`: there is no [[kind]] of this name", it.kind);
            return Err(wrong(why));
        };
        if let Some(name) = &it.package {
            let known = package.iter().position(|it| it.name == *name);
            let why = || format!("`package = {name}`: there is no [[package]] of this name");
            it.allows = 1 + known.ok_or_else(|| wrong(why()))?;
        }
        if let Some(last) = kind.states.last()
            && (last.exit > it.exit || last.target > it.target || last.allows > it.allows)
        {
            let why =
                "the deepest state comes last, with the longest exit, target and package state";
            return Err(wrong(why.into()));
        }
        kind.states.push(it);
    }
    match all.iter().find(|it| it.states.is_empty()) {
        Some(kind) => Err(file.wrong(0, format!("no [[state]] is of the kind `{}`", kind.name))),
        None => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_says_what_it_is_about() {
        for name in Table::built_in() {
            let it = Table::named(name).unwrap();
            assert!(!it.about.is_empty() && !it.origin.is_empty(), "{name}");
            assert!(!it.assumes.is_empty(), "{name}");
            for kind in &it.kinds {
                let deepest = kind.states.last().unwrap();
                assert_eq!(deepest.allows, it.package.len(), "{name} {}", kind.name);
            }
        }
    }

    #[test]
    fn the_published_figures_are_the_tables() {
        #[derive(serde::Deserialize)]
        struct File {
            cstates_us: std::collections::BTreeMap<String, Vec<serde_json::Value>>,
        }
        let text = include_str!("../../../../data/published-figures.json");
        let file: File = serde_json::from_str(text).unwrap();
        for name in ["sandy-bridge", "alder-lake"] {
            let table = Table::named(name).unwrap();
            let rows = &file.cstates_us[name];
            let ours = table.kinds[0].states.iter();
            let ours =
                ours.map(|it| serde_json::json!([it.name, it.exit / 1000, it.target / 1000]));
            assert_eq!(ours.collect::<Vec<_>>(), *rows, "{name}");
        }
    }

    #[test]
    fn cpus_have_kinds_and_cores() {
        let table = Table::named("alder-lake-2p8e").unwrap();
        let cores: Vec<u32> = table.layout(13).iter().map(|it| it.1).collect();
        assert_eq!(cores, [0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let kinds: Vec<usize> = table.layout(13).iter().map(|it| it.0).collect();
        assert_eq!(kinds, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
        assert_eq!(table.state_name(1, 5), "E C10");
        let plain = Table::named("alder-lake").unwrap();
        assert_eq!(plain.layout(3), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!(plain.depth_of("PC8"), Some(3));
        assert_eq!(plain.depth_of("PC0"), Some(0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let head = "about = \"a\"\norigin = \"b\"\n";
        for (rest, said) in [
            ("[[stat]]\n", "did you mean `state`"),
            ("[[state]]\nname = \"C1\"\nexit = \"x\"\n", "line 5"),
            ("[[state]]\nexit = \"1us\"\n", "missing field `name`"),
            (
                "[[state]]\nname = \"C1\"\npackage = \"PC6\"\n",
                "no [[package]]",
            ),
            ("", "no [[state]]"),
            (
                "[[state]]\nname = \"C6\"\nexit = \"9us\"\n[[state]]\nname = \"C1\"\nexit = \"1us\"\n",
                "the deepest state comes last",
            ),
            ("[[package]]\nname = \"PC0\"\n", "there is one already"),
            (
                "[[kind]]\nname = \"P\"\ncount = 3\nthreads = 2\n",
                "no multiple",
            ),
        ] {
            let why = Table::read("t", "t.toml", &format!("{head}{rest}")).unwrap_err();
            assert!(why.to_string().contains(said), "{rest}: {why}");
            assert!(why.to_string().contains("t.toml"), "{why}");
        }
        let why = Table::named("sandy-brigde").unwrap_err().to_string();
        assert!(
            why.contains("alder-lake") && why.contains("path of a file"),
            "{why}"
        );
    }
}
