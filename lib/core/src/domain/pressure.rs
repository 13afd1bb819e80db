//! Memory pressure: when memory is low, lazy callbacks are due at once.
//!
//! There are three sources: the program (`tuning::memory_is_low`), the kernel about the whole machine or the
//! process's control group (PSI: a task had to wait for memory), and the kernel about the limits of that
//! group (`memory.high`, `memory.max`). The engine reacts ([`quiescent_engine::pressure`]): every later
//! deadline is due now, at most ten times a second.
//!
//! # Listening
//! The worker opens the descriptors of the kernel's sources once, when it starts. They are in its `epoll` set
//! only while something is queued that has to wait (rule R5): they are added when the timer is set to a time
//! at least one second away, and removed when it is stopped. Anything with an earlier deadline is gone before
//! most sources would report. The thread that sets the timer adds them: four system calls, once for
//! everything that is queued until the next flush.
//!
//! # Invariants
//! * While sources are armed, the timer is set. Both change under the timer's lock.
//! * What a source noted before it is armed is discarded: nothing was queued then.
//! * An unavailable source is not an error: the other sources, the program and the flush times remain.
//!   `Statistics::pressure_sources` reports the available ones.

use quiescent_engine::credit::Refill;

use crate::domain::env::Env;
use crate::domain::state::State;
use crate::os::Woken;
use crate::prim;
use crate::prim::counters::count;

impl Env {
    /// The worker has slept; `by` says what woke it.
    pub fn woken(&'static self, by: Woken) {
        let counters = &self.state.counters;
        match by {
            Woken { pressure: true, .. } => count(&counters.woken_pressure),
            Woken { kick: true, .. } => count(&counters.woken_kick),
            Woken { timer: true, .. } => count(&counters.woken_timer),
            _ => {} // by a signal
        }
        if by.low {
            count(&counters.pressure_events);
            self.states().for_each(State::memory_low);
        }
    }
}

impl State {
    /// A source reports that memory is low.
    pub fn memory_low(&'static self) {
        let is_pending = self.lock().engine.memory_is_said_low();
        if is_pending || self.held().0 == 0 {
            return;
        }
        let low = self.lock().engine.memory_low(State::now(prim::now_ns()));
        self.arm_and_kick(Refill {
            arm: low.arm,
            kick: low.kick,
            ..Refill::default()
        });
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::prim::counters::value;
    use crate::testing::program;

    const TIMER: Woken = Woken {
        timer: true,
        kick: false,
        pressure: false,
        low: false,
    };

    #[test]
    fn each_wake_up_has_one_cause() {
        let env = &program().env;
        let c = &env.state.counters;
        let counted = || [&c.woken_pressure, &c.woken_kick, &c.woken_timer].map(value);
        env.woken(TIMER);
        assert_eq!(counted(), [0, 0, 1]);
        env.woken(Woken {
            kick: true,
            ..TIMER
        });
        assert_eq!(counted(), [0, 1, 1]);
        env.woken(Woken {
            kick: true,
            pressure: true,
            ..TIMER
        });
        assert_eq!(counted(), [1, 1, 1]);
        env.woken(Woken {
            timer: false,
            ..TIMER
        });
        assert_eq!(counted(), [1, 1, 1]);
        assert_eq!(value(&c.pressure_events), 0);
        env.woken(Woken {
            pressure: true,
            low: true,
            timer: false,
            ..TIMER
        });
        assert_eq!(value(&c.pressure_events), 1);
    }
}
