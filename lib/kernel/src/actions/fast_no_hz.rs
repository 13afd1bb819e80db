//! The tick of an idle CPU with callbacks.
//!
//! Kernels have had two rules ([`IdleRule`]).
//!
//! **The tick stays** (today): any callback, in any segment, keeps the tick on while the CPU idles. The CPU
//! makes a pass at every tick, and may sleep once the list is empty. This costs some wake-ups for each
//! callback.
//!
//! **`FAST_NO_HZ`** (removed in Linux 5.17): the CPU stamps everything, requests the grace period and sleeps
//! without a tick, until a time at which that grace period should have ended:
//!
//! | kernels | queued | wakes up in |
//! |---|---|---|
//! | until 5.16 | all other callbacks | 4 to 7 ticks, on a multiple of 4, so that CPUs wake together |
//! | until 5.6 | nothing but lazy ones (they only free memory) | about 6 s, on a whole second |
//!
//! # The calls of an idle CPU
//! [`Cpu::idle_needs`] whenever the tick might be stopped; [`Cpu::prepare_for_idle`] just before the CPU
//! sleeps; [`Cpu::cleanup_after_idle`] when it wakes. Each does its work at most once a tick: an idle loop
//! that is woken repeatedly must not take the leaf's lock every time.
//!
//! # Invariants
//! * An offloaded CPU never needs its tick: other threads serve its callbacks.
//! * With callbacks every sleep is bounded, and with `FAST_NO_HZ` everything is stamped before it.
//! * `lazy` is at most the number of callbacks owed. Where it cannot be known exactly (a CPU dies with
//!   extracted callbacks) it is too small, and callbacks count as urgent, with the shorter sleep.
//!
//! # No forgotten callback
//! The grace period was requested before the CPU slept, and needs nothing of a sleeping CPU: a scan finds it
//! idle. When it wakes, the pass in `cleanup_after_idle`, or the first tick, notices the end.

pub use crate::periods::config::{FastNoHz, IdleRule};
use crate::periods::cpu::Cpu;
use crate::periods::global::Global;
use crate::periods::host::Host;

/// The needs of a CPU about to idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdleNeeds {
    /// Nothing: it may sleep without a bound.
    Nothing,
    /// Its tick.
    Tick,
    /// Callbacks became ready: the soft interrupt has to be raised, and the tick stays on for it.
    Core,
    /// A wake-up after this number of ticks.
    WakeIn(u64),
}

/// The answer to an idle CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "without the wake-up the request for a grace period is lost"]
pub struct IdleLook {
    /// Its needs.
    pub needs: IdleNeeds,
    /// Wake the grace-period thread.
    pub wake_gp: bool,
}

impl Cpu {
    /// The callback queued last only frees memory, and has no waiter.
    ///
    /// # Panics
    /// If all owed callbacks are already marked as lazy.
    pub fn queued_lazy(&mut self) {
        assert!(
            self.idle.lazy < self.list.len(),
            "a lazy callback that was not queued"
        );
        self.idle.lazy += 1;
    }

    /// This number of lazy callbacks was invoked.
    pub fn ran_lazy(&mut self, n: u64) {
        self.idle.lazy = self.idle.lazy.saturating_sub(n);
    }

    /// The needs of this CPU, which is about to idle, at this tick (`rcu_needs_cpu`).
    pub fn idle_needs(&mut self, global: &mut Global, jiffies: u64, host: &impl Host) -> IdleLook {
        let only = |needs| IdleLook {
            needs,
            wake_gp: false,
        };
        if !self.needs_cpu() {
            return only(IdleNeeds::Nothing);
        }
        let IdleRule::FastNoHz(times) = global.config.idle else {
            return only(IdleNeeds::Tick);
        };
        let look = self.try_advance(global, jiffies, host);
        if look.needs == IdleNeeds::Core {
            return look;
        }
        let owed = self.list.len();
        IdleLook {
            needs: IdleNeeds::WakeIn(times.sleep(jiffies, self.idle.lazy == owed)),
            ..look
        }
    }

    /// The CPU is about to sleep: with `FAST_NO_HZ` everything is stamped, and its grace period requested.
    /// True if the grace-period thread has to be woken.
    pub fn prepare_for_idle(
        &mut self,
        global: &mut Global,
        jiffies: u64,
        host: &impl Host,
    ) -> bool {
        let fast = matches!(global.config.idle, IdleRule::FastNoHz(_));
        if !fast || !self.needs_cpu() || self.idle.stamped_at == Some(jiffies) {
            return false;
        }
        self.idle.stamped_at = Some(jiffies);
        self.stamp(global, host)
    }

