//! What a kernel's CPU does: callbacks, ticks, the soft interrupt, context switches.
//!
//! The [notes and reports](TestHost::note) of [`KernelCpu`](super::KernelCpu) are shorter, and do not use the
//! numbers that a CPU has noticed. A test uses one of the two for a CPU, not both.

use super::TestHost;
use super::machine::Machine;
use crate::world::World;
use quiescent_kernel::Global;
use quiescent_kernel::barrier::{Barrier, Visit};
use quiescent_kernel::callbacks::{Adopted, Called, Noticed};
use quiescent_kernel::cpu::Cpu;
use quiescent_kernel::fast_no_hz::IdleLook;
use quiescent_kernel::host::{CpuId, Next, Pos};
use quiescent_kernel::limits::{Around, Context};
use quiescent_kernel::report::{HurryAnswer, QsReported};
use quiescent_kernel::tick::{At, Ticked};
use quiescent_kernel::urgency::Nudge;

impl TestHost {
    /// Makes a call of a CPU.
    pub fn on<T>(
        &mut self,
        cpu: CpuId,
        call: impl FnOnce(&mut Cpu, &mut Global, &Machine) -> T,
    ) -> T {
        let (own, global) = self.world.cpu(cpu);
        let result = call(own, global, &self.machine);
        self.tell_owed();
        result
    }

    /// It notes its quiescent state; false if none was missing.
    pub fn note_qs(&mut self, cpu: CpuId) -> bool {
        self.on(cpu, |cpu, _, host| cpu.note_qs(host))
    }

    /// It reports its noted quiescent state if that is still of use.
    pub fn check_qs(&mut self, cpu: CpuId) -> QsReported {
        let reported = self.on(cpu, |cpu, global, host| cpu.check_qs(global, host));
        self.woken |= reported.wake_gp;
        reported
    }

    /// The same without a check of the number of its grace period.
    pub fn report_qs(&mut self, cpu: CpuId) -> QsReported {
        let reported = self.on(cpu, |cpu, global, host| cpu.report_qs(global, host));
        self.woken |= reported.wake_gp;
        reported
    }

    /// It has come online.
    pub fn came_online(&mut self, cpu: CpuId) {
        self.on(cpu, |cpu, global, host| cpu.online(global, host));
    }

    /// Its callbacks are offloaded, or not.
    pub fn set_offloaded(&mut self, cpu: CpuId, offloaded: bool) {
        self.on(cpu, |cpu, _, _| cpu.set_offloaded(offloaded));
    }

    /// The callback that was queued last is lazy.
    pub fn queued_lazy(&mut self, cpu: CpuId) {
        self.on(cpu, |cpu, _, _| cpu.queued_lazy());
    }

    /// An interrupt arrives; true if the tick has to go on.
    pub fn irq_enter(&mut self, cpu: CpuId) -> bool {
        self.on(cpu, |cpu, global, _| cpu.irq_enter(global))
    }

    /// What it needs before it idles.
    pub fn idle_needs(&mut self, cpu: CpuId) -> IdleLook {
        let now = self.machine.now.jiffies;
        let look = self.on(cpu, |cpu, global, host| cpu.idle_needs(global, now, host));
        self.woken |= look.wake_gp;
        look
    }

    /// It is about to idle; true if the grace-period thread is woken.
    pub fn prepare_for_idle(&mut self, cpu: CpuId) -> bool {
        let now = self.machine.now.jiffies;
        let wake = self.on(cpu, |cpu, global, host| {
            cpu.prepare_for_idle(global, now, host)
        });
        self.woken |= wake;
        wake
    }

    /// It wakes up from idle.
    pub fn cleanup_after_idle(&mut self, cpu: CpuId) -> IdleLook {
        let now = self.machine.now.jiffies;
        let look = self.on(cpu, |cpu, global, host| {
            cpu.cleanup_after_idle(global, now, host)
        });
        self.woken |= look.wake_gp;
        look
    }

    /// It takes over the callbacks of `gone`.
    pub fn adopt(&mut self, cpu: CpuId, gone: CpuId) -> Adopted {
        let adopted = self.world.adopt(cpu, gone, &self.machine);
        self.woken |= adopted.wake_gp;
        self.tell_owed();
        adopted
    }

