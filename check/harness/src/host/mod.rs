//! The test fixture that owns time: a small machine around a [`Global`], driven by hand.
//!
//! A [`TestHost`] is one of two machines. In `threads` a CPU is a registered thread with a reader word
//! ([`Reader`]) and a wake flag, waiters drive, and the policy is that of the thread host. In `kernel` a CPU
//! is a context-tracking word with ticks ([`KernelCpu`]), and a grace-period thread drives on a CPU that the
//! test chooses.
//!
//! Nothing happens by itself: readers enter and exit, time passes and the driver steps on the test's request,
//! one action after the other. Every call of the engine goes through [`replay`](crate::replay), so that a run
//! can be recorded.
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
mod threads;

use crate::replay::{Entry, Input, Output, Recording, World};
use machine::{Cpu, Machine};
use quiescent_engine::config::{Config, EarlyQs};
use quiescent_engine::event::{Event, GpEvent};
use quiescent_engine::host::{CpuId, Effects, Next, Pos};
use quiescent_engine::polled::FullCookie;
use quiescent_engine::stall::Stalled;
use quiescent_engine::urgency::Nudge;
use quiescent_engine::{Global, Interest};

pub use expedited::Doing;
pub use kernel::KernelCpu;
pub use offloading::{OgStep, Wakeups};
pub use silent::Silent;
pub use threads::Reader;

/// Counters of what the test host has done for the engine. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Fences between the start of a grace period and its first scan.
    pub fences_gp: u32,
    /// Fences between setting wake flags and the last scan before sleeping.
    pub fences_flag: u32,
    /// Spins.
    pub spins: u32,
    /// Sleeps that began.
    pub sleeps: u32,
    /// Wake-ups of the driver by readers that found their wake flag set.
    pub wakes: u32,
    /// Times a driver left with [`Next::HandOver`].
    pub hand_overs: u32,
    /// CPUs interrupted for expedited grace periods.
    pub interrupts: u32,
    /// Reports of stalls.
    pub stalls: u32,
}

/// The driver, and its next action.
#[derive(Clone, Copy, Debug)]
struct Role {
    cpu: CpuId,
    interest: Interest,
    next: Next,
}

/// A machine around the engine. See the [module](self).
#[derive(Clone, Debug)]
pub struct TestHost {
    world: World,
    machine: Machine,
    role: Option<Role>,
    /// CPU of the grace-period thread; none in the thread flavour.
    kthread: Option<CpuId>,
    ticking: Vec<bool>,
    /// CPUs that stay awake and take no tick.
    busy: Vec<bool>,
    /// The sleeping driver was woken, or a wake-up is pending for it.
    woken: bool,
    /// The work item has to wake the waiters up to this position.
    work: Option<Pos>,
    done: Done,
    /// The engine's requests to CPUs.
    nudges: Vec<Nudge>,
    /// Stalls that the driver reported.
    stalled: Vec<Stalled>,
    recording: Option<Vec<Entry>>,
    tasks: tasks::Tasks,
    exp: expedited::Expediting,
    offloading: offloading::Offloading,
}

impl TestHost {
    /// `n` registered threads, all outside, with the thread host's policy.
    pub fn threads(n: u32) -> TestHost {
        TestHost::threads_with(n, Config::threads())
    }

    /// `n` registered threads, all outside, with the given policy.
    pub fn threads_with(n: u32, config: Config) -> TestHost {
        TestHost::new(
            (0..n).map(|_| Cpu::Thread(Reader::default())).collect(),
            config,
            None,
        )
    }

    /// A machine of `n` idle CPUs with Linux 6.12's defaults at `hz` ticks a second, its
    /// grace-period thread on CPU 0.
    pub fn kernel(n: u32, hz: u32, early_qs: EarlyQs) -> TestHost {
        TestHost::kernel_with(
            n,
            Config {
                early_qs,
                ..Config::kernel_6_12(n, hz)
            },
        )
    }

    /// A machine of `n` idle CPUs with the given tunables.
    pub fn kernel_with(n: u32, config: Config) -> TestHost {
        TestHost::new(
            (0..n).map(|_| Cpu::Kernel(KernelCpu::idle())).collect(),
            config,
            Some(0),
        )
    }

    fn new(cpus: Vec<Cpu>, config: Config, kthread: Option<CpuId>) -> TestHost {
        TestHost {
            ticking: vec![false; cpus.len()],
            busy: vec![false; cpus.len()],
            machine: Machine::new(cpus, config.geometry),
            world: World::new(Global::new(config)),
            nudges: Vec::new(),
            stalled: Vec::new(),
            role: None,
            kthread,
            woken: false,
            work: None,
            done: Done::default(),
            recording: None,
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
        match &mut self.machine.cpus[cpu as usize] {
            Cpu::Thread(reader) => reader.enter(),
            Cpu::Kernel(cpu) => cpu.enter(),
        }
    }

    /// `cpu` closes its innermost section. A thread that sees its wake flag wakes the driver; a
    /// kernel's CPU goes idle unless it [ticks](TestHost::set_ticking).
    pub fn exit(&mut self, cpu: CpuId) {
        match &mut self.machine.cpus[cpu as usize] {
            Cpu::Thread(reader) => {
                if reader.exit() && reader.take_flag() {
                    self.woken = true;
                    self.done.wakes += 1;
                }
            }
            Cpu::Kernel(kernel) => {
                if kernel.exit() {
                    self.section_ended(cpu);
                    self.idle(cpu);
                }
            }
        }
    }

    /// A thread registers, or a CPU comes online: the first one that is away, or a new one. Returns
    /// its number.
    pub fn register(&mut self) -> CpuId {
        let away = self.machine.present.iter().position(|present| !present);
        let cpu = away.unwrap_or_else(|| {
            let fresh = match self.kthread {
                None => Cpu::Thread(Reader::default()),
                Some(_) => Cpu::Kernel(KernelCpu::idle()),
            };
            self.machine.cpus.push(fresh);
            self.machine.present.push(false);
            self.ticking.push(false);
            self.busy.push(false);
            self.machine.owed.push(0);
            self.machine.nohz_full.push(false);
            self.machine.cpus.len() - 1
        });
        self.machine.present[cpu] = true;
        self.machine.occupy(cpu as CpuId);
        if let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu] {
            kernel.online();
            kernel.sleep();
        }
        cpu as CpuId
    }

