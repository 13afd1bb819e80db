//! What comes back when something is not retired: the thing itself, and the reason.

use std::error::Error;
use std::fmt;

use quiescent_engine::budget::Held;

use crate::error::SyncError;
use crate::statistics::Holdout;

/// Something was **not** retired, or not waited for: here it is back, and why. What [`Retired::try_retire`],
/// [`Retired::try_wait`] and their kin return.
///
/// [`Retired::try_retire`]: crate::Retired::try_retire
/// [`Retired::try_wait`]: crate::Retired::try_wait
///
/// ```
/// use quiescent::{RcuCell, Refused};
///
/// let cell = RcuCell::new([0u8; 100]);
/// let old = cell.store([1; 100]);
/// if let Err(Refused { object, reason, .. }) = old.try_retire() {
///     eprintln!("{reason}");
///     drop(object.wait()); // go no faster than the readers
/// }
/// ```
#[must_use = "what is in here is still to be retired"]
#[non_exhaustive]
pub struct Refused<R, E = Refusal> {
    /// What was to be retired, or waited for. It is as it was before the call.
    pub object: R,
    /// Why it was not.
    pub reason: E,
}

/// Why something was not retired.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It does not fit into the budget beside what is held now.
    Full(Fullness),
    /// The time was over, and it still did not fit.
    TimedOut {
        /// How full it was.
        full: Fullness,
        /// The readers that were in the way, at most 64 of them. None: not a reader but a callback, or
        /// the thread that runs callbacks, takes its time.
        holdouts: Vec<Holdout>,
    },
    /// This thread may not wait, or waiting failed: inside a section, inside a callback, the fence was
    /// refused.
    CannotWait(SyncError),
}

/// How much is held, and how much may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fullness {
    /// Bytes that are queued.
    pub held_bytes: u64,
    /// Objects and callbacks that are queued.
    pub held_callbacks: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// The budget in objects and callbacks.
    pub budget_callbacks: u64,
}

impl Fullness {
    /// As the engine knows it.
    pub(crate) fn of(core: &crate::inner::domain::process::Core) -> Fullness {
        let budget = core.engine.budget();
        let budget = Held {
            count: budget.count,
            bytes: budget.bytes,
        };
        Fullness::new(core.engine.held(), budget)
    }

    fn new(held: Held, budget: Held) -> Fullness {
        Fullness {
            held_bytes: held.bytes,
            held_callbacks: held.count,
            budget_bytes: budget.bytes,
            budget_callbacks: budget.count,
        }
    }
}

impl fmt::Display for Fullness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fullness {
            held_bytes,
            held_callbacks,
            budget_bytes,
            budget_callbacks,
        } = self;
        write!(
            f,
            "{held_bytes} bytes in {held_callbacks} callbacks are queued, and the budget is \
             {budget_bytes} bytes in {budget_callbacks}"
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full(full) => write!(
                f,
                "no room: {full}: try again later, wait for a grace period, or set a larger budget"
            ),
            Refusal::TimedOut { full, holdouts } => {
                write!(f, "no room before the deadline: {full}")?;
                let mut separator = ": still reading: ";
                for holdout in holdouts {
                    write!(f, "{separator}{holdout}")?;
                    separator = ", ";
                }
                Ok(())
            }
            Refusal::CannotWait(error) => error.fmt(f),
        }
    }
}

impl Error for Refusal {}

impl<R, E> Refused<R, E> {
    pub(crate) fn new(object: R, reason: E) -> Refused<R, E> {
        Refused { object, reason }
    }
}

impl<R, E: fmt::Debug> fmt::Debug for Refused<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<R, E: fmt::Display> fmt::Display for Refused<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<R, E: fmt::Debug + fmt::Display> Error for Refused<R, E> {}
