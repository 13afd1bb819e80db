//! Expedited grace periods: their callers, interrupts and wake-ups.

use quiescent_kernel::exp::{Climb, ExpBegin, ExpNext, ExpPhase, Interrupted};
use quiescent_kernel::{Now, Phase, Seq};

use crate::host::Doing;
use crate::search::actions::Action;
use crate::search::bounds::{Bounds, Broken};
use crate::search::marks::{Mark, Pad};
use crate::search::model::{Eyes, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Caller {
    /// The CPU it was called on.
    agent: usize,
    cookie: Seq,
    doing: Doing,
}

/// It was not called yet, or has returned; no later action depends on which caller it was.
const AWAY: Caller = Caller {
    agent: 0,
    cookie: Seq::ZERO,
    doing: Doing::Returned,
};

/// All callers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expediting {
    callers: Vec<Caller>,
    /// A wake-up is pending for the driver.
    pub woken: bool,
    /// CPUs to which an interrupt was sent that has not arrived.
    pub pending: u32,
    /// CPUs whose running task has a hint set.
    pub hints: u32,
}

impl Expediting {
    pub fn new(calls: u8) -> Expediting {
        Expediting {
            callers: vec![AWAY; calls.min(3).into()],
            woken: false,
            pending: 0,
            hints: 0,
        }
    }

    /// Is there a caller that has not returned?
    pub fn has_callers(&self) -> bool {
        self.callers.iter().any(|c| c.doing != Doing::Returned)
    }

    fn role_taken(&self) -> bool {
        let has = |c: &Caller| matches!(c.doing, Doing::Begins | Doing::Drives(_));
        self.callers.iter().any(has)
    }

    fn may_step(&self, caller: &Caller) -> bool {
        match caller.doing {
            Doing::Returned | Doing::Sleeps(..) => false,
            Doing::Contends => !self.role_taken(),
            Doing::Drives(ExpNext::Sleep(None)) => self.woken,
            _ => true,
        }
    }
}

impl State {
    /// Calls, each of which may or may not be made.
    pub fn expedite_actions(&self, bounds: &Bounds, all: &mut Vec<Action>) {
        let free = self.exp.callers.iter().any(|c| c.doing == Doing::Returned);
        if self.budget.expedites > 0 && free {
            let cpus = self.machine.cpus.iter().enumerate();
            let able = |i: usize| Bounds::is_in(bounds.callers, i);
            for (i, _) in
                cpus.filter(|(i, cpu)| able(*i) && cpu.present && !cpu.leaving && cpu.depth() == 0)
            {
                all.push(Action::Expedite(i as u8));
            }
        }
        if self.budget.refusals > 0 {
            let callers = self.exp.callers.iter().enumerate();
            let asks = |c: &Caller| matches!(c.doing, Doing::Drives(ExpNext::Ask { .. }));
            let asking = callers.filter(|(_, c)| asks(c));
            all.extend(asking.map(|(i, _)| Action::ExpRefused(i as u8)));
        }
    }

    /// Actions that happen without a choice.
    pub fn exp_actions(&self, all: &mut Vec<Action>) {
        for (i, caller) in self.exp.callers.iter().enumerate() {
            if self.exp.may_step(caller) {
                all.push(Action::ExpStep(i as u8));
            }
        }
        for i in 0..self.machine.cpus.len() {
            if self.exp.pending & 1 << i != 0 {
                all.push(Action::Interrupt(i as u8));
            }
        }
    }

    pub fn expedite(&mut self, agent: usize, pad: &Pad) {
        self.budget.expedites -= 1;
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let cookie = self.engine.exp_snap(&eyes);
        self.oracle.exp_cookie(cookie);
        let free = self
            .exp
            .callers
            .iter()
            .position(|c| c.doing == Doing::Returned);
        let doing = Doing::Climbs;
        self.exp.callers[free.expect("there is room")] = Caller {
            agent,
            cookie,
            doing,
        };
    }

    pub fn exp_step(&mut self, i: usize, refuse: bool, pad: &Pad) -> Result<(), String> {
        let caller = self.exp.callers[i];
        let (agent, cookie) = (caller.agent, caller.cookie);
        let next = match caller.doing {
            Doing::Climbs => self.exp_climb(agent, cookie, pad),
            Doing::Contends => {
                assert!(self.engine.exp_lock(), "the role was free");
                Doing::Begins
            }
            Doing::Begins => self.exp_begin(cookie, pad)?,
            Doing::Drives(ExpNext::Done) => {
                self.engine.exp_release();
                Doing::Wakes
            }
            Doing::Drives(next) => Doing::Drives(self.exp_drive(agent, next, refuse, pad)?),
            Doing::Wakes => self.exp_wake(pad),
            Doing::Returned | Doing::Sleeps(..) => unreachable!("it does nothing"),
        };
        self.exp.callers[i].doing = next;
        if next == Doing::Returned {
            self.exp.callers[i] = AWAY;
        }
        pad.set_if(Mark::ExpCookie, self.oracle.served_expedited());
        Ok(())
    }

