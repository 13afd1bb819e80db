//! The environment of the engine, small enough for a complete search.
//!
//! A *CPU* is a context-tracking word with sections and ticks. A grace-period thread runs on one of the CPUs,
//! and requests come from tasks that the model does not follow further; it follows readers once they were
//! preempted.
//!
//! Memory is sequentially consistent: each action is visible to all threads at once. An action is split where
//! the order of its parts matters: a CPU's departure is two actions, and every step of the engine is one.

use std::cell::Cell;

use crate::host::{KernelCpu, Task};
use quiescent_kernel::event::{Event, FutureEvent};
use quiescent_kernel::{CpuId, Global, Host, LeafId, Next, Phase, Pos, Seen, Tasks};

use crate::search::bounds::{Bounds, Broken, Budget};
use crate::search::expedited::Expediting;
use crate::search::marks::{Mark, Pad};
use crate::search::oracle::Oracle;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    pub word: KernelCpu,
    pub present: bool,
    /// Has reported its departure, but is still present.
    pub leaving: bool,
    pub sections: u8,
    pub notes: u8,
}

impl Cpu {
    pub fn depth(&self) -> u32 {
        self.word.depth()
    }

    pub fn seen(&self) -> Seen {
        self.word.seen()
    }
}

/// All CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    pub cpus: Vec<Cpu>,
    /// Tasks that were preempted in a section.
    pub tasks: Vec<Task>,
    always_quiescent: bool,
    fanout: u32,
}

impl Machine {
    /// The mask of the CPUs for which `which` is true.
    pub fn mask(&self, which: impl Fn(&Cpu) -> bool) -> u32 {
        (0..)
            .zip(&self.cpus)
            .fold(0, |mask, (i, cpu)| mask | u32::from(which(cpu)) << i)
    }

    /// The preempted task that continues on `cpu`.
    pub fn task_on(&self, cpu: usize) -> Option<usize> {
        let here = |task: &Task| task.on == Some(cpu as CpuId);
        self.tasks.iter().position(here)
    }

    pub fn leaf_of(&self, cpu: usize) -> LeafId {
        cpu / self.fanout as usize
    }
}

/// The machine as the engine's queries see it, with a pad for marks.
pub struct Eyes<'a> {
    machine: &'a Machine,
    pad: &'a Pad,
    initialises: bool,
    asked_own: Cell<bool>,
}

impl<'a> Eyes<'a> {
    /// For a call made in `phase`.
    pub fn new(machine: &'a Machine, phase: Phase, pad: &'a Pad) -> Eyes<'a> {
        let initialises = matches!(phase, Phase::Init(_));
        Eyes {
            machine,
            pad,
            initialises,
            asked_own: Cell::new(false),
        }
    }
}

impl Host for Eyes<'_> {
    fn cpus(&self) -> u32 {
        self.machine.cpus.len() as u32
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        self.machine.cpus[cpu as usize].seen()
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let all = u64::from(self.machine.mask(|cpu| cpu.present));
        let lowest = leaf as u32 * self.machine.fanout;
        let width = u64::MAX >> (64 - self.machine.fanout);
        all.checked_shr(lowest).unwrap_or(0) & width
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        let machine = self.machine;
        let quiescent = machine.cpus[cpu as usize].depth() == 0 || machine.always_quiescent;
        self.pad.set_if(Mark::OwnRefused, !quiescent);
        self.asked_own.set(true);
        quiescent
    }

    fn trace(&self, event: &Event) {
        let pad = self.pad;
        match *event {
            Event::Fqs { cpu, .. } => {
                let outside = self.machine.cpus[cpu as usize].seen().outside;
                pad.set_if(Mark::CreditOutside, outside);
                pad.set_if(Mark::CreditChanged, !outside);
            }
            Event::FutureGracePeriod { event, .. } => match event {
                FutureEvent::Prestarted => self.pad.set(Mark::Prestarted),
                FutureEvent::Startedleaf => self.pad.set(Mark::Startedleaf),
                FutureEvent::Startedleafroot => self.pad.set(Mark::Startedleafroot),
                FutureEvent::Startedroot => self.pad.set(Mark::Startedroot),
                FutureEvent::CleanupMore => self.pad.set(Mark::CleanupMore),
                _ => {}
            },
            Event::QuiescentStateReport { .. } if self.asked_own.get() => {
                self.pad.set(Mark::EarlyReport);
            }
            Event::QuiescentStateReport {
                mask,
                qsmask,
                gp_tasks,
                ..
            } => {
                pad.set_if(Mark::InitGone, self.initialises && mask != 0);
                pad.set_if(Mark::InitDeserted, self.initialises && mask == 0);
                pad.set_if(Mark::OnlyReaders, qsmask == 0 && gp_tasks);
                pad.set_if(Mark::ReaderLast, mask == 0 && qsmask == 0 && !gp_tasks);
            }
            Event::GracePeriodInit { level, qsmask, .. } => {
                self.pad.set_if(Mark::LeafEmpty, level > 0 && qsmask == 0);
            }
            _ => {}
        }
    }
}

/// The grace-period thread, while it has the role of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Role {
    /// The CPU on which it runs.
    pub cpu: usize,
    /// Its next action.
    pub next: Next,
}

/// The whole state of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub engine: Global,
    pub machine: Machine,
    pub role: Option<Role>,
    /// A wake-up is pending for the grace-period thread.
    pub woken: bool,
    /// Waiters that were left to the work item.
    pub work: Option<Pos>,
    /// What is left of the bounds, except for the counts of each CPU.
    pub budget: Budget,
    /// Scans begun in the grace period in flight; 2 stands for more.
    pub scans: u8,
    pub exp: Expediting,
    pub broken: Broken,
    pub oracle: Oracle,
}

impl State {
    /// All CPUs are outside and nothing is requested; there is a tree and a grace-period thread.
    pub fn new(bounds: &Bounds) -> State {
        let away = bounds.absent | bounds.ghosts;
        let cpu = |i: usize| {
            let reads = u8::from(Bounds::is_in(bounds.readers, i));
            Cpu {
                word: KernelCpu::idle(),
                present: !Bounds::is_in(away, i),
                leaving: false,
                sections: reads * bounds.sections,
                notes: reads * bounds.notes,
            }
        };
        let cpus = (0..bounds.cpus as usize).map(cpu).collect();
        let mut engine = Global::new(bounds.config());
        if bounds.budget.preempts > 0 {
            let table = Tasks::new(bounds.budget.preempts.into()).expect("a small table");
            assert!(engine.grow_tasks(table).is_ok());
        }
        let tree = Global::new_tree(engine.config(), bounds.cpus).expect("a small tree");
        assert!(engine.grow(tree).is_ok() && engine.try_drive(Some(0)));
        State {
            engine,
            machine: Machine {
                cpus,
                tasks: vec![Task::default(); bounds.budget.preempts.min(3).into()],
                always_quiescent: bounds.broken == Broken::OwnQuiescent,
                fanout: bounds.fanout,
            },
            role: Some(Role {
                cpu: 0,
                next: Next::Again,
            }),
            woken: false,
            work: None,
            budget: bounds.budget,
            scans: 0,
            exp: Expediting::new(bounds.budget.expedites),
            broken: bounds.broken,
            oracle: Oracle::default(),
        }
    }

    /// Does the grace-period thread have the role, on this CPU?
    pub fn drives(&self, cpu: usize) -> bool {
        self.role.is_some_and(|role| role.cpu == cpu)
    }
}
