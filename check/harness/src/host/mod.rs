//! The test fixture that owns time: a small machine around a [`Global`], driven by hand.
//!
//! Each CPU is a context-tracking word with ticks ([`KernelCpu`]), and a grace-period thread drives on a CPU
//! that the test chooses.
//!
//! Nothing happens by itself: readers enter and exit, time passes and the driver steps on the test's request,
//! one action after the other.
//!
//! # Omissions
//! * A kernel timer of `j` ticks fires after `j + 1` ticks, because it is rounded up; here after exactly `j`.
//! * Memory is sequentially consistent: fences are counted, and have no effect.
//! * Interrupts inside sections, and durations. Tasks are preempted on the test's request, and only tasks in
//!   a section are distinguished.
//!
//! Use it from tests and examples; it allocates freely and panics on misuse.

mod duties;
mod expedited;
mod kernel;
mod machine;
mod offloading;
mod run;
mod silent;
mod tasks;

use crate::world::World;
use machine::Machine;
use quiescent_kernel::Global;
use quiescent_kernel::config::{Config, EarlyQs};
use quiescent_kernel::event::{Event, GpEvent};
use quiescent_kernel::host::{CpuId, Effects, Next, Pos};
use quiescent_kernel::polled::FullCookie;
use quiescent_kernel::urgency::Nudge;

pub use expedited::Doing;
pub use kernel::KernelCpu;
pub use offloading::{OgStep, Wakeups};
pub use silent::Silent;
pub use tasks::Task;

/// Counters of what the test host has done for the engine. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Fences between the start of a grace period and its first scan.
    pub fences: u32,
    /// Sleeps that began.
    pub sleeps: u32,
    /// CPUs interrupted for expedited grace periods.
    pub interrupts: u32,
}

/// The driver, and its next action.
#[derive(Clone, Copy, Debug)]
struct Role {
    cpu: CpuId,
    next: Next,
}

/// A machine around the engine. See the [module](self).
#[derive(Clone, Debug)]
pub struct TestHost {
    world: World,
    machine: Machine,
    role: Option<Role>,
    /// CPU of the grace-period thread.
    kthread: CpuId,
    ticking: Vec<bool>,
    /// CPUs that stay awake and take no tick.
    busy: Vec<bool>,
    /// A wake-up is pending for the grace-period thread.
    woken: bool,
    /// The work item has to wake the waiters up to this position.
    work: Option<Pos>,
    done: Done,
    /// The engine's requests to CPUs.
    nudges: Vec<Nudge>,
    tasks: tasks::Tasks,
    exp: expedited::Expediting,
    offloading: offloading::Offloading,
}

impl TestHost {
    /// A machine of `n` idle CPUs with Linux 6.12's defaults at `hz` ticks a second, its
    /// grace-period thread on CPU 0.
    pub fn kernel(n: u32, hz: u32, early_qs: EarlyQs) -> TestHost {
        let config = Config::kernel_6_12(n, hz);
        TestHost::kernel_with(n, Config { early_qs, ..config })
    }

    /// A machine of `n` idle CPUs with the given tunables.
    pub fn kernel_with(n: u32, config: Config) -> TestHost {
        let cpus = vec![KernelCpu::idle(); n as usize];
        TestHost {
            ticking: vec![false; cpus.len()],
            busy: vec![false; cpus.len()],
            machine: Machine::new(cpus, config.geometry),
            world: World::new(Global::new(config)),
            nudges: Vec::new(),
            role: None,
            kthread: 0,
            woken: false,
            work: None,
            done: Done::default(),
            tasks: tasks::Tasks::default(),
            exp: expedited::Expediting::default(),
            offloading: offloading::Offloading::default(),
        }
    }

    // Readers.

    /// `cpu` opens a section, or nests one; an idle CPU wakes up for it.
    pub fn enter(&mut self, cpu: CpuId) {
        assert!(
            self.machine.present[cpu as usize],
            "CPU {cpu} reads while it is away"
        );
        self.machine.cpus[cpu as usize].enter();
    }