    fn exp_climb(&mut self, agent: usize, cookie: Seq, pad: &Pad) -> Doing {
        let leaf = self.machine.leaf_of(agent);
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let (mark, doing) = match self.engine.exp_climb(leaf, cookie, &eyes) {
            Climb::Done => (Mark::ExpServed, Doing::Returned),
            Climb::Wait { node, queue } => (Mark::ExpSleep, Doing::Sleeps(node, queue)),
            Climb::Contend => (Mark::ExpContend, Doing::Contends),
            Climb::Begin => (Mark::ExpFast, Doing::Begins),
        };
        pad.set(mark);
        doing
    }

    fn exp_begin(&mut self, cookie: Seq, pad: &Pad) -> Result<Doing, String> {
        let waking = self.exp.callers.iter().any(|c| c.doing == Doing::Wakes);
        let inside = self.open_sections();
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        match self.engine.exp_begin(cookie, &eyes) {
            ExpBegin::Done => {
                pad.set(Mark::ExpBeginServed);
                Ok(Doing::Returned)
            }
            ExpBegin::Grow(cpus) => Err(format!("a kernel's tree has no room for {cpus}")),
            ExpBegin::Begun => {
                pad.set_if(Mark::ExpOverlap, self.engine.phase() != Phase::Idle);
                pad.set_if(Mark::ExpDuringWakes, waking);
                self.oracle.exp_begun(inside)?;
                Ok(Doing::Drives(ExpNext::Again))
            }
        }
    }

    fn exp_drive(
        &mut self,
        agent: usize,
        next: ExpNext,
        refuse: bool,
        pad: &Pad,
    ) -> Result<ExpNext, String> {
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        if next == ExpNext::Fence {
            self.engine.exp_fenced(&eyes);
            return Ok(ExpNext::Again);
        }
        let before = self.engine.exp_phase();
        let effects = if let ExpNext::Ask { lo, cpus } = next {
            let asked = (cpus as u32) << lo;
            let present = self.machine.mask(|cpu| cpu.present);
            let able = self.machine.mask(|cpu| cpu.present && !cpu.leaving);
            let refused = if refuse { asked } else { asked & !able };
            if self.broken != Broken::LostInterrupt {
                self.exp.pending |= asked & !refused;
            }
            pad.set(Mark::ExpAsk);
            pad.set_if(Mark::ExpGone, asked & !present != 0);
            pad.set_if(Mark::ExpAgain, refused & present != 0);
            self.engine.exp_asked(u64::from(refused >> lo), &eyes)
        } else {
            self.exp.woken = false;
            let jiffies = match next {
                ExpNext::Sleep(ticks) => ticks.unwrap_or(0),
                _ => 0,
            };
            let here = &self.machine.cpus[agent];
            let on = (here.present && here.depth() == 0).then_some(agent as u32);
            self.engine.exp_step(on, Now { ns: 0, jiffies }, &eyes)
        };
        if let (ExpPhase::Ask { cpus, .. }, ExpNext::Ask { cpus: asked, .. }) =
            (before, effects.next)
        {
            pad.set_if(Mark::ExpSecondLook, cpus != asked);
        }
        match (before, self.engine.exp_phase()) {
            (ExpPhase::Wait, ExpPhase::Idle) => self.oracle.exp_ended()?,
            (ExpPhase::Wait, _) => {
                let waking = self.exp.callers.iter().any(|c| c.doing == Doing::Wakes);
                let none_blocks = self.engine.exp_holdouts().next().is_none();
                pad.set_if(Mark::ExpReaders, none_blocks && !waking);
                pad.set_if(Mark::ExpEndWaits, none_blocks && waking);
            }
            _ => {}
        }
        Ok(effects.next)
    }

    fn exp_wake(&mut self, pad: &Pad) -> Doing {
        let eyes = Eyes::new(&self.machine, self.engine.phase(), pad);
        let Some(wake) = self.engine.exp_wake(&eyes) else {
            return Doing::Returned;
        };
        self.exp.woken |= wake.wake_exp;
        for caller in &mut self.exp.callers {
            let here = caller.doing == Doing::Sleeps(wake.node, wake.queue);
            if here && self.engine.exp_done(caller.cookie) {
                *caller = AWAY;
            }
        }
        match wake.last {
            true => Doing::Returned,
            false => Doing::Wakes,
        }
    }

    pub fn interrupt(&mut self, i: usize, pad: &Pad) {
        self.exp.pending &= !(1 << i);
        let inside = self.machine.cpus[i].depth() > 0;
        let at = match inside {
            true => Interrupted::Section,
            false => Interrupted::Quiescent,
        };
        let owed = self.engine.exp_holdouts().any(|cpu| cpu as usize == i);
        let handled = self.engine.exp_interrupt(i as u32, at);
        pad.set(match (owed, inside) {
            (false, _) => Mark::ExpLate,
            (true, true) => Mark::ExpHint,
            (true, false) => Mark::ExpOutside,
        });
        self.exp.hints |= u32::from(handled.hint) << i;
        self.exp.woken |= handled.wake_exp;
    }
}
