//! Memory pressure: when memory is low, what is lazy goes at once.
//!
//! Three may say that memory is low: the program ([`memory_is_low`]), the kernel about the whole machine or the
//! process's control group (PSI: somebody had to wait for memory), and the kernel about the limits of that group
//! (`memory.high`, `memory.max`). What it means is the engine's business ([`quiescent_engine::pressure`]): everything
//! that somebody would look at later is due now, at most ten times a second.
//!
//! # Who listens, and when
//! The descriptors of the kernel's sources are opened by the worker when it starts, once, and are in its `epoll` set
//! only while something is held that has to wait (rule R5): they go in when the timer is set to a time that is
//! [`WORTH_NS`] away or more, and come out when it is stopped. What goes sooner than that is gone before most
//! sources would speak. Whoever sets the timer puts them in, as he sets the timer: four system calls, once
//! for all that is queued until the next flush.
//!
//! # Invariants
//! * Sources that are armed have a timer that is set. Both are changed under the timer's lock.
//! * What a source noted while it was not armed is thrown away when it is: nothing was held then.
//! * A source that is not to be had is no error: the others, the program and the flush times are still there.
//!   [`Statistics::pressure_sources`](crate::stats::Statistics) says so.

use quiescent_engine::credit::Refill;

use crate::inner::domain::counters::count;
use crate::inner::domain::process::Process;
use crate::inner::prim;

#[cfg(not(quiescent_model))]
pub(crate) mod sources;

/// Sources are armed for what waits so long or longer. PSI needs up to two seconds itself.
pub(crate) const WORTH_NS: u64 = 1_000_000_000;

/// Memory is low, says the program: everything that is queued lazily, by any thread and in any domain, is freed or run now and not
/// at its flush time. For programs that know better than the kernel: an allocation was refused, a budget of their own is
/// used up, a container's manager has sent a message.
///
/// From any thread, also inside sections and callbacks; not in signal handlers. Never waits: the worker is woken, and frees
/// after a grace period. Acted upon ten times a second at most; what is said sooner is done when its time has come.
/// If nothing is queued, nothing happens. O(threads and domains).
///
/// The kernel's word is listened to as well, unless [`Options::memory_pressure`](crate::Options) switches it off; the
/// guide's chapter on [memory pressure](crate::guide::memory_pressure) tells which and how fast.
///
/// ```
/// # let cache = quiescent::RcuCell::new(vec![0u8; 1 << 20]);
/// drop(cache.store(Vec::new())); // a megabyte, freed within ten seconds …
/// quiescent::tuning::memory_is_low(); // … or at once
/// ```
pub fn memory_is_low() {
    let domain = prim::domain();
    count(&domain.counters.pressure_calls);
    domain.memory_low();
    #[cfg(not(quiescent_model))]
    crate::inner::domain::yard::yards().for_each(crate::inner::domain::yard::Yard::memory_low);
}

/// Where the kernel's word about memory comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PressureSources {
    /// `/proc/pressure/memory`: tasks anywhere on this machine had to wait for memory.
    pub system: PressureSource,
    /// The control group's `memory.pressure`: tasks of the process's own group had to.
    pub group: PressureSource,
    /// The control group's `memory.events`: it has reached `memory.high` or `memory.max`.
    pub limits: PressureSource,
}

/// The state of one such source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PressureSource {
    /// Not tried: there has been no worker yet, or [`Options::memory_pressure`](crate::Options) is off.
    #[default]
    Closed,
    /// There is no such file, or this process may not use it.
    Unavailable,
    /// It could be listened to; nothing is held that would wait.
    Idle,
    /// The worker listens.
    Armed,
}

impl Process {
    /// Somebody says that memory is low.
    pub(crate) fn memory_low(&'static self) {
        let on_the_way = self.lock().engine.memory_is_said_low();
        if on_the_way || self.held().0 == 0 {
            return;
        }
        let low = self.lock().memory_low(prim::now_ns());
        self.arm_and_kick(Refill {
            arm: low.arm,
            kick: low.kick,
            ..Refill::default()
        });
    }
}
