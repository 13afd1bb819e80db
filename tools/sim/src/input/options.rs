//! The options of a machine: a kernel's command line and build, and the hardware.

use crate::input::release::Release;
use quiescent_kernel::exp::Expedite;
use quiescent_kernel::fast_no_hz::IdleRule;
use quiescent_kernel::limits::Limits;
use quiescent_kernel::offload::{self, Policy};
use quiescent_kernel::tick::Settings as TickSettings;
use quiescent_kernel::{Config, CpuId, EarlyQs};

/// Do CPUs execute at the same time?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smp {
    /// As hardware does.
    Parallel,
    /// One at a time, as the virtual machine did on which the shared traces were taken: a CPU that has
    /// something to do starts when the one that executes halts; several follow in the order of their numbers.
    Serial,
}

/// When an idle CPU's tick stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleLoop {
    /// At each entry.
    Classic,
    /// When one tick has arrived since the CPU became idle.
    Retain,
}

/// Costs of actions, in nanoseconds. Medians of the shared traces; hardly anything depends on them but the
/// order of things within one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// From the beginning of a tick to its first soft interrupt.
    pub tick: u64,
    /// Another interrupt.
    pub irq: u64,
    /// The timer soft interrupt.
    pub timers: u64,
    /// The RCU soft interrupt, without callbacks.
    pub softirq: u64,
    /// A callback.
    pub callback: u64,
    /// A switch from a task, or from idle, to another.
    pub switch: u64,
    /// A pass of the idle loop.
    pub idle: u64,
    /// The same on top, where it looks whether the tick can stop.
    pub tick_off: u64,
    /// The grace-period thread, each time it is woken.
    pub gp_thread: u64,
    /// The same, for each CPU that a scan looks at.
    pub scan: u64,
    /// An offload group's thread: one check of all its members.
    pub rcuog: u64,
    /// A thread that invokes offloaded callbacks, without them.
    pub rcuop: u64,
    /// What a workload's task does between two sleeps.
    pub work: u64,
    /// How long an interrupt takes to reach another CPU, where they run in parallel.
    pub ipi: u64,
    /// A lock of offloaded callbacks that is free and was held here last, where CPUs run in parallel.
    pub lock: u64,
    /// A cache line that another CPU has changed last, where CPUs run in parallel.
    pub line: u64,
}

