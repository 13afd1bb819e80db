//! A machine of another kind: threads of a program that uses the library, on virtual time.
//!
//! It runs the library itself: `quiescent-core-on-virtual` is the sources of `lib/core`, compiled on the
//! primitives of `quiescent-virtual`, in which a thread is a fiber and time is that of a queue of events, as
//! in the [kernel's machine](crate::Machine). No figure is computed: grace periods, fences and wake-ups are
//! counted by the library where they happen. What is here is the program: threads that read, queue, wait and
//! sleep, the statistics, and an oracle that counts waits and callbacks that end too early.
//!
//! # What takes time
//! A fence, a wake-up, a spin, a step of the engine, a push and a trip to the lock have a [price](Prices). A
//! call happens at one moment, unless it fences, spins, sleeps or runs a callback, or takes a lock after
//! something that had a price. With `stepwise` other threads may run before each lock and after each step of
//! the engine. Every thread has a processor of its own.
//!
//! # Time
//! The library's clock is monotonic since boot, and its deadlines lie on whole seconds of it: where in a
//! second a run begins is drawn from the seed (`clock`). What the library reads from the coarse clock is as
//! of the last tick (`hz`).
//!
//! # Left out
//! Memory ordering (checkers run the library for that), the fenced mode, the second worker, the stand-by
//! (which never wakes unless a callback hangs), callbacks that queue, destructors in `retire`, memory
//! pressure, `fork`, processors that threads have to share.

mod look;
mod machine;
#[allow(
    unsafe_code,
    reason = "the core keeps references to a process for as long as it exists"
)]
mod process;
mod program;
mod world;

pub use self::machine::Threads;
pub use crate::input::policy::{Policy, Prices};
pub use crate::record::counted::Counted;

use crate::base::error::nearest;

/// The ways to hand over an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// Memory; lazily, and its owner frees what is done.
    #[default]
    Retire,
    /// Memory; its owner frees nothing.
    RetireOnWorker,
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
    ("retire_on_worker", Verb::RetireOnWorker),
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
        matches!(self, Verb::Retire | Verb::RetireOnWorker | Verb::CallLazy)
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
