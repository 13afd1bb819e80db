//! A machine of another kind: threads of a program that uses the library, on the same engine.
//!
//! Virtual time and a queue of events as in the [kernel's machine](crate::Machine); but a "CPU" of the engine is a registered
//! thread, grace periods are driven by whoever needs one, and what makes readers' stores visible is one process-wide fence. The
//! engine decides ([`Config::threads`](quiescent_engine::Config::threads)); the library's part, what lies between two decisions, has a twin here, file by file:
//!
//! | here | in `lib/quiescent/src` |
//! |---|---|
//! | `slots` | `slots.rs`, `leafmap.rs`, `reader.rs` |
//! | `lane`, `queue` | `lane.rs`, `queue.rs`, `queue/room.rs` |
//! | `deliver` | `deliver.rs`, and the calls of `retire.rs` and `call.rs` |
//! | `drive`, `wait` | `drive.rs`, `waiting.rs`, `waitlist.rs` |
//! | `sweep` | `sweep.rs`, and the turns of `second.rs` |
//! | `worker` | `worker.rs`, `staff.rs`, `alarm.rs` |
//! | `barrier` | `barrier.rs` |
//!
//! Numbers that both need are the engine's (`credit::Defer`, `budget::Budget`, `owner`). No figure is computed: grace periods,
//! fences and wake-ups are counted where they happen.
//!
//! # Pieces
//! A thread does one piece of work after the other: what lies between two places where the library holds no lock (a fence, a spin, a
//! sleep, a callback). What a piece changes it changes at its beginning; then the thread is busy for what that costs, and others do theirs.
//! With `stepwise` pieces end after each step of the engine, and between a push and the lock that it asks for. Every thread has a
//! processor of its own.
//!
//! # Time
//! The library's clock is monotonic since boot, and its deadlines lie on whole seconds of it: where in a second
//! a run begins is drawn from the seed (`clock`). What the library reads from the coarse clock is as of the last tick (`hz`).
//!
//! # Left out
//! Memory ordering (checkers run the library's own code for that), the fenced mode, threads without a slot, intrusive heads, the
//! second worker, the stand-by (which never wakes unless a callback hangs), callbacks that queue, destructors in `retire`, memory
//! pressure, `fork`, processors that threads have to share.

mod barrier;
mod core;
mod deliver;
mod drive;
mod lane;
mod look;
mod program;
mod queue;
mod reader;
mod slots;
mod sweep;
mod wait;
mod worker;

pub use self::core::Threads;
pub use crate::input::policy::{Policy, Prices};
pub use crate::record::counted::Counted;

use crate::base::error::nearest;

/// How something is handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// Memory; lazily, and its owner frees what is done.
    #[default]
    Retire,
    /// Memory; its owner frees nothing.
    RetireNoReclaim,
    /// Code, soon.
    Call,
    /// Code that may wait for company.
    CallLazy,
    /// Code, now.
    CallHurry,
}

/// Verbs by name.
const VERBS: [(&str, Verb); 5] = [
    ("retire", Verb::Retire),
    ("retire_no_reclaim", Verb::RetireNoReclaim),
    ("call", Verb::Call),
    ("call_lazy", Verb::CallLazy),
    ("call_hurry", Verb::CallHurry),
];

impl Verb {
    /// The names of all, in the order of the list that [`at`](Verb::at) is about.
    pub(crate) const NAMES: [&'static str; 5] = {
        let mut names = [""; 5];
        let mut n = 0;
        while n < names.len() {
            names[n] = VERBS[n].0;
            n += 1;
        }
        names
    };

    /// What is handed over so waits for company.
    pub fn is_lazy(self) -> bool {
        matches!(self, Verb::Retire | Verb::RetireNoReclaim | Verb::CallLazy)
    }

    /// The verb at this place of the list of names.
    pub(crate) fn at(index: usize) -> Verb {
        VERBS[index].1
    }

    /// The verb of this name.
    ///
    /// # Errors
    /// The name that is nearest.
    pub fn named(name: &str) -> Result<Verb, String> {
        let found = VERBS.iter().find(|it| it.0 == name);
        found
            .map(|it| it.1)
            .ok_or_else(|| nearest(name, Verb::NAMES.into_iter()))
    }
}

#[cfg(test)]
mod tests;
