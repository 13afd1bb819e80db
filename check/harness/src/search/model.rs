//! The environment of the engine, small enough for a complete search.
//!
//! A *CPU* is a reader word: a kernel's or a thread's. In the thread flavour it is also a thread: a thread
//! that waits or drives does nothing else, and one more thread (the *outsider*) is not registered at all. In
//! the kernel flavour a grace-period thread runs on one of the CPUs, and requests come from tasks that the
//! model does not follow further; it follows readers once they were preempted.
//!
//! Memory is sequentially consistent: each action is visible to all threads at once. An action is split where
//! the order of its parts matters: a reader's unlock, its load of the flag and its wake-up of the driver are
//! three actions, a kernel CPU's departure is two, the flagging of holdouts one for each, and every step of
//! the engine is one.

use std::cell::Cell;

use crate::host::{KernelCpu, Reader};
use quiescent_engine::event::{Event, FutureEvent};
use quiescent_engine::{CpuId, Global, Host, Interest, LeafId, Next, Phase, Pos, Seen, Tasks};

use crate::search::bounds::{Bounds, Broken, Flavour};
use crate::search::expedited::Expediting;
use crate::search::marks::{Mark, Pad};
use crate::search::oracle::Oracle;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    Thread(Reader),
    Kernel(KernelCpu),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    pub word: Word,
    pub present: bool,
    /// Has reported its departure, but is still present (kernel).
    pub leaving: bool,
    /// Closed its last section and has not checked its flag yet (thread).
    pub looking: bool,
    /// Found its flag set and has not woken the driver yet (thread).
    pub waking: bool,
    pub sections: u8,
    pub notes: u8,
}

impl Cpu {
    pub fn depth(&self) -> u32 {
        match &self.word {
            Word::Thread(reader) => reader.depth(),
            Word::Kernel(cpu) => cpu.depth(),
        }
    }

    pub fn seen(&self) -> Seen {
        match &self.word {
            Word::Thread(reader) => reader.seen(),
            Word::Kernel(cpu) => cpu.seen(),
        }
    }
}

/// A task that was preempted in a section that is still open; otherwise all fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Preempted {
    pub used: bool,
    /// The number of its open sections, while it is switched out.
    pub depth: u32,
    pub on: Option<usize>,
}

/// All CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    pub cpus: Vec<Cpu>,
    /// Tasks that were preempted in a section.
    pub tasks: Vec<Preempted>,
    /// CPUs that hide (see [`Broken::HiddenArrival`]).
    hidden: u32,
    always_quiescent: bool,
    /// All numbers of CPUs that ever took part are below this.
    pub known: u32,
    /// Leaves that may be occupied. The engine clears those that it finds empty.
    occupied: u64,
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
        self.tasks.iter().position(|task| task.on == Some(cpu))
    }

    pub fn leaf_of(&self, cpu: usize) -> LeafId {
        cpu / self.fanout as usize
    }

    /// A CPU arrives at the leaf of this CPU.
    pub fn occupy(&mut self, cpu: usize) {
        self.occupied |= 1 << self.leaf_of(cpu);
    }

    /// The engine has found a leaf empty. A CPU may have arrived since.
    pub fn vacate(&mut self, leaf: LeafId) {
        let there = |cpu: &usize| self.cpus[*cpu].present && self.leaf_of(*cpu) == leaf;
        if !(0..self.cpus.len()).any(|cpu| there(&cpu)) {
            self.occupied &= !(1 << leaf);
        }
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
        self.machine.known
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        self.machine.cpus[cpu as usize].seen()
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let all = u64::from(self.machine.mask(|cpu| cpu.present) & !self.machine.hidden);
        let lowest = leaf as u32 * self.machine.fanout;
        let width = u64::MAX >> (64 - self.machine.fanout);
        all.checked_shr(lowest).unwrap_or(0) & width
    }

    fn occupied(&self, group: usize) -> u64 {
        match group {
            0 => self.machine.occupied,
            _ => 0,
        }
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        let machine = self.machine;
        let quiescent = machine.cpus[cpu as usize].depth() == 0 || machine.always_quiescent;
        self.pad.set_if(Mark::OwnRefused, !quiescent);
        self.asked_own.set(true);
        quiescent
    }

    fn trace(&self, event: &Event) {
        match *event {
            Event::Fqs { cpu, .. } => {
                let outside = self.machine.cpus[cpu as usize].seen().outside;
                self.pad.set(if outside {
                    Mark::CreditOutside
                } else {
                    Mark::CreditChanged
                });
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
                self.pad
                    .set_if(Mark::InitGone, self.initialises && mask != 0);
                self.pad
                    .set_if(Mark::InitDeserted, self.initialises && mask == 0);
                self.pad.set_if(Mark::OnlyReaders, qsmask == 0 && gp_tasks);
                self.pad
                    .set_if(Mark::ReaderLast, mask == 0 && qsmask == 0 && !gp_tasks);
            }
            Event::GracePeriodInit { level, qsmask, .. } => {
                self.pad.set_if(Mark::LeafEmpty, level > 0 && qsmask == 0);
            }
            _ => {}
        }
    }
}

