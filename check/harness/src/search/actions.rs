//! The possible next actions, and the check of states in which only the driver can continue.

use quiescent_engine::{Next, Phase, Until};

use crate::search::bounds::{Bounds, Flavour};
use crate::search::marks::Pad;
use crate::search::model::{Caller, Cpu, State, Task, Word};

/// One indivisible action. The number is a CPU or an agent: the thread of a CPU, or the outsider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A section is opened (or nested).
    Enter(u8),
    /// The innermost section is closed.
    Exit(u8),
    /// A thread checks its wake flag after its last section.
    Look(u8),
    /// A thread that found its flag set wakes the driver.
    Wake(u8),
    /// A kernel's CPU goes idle.
    Idle(u8),
    /// A tick: a kernel's CPU notes a quiescent state.
    Note(u8),
    /// The CPU reports the quiescent state that it noted.
    Report(u8),
    /// The task in a section is preempted, and the CPU notes a quiescent state (kernel).
    Preempt(u8),
    /// A preempted task continues, on this CPU.
    Resume(u8, u8),
    /// A task requests an expedited grace period on this CPU (kernel).
    Expedite(u8),
    /// That caller performs its next action.
    ExpStep(u8),
    /// The same, but the interrupts that it sends are refused.
    ExpRefused(u8),
    /// The interrupt of an expedited grace period arrives.
    Interrupt(u8),
    /// A CPU arrives; a thread registers.
    Arrive(u8),
    /// A thread leaves; a kernel's CPU reports that it is leaving.
    Depart(u8),
    /// The second half of a kernel CPU's departure.
    Gone(u8),
    /// A `synchronize` caller takes its ticket.
    Wait(u8),
    /// It tries to take the driver role.
    Take(u8),
    /// A cookie is taken and its grace period requested.
    StartPoll(u8),
    /// A poller takes the driver role.
    Help(u8),
    /// The driver performs its next action.
    Drive,
    /// The grace-period thread's timer fires.
    Timer,
    /// The grace-period thread is woken without a reason.
    Stray,
    /// The driver leaves before the engine asks it to.
    Leave,
    /// A waiter or a poller takes the role of a driver that does not run.
    TakeOver(u8),
    /// The replaced driver runs again.
    ComeBack,
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
        for agent in (0..self.callers.len()).filter(|&i| Bounds::is_in(bounds.callers, i)) {
            self.request_actions(agent, bounds, &mut all);
        }
        self.expedite_actions(bounds, &mut all);
        if self.may_leave(bounds) {
            all.push(Action::Leave);
        }
        if self.budget.strays > 0 && self.sleeps_ticks() {
            all.push(Action::Stray);
        }
        self.takeover_actions(bounds, &mut all);
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
        if bounds.flavour == Flavour::Threads && !self.is_free(i) {
            return;
        }
        match cpu.depth() {
            0 if cpu.sections > 0 => all.push(Action::Enter(n)),
            1 if self.budget.nests > 0 => all.push(Action::Enter(n)),
            _ => {}
        }
        if matches!(&cpu.word, Word::Kernel(kernel) if kernel.has_noted()) {
            all.push(Action::Report(n)); // possibly from an interrupt, and in a section
        }
        if cpu.depth() > 0 {
            all.push(Action::Exit(n));
            return;
        }
        if self.budget.departures > 0 && self.may_depart(i) {
            all.push(Action::Depart(n));
        }
        if let Word::Kernel(kernel) = &cpu.word {
            if kernel.is_awake() && !self.runs_kthread(i) {
                all.push(Action::Idle(n));
            }
            let in_flight = self.engine.published().global.state() != 0;
            if cpu.notes > 0 && in_flight && kernel.is_awake() {
                all.push(Action::Note(n));
            }
        }
    }

    /// Is this thread neither waiting nor driving, nor in the middle of an unlock?
    pub fn is_free(&self, agent: usize) -> bool {
        let between = |cpu: &Cpu| cpu.looking || cpu.waking;
        self.callers[agent] == Caller::No
            && !self.drives(agent)
            && !self.machine.cpus.get(agent).is_some_and(between)
    }

    /// A kernel's CPU departs awake, and not while the grace-period thread runs on it. The last CPU does not
    /// depart while a preempted task still has to run.
    fn may_depart(&self, i: usize) -> bool {
        match &self.machine.cpus[i].word {
            Word::Thread(_) => true,
            Word::Kernel(kernel) => kernel.is_awake() && !self.drives(i) && !self.is_needed(i),
        }
    }

    fn request_actions(&self, agent: usize, bounds: &Bounds, all: &mut Vec<Action>) {
        let n = agent as u8;
        let cpu = self.machine.cpus.get(agent);
        if cpu.is_some_and(|cpu| !cpu.present || cpu.leaving) {
            return;
        }
        let outside = cpu.is_none_or(|cpu| cpu.depth() == 0);
        let threads = bounds.flavour == Flavour::Threads;
        if threads && !self.is_free(agent) {
            return;
        }
        if outside && self.budget.waits > 0 {
            all.push(Action::Wait(n));
        }
        if self.budget.polls > 0 {
            all.push(Action::StartPoll(n));
        }
        let wanted = threads && !self.oracle.all_satisfied();
        if self.budget.helps > 0 && wanted && !self.engine.is_driven() {
            all.push(Action::Help(n));
        }
    }

    fn may_leave(&self, bounds: &Bounds) -> bool {
        let Some(role) = self.role else { return false };
        // The grace-period thread only moves in the middle of a grace period.
        self.budget.leaves > 0
            && !matches!(
                role.task,
                Task::Do(Next::Done | Next::HandOver) | Task::Flag { .. }
            )
            && (bounds.flavour == Flavour::Threads || self.engine.phase() != Phase::Idle)
    }

    fn sleeps_ticks(&self) -> bool {
        let task = self.role.map(|role| role.task);
        matches!(task, Some(Task::Do(Next::Sleep(Until::Jiffies(_)))))
    }

    /// Does the grace-period thread run on this CPU?
    fn runs_kthread(&self, i: usize) -> bool {
        let waits = |task| matches!(task, Task::Do(Next::Done | Next::Sleep(_)));
        self.role
            .is_some_and(|role| role.agent == i && !waits(role.task))
    }

    /// Actions that happen without a choice.
    fn forced_actions(&self, bounds: &Bounds, all: &mut Vec<Action>) {
        for (i, cpu) in self.machine.cpus.iter().enumerate() {
            let n = i as u8;
            if cpu.looking {
                all.push(Action::Look(n));
            }
            if cpu.waking {
                all.push(Action::Wake(n));
            }
            if cpu.leaving {
                all.push(Action::Gone(n));
            }
        }
        for (i, caller) in self.callers.iter().enumerate() {
            if matches!(caller, Caller::Awake(_)) {
                all.push(Action::Take(i as u8));
            }
        }
        if self.work.is_some() {
            all.push(Action::Work);
        }
        self.exp_actions(all);
        if self.may_drive() {
            all.push(Action::Drive);
        }
        if self.stale.is_some() {
            all.push(Action::ComeBack);
        }
        if self.sleeps_ticks() && self.budget.timers > 0 {
            all.push(Action::Timer);
        }
        if self.role.is_none() && bounds.flavour == Flavour::Kernel {
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
        let kernel = matches!(role.interest, quiescent_engine::Interest::GpThread);
        let runs = match role.task {
            Task::Do(Next::Sleep(Until::Ns(_))) => !self.armed,
            Task::Do(Next::Sleep(Until::Jiffies(_))) => self.woken,
            Task::Do(Next::Done) if kernel => self.woken,
            _ => true,
        };
        let phase = self.engine.phase();
        let impatient =
            phase == Phase::Idle && self.work.is_some() && self.oracle.started >= PATIENCE;
        runs && !impatient && !self.waits_for_departure(phase)
    }

    /// A kernel's CPU holds a lock from its report until its bit is cleared; the visit of its leaf and the
    /// set-up of the leaf wait for that lock.
    fn waits_for_departure(&self, phase: Phase) -> bool {
        let first_leaf = self
            .engine
            .tree()
            .map_or(0, |tree| tree.geometry().first_leaf());
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
            let waiting = self.callers.iter().any(|caller| *caller != Caller::No);
            let waiting = waiting || self.exp.has_callers();
            if !waiting && self.oracle.all_satisfied() {
                return Ok(());
            }
            let outsider = self.callers.len() as u8 - 1;
            let all = self.actions(bounds).all;
            let pick = |wanted: fn(&Action) -> bool| all.iter().copied().find(wanted);
            let calm =
                |a: &Action| matches!(a, Action::Exit(_) | Action::Resume(..) | Action::Idle(_));
            let after = |a: &Action| {
                use Action::{Drive, ExpStep, Gone, Interrupt, Look, Move, Take, Wake, Work};
                matches!(
                    a,
                    ExpStep(_)
                        | Interrupt(_)
                        | Look(_)
                        | Wake(_)
                        | Gone(_)
                        | Work
                        | Take(_)
                        | Move(_)
                        | Drive
                )
            };
            let timer = |a: &Action| matches!(a, Action::Timer);
            let action = pick(calm).or_else(|| pick(after)).or_else(|| pick(timer));
            let action = match action {
                Some(action) => action,
                // A stopped driver has to run only to end a section of its own.
                None if self.stale.is_some() && (self.stopped_inside() || !self.others_wait()) => {
                    Action::ComeBack
                }
                None if waiting => return Err(format!("b: every thread sleeps: {self:?}")),
                None if self.role.is_none() => Action::Help(outsider),
                None => return Err(format!("b: the driver is stuck: {self:?}")),
            };
            self.apply(action, bounds, &pad)?;
        }
        Err(format!(
            "b: no waiter is satisfied after {ENOUGH} actions: {self:?}"
        ))
    }
}
