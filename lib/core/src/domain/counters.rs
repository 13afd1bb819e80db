//! The counters that the domains increment, and what counts as late.

use crate::prim::counters::{Counter, count};

/// What runs this much later than it was due, in nanoseconds, is late. Shorter than the time after which a
/// waiter looks by itself (0.1 s), so that a look which had to replace a wake-up counts; and longer than the
/// time to which prompt callbacks may wait (50 ms), so that a timer which came before a slow kick does not.
pub const LATE_NS: u64 = 75_000_000;

/// Whether what was due at this time, and runs now, is late.
pub fn is_late(due: u64, now: u64) -> bool {
    now.saturating_sub(due) > LATE_NS
}

/// Makes the struct of these counters, which start at zero in the child of a fork.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters that the host increments; the engine has its own.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)*
            /// Forks between the first process and this one.
            pub forks: Counter,
            /// Callbacks pending at the fork that the parent runs, not this process.
            pub not_inherited: Counter,
        }

        impl Counters {
            pub const fn new() -> Counters {
                Counters {
                    $($name: Counter::new(0),)*
                    forks: Counter::new(0),
                    not_inherited: Counter::new(0),
                }
            }

            /// Resets all counters but those of forks.
            pub fn reset(&self) {
                $(self.$name.store(0, std::sync::atomic::Ordering::Relaxed);)*
            }

            /// In the child of a fork. The caller stores `not_inherited`.
            pub fn forked(&self) {
                self.reset();
                count(&self.forks);
            }
        }
    };
}

counters! {
    /// Fences at the start of grace periods.
    fences_gp,
    /// Fences after flagging readers.
    fences_flag,
    /// Fences of take-overs.
    fences_take,
    /// Fences saved because another thread's fence was used.
    fences_shared,
    /// Fences for deferred work that threads were asked for first.
    fences_asked,
    /// Of those, how many needed no process-wide fence: every thread answered in time.
    fences_answered,
    /// Callbacks and destructors run.
    callbacks,
    /// Callbacks that panicked.
    panics,
    /// Barriers that have ended.
    barriers,
    /// Times that the worker could not start or continue.
    worker_errors,
    /// Passes of the worker over a domain that was due.
    worker_passes,
    /// Waiters woken by drivers.
    wakeups,
    /// Sleeping drivers woken by readers.
    reader_wakeups,
    /// Sleeps of drivers.
    sleeps,
    /// Hand-overs of the driver role to a waiter.
    hand_overs,
    /// Times a waiter that no driver had woken found the role free.
    found_free,
    /// Times that the worker or a waiter ran [late](is_late).
    late_wakeups,
    /// Objects lost because there was no memory for a queue entry.
    leaked,
    /// Objects and callbacks refused because of the budget.
    refused,
    /// Objects that owners freed in addition, near the budget.
    helped,
    /// Times that an owner yielded its CPU, near the budget.
    gave_way,
    /// Items queued in the shared queue by threads without their own.
    unregistered_queued,
    /// Threads of the library.
    helpers,
    /// Wake-ups of the worker by the timer.
    woken_timer,
    /// Wake-ups of the worker by a kick.
    woken_kick,
    /// Wake-ups of the worker by memory pressure.
    woken_pressure,
    /// Reports of low memory by the kernel.
    pressure_events,
    /// Reports of low memory by the program.
    pressure_calls,
}
