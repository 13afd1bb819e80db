//! quiescent's domains of the program's own: one that the thread has at hand, one with guards that keep it
//! alive, two by turns.

use super::loops::{Peer, Two, VALUE, Value, by_turns, loops, reader};
use super::srcu::way_in;
use super::{DOMAIN, DOMAIN_OWNED, DOMAIN_TURNS, Language, Subject, Waiting, nothing};
use quiescent::{Domain, Guard, RcuCell};
use std::sync::{Arc, LazyLock};

static DOMAINS: [Domain; 2] = [const { Domain::new() }; 2];
static CELLS: [LazyLock<RcuCell<Value, &'static Domain>>; 2] = [
    LazyLock::new(|| RcuCell::new_in(VALUE, &DOMAINS[0])),
    LazyLock::new(|| RcuCell::new_in(VALUE, &DOMAINS[1])),
];

/// In the domain of this number.
pub(super) struct In<const NUMBER: usize>(&'static RcuCell<Value, &'static Domain>);

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

struct Both;

impl Two for Both {
    type One = In<0>;
    type Other = In<1>;
}

static SHARED: LazyLock<Arc<Domain>> = LazyLock::new(Arc::default);
static SHARED_CELL: LazyLock<RcuCell<Value, &'static Domain>> =
    LazyLock::new(|| RcuCell::new_in(VALUE, &SHARED));

way_in!(Owned, Domain, SHARED: Arc<Domain>, SHARED_CELL, read_owned -> Guard<Domain>);

pub(super) fn at_hand() -> Subject {
    Subject {
        name: DOMAIN,
        language: Language::Rust,
        attach: || drop(DOMAINS[0].read_lock()),
        detach: nothing,
        loops: loops::<In<0>>(),
        waiting: Some(Waiting {
            online: nothing,
            offline: nothing,
            sync: || DOMAINS[0].synchronize(),
            reader: reader::<In<0>>,
            // They are of one domain, and not comparable with those of the process.
            counters: None,
        }),
    }
}

pub(super) fn owned() -> Subject {
    Subject {
        name: DOMAIN_OWNED,
        attach: || drop(SHARED.read_owned()),
        loops: loops::<Owned>(),
        // That of the other one.
        waiting: None,
        ..at_hand()
    }
}

pub(super) fn turns() -> Subject {
    Subject {
        name: DOMAIN_TURNS,
        attach: || DOMAINS.iter().for_each(|domain| drop(domain.read_lock())),
        loops: by_turns::<Both>(),
        waiting: None,
        ..at_hand()
    }
}
