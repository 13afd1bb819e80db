//! Inputs as values: records a host's calls and the engine's queries, and replays them bit for bit.
//!
//! Every call that changes a [`Global`], a [`Cpu`](quiescent_kernel::Cpu) or a
//! [`Barrier`](quiescent_kernel::barrier::Barrier) has an [`Input`]; [`apply`] and [`World::apply`] make the
//! call and return an [`Output`]. A host that records wraps its own [`Host`] in [`Recording`], which keeps
//! the answers in the order of the queries. A recorded run is a list of [`Entry`]s; [`replay`] and
//! [`World::replay`] make the same calls on an engine in the initial state, and compare every output. If the
//! engine reads anything but its inputs, the outputs differ.
//!
//! # Order of entries
//! The state is behind several locks: the domain's (`Global`, `Barrier`) and one for each `Cpu`. A call
//! depends only on the state protected by the locks that its host holds. So the host appends the entry *while
//! it holds them*: two calls that share state are in the list in the order in which they were made, and two
//! calls that share none may be in either order.

use std::cell::RefCell;

use quiescent_kernel::Global;
use quiescent_kernel::host::{CpuId, Host, LeafId, Seen};

mod offload;
mod world;

pub use crate::record::{
    Answer, BarrierInput, CpuInput, Entry, ExpInput, Input, OffloadInput, Output, Recording,
};
pub use world::{World, apply};

/// A host that answers from a recording, and stores the first query that differs from the recorded one.
struct Replaying<'a> {
    left: RefCell<std::slice::Iter<'a, Answer>>,
    strayed: RefCell<bool>,
}

impl Replaying<'_> {
    fn next<T>(&self, pick: impl Fn(Answer) -> Option<T>, otherwise: T) -> T {
        match self
            .left
            .borrow_mut()
            .next()
            .and_then(|&answer| pick(answer))
        {
            Some(value) => value,
            None => {
                *self.strayed.borrow_mut() = true;
                otherwise
            }
        }
    }
}

impl Host for Replaying<'_> {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        self.next(
            |a| {
                if let Answer::Cpus(n) = a {
                    Some(n)
                } else {
                    None
                }
            },
            0,
        )
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let pick = |a| match a {
            Answer::Observe(c, seen) if c == cpu => Some(seen),
            _ => None,
        };
        self.next(
            pick,
            Seen {
                outside: false,
                stamp: 0,
            },
        )
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let pick = |a| match a {
            Answer::Present(l, mask) if l == leaf => Some(mask),
            _ => None,
        };
        self.next(pick, 0)
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        let pick = |a| match a {
            Answer::OwnQuiescent(c, yes) if c == cpu => Some(yes),
            _ => None,
        };
        self.next(pick, false)
    }

    fn nohz_full(&self, cpu: CpuId) -> bool {
        let pick = |a| match a {
            Answer::NohzFull(c, yes) if c == cpu => Some(yes),
            _ => None,
        };
        self.next(pick, false)
    }

    fn owed_callbacks(&self, cpu: CpuId) -> u64 {
        let pick = |a| match a {
            Answer::OwedCallbacks(c, n) if c == cpu => Some(n),
            _ => None,
        };
        self.next(pick, 0)
    }
}

/// The first difference between a recording and its replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diverged {
    /// The number of the entry, from 0.
    pub at: usize,
    /// The recorded output.
    pub recorded: Output,
    /// The output of the replay.
    pub replayed: Output,
    /// The engine made other queries than the recorded ones.
    pub other_questions: bool,
}

/// Makes the recorded calls of a [`Global`] on `engine`, and compares every output and every query. For
/// recordings that include callbacks use [`World::replay`].
///
/// A recording that was changed may make the engine panic, as such calls would.
///
/// # Errors
/// The first entry whose output or queries differ.
#[allow(clippy::result_large_err, reason = "a diagnosis, made once")]
pub fn replay(engine: &mut Global, entries: &[Entry]) -> Result<(), Diverged> {
    compare(entries, |input, host| apply(engine, input, host))
}

#[allow(clippy::result_large_err, reason = "a diagnosis, made once")]
fn compare(
    entries: &[Entry],
    mut apply: impl FnMut(Input, &Replaying<'_>) -> Output,
) -> Result<(), Diverged> {
    for (at, entry) in entries.iter().enumerate() {
        let host = Replaying {
            left: RefCell::new(entry.answers.iter()),
            strayed: RefCell::new(false),
        };
        let replayed = apply(entry.input, &host);
        let unasked = host.left.borrow_mut().next().is_some();
        let other_questions = *host.strayed.borrow() || unasked;
        if replayed != entry.output || other_questions {
            return Err(Diverged {
                at,
                recorded: entry.output,
                replayed,
                other_questions,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaying(answer: &Answer) -> Replaying<'_> {
        Replaying {
            left: RefCell::new(std::slice::from_ref(answer).iter()),
            strayed: RefCell::new(false),
        }
    }

    /// Makes a query about number `of` where the recorded answer is about number 1: does the replay notice?
    fn strays(answer: Answer, ask: impl Fn(&Replaying<'_>)) -> bool {
        let host = replaying(&answer);
        ask(&host);
        *host.strayed.borrow()
    }

    #[test]
    fn a_query_about_another_number_is_another_query() {
        let seen = Seen {
            outside: true,
            stamp: 3,
        };
        for of in [1, 2] {
            let (cpu, other) = (of as CpuId, of != 1);
            let observe = |h: &Replaying<'_>| _ = h.observe(cpu);
            assert_eq!(strays(Answer::Observe(1, seen), observe), other);
            let present = |h: &Replaying<'_>| _ = h.present(of);
            assert_eq!(strays(Answer::Present(1, 3), present), other);
            let own = |h: &Replaying<'_>| _ = h.own_quiescent(cpu);
            assert_eq!(strays(Answer::OwnQuiescent(1, true), own), other);
            let full = |h: &Replaying<'_>| _ = h.nohz_full(cpu);
            assert_eq!(strays(Answer::NohzFull(1, true), full), other);
            let owed = |h: &Replaying<'_>| _ = h.owed_callbacks(cpu);
            assert_eq!(strays(Answer::OwedCallbacks(1, 3), owed), other);
        }
    }

    #[test]
    fn a_recording_passes_events_on() {
        use quiescent_kernel::event::Event;

        struct Counts(std::cell::Cell<u32>);
        impl Host for Counts {
            crate::asked_by_the_driver_only!();
            fn trace(&self, _: &Event) {
                self.0.set(self.0.get() + 1);
            }
        }
        let host = Counts(std::cell::Cell::new(0));
        Recording::new(&host).trace(&Event::GracePeriod {
            gp_seq: quiescent_kernel::seq::Seq::ZERO,
            event: quiescent_kernel::event::GpEvent::Start,
        });
        assert_eq!(host.0.get(), 1);
    }
}
