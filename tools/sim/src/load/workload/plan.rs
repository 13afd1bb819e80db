//! A workload with all decisions made: a machine's options, its tasks, and the length of the run.

use super::Workload;
use super::function::Function;
use super::work::Pattern;
use crate::base::chance::Chance;
use crate::base::error::Error;
use crate::input::op::{Changed, Instead};
use crate::input::options::Options;
use crate::kernel::machine::Machine;
use crate::record::stats::Stats;
use crate::text::fields::{Cpus, Fields};
use crate::text::file::{Section, Texts};
use quiescent_kernel::CpuId;
use std::cell::RefCell;
use std::sync::Arc;
use toml::Spanned;

/// Virtual time between two checks whether to stop.
const SLICE: u64 = 20_000_000;

/// Tasks of a workload, at most: each is made before the run.
const MOST_TASKS: u64 = 100_000;

/// CPUs in the lists of a workload and callbacks of its tasks, at most: a few bytes name all CPUs, or as many
/// tasks as there may be, each with its own copy of the callbacks.
const MOST_LISTED: u64 = 1 << 22;

/// Bytes of a name, at most: each task has its own.
const MOST_NAME: usize = 256;

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The machine.
    pub options: Options,
    /// The workload's parameters, as they are in force.
    pub parameters: Vec<(String, String)>,
    /// It is watched so long at most, in nanoseconds.
    pub length: u64,
    /// It is over when the tasks are; otherwise when the time is.
    pub until_tasks: bool,
    /// Counts start at this time, in nanoseconds.
    pub warm_up: u64,
    pub(super) groups: Vec<Group>,
}

/// Tasks of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    name: String,
    tasks: u64,
    cpus: Cpus,
    start: Option<u64>,
    pub(super) work: Pattern,
    endless: bool,
    roams: bool,
    /// What its steps are instead, if they are not a plain task's.
    instead: Option<Instead>,
}

/// What callers wait for: the values of `waits`.
const WAITS: [&str; 3] = ["normal", "expedited", "barrier"];

impl Group {
    /// What the sections of the file ask for. All bounds are on their sum: a file has thousands of sections.
    pub fn all(
        workload: &Workload,
        sets: &[(&str, &str)],
        options: &Options,
    ) -> Result<Vec<Group>, Error> {
        let (mut all, mut tasks, mut listed) = (Vec::new(), 0, 0);
        for section in &workload.contents.tasks {
            let group = Group::read(workload, section, sets, options)?;
            tasks += group.tasks;
            listed = group.listed().saturating_add(listed);
            let why = match () {
                () if tasks > MOST_TASKS => {
                    format!("{tasks} tasks with those before: give {MOST_TASKS} in all at most")
                }
                () if listed > MOST_LISTED => format!(
                    "lists and callbacks of tasks make {listed} with those before: give {MOST_LISTED} in \
                     all at most"
                ),
                () => {
                    all.push(group);
                    continue;
                }
            };
            return Err(workload.file.wrong(section.span().start, why));
        }
        Ok(all)
    }

    /// CPUs in its lists, and what each of its tasks has a copy of.
    fn listed(&self) -> u64 {
        let own = match &self.cpus {
            Cpus::These(list) => list.len(),
            Cpus::Any | Cpus::GpCpu => 0,
        };
        (own as u64).saturating_add(self.tasks.saturating_mul(self.work.listed))
    }