impl Costs {
    /// As the shared traces show them; the interrupt's 5 µs are an assumption. Locks and
    /// lines are not in them, so they cost nothing here.
    pub const fn traced() -> Costs {
        Costs {
            tick: 3000,
            irq: 1000,
            timers: 1000,
            softirq: 3000,
            callback: 700,
            switch: 2000,
            idle: 1000,
            tick_off: 1000,
            gp_thread: 6000,
            scan: 700,
            rcuog: 9000,
            rcuop: 8000,
            work: 20_000,
            ipi: 5000,
            lock: 0,
            line: 0,
        }
    }
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The kernel's version, if one was named: what it decided has been set, and may have been set again.
    pub kernel: Option<Release>,
    /// CPUs.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// Do they run at the same time?
    pub smp: Smp,
    /// When an idle CPU's tick stops.
    pub idle_loop: IdleLoop,
    /// What an idle CPU does about callbacks: today's rule, or one of `RCU_FAST_NO_HZ`.
    pub idle_rule: IdleRule,
    /// A CPU whose tick runs takes the timers of CPUs whose ticks have stopped (since Linux 6.9). Otherwise
    /// each CPU takes its own.
    pub timer_migration: bool,
    /// `nohz`: the tick of an idle CPU may stop. Otherwise every CPU ticks always.
    pub nohz: bool,
    /// `CONFIG_PREEMPT_RCU`: a task can be preempted in a section.
    pub preempt: bool,
    /// `rcu_strict_grace_period`: no grace period waits before its first scan, and all CPUs look at once.
    pub strict: bool,
    /// `blimit`: callbacks of a batch; the kernel's own number if none.
    pub blimit: Option<u64>,
    /// `qhimark`: so many callbacks more are a flood.
    pub qhimark: Option<u64>,
    /// `qlowmark`: a flood is over when so few are left.
    pub qlowmark: Option<u64>,
    /// The early report.
    pub early_qs: EarlyQs,
    /// Ticks before the first scan; the kernel's own number if none.
    pub first_fqs: Option<u64>,
    /// Ticks between later scans.
    pub next_fqs: Option<u64>,
    /// `rcu_normal_wake_from_gp`: the grace-period thread wakes waiters itself, without a callback.
    pub wake_from_gp: bool,
    /// So many of those waiters at once, and new ones wait for a callback until none is left.
    pub wake_latch: Option<u32>,
    /// `rcu_expedited`: every waiter gets an expedited grace period.
    pub expedited: bool,
    /// `rcu_normal`: no waiter does, not even on request.
    pub normal: bool,
    /// Stamping asks for a grace period only for what is new.
    pub accelerate_only_new: bool,
    /// `rcu_nocbs`: the CPUs whose callbacks are offloaded.
    pub nocbs: Vec<CpuId>,
    /// `rcu_nocb_poll`: offload groups' threads look every tick, and are not woken.
    pub nocb_poll: bool,
    /// The CPUs that RCU's threads run on; empty: any.
    pub rcu_cpus: Vec<CpuId>,
    /// `nohz_full`: CPUs that run without a tick while one task runs there. Their callbacks are offloaded.
    pub nohz_full: Vec<CpuId>,
    /// `nohz_full_patience_delay`: such a CPU in the kernel is left alone for so long, in milliseconds.
    pub patience_ms: u64,
    /// `rcutree.enable_rcu_lazy`.
    pub lazy: bool,
    /// The time that lazy callbacks wait at most, in milliseconds.
    pub lazy_flush_ms: u64,
    /// The rules for offloaded callbacks.
    pub policy: Policy,
    /// A CPU may change sides, offloaded or not, while it is online, as in Linux 5.12 to 6.11.
    pub online_toggle: bool,
    /// A flood of offloaded callbacks has rcuog woken a tick later, although it is awake (before Linux 7.0).
    pub overload_wake: bool,
    /// CPUs of a leaf.
    pub leaf_fanout: u32,
    /// Children of an inner node.
    pub fanout: u32,
    /// The costs of actions.
    pub costs: Costs,
    /// The jiffy counter at time 0.
    pub jiffies: u64,
    /// Where the grace-period thread starts.
    pub gp_cpu: CpuId,
    /// Nanoseconds between two moves of each of RCU's threads, on average: the scheduler's balancing has it
    /// run on any CPU from its next wake-up on. None: a thread wakes up where it ran last.
    pub moves: Option<u64>,
    /// Of 1000 scans for which a CPU and its substitute tick at the same instant, so many find one of them in
    /// its handler. 0 unless it is fitted.
    pub frozen_permille: u32,
    /// RCU's threads, and barriers, do their work step by step, so that whatever else the machine does comes
    /// in between, if CPUs are parallel. For tests: no figure needs it, and costs are counted too often.
    pub stepwise: bool,
    /// Idle states, and what they cost.
    pub idle: crate::idling::Setup,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Options {
    /// Linux 6.12 with its defaults, on `cpus` CPUs at `hz` ticks a second.
    pub fn kernel_6_12(cpus: u32, hz: u32) -> Options {
        Options {
            kernel: None,
            cpus,
            hz,
            smp: Smp::Parallel,
            idle_loop: IdleLoop::Classic,
            idle_rule: IdleRule::Tick,
            timer_migration: true,
            nohz: true,
            preempt: true,
            strict: false,
            blimit: None,
            qhimark: None,
            qlowmark: None,
            early_qs: EarlyQs::Off,
            first_fqs: None,
            next_fqs: None,
            wake_from_gp: false,
            wake_latch: None,
            expedited: false,
            normal: false,
            accelerate_only_new: true,
            nocbs: Vec::new(),
            nocb_poll: false,
            rcu_cpus: Vec::new(),
            nohz_full: Vec::new(),
            patience_ms: 0,
            lazy: false,
            lazy_flush_ms: 10_000,
            policy: Policy::Kernel612,
            online_toggle: false,
            overload_wake: true,
            leaf_fanout: 16,
            fanout: 64,
            costs: Costs::traced(),
            jiffies: u64::from(u32::MAX) + 1 - 300 * u64::from(hz),
            gp_cpu: 0,
            moves: None,
            frozen_permille: 0,
            stepwise: false,
            idle: crate::idling::Setup::none(),
            seed: 1,
        }
    }

    /// Nanoseconds of a jiffy.
    pub fn jiffy_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }

