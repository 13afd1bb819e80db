//! The amount queued compared with the budget, and the reasons for refusing an object.

use std::error::Error;
use std::fmt;

use quiescent_engine::budget::{Held, Level};

use crate::domain::error::SyncError;
use crate::domain::state::Core;
use crate::prim::counters::{Counter, value};
use crate::reader::holdout::Holdout;

/// Why an object or callback was not queued.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It does not fit into the budget beside what is queued now.
    Full(Fullness),
    /// The deadline passed, and it still did not fit.
    TimedOut {
        /// The amount queued at the deadline.
        full: Fullness,
        /// The readers that blocked the grace period, at most 64 of them. Empty if the delay was caused by a
        /// callback, or by the thread that runs callbacks, and not by a reader.
        holdouts: Vec<Holdout>,
    },
    /// This thread must not wait, or waiting failed: it is inside a section or a callback, or the fence was
    /// refused.
    CannotWait(SyncError),
}

/// The amount queued, and the budget.
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
    /// As the engine counts it now. Who says why something was refused takes it in the same hold of the lock.
    pub(crate) fn of(core: &Core) -> Fullness {
        Fullness::new(core, core.engine.held())
    }

    /// What it was when the budget was exceeded last.
    pub(crate) fn exceeded(core: &Core) -> Option<Fullness> {
        Some(Fullness::new(core, core.engine.exceeded()?))
    }

    fn new(core: &Core, held: Held) -> Fullness {
        let budget = core.engine.budget();
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

/// The level that the engine computed last, readable without the lock.
#[derive(Debug)]
pub struct LevelWord(pub Counter);

impl LevelWord {
    pub const fn new() -> LevelWord {
        LevelWord(Counter::new(Level::Easy as u64))
    }

    /// True far from the budget.
    pub fn is_easy(&self) -> bool {
        value(&self.0) == Level::Easy as u64
    }
}
