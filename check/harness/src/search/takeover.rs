//! Takeover: a driver stops between two of its calls, another thread takes its role, and the driver returns.
//!
//! At most one driver is stopped at a time. A stopped driver has no state of its own until another thread
//! takes its role: until then it may continue at any time.

use quiescent_engine::{Interest, Look, Next, Until};

use crate::search::actions::Action;
use crate::search::bounds::{Bounds, Broken, Flavour};
use crate::search::marks::{Mark, Pad};
use crate::search::model::{Caller, Role, State, Task};

impl State {
    /// The actions by which a thread may take over the role.
    pub fn takeover_actions(&self, bounds: &Bounds, all: &mut Vec<Action>) {
        let Some(role) = self.role else { return };
        // Flags are set, and the engine is notified, while the lock is held.
        let in_lock = matches!(role.task, Task::Flag { .. });
        let threads = bounds.flavour == Flavour::Threads;
        if !threads || in_lock || self.budget.takeovers == 0 || self.stale.is_some() {
            return;
        }
        for (i, caller) in self.callers.iter().enumerate() {
            let may_help = self.budget.helps > 0 && Bounds::is_in(bounds.callers, i);
            let wanted = !self.oracle.all_satisfied();
            let present = self.machine.cpus.get(i).is_none_or(|cpu| cpu.present);
            if matches!(caller, Caller::Asleep(_))
                || (may_help && wanted && present && self.is_free(i))
            {
                all.push(Action::TakeOver(i as u8));
            }
        }
    }

    /// A waiter (after a long time) or a poller inspects the driver, which has made no call since.
    pub fn take_over(&mut self, agent: usize, pad: &Pad) {
        self.budget.takeovers -= 1;
        let interest = match self.callers[agent] {
            Caller::Asleep(ticket) => Interest::Waiter(ticket),
            _ => {
                self.budget.helps -= 1;
                Interest::Poller
            }
        };
        let old = self.role.expect("the role is taken");
        let asleep = matches!(old.task, Task::Do(Next::Sleep(Until::Ns(_))));
        let cpu = (agent < self.machine.cpus.len()).then_some(agent as u32);
        let sleeping = asleep && self.armed;
        match self.engine.take_over(cpu, interest, 0, sleeping) {
            Look::At(_) => pad.set_if(Mark::TakeoverRefused, sleeping),
            Look::Yours => unreachable!("the role was taken"),
            Look::TakenOver => {
                pad.set(Mark::TakenOver);
                pad.set_if(Mark::TakenOverWoken, asleep);
                if let Interest::Waiter(ticket) = interest {
                    self.callers[agent] = Caller::Driving(ticket);
                }
                self.stale = Some(old);
                self.role = Some(Role {
                    agent,
                    interest,
                    task: Task::Do(Next::Again),
                    epoch: self.engine.driver_epoch(),
                });
            }
        }
    }

    /// The replaced driver runs again.
    pub fn come_back(&mut self, pad: &Pad) -> Result<(), String> {
        let stale = self.stale.take().expect("a driver is away");
        if self.engine.resume(stale.epoch) || self.broken == Broken::Oblivious {
            return self.carry_on(stale, pad);
        }
        let fenced = matches!(stale.task, Task::Do(Next::Fence(_)));
        if fenced && self.broken == Broken::StaleFence {
            let _ = self.engine.fenced();
            if self.role.is_some() {
                self.step(0, pad)?;
            }
        }
        let home = matches!(stale.task, Task::Do(Next::Done | Next::HandOver));
        pad.set_if(Mark::TakenOverAtTheEnd, home);
        self.callers[stale.agent] = match stale.interest {
            Interest::Waiter(ticket) => Caller::Awake(ticket),
            _ => Caller::No,
        };
        Ok(())
    }

    /// The replaced driver continues as if it had the role, beside the new driver.
    fn carry_on(&mut self, stale: Role, pad: &Pad) -> Result<(), String> {
        let driver = self.role.replace(stale);
        if let Task::Do(Next::Fence(_)) = stale.task {
            // The fence was issued long ago.
            let task = Task::Do(self.engine.fenced());
            self.role = Some(Role { task, ..stale });
        } else {
            self.drive(pad)?;
        }
        self.stale = std::mem::replace(&mut self.role, driver);
        Ok(())
    }

    /// Is a driver stopped inside a section? Every waiter waits for that section, whichever thread drives.
    pub fn stopped_inside(&self) -> bool {
        let cpu = self
            .stale
            .and_then(|role| self.machine.cpus.get(role.agent));
        cpu.is_some_and(|cpu| cpu.depth() > 0)
    }

    /// Is there a waiter besides the stopped driver?
    pub fn others_wait(&self) -> bool {
        let away = self.stale.map(|role| role.agent);
        let mut callers = self.callers.iter().enumerate();
        callers.any(|(i, caller)| *caller != Caller::No && away != Some(i))
    }
}
