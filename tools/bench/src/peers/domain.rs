//! quiescent's domains of the program's own: one that the thread has at hand, one with guards that keep it
//! alive, two by turns; `Retired::from_raw_in(…).retire()`.

use super::Peers;
use super::srcu::way_in;
use crate::deferral::Deferring;
use crate::deferral::loops::{Block, Defer, deferring};
use crate::deferral::swap::Value;
use crate::subjects::loops::{self, Peer, Word};
use quiescent::{Domain, Guard, RcuCell, Retired};
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};

/// The name of these domains in reports.
pub const NAME: &str = "quiescent-domain";

static DOMAINS: [Domain; 2] = [const { Domain::new() }; 2];
static CELLS: [LazyLock<RcuCell<Word, &'static Domain>>; 2] = [
    LazyLock::new(|| RcuCell::new_in(Word(42), &DOMAINS[0])),
    LazyLock::new(|| RcuCell::new_in(Word(42), &DOMAINS[1])),
];

/// In the domain of this number.
struct In<const NUMBER: usize>(&'static RcuCell<Word, &'static Domain>);

impl<const NUMBER: usize> Peer for In<NUMBER> {
    type Held = Guard<&'static Domain>;

    fn new() -> Self {
        In(&CELLS[NUMBER])
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        DOMAINS[NUMBER].read_lock()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        self.0.load(held).0
    }

    #[inline(always)]
    fn repin(&self, mut held: Self::Held) -> Self::Held {
        held.repin();
        held
    }
}

static SHARED: LazyLock<Arc<Domain>> = LazyLock::new(Arc::default);
static SHARED_CELL: LazyLock<RcuCell<Word, &'static Domain>> =
    LazyLock::new(|| RcuCell::new_in(Word(42), &SHARED));

way_in!(Owned, Domain, SHARED: Arc<Domain>, SHARED_CELL, read_owned -> Guard<Domain>);

static RETIRING: Domain = Domain::new();

struct InDomain;

impl<T: Value> Defer<T> for InDomain {
    fn new() -> Self {
        InDomain
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        // SAFETY: the caller's promise; a box is not null, and no section finds it.
        unsafe { Retired::from_raw_in(NonNull::new_unchecked(object), &RETIRING).retire() };
    }
}

pub(super) fn peers() -> Peers {
    let at_hand = loops::subject::<In<0>>(NAME).attached(|| drop(DOMAINS[0].read_lock()));
    let turns = loops::by_turns::<In<0>, In<1>>("quiescent-domain-turns");
    let owned = loops::subject::<Owned>("quiescent-domain-owned");
    Peers {
        // Counters are of one domain, and not comparable with those of the process.
        reading: vec![
            at_hand.waiting::<In<0>>(|| DOMAINS[0].synchronize(), None),
            turns.attached(|| DOMAINS.iter().for_each(|domain| drop(domain.read_lock()))),
            owned.attached(|| drop(SHARED.read_owned())),
        ],
        deferring: vec![Deferring {
            attach: || drop(RETIRING.read_lock()),
            settle: || RETIRING.barrier(),
            barrier: Some(|| RETIRING.barrier()),
            ..deferring::<InDomain, Block>(NAME)
        }],
    }
}
