//! The grace-period thread's actions: it takes the role on a CPU, performs the engine's requests, and leaves.

use quiescent_kernel::{Next, Now, Phase};

use crate::search::marks::{Mark, Pad};
use crate::search::model::{Eyes, Role, State};
use crate::search::notice;

impl State {
    pub fn take_role(&mut self, cpu: usize, pad: &Pad) {
        assert!(self.engine.try_drive(Some(cpu as u32)), "the role was free");
        self.role = Some(Role {
            cpu,
            next: Next::Again,
        });
        match self.engine.phase() {
            Phase::Idle => {}
            Phase::Fence => pad.set(Mark::ResumeFence),
            Phase::Hotplug(_) => pad.set(Mark::ResumeHotplug),
            Phase::Init(_) => pad.set(Mark::ResumeInit),
            Phase::Wait => pad.set(Mark::ResumeWait),
            Phase::Scan(_) => pad.set(Mark::ResumeScan),
            Phase::Cleanup(_) => pad.set(Mark::ResumeCleanup),
            Phase::End => pad.set(Mark::ResumeEnd),
        }
    }

    fn set_next(&mut self, next: Next) {
        if let Some(role) = &mut self.role {
            role.next = next;
        }
    }

    /// The thread performs its next action.
    pub fn drive(&mut self, pad: &Pad) -> Result<(), String> {
        let role = self.role.expect("the role is taken");
        if role.next != Next::Fence {
            return self.step(0, pad);
        }
        self.oracle.fence();
        let next = self.engine.fenced();
        self.set_next(next);
        Ok(())
    }

    /// One step of the engine, `ticks` ticks after the previous one.
    pub fn step(&mut self, ticks: u64, pad: &Pad) -> Result<(), String> {
        let role = self.role.expect("the role is taken");
        self.machine.cpus[role.cpu].word.wake();
        self.woken = false;
        let before = self.engine.phase();
        let inside = self.open_sections();
        let now = Now {
            ns: 0,
            jiffies: ticks,
        };
        let eyes = Eyes::new(&self.machine, before, pad);
        let effects = self.engine.step(now, &eyes);
        let after = self.engine.phase();
        if before == Phase::Idle {
            self.scans = 0;
        }
        if !matches!(before, Phase::Scan(_)) && matches!(after, Phase::Scan(_)) {
            self.scans = (self.scans + 1).min(2);
        }
        notice::step(before, &self.engine, self.work.is_some(), pad);
        self.oracle.stepped(before, after, inside)?;
        if let Some(until) = effects.deferred_until {
            pad.set(Mark::Deferred);
            self.work = Some(until);
        }
        self.set_next(effects.next);
        Ok(())
    }

    pub fn leave(&mut self) {
        self.role = None;
        self.engine.leave();
    }
}
