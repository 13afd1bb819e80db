//! quiescent's readers that may sleep: an [`Srcu`] of the program, and one whose guards keep it alive; of
//! both, guards that stay on their thread and guards that may be sent.

use super::Peers;
use crate::subjects::loops::{self, Peer, Word};
use quiescent::{Guard, RcuCell, Sendable, Srcu};
use std::sync::{Arc, LazyLock};

static DOMAIN: Srcu = Srcu::new();
static CELL: LazyLock<RcuCell<Word, &'static Srcu>> =
    LazyLock::new(|| RcuCell::new_in(Word(42), &DOMAIN));

static SHARED: LazyLock<Arc<Srcu>> = LazyLock::new(Arc::default);
static SHARED_CELL: LazyLock<RcuCell<Word, &'static Srcu>> =
    LazyLock::new(|| RcuCell::new_in(Word(42), &SHARED));

/// A way into a domain of ours: what a loop has at hand, how it begins a section with that, and the cell that
/// it reads.
macro_rules! way_in {
    ($name:ident, $domain:ty, $at:ident: $has:ty, $cell:ident, $enter:ident -> $held:ty) => {
        struct $name(&'static $has, &'static RcuCell<Word, &'static $domain>);

        impl Peer for $name {
            type Held = $held;

            fn new() -> Self {
                $name(&$at, &$cell)
            }

            #[inline(always)]
            fn enter(&self) -> Self::Held {
                self.0.$enter()
            }

            #[inline(always)]
            fn read(&self, held: &mut Self::Held) -> u64 {
                self.1.load(held).0
            }
        }
    };
}
pub(super) use way_in;

way_in!(Borrowed, Srcu, DOMAIN: Srcu, CELL, read_lock -> Guard<&'static Srcu>);
way_in!(Owned, Srcu, SHARED: Arc<Srcu>, SHARED_CELL, read_owned -> Guard<Srcu>);
way_in!(Sent, Srcu, DOMAIN: Srcu, CELL, read_lock_send -> Guard<Sendable<&'static Srcu>>);
way_in!(SentOwned, Srcu, SHARED: Arc<Srcu>, SHARED_CELL, read_owned_send -> Guard<Sendable<Srcu>>);

/// What outlives its function or its thread has guards that may be sent, under the names of the other two.
pub(super) fn peers() -> Peers {
    let attach = || drop(DOMAIN.read_lock());
    let borrowed = loops::subject::<Borrowed>("quiescent-srcu").attached(attach);
    let sent = loops::subject::<Sent>("quiescent-srcu-send").attached(attach);
    let owned = loops::subject::<Owned>("quiescent-srcu-owned");
    let owned = owned.attached(|| drop(SHARED.read_owned()));
    // Counters are of one `Srcu`, and not comparable with those of the process.
    let borrowed = borrowed.waiting::<Borrowed>(|| DOMAIN.synchronize(), None);
    Peers {
        reading: vec![borrowed.handed::<Sent>(), owned.handed::<SentOwned>(), sent],
        deferring: Vec::new(),
    }
}
