//! The possible next actions, and the check of states in which only the driver can continue.

use quiescent_kernel::{Next, Phase};

use crate::search::bounds::Bounds;
use crate::search::marks::Pad;
use crate::search::model::{Cpu, State};
use crate::search::notice::first_leaf;

/// One indivisible action. The number is a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A section is opened (or nested).
    Enter(u8),
    /// The innermost section is closed.
    Exit(u8),
    /// A CPU goes idle.
    Idle(u8),
    /// A tick: a CPU notes a quiescent state.
    Note(u8),
    /// The CPU reports the quiescent state that it noted.
    Report(u8),
    /// The task in a section is preempted, and the CPU notes a quiescent state.
    Preempt(u8),
    /// A preempted task continues, on this CPU.
    Resume(u8, u8),
    /// A task requests an expedited grace period on this CPU.
    Expedite(u8),
    /// That caller performs its next action.
    ExpStep(u8),
    /// The same, but the interrupts that it sends are refused.
    ExpRefused(u8),
    /// The interrupt of an expedited grace period arrives.
    Interrupt(u8),
    /// A CPU arrives.
    Arrive(u8),
    /// A CPU reports that it is leaving.
    Depart(u8),
    /// The second half of its departure.
    Gone(u8),
    /// A `synchronize` caller takes its ticket.
    Wait(u8),
    /// A cookie is taken and its grace period requested.
    StartPoll(u8),
    /// The grace-period thread performs its next action.
    Drive,
    /// The grace-period thread's timer fires.
    Timer,
    /// The grace-period thread is woken without a reason.
    Stray,
    /// The grace-period thread leaves its CPU.
    Leave,
    /// The grace-period thread continues, on this CPU.
    Move(u8),
    /// The work item wakes the waiters that were left to it.
    Work,
}

/// The actions possible in a state.
pub struct Actions {
    pub all: Vec<Action>,
    /// None of them is a free choice: only the driver and actions that must follow are left.
    pub only_forced: bool,
}

/// Grace periods after which the work item is no longer delayed: as long as no marker is free, the engine
/// runs grace periods back to back, without an end.
const PATIENCE: u8 = 3;

impl State {
    /// All actions that are possible now.
    pub fn actions(&self, bounds: &Bounds) -> Actions {
        let mut all = Vec::with_capacity(16);
        for i in 0..self.machine.cpus.len() {
            self.reader_actions(i, bounds, &mut all);
            self.task_actions(i, &mut all);
        }
        for i in (0..self.machine.cpus.len()).filter(|&i| Bounds::is_in(bounds.callers, i)) {
            self.request_actions(i, &mut all);
        }
        self.expedite_actions(bounds, &mut all);
        if self.may_leave() {
            all.push(Action::Leave);
        }
        if self.budget.strays > 0 && self.sleeps_ticks() {
            all.push(Action::Stray);
        }
        let free = all.len();
        self.forced_actions(bounds, &mut all);
        Actions {
            all,
            only_forced: free == 0,
        }
    }

    /// The actions that a CPU may choose.
    fn reader_actions(&self, i: usize, bounds: &Bounds, all: &mut Vec<Action>) {
        let (cpu, n) = (&self.machine.cpus[i], i as u8);
        if Bounds::is_in(bounds.ghosts, i) || cpu.leaving {
            return;
        }
        if !cpu.present {
            if self.budget.arrivals > 0 {
                all.push(Action::Arrive(n));
            }
            return;
        }
        match cpu.depth() {
            0 if cpu.sections > 0 => all.push(Action::Enter(n)),
            1 if self.budget.nests > 0 => all.push(Action::Enter(n)),
            _ => {}
        }
        if cpu.word.has_noted() {
            all.push(Action::Report(n)); // possibly from an interrupt, and in a section
        }
        if cpu.depth() > 0 {
            all.push(Action::Exit(n));
            return;
        }
        if self.budget.departures > 0 && self.may_depart(i) {
            all.push(Action::Depart(n));
        }
        if cpu.word.is_awake() && !self.runs_kthread(i) {
            all.push(Action::Idle(n));
        }
        let in_flight = self.engine.published().global.state() != 0;
        if cpu.notes > 0 && in_flight && cpu.word.is_awake() {
            all.push(Action::Note(n));
        }
    }

    /// A CPU departs awake, and not while the grace-period thread runs on it. The last CPU does not
    /// depart while a preempted task still has to run.
    fn may_depart(&self, i: usize) -> bool {
        self.machine.cpus[i].word.is_awake() && !self.drives(i) && !self.is_needed(i)
    }