    /// Begins a batch: the range that is extracted.
    pub fn begin_batch(&mut self, cpu: CpuId, context: Context) -> Option<(Pos, Pos)> {
        let (range, _) = self.on(cpu, |cpu, global, _| cpu.begin_batch(global, context))?;
        Some((range.start, range.end))
    }

    /// Ends a batch, all of which was invoked.
    pub fn end_batch(&mut self, cpu: CpuId, (start, end): (Pos, Pos)) {
        let invoked = end.wrapping_sub(start);
        self.on(cpu, |cpu, global, _| {
            cpu.end_batch(global, start..end, invoked)
        });
    }

    /// The barrier visits it.
    pub fn entrain(&mut self, cpu: CpuId) -> Visit {
        let own = self.world.cpus.entry(cpu);
        let own = own.or_insert_with(|| Cpu::new(cpu));
        own.entrain_barrier(&mut self.world.barrier)
    }

    /// The barrier.
    pub fn barrier(&mut self) -> &mut Barrier {
        &mut self.world.barrier
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

    /// A scan is requested at once; true if the grace-period thread is woken.
    pub fn force_qs(&mut self) -> bool {
        let effects = self.world.global.force_qs();
        self.carry_out(effects);
        effects.wake_gp
    }

    /// `cpu` queues a callback.
    pub fn call(&mut self, cpu: CpuId) -> Called {
        let called = self.on(cpu, |cpu, global, host| cpu.call(global, 8, 0, host));
        self.woken |= called.wake_gp;
        called
    }

    /// The state in which a tick finds `cpu`: in its idle loop, in the kernel, in a section of a task
    /// (preemptible), or in a section with preemption off.
    pub fn at(&self, cpu: CpuId) -> At {
        let depth = self.machine.depth(cpu);
        At {
            now: self.machine.now,
            from: self.machine.cpus[cpu as usize].context(),
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
        self.on(cpu, |cpu, global, host| cpu.tick(global, at, host))
    }

    /// The soft interrupt on `cpu`, without a batch.
    pub fn core(&mut self, cpu: CpuId) -> Noticed {
        let noticed = self.on(cpu, |cpu, global, host| cpu.core(global, host));
        self.woken |= noticed.wake_gp;
        noticed
    }

    /// Runs a batch in the soft interrupt on `cpu`, and returns the number of callbacks invoked. `around`
    /// says whether the scheduler wants the CPU or the CPU is idle; a callback takes `each_ns` nanoseconds.
    pub fn batch(&mut self, cpu: CpuId, around: Around, each_ns: u64) -> u64 {
        let context = Context::Softirq;
        let begun = self.on(cpu, |cpu, global, _| cpu.begin_batch(global, context));
        let Some((range, batch)) = begun else {
            return 0;
        };
        let (all, mut invoked) = (range.end.wrapping_sub(range.start), 0);
        while invoked < all {
            invoked += 1;
            let clock = batch.wants_clock(invoked);
            let elapsed_ns = clock.then(|| invoked * each_ns);
            let around = Around {
                elapsed_ns,
                ..around
            };
            if batch.stops(invoked, around) {
                break;
            }
        }
        self.on(cpu, |cpu, global, _| cpu.end_batch(global, range, invoked));
        invoked
    }

    /// A context switch on `cpu`, outside every section.
    pub fn context_switch(&mut self, cpu: CpuId) -> HurryAnswer {
        let answer = self.on(cpu, |cpu, global, host| cpu.context_switch(global, host));
        self.answered(cpu, answer)
    }

    /// `cond_resched` on `cpu`, outside every section.
    pub fn cond_resched(&mut self, cpu: CpuId) -> HurryAnswer {
        let answer = self.on(cpu, |cpu, global, host| cpu.cond_resched(global, host));
        self.answered(cpu, answer)
    }

    fn answered(&mut self, cpu: CpuId, answer: HurryAnswer) -> HurryAnswer {
        if answer.momentary_eqs {
            self.machine.cpus[cpu as usize].momentary_eqs();
        }
        answer
    }

    /// With `busy`, `cpu` stays in the kernel and takes ticks only on the test's request; without, it may
    /// idle.
    pub fn set_busy(&mut self, cpu: CpuId, busy: bool) {
        self.busy[cpu as usize] = busy;
        self.machine.cpus[cpu as usize].keep_awake(busy);
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
