//! Sections that may sleep, and end on another thread than the one that opened them: the second kind of grace
//! period.
//!
//! Such a section has no fixed CPU or thread. So sections are *counted*, in two counts, 0 and 1. A new
//! section joins the count that [`Effects::join`](crate::Effects) named last, and leaves the same one. To the
//! engine each count is a participant as a CPU is one ([`Readers::Indexed`]): outside if no section is in it,
//! with a stamp that never changes. Everything else is the same code as for CPUs: sequence numbers, cookies,
//! waiters, the driver role, pacing, stall reports, callbacks.
//!
//! ```text
//!            joined: 0                              joined: 1
//!   count 1  ─────┐ drains                     ─────┬──┬───┬──── newcomers
//!   count 0  ──┬──┴──┬───┬──── newcomers       ──┬──┴──┐ drains
//!              start                  turn over        end
//! ```
//!
//! A count that newcomers join need never be empty. So the grace period first waits for the other one, then
//! sends newcomers there (it *turns over*), and waits for the first. The kernel's SRCU does the same (scan,
//! flip, scan); here either count that is found empty is done, and if both are, nothing turns over, which
//! saves a store that readers would have to fetch.
//!
//! # Why a grace period is long enough
//! Let R be a section that is open when the grace period starts, in count i.
//! 1. After the start comes the fence. R joined its count before that, in its thread's order; otherwise its
//!    reads come after the fence, it sees all updates, and is not older. So R is in count i at every scan
//!    after the fence, until it ends.
//! 2. Count i is credited only by a scan after the fence that found it empty. So R had ended.
//!
//! None of this depends on *when* the engine turns over, nor on whether readers have seen it: a reader that
//! fetched the number long ago may still join the old count, and the grace period waits for it like for any
//! other. Turning over is needed for progress, not for correctness. It is done only when the other count has
//! been found empty (else newcomers would join sections that are waited for), and only once in a grace
//! period.
//!
//! # Requirements on the host
//! "Empty" is true at some moment of the scan. With a lock count and an unlock count for each thread and each
//! of the two, that means: add up the *unlocks* of all threads, then the locks. (A lock precedes its unlock,
//! so the sum contains the lock of every unlock in it, and if the sums are equal there is no other lock. In
//! the other order the sum may contain an unlock without its lock, which would stand for a section that is
//! still open.) The exhaustive search (`tests/it/indexed.rs`) tries both.
//!
//! # Why it is not longer than necessary
//! After turning over, the count that is waited for gets no newcomers except stragglers, at most one for each
//! thread. It takes as long as the longest of its sections.

use crate::common::config::Readers;
use crate::common::global::Global;
use crate::common::host::CpuId;

/// Both counts take part in every grace period: a host's answer for the only leaf
/// ([`Host::present`](crate::Host)).
pub const BOTH: u64 = 0b11;

/// The number of participants ([`Host::cpus`](crate::Host)).
pub const COUNTS: u32 = 2;

impl Global {
    /// The count that new sections are to join; 0 if readers are not counted.
    pub fn joined(&self) -> CpuId {
        self.joined
    }

    /// Is this the count that newcomers join? It is not waited for, then.
    pub(crate) fn is_joined(&self, cpu: CpuId) -> bool {
        self.config.readers == Readers::Indexed && cpu == self.joined
    }

