//! The facts about this kernel, as far as they can be read, as the machine model's settings.
//!
//! Each fact has its source. A fact that a container hides, or that an older kernel does not have, is
//! assumed, with the reason; a file with an invalid content is an error, unless the setting is given. No file
//! shows which idle loop a kernel of 2026 has without a cpuidle driver, or whether CPUs really execute at the
//! same time. Both possibilities are kept ([`Facts::idle_loops`], [`Facts::smps`]), so that a prediction is a
//! range.

use super::reader::Reader;
use quiescent_live::files::Root;
use quiescent_report::Error;
use quiescent_sim::{IdleLoop, Options, Smp, settings};
use serde_json::{Value, json};

/// The sources of facts.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The files.
    pub root: Root,
    /// The step of the coarse clock: a tick, in nanoseconds.
    pub tick_ns: Option<u64>,
    /// CPUs on which this process may run, if no file has the number.
    pub cpus: usize,
}

impl Sources {
    /// This machine.
    pub fn here() -> Self {
        Sources {
            root: Root::here(),
            tick_ns: quiescent_live::coarse_tick_ns(),
            cpus: std::thread::available_parallelism().map_or(1, Into::into),
        }
    }
}

/// The known facts.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The list of facts.
    pub list: Vec<Fact>,
    /// The model's machine.
    pub options: Options,
    /// The idle loops that this kernel may have.
    pub idle_loops: Vec<IdleLoop>,
    /// Whether CPUs execute at the same time: both values, unless it is given.
    pub smps: Vec<Smp>,
    /// The machine's numbers of the CPUs that are on line; the model counts from 0.
    pub cpus: Vec<u32>,
    /// Properties that the model does not have.
    pub warnings: Vec<String>,
}

/// Reads the facts; `sets` are given settings of the model, which are not read.
///
/// # Errors
/// [`Error::Usage`] for an unknown setting; [`Error::Failed`] for a file with an invalid content: it names
/// the file, its content, and the remedy.
pub fn read(sources: &Sources, sets: &[(&str, &str)]) -> Result<Facts, Error> {
    // The given settings are checked before anything is read.
    let mut scratch = Options::kernel_6_12(u32::from(u16::MAX), 1000);
    let apply = |options: &mut Options, sets: &[(&str, &str)]| {
        settings::apply(options, sets).map_err(|why| Error::Usage(why.to_string()))
    };
    apply(&mut scratch, sets)?;
    let root = &sources.root;
    let mut it = Reader::new(root, sets);
    let cpus = it.cpus(sources.cpus)?;
    it.hz(sources.tick_ns)?;
    it.wait("jiffies_till_first_fqs")?;
    it.wait("jiffies_till_next_fqs")?;
    it.wake_from_gp(cpus.len())?;
    it.switch("rcu_expedited")?;
    it.switch("rcu_normal")?;
    it.fanouts()?;
    it.offloaded(&cpus);
    let idle_loops = it.idle_loops();
    it.by_version(cpus.len());
    let warnings = it.warnings();
    it.execution();
    let mut options = Options::kernel_6_12(cpus.len() as u32, 1000);
    let read: Vec<_> = it.list.iter().filter(|fact| fact.sets).collect();
    let read = read.iter().map(|fact| (fact.name, fact.value.as_str()));
    let all: Vec<_> = read.chain(sets.iter().copied()).collect();
    apply(&mut options, &all)?;
    for (key, value) in sets {
        let name = settings::find(key).map_or("", |setting| setting.key);
        it.list.push(Fact::read(name, value, "--set").shown_only());
    }
    let given = |key| it.given(key);
    Ok(Facts {
        idle_loops: match given("idle_loop") {
            true => vec![options.idle_loop],
            false => idle_loops,
        },
        smps: match given("smp") {
            true => vec![options.smp],
            false => vec![Smp::Parallel, Smp::Serial],
        },
        cpus: match given("cpus") {
            true => (0..options.cpus).collect(),
            false => cpus,
        },
        list: it.list,
        options,
        warnings,
    })
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its name: that of a setting of the machine model where there is one.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The file, or the reason for the assumption.
    pub from: String,
    /// No file on this machine has it.
    pub assumed: bool,
    /// A setting of the model's machine follows it.
    pub sets: bool,
}

impl Fact {
    /// Read from `from`.
    pub fn read(name: &'static str, value: impl ToString, from: impl Into<String>) -> Self {
        Fact {
            name,
            value: value.to_string(),
            from: from.into(),
            assumed: false,
            sets: true,
        }
    }

    /// Could not be read, and assumed because of `why`.
    pub fn assumed(name: &'static str, value: impl ToString, why: impl Into<String>) -> Self {
        Fact {
            assumed: true,
            ..Fact::read(name, value, why)
        }
    }

    /// Shown only; the model has no such setting.
    pub fn shown_only(self) -> Self {
        Fact {
            sets: false,
            ..self
        }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({"name": self.name, "value": self.value, "from": self.from, "assumed": self.assumed})
    }
}

/// An error about a file with an invalid content: its path, its content, and the remedy.
pub fn nonsense(file: &str, content: &str, wanted: &str, setting: &str) -> Error {
    let shown: String = content.chars().take(60).collect();
    Error::failed(
        format!("{file}: `{}`", shown.escape_debug()),
        format!("this is not {wanted}"),
        &format!("is that a kernel's file? --set {setting}=VALUE replaces it"),
    )
}

#[cfg(test)]
mod tests;