    /// `cpu` closes its innermost section, and goes idle unless it [ticks](TestHost::set_ticking).
    pub fn exit(&mut self, cpu: CpuId) {
        if self.machine.cpus[cpu as usize].exit() {
            self.section_ended(cpu);
            self.idle(cpu);
        }
    }

    /// A CPU comes online: the first one that is away, or a new one. Returns its number.
    pub fn register(&mut self) -> CpuId {
        let away = self.machine.present.iter().position(|present| !present);
        let cpu = away.unwrap_or_else(|| {
            self.machine.cpus.push(KernelCpu::idle());
            self.machine.present.push(false);
            self.ticking.push(false);
            self.busy.push(false);
            self.machine.owed.push(0);
            self.machine.nohz_full.push(false);
            self.machine.cpus.len() - 1
        });
        self.machine.present[cpu] = true;
        self.machine.cpus[cpu].online();
        self.machine.cpus[cpu].sleep();
        cpu as CpuId
    }

    /// `cpu` leaves. It reports first and leaves awake, as from the end of the idle loop.
    ///
    /// # Panics
    /// If it is in a section.
    pub fn unregister(&mut self, cpu: CpuId) {
        assert_eq!(
            self.machine.depth(cpu),
            0,
            "CPU {cpu} leaves from inside a section"
        );
        self.machine.cpus[cpu as usize].wake();
        let effects = self.world.global.departed(cpu, &self.machine);
        self.carry_out(effects);
        self.machine.present[cpu as usize] = false;
        self.ticking[cpu as usize] = false;
    }

    /// `cpu` leaves without a report: a defect of the host, for tests of its consequences.
    pub fn vanish(&mut self, cpu: CpuId) {
        self.machine.present[cpu as usize] = false;
        self.ticking[cpu as usize] = false;
    }

    // Requests and polls.

    /// `cpu` waits for a grace period: the ticket of a `synchronize_rcu` caller.
    pub fn wait_for_gp(&mut self, cpu: CpuId) -> Pos {
        let leaf = self.machine.leaf_of(cpu);
        let (ticket, effects) = self.world.global.wait_for_gp(leaf, &self.machine);
        self.carry_out(effects);
        ticket
    }

    /// `cpu` takes a cookie and requests its grace period.
    pub fn start_poll(&mut self, cpu: CpuId) -> FullCookie {
        let leaf = self.machine.leaf_of(cpu);
        let (cookie, effects) = self.world.global.start_poll(leaf, &self.machine);
        self.carry_out(effects);
        cookie
    }

    /// Has a full grace period passed since the cookie was taken?
    pub fn poll(&self, cookie: FullCookie) -> bool {
        self.world.global.poll(cookie)
    }

    /// Has the ticket's grace period ended?
    pub fn satisfied(&self, ticket: Pos) -> bool {
        ticket < self.world.global.waiters().done()
    }

    // Observations.

    /// The engine.
    pub fn engine(&self) -> &Global {
        &self.world.global
    }

    /// The counters.
    pub fn done(&self) -> Done {
        self.done
    }

    /// How often the engine queried a leaf's presence, and a reader's word.
    pub fn looks(&self) -> (u64, u64) {
        self.machine.looks.get()
    }

    /// The time.
    pub fn now(&self) -> quiescent_kernel::host::Now {
        self.machine.now
    }

    /// The trace since the last call, one event a line, in a kernel's form without the time stamp; clears it.
    pub fn take_trace(&mut self) -> Vec<String> {
        let events = self.machine.events.take();
        events
            .iter()
            .map(|e| format!("{}: {}", e.name(), e.text("rcu_preempt")))
            .collect()
    }

    fn carry_out(&mut self, effects: Effects) {
        self.woken |= effects.wake_gp;
        self.work = self.work.max(effects.deferred_until);
        self.exp.woken |= effects.wake_exp;
        self.nudges.extend(effects.nudge);
        if let Some(end) = effects.gp_end {
            self.wake_queue(end);
        }
    }

    fn trace_cpuqs(&self) {
        let gp_seq = self.world.global.published().global;
        let event = Event::GracePeriod {
            gp_seq,
            event: GpEvent::Cpuqs,
        };
        self.machine.events.borrow_mut().push(event);
    }
}