    fn request_actions(&self, i: usize, all: &mut Vec<Action>) {
        let cpu = &self.machine.cpus[i];
        if !cpu.present || cpu.leaving {
            return;
        }
        if cpu.depth() == 0 && self.budget.waits > 0 {
            all.push(Action::Wait(i as u8));
        }
        if self.budget.polls > 0 {
            all.push(Action::StartPoll(i as u8));
        }
    }

    /// The grace-period thread moves in the middle of a grace period only.
    fn may_leave(&self) -> bool {
        let works = self.role.is_some_and(|role| role.next != Next::Done);
        self.budget.leaves > 0 && works && self.engine.phase() != Phase::Idle
    }

    fn sleeps_ticks(&self) -> bool {
        self.role
            .is_some_and(|role| matches!(role.next, Next::Sleep(_)))
    }

    /// Does the grace-period thread run on this CPU?
    fn runs_kthread(&self, i: usize) -> bool {
        let waits = |next| matches!(next, Next::Done | Next::Sleep(_));
        self.role
            .is_some_and(|role| role.cpu == i && !waits(role.next))
    }

    /// Actions that happen without a choice.
    fn forced_actions(&self, bounds: &Bounds, all: &mut Vec<Action>) {
        for (i, cpu) in self.machine.cpus.iter().enumerate() {
            if cpu.leaving {
                all.push(Action::Gone(i as u8));
            }
        }
        if self.work.is_some() {
            all.push(Action::Work);
        }
        self.exp_actions(all);
        if self.may_drive() {
            all.push(Action::Drive);
        }
        if self.sleeps_ticks() && self.budget.timers > 0 {
            all.push(Action::Timer);
        }
        if self.role.is_none() {
            let cpus = 0..self.machine.cpus.len();
            all.extend(
                cpus.filter(|&i| Bounds::is_in(bounds.callers, i))
                    .filter(|&i| self.machine.cpus[i].present && !self.machine.cpus[i].leaving)
                    .map(|i| Action::Move(i as u8)),
            );
        }
    }

    fn may_drive(&self) -> bool {
        let Some(role) = self.role else { return false };
        let runs = match role.next {
            Next::Sleep(_) | Next::Done => self.woken,
            _ => true,
        };
        let phase = self.engine.phase();
        let impatient =
            phase == Phase::Idle && self.work.is_some() && self.oracle.started >= PATIENCE;
        runs && !impatient && !self.waits_for_departure(phase)
    }

    /// A departing CPU holds a lock from its report until its bit is cleared; the visit of its leaf and the
    /// set-up of the leaf wait for that lock.
    fn waits_for_departure(&self, phase: Phase) -> bool {
        let first_leaf = first_leaf(&self.engine);
        let leaf = match phase {
            Phase::Hotplug(leaf) => leaf,
            Phase::Init(node) if node >= first_leaf => node - first_leaf,
            _ => return false,
        };
        let at = |(i, cpu): (usize, &Cpu)| cpu.leaving && self.machine.leaf_of(i) == leaf;
        self.machine.cpus.iter().enumerate().any(at)
    }

    /// The second half of rule b: from here on readers leave, CPUs go idle, and the driver drives; within a
    /// bounded number of actions all waiters are satisfied. Every sleeper must be woken.
    pub fn settle(mut self, bounds: &Bounds) -> Result<(), String> {
        const ENOUGH: u32 = 2000;
        let pad = Pad::default();
        self.budget.timers = u8::MAX;
        for _ in 0..ENOUGH {
            let waiting = self.exp.has_callers();
            if !waiting && self.oracle.all_satisfied() {
                return Ok(());
            }
            let all = self.actions(bounds).all;
            let pick = |wanted: fn(&Action) -> bool| all.iter().copied().find(wanted);
            let calm =
                |a: &Action| matches!(a, Action::Exit(_) | Action::Resume(..) | Action::Idle(_));
            let after = |a: &Action| {
                use Action::{Drive, ExpStep, Gone, Interrupt, Move, Work};
                matches!(
                    a,
                    ExpStep(_) | Interrupt(_) | Gone(_) | Work | Move(_) | Drive
                )
            };
            let timer = |a: &Action| matches!(a, Action::Timer);
            let action = pick(calm).or_else(|| pick(after)).or_else(|| pick(timer));
            let action = match action {
                Some(action) => action,
                None if waiting => return Err(format!("b: every thread sleeps: {self:?}")),
                None => return Err(format!("b: the driver is stuck: {self:?}")),
            };
            self.apply(action, bounds, &pad)?;
        }
        Err(format!(
            "b: no waiter is satisfied after {ENOUGH} actions: {self:?}"
        ))
    }
}