    /// What a section of the file asks for.
    fn read(
        workload: &Workload,
        section: &Spanned<Section>,
        sets: &[(&str, &str)],
        options: &Options,
    ) -> Result<Group, Error> {
        let parameters = &workload.contents.parameters;
        let (at, section) = (section.span().start, section.get_ref());
        let fields = Fields {
            file: &workload.file,
            at,
            fields: &section.fields,
            parameters,
            sets,
            cpus: options.cpus,
            asked: RefCell::default(),
        };
        let it = &fields;
        let function = |texts: &Spanned<Texts>| {
            let (at, fields) = (texts.span().start, texts.get_ref());
            let asked = RefCell::default();
            Function::read(&Fields {
                at,
                fields,
                asked,
                ..*it
            })
        };
        let callbacks = || {
            let all = section.callbacks.iter().map(function);
            all.collect::<Result<Vec<_>, _>>()
        };
        let work = Pattern::read(it, callbacks, &section.steps, options)?;
        let cpus = it.cpus("cpu")?;
        let roams = it.flag("roams", false)?;
        let each = match &cpus {
            Cpus::These(list) if roams => list.len().min(1) as u64,
            Cpus::These(list) => list.len() as u64,
            _ => 1,
        };
        let tasks = it.count("tasks", each)?;
        if tasks > MOST_TASKS {
            let why = format!("`tasks = {tasks}`: give {MOST_TASKS} at most");
            return Err(it.wrong(why));
        }
        let name: String = it.need("name")?;
        if name.len() > MOST_NAME {
            let why = format!("a name of {} bytes: give {MOST_NAME} at most", name.len());
            return Err(it.wrong(why));
        }
        let group = Group {
            name,
            tasks: if each == 0 { 0 } else { tasks },
            cpus,
            start: match it.text("start")?.as_deref() {
                None | Some("any") => None,
                Some(_) => Some(it.time("start", 0)?),
            },
            endless: it.flag("endless", work.endless)?,
            roams,
            instead: instead(it)?,
            work,
        };
        it.check_names().map(|()| group)
    }

    fn spawn(&self, machine: &mut Machine, options: &Options, chance: &mut Chance) {
        let everywhere: Option<Arc<[CpuId]>> = self.roams.then(|| match &self.cpus {
            Cpus::These(list) => list.as_slice().into(),
            Cpus::Any | Cpus::GpCpu => (0..options.cpus).collect(),
        });
        for index in 0..self.tasks {
            let cpu: CpuId = match &self.cpus {
                Cpus::These(list) => list[index as usize % list.len()],
                Cpus::Any => chance.below(options.cpus.into()) as CpuId,
                Cpus::GpCpu => options.gp_cpu,
            };
            let any = chance.below(10 * options.jiffy_ns());
            let start = self.start.unwrap_or(any);
            let own = Chance::new(chance.next());
            let name = match self.tasks {
                1 => self.name.clone(),
                _ => format!("{}/{index}", self.name),
            };
            let mut work = self.work.work(machine, own);
            if let Some(instead) = self.instead {
                work = Box::new(Changed(work, instead));
            }
            match self.endless {
                true => machine.spawn_endless(&name, cpu, start, work),
                false => machine.spawn(&name, cpu, start, work),
            }
            if let Some(cpus) = &everywhere {
                machine.roam(Arc::clone(cpus), Chance::new(chance.next()));
            }
        }
    }
}

/// What steps of a section's tasks are instead: `srcu` and `waits`.
fn instead(it: &Fields<'_>) -> Result<Option<Instead>, Error> {
    let srcu = it.flag("srcu", false)?;
    Ok(match it.word("waits", &WAITS)? {
        _ if srcu => Some(Instead::Srcu),
        Some(1) => Some(Instead::Expedited),
        Some(2) => Some(Instead::Barrier),
        _ => None,
    })
}

impl Plan {
    /// The machine with the tasks on it, before anything has happened.
    pub fn machine(&self) -> Machine {
        let mut machine = Machine::new(self.options.clone());
        machine.window(self.warm_up, u64::MAX);
        // Not the machine's own sequence of chances: how often that is asked must not move tasks.
        let mut chance = Chance::new(self.options.seed ^ 0x5177_0b1e_c7ed_0000);
        for group in &self.groups {
            group.spawn(&mut machine, &self.options, &mut chance);
        }
        machine
    }

    /// Runs it on a machine of its own; none if `stop` said so before it was over. `stop` is asked every 20
    /// ms of virtual time.
    pub fn run(&self, stop: impl Fn() -> bool) -> Option<Stats> {
        let mut machine = self.machine();
        self.run_on(&mut machine, stop).then(|| machine.stats())
    }

    /// How often a run asks `stop`, if it does not end early.
    pub fn slices(&self) -> u64 {
        (self.warm_up + self.length).div_ceil(SLICE)
    }

    /// As [`run`](Plan::run), on a machine that the caller keeps; false if it was stopped.
    pub fn run_on(&self, machine: &mut Machine, stop: impl Fn() -> bool) -> bool {
        let end = self.warm_up + self.length;
        let mut until = 0;
        while until < end {
            if stop() {
                return false;
            }
            until = (until + SLICE).min(end);
            match self.until_tasks {
                true if machine.run_tasks(until) => return true,
                true => {}
                false => machine.run(until),
            }
        }
        true
    }
}