/// A `synchronize` caller (threads).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// No caller, or one that has returned.
    No,
    /// Is about to try to drive.
    Awake(Pos),
    /// Sleeps until it is satisfied or asked to drive.
    Asleep(Pos),
    /// Drives.
    Driving(Pos),
}

/// The driver's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    Do(Next),
    /// Sets the flags of these holdouts, one by one.
    Flag {
        todo: u32,
        newly: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Role {
    /// The driving thread, or the CPU on which the grace-period thread runs.
    pub agent: usize,
    pub interest: Interest,
    pub task: Task,
    pub epoch: u32,
}

/// What is left of the bounds, except for the counts of each CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    pub nests: u8,
    pub preempts: u8,
    pub expedites: u8,
    pub refusals: u8,
    pub waits: u8,
    pub polls: u8,
    pub helps: u8,
    pub leaves: u8,
    pub takeovers: u8,
    pub arrivals: u8,
    pub departures: u8,
    pub timers: u8,
    pub strays: u8,
}

/// The whole state of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub engine: Global,
    pub machine: Machine,
    pub role: Option<Role>,
    /// The driver that has lost the role and has not noticed (threads).
    pub stale: Option<Role>,
    /// The driver has declared that it sleeps (threads).
    pub armed: bool,
    /// A wake-up is pending for the grace-period thread (kernel).
    pub woken: bool,
    /// Waiters that were left to the work item.
    pub work: Option<Pos>,
    /// One for each CPU, and one for the outsider.
    pub callers: Vec<Caller>,
    pub budget: Budget,
    /// Scans begun in the grace period in flight; 2 stands for more.
    pub scans: u8,
    pub exp: Expediting,
    pub broken: Broken,
    pub oracle: Oracle,
}

impl State {
    /// All CPUs are outside and nothing is requested; a kernel has its tree and its grace-period thread.
    pub fn new(bounds: &Bounds) -> State {
        let away = bounds.absent | bounds.ghosts;
        let cpus: Vec<Cpu> = (0..bounds.cpus as usize)
            .map(|i| Cpu {
                word: match bounds.flavour {
                    Flavour::Threads => Word::Thread(Reader::default()),
                    Flavour::Kernel => Word::Kernel(KernelCpu::idle()),
                },
                present: !Bounds::is_in(away, i),
                leaving: false,
                looking: false,
                waking: false,
                sections: if Bounds::is_in(bounds.readers, i) {
                    bounds.sections
                } else {
                    0
                },
                notes: if Bounds::is_in(bounds.readers, i) {
                    bounds.notes
                } else {
                    0
                },
            })
            .collect();
        let mut engine = Global::new(bounds.config());
        if bounds.preempts > 0 {
            let table = Tasks::new(bounds.preempts.into()).expect("a small table");
            assert!(engine.grow_tasks(table).is_ok());
        }
        let mut known = bounds.cpus;
        let mut role = None;
        match bounds.flavour {
            // An absent CPU numbered above all present ones is unknown to the engine until it arrives.
            Flavour::Threads => known -= (away << (32 - known)).leading_ones(),
            Flavour::Kernel => {
                let tree = Global::new_tree(engine.config(), known).expect("a small tree");
                assert!(engine.grow(tree).is_ok() && engine.try_drive(Some(0), Interest::GpThread));
                let task = Task::Do(Next::Again);
                role = Some(Role {
                    agent: 0,
                    interest: Interest::GpThread,
                    task,
                    epoch: 0,
                });
            }
        }
        State {
            engine,
            callers: vec![Caller::No; cpus.len() + 1],
            machine: Machine {
                cpus,
                tasks: vec![Preempted::default(); bounds.preempts.min(3).into()],
                hidden: if bounds.broken == Broken::HiddenArrival {
                    bounds.absent
                } else {
                    0
                },
                always_quiescent: bounds.broken == Broken::OwnQuiescent,
                known,
                occupied: u64::MAX,
                fanout: bounds.fanout,
            },
            role,
            stale: None,
            armed: false,
            woken: false,
            work: None,
            budget: Budget {
                nests: bounds.nests,
                preempts: bounds.preempts,
                expedites: bounds.expedites,
                refusals: bounds.refusals,
                waits: bounds.waits,
                polls: bounds.polls,
                helps: bounds.helps,
                leaves: bounds.leaves,
                takeovers: bounds.takeovers,
                arrivals: bounds.arrivals,
                departures: bounds.departures,
                timers: bounds.timers,
                strays: bounds.strays,
            },
            scans: 0,
            exp: Expediting::new(bounds.expedites),
            broken: bounds.broken,
            oracle: Oracle::default(),
        }
    }

    pub fn drives(&self, agent: usize) -> bool {
        let is_it = |role: Role| role.agent == agent;
        self.role.is_some_and(is_it) || self.stale.is_some_and(is_it)
    }
}
