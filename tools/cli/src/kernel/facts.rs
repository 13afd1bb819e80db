//! What this kernel is like, as far as it can be read, as the machine model's settings.
//!
//! Each fact says where it was read. What a container hides, or an older kernel does not have, is assumed,
//! and says so and why; a file that is there and makes no sense is an error, unless the setting is given by
//! hand. Two things no file tells: which idle loop a kernel of 2026 has without a cpuidle driver, and whether
//! CPUs really execute at the same time. Both ways are kept ([`Facts::idle_loops`], [`Facts::smps`]), so that
//! a prediction is a range.

use super::fact::Fact;
use super::reader::Reader;
use quiescent_live::files::Root;
use quiescent_report::Error;
use quiescent_sim::{IdleLoop, Options, Smp, settings};

/// Where facts come from.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The files.
    pub root: Root,
    /// What the coarse clock advances by: a tick, in nanoseconds.
    pub tick_ns: Option<u64>,
    /// CPUs this process may run on, for want of anything better.
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

/// What is known.
#[derive(Debug, Clone)]
pub struct Facts {
    /// One by one.
    pub list: Vec<Fact>,
    /// The model's machine.
    pub options: Options,
    /// The idle loops that this kernel may have.
    pub idle_loops: Vec<IdleLoop>,
    /// Whether CPUs execute at the same time: both, unless it is given.
    pub smps: Vec<Smp>,
    /// The machine's numbers of the CPUs that are on line; the model counts from 0.
    pub cpus: Vec<u32>,
    /// What the model does not know about.
    pub warnings: Vec<String>,
}

/// Reads them; `sets` are settings of the model that are given by hand, and are not read.
///
/// # Errors
/// [`Error::Usage`] for a setting that is none; [`Error::Failed`] for a file that makes no sense: it names
/// the file, its content, and the remedy.
pub fn read(sources: &Sources, sets: &[(&str, &str)]) -> Result<Facts, Error> {
    // What is given has to make sense by itself, before anything is read.
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
    it.early_report();
    let warnings = it.warnings();
    it.execution();
    let mut options = Options::kernel_6_12(cpus.len() as u32, 1000);
    let read: Vec<_> = it.list.iter().filter(|fact| fact.sets).collect();
    let read = read.iter().map(|fact| (fact.name, fact.value.as_str()));
    let all: Vec<_> = read.chain(sets.iter().copied()).collect();
    apply(&mut options, &all)?;
    for (key, value) in sets {
        let name = settings::find(key).map_or("", |setting| setting.key);
        it.list.push(Fact::read(name, value, "--set").told());
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

#[cfg(test)]
mod tests;
