//! The options of a machine: a kernel's command line and build, and the hardware.

use crate::base::described;
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
    /// One at a time, as an emulator does: a CPU that has something to do starts when the one that executes
    /// halts, or sets its clock to the machine's next event; several follow in the order of their numbers.
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

described! {
    /// Costs of actions, in nanoseconds. Medians of the shared traces; hardly anything depends on them but
    /// the order of things within one instant.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Costs {
        /// From the beginning of a tick to its first soft interrupt.
        pub tick: u64 = 3000,
        /// Another interrupt.
        pub irq: u64 = 1000,
        /// The timer soft interrupt.
        pub timers: u64 = 1000,
        /// The RCU soft interrupt, without callbacks.
        pub softirq: u64 = 3000,
        /// A callback.
        pub callback: u64 = 700,
        /// A context switch.
        pub switch: u64 = 2000,
        /// A pass of the idle loop.
        pub idle: u64 = 1000,
        /// On top, where it looks whether the tick can stop.
        pub tick_off: u64 = 1000,
        /// The grace-period thread, each time it is woken.
        pub gp_thread: u64 = 6000,
        /// The same, for each CPU that a scan looks at.
        pub scan: u64 = 700,
        /// An offload group's thread: one look at its members.
        pub rcuog: u64 = 9000,
        /// A thread that invokes offloaded callbacks, without them.
        pub rcuop: u64 = 8000,
        /// Work before the first callback of an arrival, where a workload does not say otherwise.
        pub work: u64 = 20_000,
        /// How long an interrupt takes to reach another CPU (smp=parallel).
        pub ipi: u64 = 5000,
        /// ASSUMED: a lock of offloaded callbacks, free (smp=parallel).
        pub lock: u64 = 0,
        /// ASSUMED: a cache line that another CPU has changed (smp=parallel).
        pub line: u64 = 0,
    }
}