    /// The CPU is awake again. If callbacks became ready, the soft interrupt has to be raised.
    pub fn cleanup_after_idle(
        &mut self,
        global: &mut Global,
        jiffies: u64,
        host: &impl Host,
    ) -> IdleLook {
        if matches!(global.config.idle, IdleRule::FastNoHz(_)) && self.needs_cpu() {
            return self.try_advance(global, jiffies, host);
        }
        IdleLook {
            needs: IdleNeeds::Nothing,
            wake_gp: false,
        }
    }

    /// Notices the end of a grace period, once a tick. Is a callback ready then?
    fn try_advance(&mut self, global: &mut Global, jiffies: u64, host: &impl Host) -> IdleLook {
        let mut look = IdleLook {
            needs: IdleNeeds::Nothing,
            wake_gp: false,
        };
        if self.idle.advanced_at == Some(jiffies) {
            return look;
        }
        self.idle.advanced_at = Some(jiffies);
        let ended = self.gp_seq.completed_gp(self.leaf(global).gp_seq) || self.gpwrap;
        if ended {
            look.wake_gp = self.note_gp_changes(global, host).wake_gp;
        }
        if self.list.ready() > 0 {
            look.needs = IdleNeeds::Core;
        }
        look
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::periods::parts::Idling;

    #[test]
    fn as_few_lazy_ones_as_possible_are_taken_to_have_come() {
        let mut gone = Idling {
            lazy: 3,
            ..Idling::new()
        };
        let mut dst = Idling::new();
        dst.adopt(&mut gone, 2);
        assert_eq!((gone.lazy, dst.lazy), (2, 1), "two may be extracted");
        dst.adopt(&mut gone, 0);
        assert_eq!((gone.lazy, dst.lazy), (0, 3));
    }

    #[test]
    fn sleeps_end_together() {
        for times in [FastNoHz::v5_6(1000), FastNoHz::v5_10(1000)] {
            let sleeps: [u64; 6] = core::array::from_fn(|at| times.sleep(at as u64, false));
            assert_eq!(sleeps, [4, 7, 6, 5, 4, 7]);
        }
        for hz in [100, 250, 1000] {
            let times = FastNoHz::v5_6(hz);
            let second = u64::from(hz);
            for now in 0..2 * second {
                let sleep = times.sleep(now, true);
                assert_eq!((now + sleep) % second, 0, "{now} at {hz}");
                let (least, most) = (6 * second - second / 4, 7 * second - second / 4);
                assert!(least <= sleep && sleep <= most, "{sleep} at {now}, {hz}");
            }
            assert_eq!(times.sleep(0, true), 6 * second);
            let now = second / 4;
            assert_eq!(times.sleep(now - 1, true), 6 * second - now + 1, "back");
            assert_eq!(times.sleep(now, true), 7 * second - now, "and forth");
        }
        let newer = FastNoHz::v5_10(1000);
        assert_eq!(newer.sleep(1, true), 7, "laziness is no longer tracked");
    }

    struct Quiet;

    impl Host for Quiet {
        crate::periods::host::asked_by_the_driver_only!();
    }

    #[test]
    fn a_cpu_whose_tick_stays_needs_no_look_when_it_wakes() {
        let fast = IdleRule::FastNoHz(FastNoHz::v5_10(1000));
        for (idle, needs) in [
            (IdleRule::Tick, IdleNeeds::Nothing),
            (fast, IdleNeeds::Core),
        ] {
            let mut global = Global::new(crate::periods::config::Config {
                idle,
                ..crate::periods::config::Config::kernel_6_12(2, 1000)
            });
            let mut cpu = Cpu::new(0);
            let nothing = cpu.cleanup_after_idle(&mut global, 1, &Quiet);
            assert_eq!(
                (nothing.needs, cpu.idle.advanced_at),
                (IdleNeeds::Nothing, None)
            );
            let _ = cpu.call(&mut global, 8, 0, &Quiet);
            let stamp = global.gp_seq.snap();
            let list = &mut cpu.list;
            assert!(list.accelerate(stamp));
            assert_eq!(list.advance(stamp), 1);
            assert_eq!(cpu.cleanup_after_idle(&mut global, 2, &Quiet).needs, needs);
        }
    }
}
