//! The driver's actions: it takes the role, performs the engine's requests, and leaves.

use quiescent_engine::{Effects, Global, Interest, Next, Now, Phase, Until, Wait};

use crate::search::marks::{Mark, Pad};
use crate::search::model::{Caller, Eyes, Role, State, Task, Word};
use crate::search::notice;

impl State {
    pub fn take(&mut self, agent: usize, pad: &Pad) {
        let Caller::Awake(ticket) = self.callers[agent] else {
            return;
        };
        self.callers[agent] = if ticket < self.engine.waiters().done() {
            Caller::No
        } else if self.engine.is_driven() {
            Caller::Asleep(ticket)
        } else {
            self.take_role(agent, Interest::Waiter(ticket), pad);
            Caller::Driving(ticket)
        };
    }

    pub fn take_role(&mut self, agent: usize, interest: Interest, pad: &Pad) {
        let outsider = agent == self.machine.cpus.len();
        let cpu = (!outsider).then_some(agent as u32);
        assert!(self.engine.try_drive(cpu, interest), "the role was free");
        self.role = Some(Role {
            agent,
            interest,
            task: Task::Do(Next::Again),
            epoch: self.engine.driver_epoch(),
        });
        match self.engine.phase() {
            Phase::Idle => {}
            Phase::Fence => pad.set(Mark::ResumeFence),
            Phase::Hotplug(_) => pad.set(Mark::ResumeHotplug),
            Phase::Init(_) => pad.set(Mark::ResumeInit),
            Phase::Wait(_) => pad.set(Mark::ResumeWait),
            Phase::Scan(_) => pad.set(Mark::ResumeScan),
            Phase::Cleanup(_) => pad.set(Mark::ResumeCleanup),
            Phase::End => pad.set(Mark::ResumeEnd),
        }
    }

    pub fn task(&self) -> Option<Task> {
        self.role.map(|role| role.task)
    }

    fn set_task(&mut self, next: Next) -> Result<(), String> {
        if let Next::Sleep(Until::Ns(_)) = next {
            self.oracle.sleeps(self.engine.holdouts())?;
        }
        if let Some(role) = &mut self.role {
            role.task = Task::Do(next);
        }
        Ok(())
    }

    /// The driver performs its next action.
    pub fn drive(&mut self, pad: &Pad) -> Result<(), String> {
        let role = self.role.expect("the role is taken");
        match role.task {
            Task::Flag { todo: 0, newly } => {
                let arming = self.engine.phase() == Phase::Wait(Wait::Arming);
                pad.set_if(Mark::Reflag, arming && newly > 0);
                let next = self.engine.flagged(newly);
                self.set_task(next)
            }
            Task::Flag { todo, newly } => {
                let i = todo.trailing_zeros() as usize;
                let Word::Thread(reader) = &mut self.machine.cpus[i].word else {
                    return Err("a kernel's CPU has no flag".into());
                };
                let new = reader.set_flag();
                if new {
                    self.oracle.flag_set(i);
                }
                let task = Task::Flag {
                    todo: todo & (todo - 1),
                    newly: newly + u32::from(new),
                };
                self.role = Some(Role { task, ..role });
                Ok(())
            }
            Task::Do(Next::FlagHoldouts { arm }) => {
                self.armed |= arm;
                let todo = self.engine.holdouts().fold(0, |mask, cpu| mask | 1 << cpu);
                self.role = Some(Role {
                    task: Task::Flag { todo, newly: 0 },
                    ..role
                });
                Ok(())
            }
            Task::Do(Next::Fence(_)) => {
                self.oracle.fence();
                let next = self.engine.fenced();
                self.set_task(next)
            }
            Task::Do(Next::Grow(cpus)) => {
                let tree = Global::new_tree(self.engine.config(), cpus).expect("a small tree");
                self.engine
                    .grow(tree)
                    .map_err(|_| "a larger tree was refused")?;
                pad.set(Mark::Grow);
                self.set_task(Next::Again)
            }
            Task::Do(Next::Done | Next::HandOver) if role.interest != Interest::GpThread => {
                let poller = role.interest == Interest::Poller;
                let left_holdouts = matches!(self.engine.phase(), Phase::Wait(_));
                pad.set_if(Mark::PollerLeft, poller && left_holdouts);
                self.leave(pad)
            }
            Task::Do(Next::Sleep(Until::Ns(_))) => {
                pad.set(Mark::Slept);
                self.step(0, pad)
            }
            Task::Do(_) => self.step(0, pad),
        }
    }

    /// One step of the engine, `ticks` ticks after the previous one.
    pub fn step(&mut self, ticks: u64, pad: &Pad) -> Result<(), String> {
        let role = self.role.expect("the role is taken");
        if let Some(Word::Kernel(kernel)) = self
            .machine
            .cpus
            .get_mut(role.agent)
            .map(|cpu| &mut cpu.word)
        {
            kernel.wake();
        }
        self.woken = false;
        let before = self.engine.phase();
        let inside = self.open_sections();
        let own = 1u32.checked_shl(role.agent as u32).unwrap_or(0);
        let present = self.machine.mask(|cpu| cpu.present);
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let effects = self.engine.step(
            Now {
                ns: 0,
                jiffies: ticks,
            },
            &eyes,
        );
        if let Some(leaf) = effects.vacated {
            self.machine.vacate(leaf);
        }
        let after = self.engine.phase();
        if before == Phase::Idle {
            self.scans = 0;
        }
        if !matches!(before, Phase::Scan(_)) && matches!(after, Phase::Scan(_)) {
            self.scans = (self.scans + 1).min(2);
        }
        notice::step(
            before,
            effects.next,
            &self.engine,
            present,
            self.work.is_some(),
            pad,
        );
        self.oracle.stepped(before, after, inside, present & !own)?;
        self.carry_out(effects, pad)?;
        self.set_task(effects.next)
    }

    fn carry_out(&mut self, effects: Effects, pad: &Pad) -> Result<(), String> {
        if let Some(until) = effects.waiters_until {
            self.wake_callers(until);
        }
        if let Some(until) = effects.deferred_until {
            pad.set(Mark::Deferred);
            self.work = Some(until);
        }
        let Some(Role {
            interest: Interest::Waiter(ticket),
            ..
        }) = self.role
        else {
            return Ok(());
        };
        let home = matches!(effects.next, Next::Done | Next::HandOver);
        if home && ticket >= self.engine.waiters().done() {
            return Err(format!(
                "b: the driver is asked to leave, but {ticket} is not satisfied"
            ));
        }
        Ok(())
    }

    /// Sleeping callers that are satisfied return.
    pub fn wake_callers(&mut self, until: u64) {
        for caller in &mut self.callers {
            if matches!(caller, Caller::Asleep(ticket) if *ticket < until) {
                *caller = Caller::No;
            }
        }
    }

    pub fn leave(&mut self, pad: &Pad) -> Result<(), String> {
        let role = self.role.take().expect("the role is taken");
        if role.interest != Interest::GpThread {
            self.callers[role.agent] = Caller::No;
        }
        if self.engine.leave() != Next::HandOver || role.interest == Interest::GpThread {
            return Ok(());
        }
        pad.set(Mark::HandOver);
        let first = self.callers.iter_mut().filter_map(|caller| match *caller {
            Caller::Asleep(ticket) => Some((ticket, caller)),
            _ => None,
        });
        if let Some((ticket, caller)) = first.min_by_key(|(ticket, _)| *ticket) {
            *caller = Caller::Awake(ticket);
        }
        Ok(())
    }
}