    /// A scan has ended: if nothing is left but the count that newcomers join, they are to join the other
    /// one.
    pub(crate) fn turn_over(&mut self) -> Option<CpuId> {
        if self.config.readers != Readers::Indexed {
            return None;
        }
        let (_, owed) = self.owed(0);
        if owed.0 != 1 << self.joined {
            return None;
        }
        self.joined = 1 - self.joined;
        self.counts.turns += 1;
        Some(self.joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::config::{Config, Pace};

    use crate::common::global::Interest;
    use crate::common::global::Phase;
    use crate::common::host::{Effects, Host, LeafId, Next, Now, Seen};
    use alloc::vec::Vec;
    use core::cell::Cell;

    /// Two counts, and whether another thread has ever read.
    struct Counts {
        open: [Cell<u32>; 2],
        flagged: [Cell<bool>; 2],
        alone: bool,
    }

    impl Host for Counts {
        fn cpus(&self) -> u32 {
            COUNTS
        }
        fn observe(&self, cpu: CpuId) -> Seen {
            Seen {
                outside: self.open[cpu as usize].get() == 0,
                stamp: 0,
            }
        }
        fn present(&self, _: LeafId) -> u64 {
            BOTH
        }
        fn occupied(&self, _: usize) -> u64 {
            u64::from(!self.alone)
        }
        fn own_quiescent(&self, _: CpuId) -> bool {
            false
        }
    }

    fn engine() -> Global {
        let mut config = Config::sleepable();
        config.pace = Pace::Direct {
            spin: 1,
            spins_before_flag: 0,
            spins_after_flag: 0,
            expedited_factor: 1,
            stall_ns: 0,
        };
        Global::new(config)
    }

    fn counts(open: [u32; 2], alone: bool) -> Counts {
        Counts {
            open: open.map(Cell::new),
            flagged: Default::default(),
            alone,
        }
    }

    /// Drives until the engine ends the drive or makes the driver sleep; returns the requests, and the counts
    /// that were joined.
    fn drive(engine: &mut Global, host: &Counts) -> (Vec<Next>, Vec<CpuId>) {
        let (mut asked, mut joined) = (Vec::new(), Vec::new());
        let mut next = Next::Again;
        for _ in 0..200 {
            next = match next {
                Next::Again => {
                    let Effects { next, join, .. } = engine.step(Now::default(), host);
                    joined.extend(join);
                    next
                }
                Next::Fence(_) => engine.fenced(),
                Next::Grow(cpus) => {
                    let tree = Global::new_tree(engine.config(), cpus).expect("memory");
                    let _ = engine.grow(tree);
                    Next::Again
                }
                Next::FlagHoldouts { .. } => {
                    let holdouts: Vec<_> = engine.holdouts().collect();
                    assert_eq!(holdouts.len(), 1, "one count is waited for at a time");
                    let known = host.flagged[holdouts[0] as usize].replace(true);
                    engine.flagged(u32::from(!known))
                }
                Next::Spin(_) => Next::Again,
                end => {
                    asked.push(end);
                    return (asked, joined);
                }
            };
            if next != Next::Again {
                asked.push(next);
            }
        }
        panic!("no end: {asked:?}");
    }

    fn start(engine: &mut Global, host: &Counts) -> u64 {
        let (ticket, _) = engine.wait_for_gp(0, false, host);
        assert!(engine.try_drive(None, Interest::Waiter(ticket)));
        ticket
    }

    #[test]
    fn without_sections_the_counts_are_not_exchanged() {
        let (mut engine, host) = (engine(), counts([0, 0], false));
        let ticket = start(&mut engine, &host);
        let (asked, joined) = drive(&mut engine, &host);
        assert!(ticket < engine.waiters().done() && joined.is_empty());
        assert_eq!(asked.last(), Some(&Next::Done));
        let counts = engine.counts();
        assert_eq!((counts.turns, counts.sole, engine.joined()), (0, 0, 0));
        assert!(asked.iter().any(|next| matches!(next, Next::Fence(_))));
    }

    #[test]
    fn a_driver_alone_needs_no_fence_and_waits_for_its_own_sections_all_the_same() {
        let (mut engine, host) = (engine(), counts([0, 1], true));
        let ticket = start(&mut engine, &host);
        let (asked, _) = drive(&mut engine, &host);
        assert!(matches!(asked.last(), Some(Next::Sleep(_))));
        assert!(ticket >= engine.waiters().done());
        let first = asked.iter().find(|next| matches!(next, Next::Fence(_)));
        assert_eq!(
            first,
            Some(&Next::Fence(crate::common::host::FenceCause::Flag))
        );
        host.open[1].set(0);
        drive(&mut engine, &host);
        assert!(ticket < engine.waiters().done());
        assert_eq!(engine.counts().sole, 1);
    }

    #[test]
    fn newcomers_are_sent_to_the_other_count_once_that_is_empty() {
        let (mut engine, host) = (engine(), counts([1, 1], false));
        let ticket = start(&mut engine, &host);
        let (_, joined) = drive(&mut engine, &host);
        assert!(joined.is_empty(), "the other one is not empty yet");
        assert_eq!(engine.holdouts().collect::<Vec<_>>(), [1]);
        host.open[1].set(0);
        let (_, joined) = drive(&mut engine, &host);
        assert_eq!(joined, [1]);
        assert_eq!(engine.holdouts().collect::<Vec<_>>(), [0]);
        host.open[1].set(5); // new sections do not block this grace period
        assert_eq!(drive(&mut engine, &host).1, []);
        host.open[0].set(0);
        drive(&mut engine, &host);
        assert!(ticket < engine.waiters().done());
        assert_eq!((engine.joined(), engine.counts().turns), (1, 1));
    }

    #[test]
    fn the_next_one_turns_back() {
        let (mut engine, host) = (engine(), counts([1, 0], false));
        for turn in [1, 0, 1] {
            start(&mut engine, &host);
            assert_eq!(drive(&mut engine, &host).1, [turn]);
            host.open[1 - turn as usize].set(0);
            drive(&mut engine, &host);
            host.open[turn as usize].set(1);
            assert_eq!((engine.joined(), engine.phase()), (turn, Phase::Idle));
            let _ = engine.leave();
        }
    }

    #[test]
    fn a_count_found_empty_is_done_whichever_it_is() {
        let (mut engine, host) = (engine(), counts([0, 1], false));
        let ticket = start(&mut engine, &host);
        drive(&mut engine, &host);
        host.open[0].set(3); // joined since, and newer than the grace period
        host.open[1].set(0);
        let (_, joined) = drive(&mut engine, &host);
        assert!(ticket < engine.waiters().done() && joined.is_empty());
        assert_eq!(engine.phase(), Phase::Idle);
    }
}