described! {
    /// A machine.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Options {
        /// The kernel's version, if one was named: what it decided has been set, and may have been set again.
        pub kernel: Option<Release> = None,
        /// CPUs.
        pub cpus: u32 = 8,
        /// Ticks a second; the jiffy counter starts 300 seconds before it wraps at 32 bits, as a kernel's.
        pub hz: u32 = 1000,
        /// Do CPUs execute at the same time, as hardware, or one at a time, as the virtual machine of the
        /// shared traces.
        pub smp: Smp = Smp::Parallel,
        /// By so many millionths of a delay an emulator's clocks go off early (smp=serial), because their
        /// frequency was measured wrong; a trace's is read off it.
        pub clock_early_ppm: i64 = 0,
        /// An idle CPU's tick stops at each idle entry, or when one more tick has arrived.
        pub idle_loop: IdleLoop = IdleLoop::Classic,
        /// An idle CPU with callbacks keeps its tick, or sleeps and looks (RCU_FAST_NO_HZ).
        pub idle_rule: IdleRule = IdleRule::Tick,
        /// A CPU whose tick runs takes the timers of idle CPUs (since Linux 6.9); otherwise each takes its
        /// own.
        pub timer_migration: bool = true,
        /// The tick of an idle CPU may stop (nohz=on); otherwise every CPU ticks always (nohz=off, or
        /// HZ_PERIODIC).
        pub nohz: bool = true,
        /// A task can be preempted in a section; otherwise it runs to the section's end (PREEMPT_NONE).
        pub preempt: bool = true,
        /// No wait before the first scan, batches of 1000, and every CPU is interrupted as a grace period
        /// begins and ends (a build option; the report of each section's end is left out).
        pub strict: bool = false,
        /// Callbacks that the soft interrupt invokes at a time.
        pub blimit: Option<u64> = None,
        /// So many callbacks more than at the last look are a flood: batches grow, the next scan comes at
        /// once, and a bypass list is flushed.
        pub qhimark: Option<u64> = None,
        /// A flood is over when so few callbacks are left.
        pub qlowmark: Option<u64> = None,
        /// When the grace-period thread reports its own CPU: as others; at the first scan (the patch's first
        /// version); at the end of initialisation (Linux 7.0: `rcu: Reduce synchronize_rcu() latency by
        /// reporting GP kthread's CPU QS early`).
        pub early_qs: EarlyQs = EarlyQs::Off,
        /// Ticks from the start of a grace period to its first scan.
        pub first_fqs: Option<u64> = None,
        /// Ticks from one scan to the next.
        pub next_fqs: Option<u64> = None,
        /// Who calls synchronize_rcu is woken by the grace-period thread and not by a callback.
        pub wake_from_gp: bool = false,
        /// So many callers that wait to be woken so, and new ones wait for a callback until none is left
        /// (Linux 7.2: 64).
        pub wake_latch: Option<u32> = None,
        /// Who calls synchronize_rcu gets an expedited grace period.
        pub expedited: bool = false,
        /// No grace period is expedited, not even where a caller asks for one.
        pub normal: bool = false,
        /// A callback list asks for a grace period only for what is new in it.
        pub accelerate_only_new: bool = true,
        /// CPUs whose callbacks are offloaded.
        pub nocbs: Vec<CpuId> = Vec::new(),
        /// Not even callbacks of CPUs of nohz_full are offloaded (rcu_nocbs=none was given).
        pub none_offloaded: bool = false,
        /// Offload groups' threads look every tick and are never woken.
        pub nocb_poll: bool = false,
        /// CPUs that RCU's threads run on.
        pub rcu_cpus: Vec<CpuId> = Vec::new(),
        /// CPUs that run without a tick while one task runs there; their callbacks are offloaded unless
        /// rcu_nocbs=none is given, and user space there is quiescent.
        pub nohz_full: Vec<CpuId> = Vec::new(),
        /// A CPU of nohz_full that is in the kernel is left alone by its tick for so long.
        pub patience_ms: u64 = 0,
        /// Callbacks of plain call_rcu may be lazy (also `enable_rcu_lazy`).
        pub lazy: bool = false,
        /// Lazy callbacks wait so long at most.
        pub lazy_flush_ms: u64 = 10_000,
        /// Whose rules offloaded and lazy callbacks follow.
        pub policy: Policy = Policy::Kernel612,
        /// A CPU may be offloaded, and taken back, while it is online (Linux 5.12 to 6.11).
        pub online_toggle: bool = false,
        /// A flood of offloaded callbacks has rcuog woken a tick later, although it does not rest (before
        /// Linux 7.0).
        pub overload_wake: bool = true,
        /// CPUs of a leaf of the tree.
        pub leaf_fanout: u32 = 16,
        /// Children of an inner node of the tree.
        pub fanout: u32 = 64,
        /// The costs of actions.
        pub costs: Costs = Costs::defaults(),
        /// The jiffy counter at time 0 (waits are jiffies_till_first_fqs and jiffies_till_next_fqs).
        pub jiffies: u64 = 0,
        /// Where the grace-period thread and the offload groups' threads start.
        pub gp_cpu: CpuId = 0,
        /// The scheduler moves each of RCU's threads to any CPU so often, on average.
        pub moves: Option<u64> = None,
        /// FOR TESTS: RCU's threads do their work step by step, others in between; costs are counted too
        /// often.
        pub stepwise: bool = false,
        /// Idle states, and what they cost.
        pub idle: crate::idling::Setup = crate::idling::Setup::defaults(),
        /// Settings that change while a trace is replayed: when, in nanoseconds, the key, and the value.
        pub later: Vec<(u64, &'static str, String)> = Vec::new(),
        /// Of everything that is chosen by chance.
        pub seed: u64 = 1,
    }
}

impl Options {
    /// Linux 6.12 with its defaults, on `cpus` CPUs at `hz` ticks a second.
    pub fn kernel_6_12(cpus: u32, hz: u32) -> Options {
        Options {
            cpus,
            hz,
            jiffies: u64::from(u32::MAX) + 1 - 300 * u64::from(hz),
            ..Options::defaults()
        }
    }

    /// Are steps taken one by one? Where one CPU executes at a time no other work could come in between.
    pub(crate) fn takes_steps(&self) -> bool {
        self.stepwise && self.smp == Smp::Parallel
    }

    /// Nanoseconds of a jiffy.
    pub fn jiffy_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }

    /// The CPUs whose callbacks are offloaded: those of `nocbs`, and of `nohz_full` unless none may be.
    ///
    /// ```
    /// use quiescent_sim::Options;
    /// let options = Options { nocbs: vec![3], nohz_full: vec![1, 3], ..Options::kernel_6_12(4, 1000) };
    /// assert_eq!(options.offloaded(), [1, 3]);
    /// ```
    pub fn offloaded(&self) -> Vec<CpuId> {
        if self.none_offloaded {
            return Vec::new();
        }
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
