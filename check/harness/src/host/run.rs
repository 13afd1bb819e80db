//! Driving: performs the engine's requests, and lets time pass.

use super::{Role, TestHost};
use crate::world::check;
use quiescent_kernel::host::{CpuId, Next, Pos};
use quiescent_kernel::{Global, Phase};

impl TestHost {
    /// Takes the driver role for `cpu`; false if it is taken.
    pub fn try_drive(&mut self, cpu: CpuId) -> bool {
        let got = self.world.global.try_drive(Some(cpu));
        if got {
            let next = Next::Again;
            self.role = Some(Role { cpu, next });
            self.machine.cpus[cpu as usize].wake();
        }
        got
    }

    /// The driver gives up its role, wherever it is.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn leave(&mut self) {
        let role = self.role.take().expect("leave: the driver role is free");
        self.pause(role.cpu);
        self.world.global.leave();
    }

    /// The driver's next action, if there is a driver.
    pub fn asked(&self) -> Option<Next> {
        self.role.map(|role| role.next)
    }

    /// The driver performs its next action, up to the engine's next answer, which is returned. A driver
    /// that sleeps wakes when its timer fires, which lets the time pass.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn step(&mut self) -> Next {
        let role = self
            .role
            .expect("step: the driver role is free, call try_drive first");
        let next = match role.next {
            Next::Done if !self.woken => return Next::Done,
            Next::Sleep(ticks) => {
                self.sleep(role.cpu, ticks);
                self.engine_step()
            }
            Next::Fence => {
                self.done.fences += 1;
                self.world.global.fenced()
            }
            Next::Grow(cpus) => {
                assert!(self.grow(cpus), "a tree of {cpus} CPUs was refused");
                Next::Again
            }
            Next::Again | Next::Done => self.engine_step(),
        };
        if let Some(role) = &mut self.role {
            role.next = next;
        }
        if matches!(next, Next::Sleep(_) | Next::Done) {
            self.pause(role.cpu);
        }
        check(&self.world.global);
        next
    }

    /// Gives the engine a tree for so many CPUs; false if there is none, or it is refused.
    pub(super) fn grow(&mut self, cpus: u32) -> bool {
        let global = &mut self.world.global;
        let Ok(tree) = Global::new_tree(global.config(), cpus) else {
            return false;
        };
        let taken = global.grow(tree).is_ok();
        if taken {
            let tree = global.tree().expect("it was just put there");
            self.machine.geometry = tree.geometry().clone();
        }
        taken
    }

    fn engine_step(&mut self) -> Next {
        self.woken = false;
        let effects = self.world.global.step(self.machine.now, &self.machine);
        self.carry_out(effects);
        effects.next
    }

    /// The driving thread goes to sleep: its CPU idles unless it has another reason to stay awake.
    fn pause(&mut self, cpu: CpuId) {
        if !self.ticking[cpu as usize] && !self.busy[cpu as usize] {
            self.machine.cpus[cpu as usize].sleep();
        }
    }

    fn sleep(&mut self, cpu: CpuId, ticks: u64) {
        self.done.sleeps += 1;
        for _ in 0..ticks {
            if self.woken {
                break;
            }
            self.pass_tick();
        }
        self.machine.cpus[cpu as usize].wake();
    }

    /// Drives until `ticket` is satisfied, nothing can be done, or `max_steps` are over; returns the steps
    /// taken. The grace-period thread keeps the role.
    pub fn drive(&mut self, ticket: Pos, max_steps: u32) -> u32 {
        self.run(max_steps, |host| host.satisfied(ticket))
    }

    /// Drives until nothing can be done; returns the steps taken.
    pub fn help(&mut self, max_steps: u32) -> u32 {
        self.run(max_steps, |_| false)
    }

    fn run(&mut self, max_steps: u32, content: impl Fn(&TestHost) -> bool) -> u32 {
        if self.role.is_none() && !self.try_drive(self.kthread) {
            return 0;
        }
        let mut steps = 0;
        while steps < max_steps && !content(self) {
            steps += 1;
            if self.step() == Next::Done {
                break;
            }
        }
        steps
    }

    /// Steps until the engine is in `phase`, at most `max_steps`. False if it did not get there.
    pub fn run_until(&mut self, phase: Phase, max_steps: u32) -> bool {
        for _ in 0..max_steps {
            if self.world.global.phase() == phase {
                return true;
            }
            let _ = self.step();
        }
        self.world.global.phase() == phase
    }

    /// The grace-period thread moves to another CPU. It takes effect when it drives next.
    pub fn kthread_on(&mut self, cpu: CpuId) {
        self.kthread = cpu;
        if self.role.is_some() {
            self.leave();
            assert!(self.try_drive(cpu), "the role was just left");
        }
    }

    /// Wakes the driver without a reason.
    pub fn stray_wake(&mut self) {
        self.woken = true;
    }

    /// Lets a CPU take ticks from now on (it stays awake), or stops its tick.
    pub fn set_ticking(&mut self, cpu: CpuId, ticking: bool) {
        self.ticking[cpu as usize] = ticking;
        self.machine.cpus[cpu as usize].keep_awake(ticking);
    }

    /// A tick: a CPU notes its quiescent state, if it is in no section.
    pub fn note(&mut self, cpu: CpuId) {
        let published = self.world.global.published();
        if self.machine.cpus[cpu as usize].note(published) {
            self.trace_cpuqs();
        }
    }

    /// The CPU reports its noted quiescent state, if it has one.
    pub fn report(&mut self, cpu: CpuId) {
        if let Some(noted) = self.machine.cpus[cpu as usize].take_noted() {
            let effects = self.world.global.report_qs(cpu, noted, &self.machine);
            self.carry_out(effects);
        }
    }

    /// One tick of time; ticking CPUs note and report.
    pub fn pass_tick(&mut self) {
        self.machine.now.jiffies += 1;
        for cpu in 0..self.ticking.len() {
            if self.ticking[cpu] {
                self.note(cpu as CpuId);
                self.report(cpu as CpuId);
            }
        }
    }

    /// Nanoseconds pass.
    pub fn pass_ns(&mut self, ns: u64) {
        self.machine.now.ns += ns;
    }

    /// The work item wakes the waiters that were left to it. False if there were none.
    pub fn run_work(&mut self) -> bool {
        let Some(pos) = self.work.take() else {
            return false;
        };
        self.world.global.waiters_woken(pos);
        true
    }

    /// The engine itself, for calls that have no method here.
    pub fn engine_mut(&mut self) -> &mut Global {
        &mut self.world.global
    }
}
