//! Driving: performs the engine's requests, and lets time pass.

use super::{Cpu, Role, TestHost};
use crate::replay::{Input, Output};
use quiescent_engine::host::{CpuId, FenceCause, Next, Pos, Until};
use quiescent_engine::{Global, Interest, Phase};

impl TestHost {
    /// Takes the driver role for `cpu`; false if it is taken.
    pub fn try_drive(&mut self, cpu: CpuId, interest: Interest) -> bool {
        let output = self.apply(Input::TryDrive {
            cpu: Some(cpu),
            interest,
        });
        let got = output == Output::Done(true);
        if got {
            self.role = Some(Role {
                cpu,
                interest,
                next: Next::Again,
            });
            if let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu as usize] {
                kernel.wake();
            }
        }
        got
    }

    /// The driver gives up its role, wherever it is.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn leave(&mut self) -> Next {
        let role = self.role.take().expect("leave: the driver role is free");
        self.pause(role.cpu);
        match self.apply(Input::Leave) {
            Output::Next(next) => {
                self.done.hand_overs += u32::from(next == Next::HandOver);
                next
            }
            other => unreachable!("{other:?}"),
        }
    }

    /// Turns this machine into the child of a fork: there is no driver and no waiter, and the only thread is
    /// `cpu`. All sections of the other threads are over.
    pub fn fork(&mut self, cpu: CpuId) {
        self.role = None;
        for other in (0..self.machine.present.len()).filter(|&other| other != cpu as usize) {
            while self.machine.depth(other as CpuId) > 0 {
                self.exit(other as CpuId);
            }
            self.vanish(other as CpuId);
        }
        let _ = self.apply(Input::Forked);
    }

    /// The driver's next action, if there is a driver.
    pub fn asked(&self) -> Option<Next> {
        self.role.map(|role| role.next)
    }

    /// The driver performs its next action, up to the engine's next answer, which is returned. A driver that
    /// sleeps and was not woken stays asleep; a kernel's driver wakes when its timer fires, which lets the
    /// time pass.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn step(&mut self) -> Next {
        let role = self
            .role
            .expect("step: the driver role is free, call try_drive first");
        let next = match role.next {
            Next::Done if !self.woken => return Next::Done,
            Next::Sleep(until) if !self.sleep(role.cpu, until) => return role.next,
            Next::Fence(cause) => {
                match cause {
                    FenceCause::GpStart => self.done.fences_gp += 1,
                    FenceCause::Flag => self.done.fences_flag += 1,
                }
                self.ask(Input::Fenced)
            }
            Next::Grow(cpus) => {
                self.grow(cpus);
                Next::Again
            }
            Next::FlagHoldouts { arm } => self.flag_holdouts(arm),
            Next::Spin(_) => {
                self.done.spins += 1;
                self.engine_step()
            }
            Next::Again | Next::Sleep(_) | Next::Done | Next::HandOver => self.engine_step(),
        };
        if let Some(role) = &mut self.role {
            role.next = next;
        }
        if matches!(next, Next::Sleep(_) | Next::Done) {
            self.pause(role.cpu);
        }
        if let Some(tree) = self.world.global.tree() {
            tree.check();
        }
        self.world.global.check_readers();
        self.world.global.check_expedited();
        next
    }

    /// Gives the engine a tree for so many CPUs.
    pub(super) fn grow(&mut self, cpus: u32) {
        let output = self.apply(Input::Grow { cpus });
        assert_eq!(
            output,
            Output::Done(true),
            "a tree of {cpus} CPUs was refused"
        );
        self.adopt_geometry();
    }

    pub(super) fn adopt_geometry(&mut self) {
        let tree = self.world.global.tree().expect("it was just put there");
        self.machine.geometry = tree.geometry().clone();
        self.machine.occupied.clear(); // leaves may have other numbers now
    }

    fn ask(&mut self, input: Input) -> Next {
        match self.apply(input) {
            Output::Next(next) => next,
            other => unreachable!("{other:?}"),
        }
    }

    fn engine_step(&mut self) -> Next {
        self.woken = false;
        match self.apply(Input::Step {
            now: self.machine.now,
        }) {
            Output::Effects(effects) => {
                self.carry_out(effects);
                effects.next
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn flag_holdouts(&mut self, arm: bool) -> Next {
        if arm {
            self.woken = false; // the sleeper is declared: a reader that clears a flag from now on wakes it
        }
        let mut newly = 0;
        for cpu in self.world.global.holdouts() {
            if let Cpu::Thread(reader) = &mut self.machine.cpus[cpu as usize] {
                newly += u32::from(reader.set_flag());
            }
        }
        self.ask(Input::Flagged { newly })
    }

    /// The driving thread goes to sleep: a kernel's CPU idles unless it has another reason to stay awake.
    fn pause(&mut self, cpu: CpuId) {
        let awake = self.ticking[cpu as usize] || self.busy[cpu as usize];
        if let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu as usize]
            && !awake
        {
            kernel.sleep();
        }
    }

    /// True if the sleep is over.
    fn sleep(&mut self, cpu: CpuId, until: Until) -> bool {
        self.done.sleeps += 1;
        match until {
            Until::Ns(until) if !self.woken && self.machine.now.ns < until => return false,
            Until::Ns(_) => {}
            Until::Jiffies(ticks) => {
                for _ in 0..ticks {
                    if self.woken {
                        break;
                    }
                    self.pass_tick();
                }
            }
        }
        if let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu as usize] {
            kernel.wake();
        }
        true
    }

    /// Drives on behalf of `ticket` until it is satisfied, nothing can be done, or `max_steps` are over;
    /// returns the steps taken. A thread leaves the role afterwards; a kernel's grace-period thread, for
    /// which `cpu` only waits, keeps it.
    ///
    /// Never hangs: a driver that sleeps without a waker ends the call.
    pub fn drive(&mut self, cpu: CpuId, ticket: Pos, max_steps: u32) -> u32 {
        let (cpu, interest) = match self.kthread {
            Some(kthread) => (kthread, Interest::GpThread),
            None => (cpu, Interest::Waiter(ticket)),
        };
        self.run(cpu, interest, max_steps, |host| host.satisfied(ticket))
    }

    /// Drives as a poller until the engine asks it to sleep or leave; returns the steps taken.
    pub fn help(&mut self, cpu: CpuId, max_steps: u32) -> u32 {
        match self.kthread {
            Some(kthread) => self.run(kthread, Interest::GpThread, max_steps, |_| false),
            None => self.run(cpu, Interest::Poller, max_steps, |_| false),
        }
    }

    fn run(
        &mut self,
        cpu: CpuId,
        interest: Interest,
        max_steps: u32,
        content: impl Fn(&TestHost) -> bool,
    ) -> u32 {
        if self.role.is_none() && !self.try_drive(cpu, interest) {
            return 0;
        }
        let mut steps = 0;
        while steps < max_steps && !content(self) {
            let before = self.asked();
            let next = self.step();
            steps += 1;
            let stuck = matches!(next, Next::Sleep(Until::Ns(_))) && before == Some(next);
            if stuck || matches!(next, Next::Done | Next::HandOver) {
                break;
            }
        }
        if self
            .role
            .is_some_and(|role| role.interest != Interest::GpThread)
        {
            let _ = self.leave();
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
    ///
    /// # Panics
    /// In the thread flavour, which has none.
    pub fn kthread_on(&mut self, cpu: CpuId) {
        assert!(
            self.kthread.is_some(),
            "threads have no grace-period thread"
        );
        self.kthread = Some(cpu);
        if self.role.is_some() {
            let _ = self.leave();
            assert!(
                self.try_drive(cpu, Interest::GpThread),
                "the role was just left"
            );
        }
    }

    /// Wakes the driver without a reason.
    pub fn stray_wake(&mut self) {
        self.woken = true;
    }

    /// Lets a kernel's CPU take ticks from now on (it stays awake), or stops its tick.
    pub fn set_ticking(&mut self, cpu: CpuId, ticking: bool) {
        self.ticking[cpu as usize] = ticking;
        if let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu as usize] {
            if ticking {
                kernel.wake();
            } else {
                kernel.sleep();
            }
        }
    }

    /// A tick: a kernel's CPU notes its quiescent state, if it is in no section.
    pub fn note(&mut self, cpu: CpuId) {
        let published = self.world.global.published();
        if let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu as usize]
            && kernel.note(published)
        {
            self.trace_cpuqs();
        }
    }

    /// The CPU reports its noted quiescent state, if it has one.
    pub fn report(&mut self, cpu: CpuId) {
        let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu as usize] else {
            return;
        };
        if let Some(noted) = kernel.take_noted() {
            let output = self.apply(Input::ReportQs { cpu, noted });
            self.carry_out_output(output);
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
        let output = self.apply(Input::WaitersWoken { pos });
        output == Output::Done(true)
    }

    /// The engine itself, for calls that have no method here. They are not recorded.
    pub fn engine_mut(&mut self) -> &mut Global {
        &mut self.world.global
    }
}
