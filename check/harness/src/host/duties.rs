//! What a kernel's CPU does: callbacks, ticks, the soft interrupt, context switches.
//!
//! The [notes and reports](TestHost::note) of [`KernelCpu`](super::KernelCpu) are shorter, and do not use the
//! numbers that a CPU has noticed. A test uses one of the two for a CPU, not both.

use super::TestHost;
use crate::calls::{CpuInput, Input, Output, World};
use quiescent_kernel::callbacks::{Called, Noticed};
use quiescent_kernel::host::{CpuId, Next};
use quiescent_kernel::limits::{Around, Context};
use quiescent_kernel::report::HurryAnswer;
use quiescent_kernel::tick::{At, Interrupted, Ticked};
use quiescent_kernel::urgency::Nudge;

impl TestHost {
    /// Makes any call of a CPU, and wakes the grace-period thread if the call requests that.
    pub fn on(&mut self, cpu: CpuId, input: CpuInput) -> Output {
        let output = self.apply(Input::Cpu(cpu, input));
        let wake = match output {
            Output::Called(called) => called.wake_gp,
            Output::Noticed(noticed) => noticed.wake_gp,
            Output::Reported(reported) => reported.wake_gp,
            Output::IdleLook(look) => look.wake_gp,
            Output::Adopted(adopted) => adopted.wake_gp,
            Output::Done(wake) => {
                matches!(
                    input,
                    CpuInput::Stamp | CpuInput::StampUnlocked | CpuInput::PrepareForIdle { .. }
                ) && wake
            }
            _ => false,
        };
        self.woken |= wake;
        self.tell_owed();
        output
    }

    /// Publishes the number of callbacks that each CPU owes, for queries by others.
    pub(super) fn tell_owed(&mut self) {
        for (&id, cpu) in &self.world.cpus {
            self.machine.owed[id as usize] = cpu.len();
        }
    }

    /// The engine's state of a CPU that has had a callback or made a pass.
    pub fn cpu(&self, cpu: CpuId) -> Option<&quiescent_kernel::cpu::Cpu> {
        self.world.cpus.get(&cpu)
    }

    /// All of the engine's state.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Makes any call of the engine.
    pub fn input(&mut self, input: Input) -> Output {
        let output = self.apply(input);
        if let Output::Effects(effects) = output {
            self.carry_out(effects);
        }
        output
    }

    /// `cpu` queues a callback.
    pub fn call(&mut self, cpu: CpuId) -> Called {
        match self.on(cpu, CpuInput::Call { bytes: 8, ns: 0 }) {
            Output::Called(called) => called,
            other => unreachable!("{other:?}"),
        }
    }

    /// The state in which a tick finds `cpu`: in its idle loop, in the kernel, in a section of a task
    /// (preemptible), or in a section with preemption off.
    pub fn at(&self, cpu: CpuId) -> At {
        let depth = self.machine.depth(cpu);
        let idle = !self.machine.cpus[cpu as usize].is_awake();
        At {
            now: self.machine.now,
            from: if idle {
                Interrupted::Idle
            } else {
                Interrupted::Kernel
            },
            held: depth > 0 && !self.engine().config().tick.preemptible,
            depth,
            nohz_full: self.machine.nohz_full[cpu as usize],
            ..At::default()
        }
    }

    /// A tick on `cpu`; a soft interrupt that it requests does not run by itself.
    pub fn tick(&mut self, cpu: CpuId) -> Ticked {
        self.tick_at(cpu, self.at(cpu))
    }

    /// A tick on `cpu` that finds it in the given state.
    pub fn tick_at(&mut self, cpu: CpuId, at: At) -> Ticked {
        self.machine.cpus[cpu as usize].tick();
        match self.on(cpu, CpuInput::Tick { at }) {
            Output::Ticked(ticked) => ticked,
            other => unreachable!("{other:?}"),
        }
    }

    /// The soft interrupt on `cpu`, without a batch.
    pub fn core(&mut self, cpu: CpuId) -> Noticed {
        match self.on(cpu, CpuInput::Core) {
            Output::Noticed(noticed) => noticed,
            other => unreachable!("{other:?}"),
        }
    }

    /// Runs a batch in the soft interrupt on `cpu`, and returns the number of callbacks invoked. `around`
    /// says whether the scheduler wants the CPU or the CPU is idle; a callback takes `each_ns` nanoseconds.
    pub fn batch(&mut self, cpu: CpuId, around: Around, each_ns: u64) -> u64 {
        let context = Context::Softirq;
        let Output::Batch(begun) = self.on(cpu, CpuInput::BeginBatch { context }) else {
            unreachable!("what BeginBatch returns");
        };
        let Some((start, end, batch)) = begun else {
            return 0;
        };
        let (all, mut invoked) = (end.wrapping_sub(start), 0);
        while invoked < all {
            invoked += 1;
            let clock = batch.wants_clock(invoked);
            let elapsed_ns = clock.then(|| invoked * each_ns);
            if batch.stops(
                invoked,
                Around {
                    elapsed_ns,
                    ..around
                },
            ) {
                break;
            }
        }
        self.on(
            cpu,
            CpuInput::EndBatch {
                start,
                end,
                invoked,
            },
        );
        invoked
    }

    /// A context switch on `cpu`, outside every section.
    pub fn context_switch(&mut self, cpu: CpuId) -> HurryAnswer {
        self.answer(cpu, CpuInput::ContextSwitch)
    }

    /// `cond_resched` on `cpu`, outside every section.
    pub fn cond_resched(&mut self, cpu: CpuId) -> HurryAnswer {
        self.answer(cpu, CpuInput::CondResched)
    }

    fn answer(&mut self, cpu: CpuId, input: CpuInput) -> HurryAnswer {
        let Output::Answered(answer) = self.on(cpu, input) else {
            unreachable!("what such a call returns");
        };
        if answer.momentary_eqs {
            self.machine.cpus[cpu as usize].momentary_eqs();
        }
        answer
    }

    /// With `busy`, `cpu` stays in the kernel and takes ticks only on the test's request; without, it may
    /// idle.
    pub fn set_busy(&mut self, cpu: CpuId, busy: bool) {
        self.busy[cpu as usize] = busy;
        let kernel = &mut self.machine.cpus[cpu as usize];
        if busy {
            kernel.wake();
        } else {
            kernel.sleep();
        }
    }

    /// `cpu` runs without a tick where it can.
    pub fn set_nohz_full(&mut self, cpu: CpuId) {
        self.machine.nohz_full[cpu as usize] = true;
    }

    /// The engine's requests to CPUs so far; clears them.
    pub fn take_nudges(&mut self) -> Vec<Nudge> {
        std::mem::take(&mut self.nudges)
    }

    /// Runs the grace-period thread, if it was woken or its timer has fired, until it sleeps again. Unlike
    /// [`step`](TestHost::step) this lets no time pass.
    ///
    /// # Panics
    /// If the driver role is free.
    pub fn run_thread(&mut self) {
        loop {
            let sleeps = match self.asked() {
                Some(Next::Sleep(_)) => self.machine.now.jiffies < self.engine().next_scan_at(),
                Some(Next::Done) => true,
                _ => false,
            };
            if sleeps && !self.woken {
                return;
            }
            self.woken |= matches!(self.asked(), Some(Next::Sleep(_)));
            let _ = self.step();
        }
    }

    /// Lets `ticks` ticks pass without a tick on any CPU.
    pub fn pass_jiffies(&mut self, ticks: u64) {
        self.machine.now.jiffies += ticks;
    }
}