    /// `cpu` leaves. A kernel's CPU reports first and leaves awake, as from the end of the idle loop.
    ///
    /// # Panics
    /// If it is in a section.
    pub fn unregister(&mut self, cpu: CpuId) {
        assert_eq!(
            self.machine.depth(cpu),
            0,
            "CPU {cpu} leaves from inside a section"
        );
        if let Cpu::Kernel(kernel) = &mut self.machine.cpus[cpu as usize] {
            kernel.wake();
            let output = self.apply(Input::Departed { cpu });
            self.carry_out_output(output);
        }
        self.machine.present[cpu as usize] = false;
        self.ticking[cpu as usize] = false;
    }

    /// `cpu` leaves without a report: a defect of the host, for tests of its consequences.
    pub fn vanish(&mut self, cpu: CpuId) {
        self.machine.present[cpu as usize] = false;
        self.ticking[cpu as usize] = false;
    }

    /// Clears the wake flag of `cpu`, as the unlock of a signal handler does.
    pub fn clear_flag(&mut self, cpu: CpuId) {
        if let Cpu::Thread(reader) = &mut self.machine.cpus[cpu as usize] {
            reader.take_flag();
        }
    }

    // Requests and polls.

    /// `cpu` waits for a grace period: the ticket of a `synchronize` caller.
    pub fn wait_for_gp(&mut self, cpu: CpuId) -> Pos {
        self.request(cpu, false)
    }

    /// `cpu` waits for an expedited grace period; returns its ticket.
    pub fn wait_for_gp_expedited(&mut self, cpu: CpuId) -> Pos {
        self.request(cpu, true)
    }

    fn request(&mut self, cpu: CpuId, expedited: bool) -> Pos {
        let leaf = self.machine.leaf_of(cpu);
        match self.apply(Input::WaitForGp { leaf, expedited }) {
            Output::Ticket(ticket, effects) => {
                self.carry_out(effects);
                ticket
            }
            other => unreachable!("{other:?}"),
        }
    }

    /// The same in one call, if `cpu` is the only participant; else false, and nothing has happened.
    pub fn sole_gp(&mut self, cpu: CpuId) -> bool {
        let (cpu, expedited) = (Some(cpu), false);
        match self.apply(Input::SoleGp { cpu, expedited }) {
            Output::Sole(published) => published.is_some(),
            other => unreachable!("{other:?}"),
        }
    }

    /// `cpu` takes a cookie and requests its grace period.
    pub fn start_poll(&mut self, cpu: CpuId) -> FullCookie {
        let leaf = self.machine.leaf_of(cpu);
        match self.apply(Input::StartPoll { leaf }) {
            Output::Cookie(cookie, effects) => {
                self.carry_out(effects);
                cookie
            }
            other => unreachable!("{other:?}"),
        }
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
    pub fn now(&self) -> quiescent_engine::host::Now {
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

    /// The stalls that a driver reported since the last call.
    pub fn take_stalled(&mut self) -> Vec<Stalled> {
        std::mem::take(&mut self.stalled)
    }

    /// Records every call of the engine from now on.
    pub fn record(&mut self) {
        self.recording = Some(Vec::new());
    }

    /// The recording, if there is one.
    pub fn recording(&self) -> Option<&[Entry]> {
        self.recording.as_deref()
    }

    fn apply(&mut self, input: Input) -> Output {
        let Some(entries) = &mut self.recording else {
            return self.world.apply(input, &self.machine);
        };
        let host = Recording::new(&self.machine);
        let output = self.world.apply(input, &host);
        entries.push(Entry {
            input,
            answers: host.answers(),
            output,
        });
        output
    }

    fn carry_out_output(&mut self, output: Output) {
        match output {
            Output::Effects(effects) => self.carry_out(effects),
            other => unreachable!("{other:?}"),
        }
    }

    fn carry_out(&mut self, effects: Effects) {
        self.woken |= effects.wake_gp && self.kthread.is_some();
        self.work = self.work.max(effects.deferred_until);
        self.exp.woken |= effects.wake_exp;
        self.done.stalls += u32::from(effects.stall.is_some());
        self.nudges.extend(effects.nudge);
        self.stalled.extend(effects.stall);
        effects
            .gp_end
            .into_iter()
            .for_each(|end| self.wake_queue(end));
        if let Some(leaf) = effects.vacated {
            self.machine.vacate(leaf);
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
