//! quiescent's readers that may sleep: an [`Srcu`] of the program, and one whose guards keep it alive; of
//! both, guards that stay on their thread and guards that may be sent.

use super::loops::{Peer, VALUE, Value, loops, reader};
use super::{Language, SRCU, SRCU_OWNED, SRCU_SEND, Subject, Waiting, nothing};
use quiescent::{Guard, RcuCell, Sendable, Srcu};
use std::sync::{Arc, LazyLock};

static DOMAIN: Srcu = Srcu::new();
static CELL: LazyLock<RcuCell<Value, &'static Srcu>> =
    LazyLock::new(|| RcuCell::new_in(VALUE, &DOMAIN));

static SHARED: LazyLock<Arc<Srcu>> = LazyLock::new(Arc::default);
static SHARED_CELL: LazyLock<RcuCell<Value, &'static Srcu>> =
    LazyLock::new(|| RcuCell::new_in(VALUE, &SHARED));

/// A way into a domain of ours: what a loop has at hand, how it begins a section with that, and the cell that
/// it reads.
macro_rules! way_in {
    ($name:ident, $domain:ty, $at:ident: $has:ty, $cell:ident, $enter:ident -> $held:ty) => {
        pub(super) struct $name(&'static $has, &'static RcuCell<Value, &'static $domain>);

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

pub(super) fn sent() -> Subject {
    Subject {
        name: SRCU_SEND,
        loops: loops::<Sent>(),
        waiting: None, // that of the other kind
        ..borrowed()
    }
}

pub(super) fn borrowed() -> Subject {
    Subject {
        name: SRCU,
        language: Language::Rust,
        attach: || drop(DOMAIN.read_lock()),
        detach: nothing,
        loops: loops::<Borrowed>(),
        waiting: Some(Waiting {
            online: nothing,
            offline: nothing,
            sync: || DOMAIN.synchronize(),
            reader: reader::<Borrowed>,
            // They are of one `Srcu`, and not comparable with those of the process.
            counters: None,
        }),
    }
}

pub(super) fn owned() -> Subject {
    Subject {
        name: SRCU_OWNED,
        attach: || drop(SHARED.read_owned()),
        loops: loops::<Owned>(),
        // That of the other one.
        waiting: None,
        ..borrowed()
    }
}
