//! A workload with everything decided: a machine's options, the tasks on it, and how long it is watched.

use super::Workload;
use super::function::Function;
use super::kernel_work::{CLOSE, KernelWork, RECLAIM, SWITCH};
use super::stage::Stage;
use crate::base::chance::Chance;
use crate::base::error::Error;
use crate::input::options::MachineKind;
use crate::input::options::Options;
use crate::input::work::{Queuer, Reads, Rounds, Turns};
use crate::kernel::machine::Machine;
use crate::record::stats::Stats;
use crate::text::fields::{Cpus, Fields};
use crate::text::file::Section;
use crate::threads::Threads;
use quiescent_engine::CpuId;

/// Virtual time between two looks at whether to stop.
const SLICE: u64 = 20_000_000;

/// Tasks of one section, at most.
const MOST_TASKS: u64 = 100_000;

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
    /// Nothing counts before this time, in nanoseconds.
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
    work: Kind,
    endless: bool,
    registered: bool,
    roams: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Rounds {
        rounds: u64,
        calls: u64,
        pause: u64,
        compute: u64,
        rest: u64,
        vary: bool,
    },
    Turns {
        compute: u64,
        sleep: u64,
        vary: bool,
    },
    Queue {
        every: u64,
        vary: bool,
        times: u64,
        work: u64,
        between: u64,
        stop: u64,
        callbacks: Vec<Function>,
    },
    Read {
        sections: u64,
        inside: u64,
        outside: u64,
        sleeps: usize,
        vary: bool,
    },
    Kernel(KernelWork),
}

const COMMON: [&str; 8] = [
    "work",
    "name",
    "tasks",
    "cpu",
    "roams",
    "start",
    "endless",
    "registered",
];
const WORKS: [&str; 7] = [
    "rounds", "turns", "queue", "read", "switch", "reclaim", "close",
];
/// Where a reader sleeps, rather than compute.
const SLEEPS: [&str; 4] = ["outside", "inside", "both", "never"];

impl Group {
    /// What a section of the file asks for.
    pub fn read(
        workload: &Workload,
        section: &Section,
        sets: &[(&str, &str)],
        options: &Options,
    ) -> Result<Group, Error> {
        let parameters = &workload.contents.parameters;
        let fields = Fields {
            file: &workload.file,
            place: section.place,
            fields: &section.fields,
            parameters,
            sets,
            cpus: options.cpus,
        };
        let it = &fields;
        let function = |fields: &Vec<_>| Function::read(&Fields { fields, ..*it });
        let callbacks = || {
            let all = section.callbacks.iter().map(function);
            all.collect::<Result<Vec<_>, _>>()
        };
        let word = it.word("work", &WORKS)?;
        let (known, work): (&[&str], _) = match word {
            Some(0) => (
                &["rounds", "calls", "pause", "compute", "rest", "vary"],
                rounds(it)?,
            ),
            Some(1) => (&["compute", "sleep", "vary"], turns(it)?),
            Some(2) => {
                let known = &["rate", "vary", "times", "compute", "between", "stop"];
                (known, queue(it, callbacks()?, options.costs.work)?)
            }
            Some(3) => (
                &["sections", "inside", "outside", "sleeps", "vary"],
                read(it)?,
            ),
            Some(4) => {
                let work = KernelWork::switch(it, callbacks()?, options)?;
                (&SWITCH, Kind::Kernel(work))
            }
            Some(5) => (&RECLAIM, Kind::Kernel(KernelWork::reclaim(it, options)?)),
            Some(6) => {
                let work = KernelWork::close(it, callbacks()?, options)?;
                (&CLOSE, Kind::Kernel(work))
            }
            _ => return Err(it.need("work").expect_err("it is not there")),
        };
        it.check_names(&[&COMMON, known].concat())?;
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
            return Err(section.place.wrong(&workload.file, why));
        }
        Ok(Group {
            name: it.need("name")?,
            tasks: if each == 0 { 0 } else { tasks },
            cpus,
            start: match it.text("start")?.as_deref() {
                None | Some("any") => None,
                Some(_) => Some(it.time("start", 0)?),
            },
            endless: it.flag("endless", work.is_endless())?,
            registered: it.flag("registered", true)?,
            roams,
            work,
        })
    }

    fn spawn(&self, machine: &mut impl Stage, options: &Options, chance: &mut Chance) {
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
            let work = self.work(machine, own);
            let which = (cpu, self.registered);
            match self.endless {
                true => machine.enter_endless(&name, which, start, work),
                false => machine.enter(&name, which, start, work),
            }
            if self.roams {
                let cpus = match &self.cpus {
                    Cpus::These(list) => list.clone(),
                    Cpus::Any | Cpus::GpCpu => (0..options.cpus).collect(),
                };
                machine.roams(cpus, Chance::new(chance.next()));
            }
        }
    }

    fn work(&self, machine: &mut impl Stage, chance: Chance) -> Box<dyn crate::input::op::Work> {
        match self.work.clone() {
            Kind::Rounds {
                rounds,
                calls,
                pause,
                compute,
                rest,
                vary,
            } => Box::new(Rounds {
                rounds,
                calls,
                pause,
                compute,
                rest,
                vary,
                chance,
                at: Default::default(),
            }),
            Kind::Turns {
                compute,
                sleep,
                vary,
            } => Box::new(Turns {
                compute,
                sleep,
                vary,
                chance,
                computed: false,
            }),
            Kind::Queue {
                every,
                vary,
                times,
                work,
                between,
                stop,
                callbacks,
            } => Box::new(Queuer {
                every,
                vary,
                times,
                callbacks: callbacks.iter().map(|it| it.queued(machine)).collect(),
                work,
                between,
                stop,
                chance,
                at: Default::default(),
            }),
            Kind::Read {
                sections,
                inside,
                outside,
                sleeps,
                vary,
            } => Box::new(Reads {
                sections,
                inside,
                outside,
                sleeps_inside: matches!(SLEEPS[sleeps], "inside" | "both"),
                sleeps_outside: matches!(SLEEPS[sleeps], "outside" | "both"),
                vary,
                chance,
                at: Default::default(),
            }),
            Kind::Kernel(work) => work.work(machine, chance),
        }
    }
}

