//! Tunables of a CPU. The decisions that use them are in `actions/`.

use crate::periods::limits::Context;

/// The ages at which requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Escalation {
    /// Ticks a second.
    pub hz: u32,
    /// `jiffies_till_sched_qs`; `None` computes it from the two waits.
    pub sched_qs: Option<u64>,
    /// Ticks after which a grace period has stalled ([`stall`](crate::stall)); interrupts are sent from half
    /// of that age on.
    pub stall: u64,
    /// Ticks after which an expedited grace period has stalled.
    pub exp_stall: u64,
    /// Use interrupt works to test whether a holdout takes interrupts.
    pub irq_work: bool,
    /// Read holdouts' CPU time, for the stall report (`rcu_cpu_stall_cputime`).
    pub cpu_time: bool,
}

impl Escalation {
    /// The defaults of Linux 6.12.
    pub const fn kernel_6_12(hz: u32) -> Escalation {
        Escalation {
            hz,
            sched_qs: None,
            stall: crate::periods::stall::timeout(21, hz, false),
            exp_stall: crate::periods::stall::timeout(21, hz, false),
            irq_work: true,
            cpu_time: false,
        }
    }

    /// Ticks after which a holdout is requested to hurry.
    pub fn sched_qs(&self, first_fqs: u64, next_fqs: u64, nr_cpus: u32) -> u64 {
        let least = u64::from(self.hz / 10) + u64::from(nr_cpus / 256);
        let scans = first_fqs.saturating_add(next_fqs.saturating_mul(2));
        self.sched_qs.unwrap_or(scans.max(least))
    }
}

/// A kernel's tunables for ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TickSettings {
    /// Sections can be preempted (`CONFIG_PREEMPT_RCU`).
    pub preemptible: bool,
    /// `nohz_full_patience_delay`, in ticks: no request to a `nohz_full` CPU in the kernel before this age.
    pub patience: u64,
    /// `use_softirq`: without it, a thread for each CPU does the soft interrupt's work.
    pub use_softirq: bool,
    /// `CONFIG_RCU_STRICT_GRACE_PERIOD`: every CPU is interrupted as a grace period begins and ends, so that
    /// it looks at once.
    pub strict: bool,
}

impl TickSettings {
    /// The defaults of Linux 6.12.
    pub const fn kernel_6_12() -> TickSettings {
        TickSettings {
            preemptible: true,
            patience: 0,
            use_softirq: true,
            strict: false,
        }
    }

    /// A patience in milliseconds, 5 s at most, at this number of ticks a second.
    pub const fn patience_ms(self, ms: u64, hz: u32) -> TickSettings {
        let ms = if ms > 5000 { 5000 } else { ms };
        TickSettings {
            patience: (ms * hz as u64).div_ceil(1000),
            ..self
        }
    }

    /// The thread that does the soft interrupt's work.
    pub const fn context(self) -> Context {
        if self.use_softirq {
            Context::Softirq
        } else {
            Context::Rcuc
        }
    }
}

/// The rule of an idle CPU with callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdleRule {
    /// Its tick stays on while it has callbacks.
    Tick,
    /// It sleeps, and wakes up at a computed time.
    FastNoHz(FastNoHz),
}

/// The times of `CONFIG_RCU_FAST_NO_HZ`, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FastNoHz {
    /// `rcu_idle_gp_delay`: the length of the sleep, which ends on a multiple of it.
    pub delay: u64,
    /// `rcu_idle_lazy_gp_delay`, where laziness is known.
    pub lazy_delay: Option<u64>,
    /// Ticks a second.
    pub hz: u32,
}

impl FastNoHz {
    /// Until Linux 5.6: with laziness.
    pub const fn v5_6(hz: u32) -> FastNoHz {
        FastNoHz {
            delay: 4,
            lazy_delay: Some(6 * hz as u64),
            hz,
        }
    }

    /// Linux 5.7 to 5.16: without laziness.
    pub const fn v5_10(hz: u32) -> FastNoHz {
        FastNoHz {
            lazy_delay: None,
            ..FastNoHz::v5_6(hz)
        }
    }

    /// The length of the sleep of a CPU that has callbacks.
    pub(crate) fn sleep(&self, now: u64, all_lazy: bool) -> u64 {
        match self.lazy_delay {
            Some(delay) if all_lazy => self.whole_second(now.saturating_add(delay)) - now,
            _ => {
                let delay = self.delay.max(1);
                now.saturating_add(delay).next_multiple_of(delay) - now
            }
        }
    }

    /// A time near `at` on a whole second: the last whole second if less than a quarter of a second has
    /// passed since, otherwise the next one.
    pub(crate) fn whole_second(&self, at: u64) -> u64 {
        let hz = u64::from(self.hz).max(1);
        let past = at % hz;
        if past < hz / 4 {
            at - past
        } else {
            at - past + hz
        }
    }
}

/// The reproduced behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Linux 6.12.
    Kernel612,
    /// This project's policy.
    Quiescent,
}

/// Tunables of offloading. Times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Offload {
    /// The reproduced behaviour.
    pub policy: Policy,
    /// `enable_rcu_lazy`: callbacks may be lazy.
    pub lazy: bool,
    /// `jiffies_lazy_flush`: the longest time that a lazy callback stays hidden.
    pub lazy_flush: u64,
    /// `nocb_nobypass_lim_per_jiffy`: the number of callbacks a tick that may be queued directly; more go to
    /// the bypass.
    pub direct_limit: u64,
    /// `rcu_nocb_poll`: rcuog runs every tick, and is not woken.
    pub poll: bool,
    /// `rcu_nocb_gp_stride`: CPUs a group; otherwise their number divided by its square root.
    pub stride: Option<u32>,
    /// Online CPUs may be offloaded and de-offloaded (Linux 5.12 to 6.11; 6.12 refuses).
    pub online_toggle: bool,
    /// A flood of callbacks defers a wake-up of rcuog although its list was not empty (before Linux 7.0,
    /// which has none, because rcuog does not rest while such a list waits).
    pub overload_wake: bool,
}

impl Offload {
    /// The defaults of Linux 6.12 with `CONFIG_RCU_LAZY`, at `hz` ticks a second.
    pub const fn kernel_6_12(hz: u32) -> Offload {
        Offload {
            policy: Policy::Kernel612,
            lazy: true,
            lazy_flush: 10 * hz as u64,
            direct_limit: 16_000 / hz as u64,
            poll: false,
            stride: None,
            online_toggle: false,
            overload_wake: true,
        }
    }

    /// This project's policy with the kernel's times.
    pub const fn quiescent(hz: u32) -> Offload {
        Offload {
            policy: Policy::Quiescent,
            online_toggle: true,
            ..Offload::kernel_6_12(hz)
        }
    }
}