    /// The CPUs whose callbacks are offloaded: those of `nocbs`, and of `nohz_full`.
    ///
    /// ```
    /// use quiescent_sim::Options;
    /// let options = Options { nocbs: vec![3], nohz_full: vec![1, 3], ..Options::kernel_6_12(4, 1000) };
    /// assert_eq!(options.offloaded(), [1, 3]);
    /// ```
    pub fn offloaded(&self) -> Vec<CpuId> {
        let mut all = [self.nocbs.as_slice(), &self.nohz_full].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A CPU that RCU's threads run on: this one if it is among them, otherwise one of them.
    ///
    /// ```
    /// use quiescent_sim::Options;
    /// let options = Options { rcu_cpus: vec![2, 3], ..Options::kernel_6_12(4, 1000) };
    /// assert_eq!([0, 1, 2, 3].map(|cpu| options.rcu_cpu(cpu)), [2, 3, 2, 3]);
    /// ```
    pub fn rcu_cpu(&self, cpu: CpuId) -> CpuId {
        match self.rcu_cpus.len() {
            0 => cpu,
            _ if self.rcu_cpus.contains(&cpu) => cpu,
            n => self.rcu_cpus[cpu as usize % n],
        }
    }

    /// The kind of grace period that waiters get.
    pub fn expedite(&self) -> Expedite {
        Expedite {
            expedited: self.expedited,
            normal: self.normal,
        }
    }

    /// The engine's tunables.
    pub fn config(&self) -> Config {
        let base = Config::kernel_6_12(self.cpus, self.hz);
        let first_fqs = if self.strict { 0 } else { base.first_fqs };
        Config {
            geometry: quiescent_kernel::geometry::GeometryParams {
                leaf_fanout: self.leaf_fanout,
                inner_fanout: self.fanout,
                ..base.geometry
            },
            early_qs: self.early_qs,
            first_fqs: self.first_fqs.unwrap_or(first_fqs),
            next_fqs: self.next_fqs.unwrap_or(base.next_fqs),
            wait_latch: self.wake_latch,
            accelerate_only_new: self.accelerate_only_new,
            tick: TickSettings {
                preemptible: self.preempt,
                strict: self.strict,
                ..base.tick.patience_ms(self.patience_ms, self.hz)
            },
            limits: Limits {
                blimit: self.blimit.unwrap_or(if self.strict {
                    1000
                } else {
                    base.limits.blimit
                }),
                qhimark: self.qhimark.unwrap_or(base.limits.qhimark),
                qlowmark: self.qlowmark.unwrap_or(base.limits.qlowmark),
                ..base.limits
            },
            idle: self.idle_rule,
            offload: offload::Offload {
                policy: self.policy,
                online_toggle: self.online_toggle,
                overload_wake: self.overload_wake,
                poll: self.nocb_poll,
                lazy: self.lazy,
                lazy_flush: self.lazy_flush_ms * u64::from(self.hz) / 1000,
                ..base.offload
            },
            ..base
        }
    }
}