impl Kind {
    /// Is it never over, or waited for by nobody, unless the file says otherwise?
    fn is_endless(&self) -> bool {
        match self {
            Kind::Rounds { .. } => false,
            Kind::Kernel(work) => work.is_endless(),
            _ => true,
        }
    }
}

fn rounds(it: &Fields<'_>) -> Result<Kind, Error> {
    Ok(Kind::Rounds {
        rounds: it.count("rounds", 1)?,
        calls: it.count("calls", 1)?,
        pause: it.time("pause", 0)?,
        compute: it.time("compute", 0)?,
        rest: it.time("rest", 0)?,
        vary: it.flag("vary", false)?,
    })
}

fn turns(it: &Fields<'_>) -> Result<Kind, Error> {
    Ok(Kind::Turns {
        compute: it.time("compute", 1_000_000_000)?,
        sleep: it.time("sleep", 0)?,
        vary: it.flag("vary", false)?,
    })
}

fn queue(it: &Fields<'_>, callbacks: Vec<Function>, work: u64) -> Result<Kind, Error> {
    if callbacks.is_empty() {
        let why = "work = \"queue\" has callbacks = [{ func = \"…\" }]";
        return Err(it.place.wrong(it.file, why.into()));
    }
    Ok(Kind::Queue {
        every: it.rate("rate")?,
        vary: it.flag("vary", true)?,
        times: it.count("times", 1)?,
        work: it.time("compute", work)?,
        between: it.time("between", 0)?,
        stop: it.time("stop", u64::MAX)?,
        callbacks,
    })
}

fn read(it: &Fields<'_>) -> Result<Kind, Error> {
    Ok(Kind::Read {
        sections: it.count("sections", 0)?,
        inside: it.time("inside", 1000)?,
        outside: it.time("outside", 1000)?,
        sleeps: it.word("sleeps", &SLEEPS)?.unwrap_or(0),
        vary: it.flag("vary", false)?,
    })
}

impl Plan {
    /// The machine with the tasks on it, before anything has happened: a kernel's, whatever the kind.
    pub fn machine(&self) -> Machine {
        let mut machine = Machine::new(self.options.clone());
        machine.window(self.warm_up, u64::MAX);
        self.fill(&mut machine);
        machine
    }

    /// The process with the threads in it, before anything has happened: a machine of threads, whatever the kind.
    pub fn threads(&self) -> Threads {
        let mut machine = Threads::new(self.options.clone());
        machine.window(self.warm_up, u64::MAX);
        self.fill(&mut machine);
        machine
    }

    fn fill(&self, machine: &mut impl Stage) {
        // Not the machine's own sequence of chances: how often that is asked must not move tasks.
        let mut chance = Chance::new(self.options.seed ^ 0x5177_0b1e_c7ed_0000);
        for group in &self.groups {
            group.spawn(machine, &self.options, &mut chance);
        }
    }

    /// Runs it on a machine of its own; none if `stop` said so before it was over. `stop` is asked every 20 ms of virtual time.
    pub fn run(&self, stop: impl Fn() -> bool) -> Option<Stats> {
        match self.options.kind {
            MachineKind::Kernel => {
                let mut machine = self.machine();
                self.run_on(&mut machine, stop).then(|| machine.stats())
            }
            MachineKind::Threads => {
                let mut machine = self.threads();
                self.pass(&mut machine, stop).then(|| machine.stats())
            }
        }
    }

    /// As [`run`](Plan::run), on a kernel's machine that the caller keeps; false if it was stopped.
    pub fn run_on(&self, machine: &mut Machine, stop: impl Fn() -> bool) -> bool {
        self.pass(machine, stop)
    }

    fn pass(&self, machine: &mut impl Stage, stop: impl Fn() -> bool) -> bool {
        let end = self.warm_up + self.length;
        let mut until = 0;
        while until < end {
            if stop() {
                return false;
            }
            until = (until + SLICE).min(end);
            match self.until_tasks {
                true if machine.pass_tasks(until) => return true,
                true => {}
                false => machine.pass(until),
            }
        }
        true
    }
}
