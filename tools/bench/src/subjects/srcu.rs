//! quiescent's readers that may sleep: an [`Srcu`] of the program, and one whose guards keep it alive; of
//! both, guards that stay on their thread and guards that may be sent.

use super::loops::{Peer, VALUE, Value, loops, reader};
use super::{Language, SRCU, SRCU_OWNED, SRCU_SEND, Subject, Waiting, nothing};
use quiescent::{Guard, RcuCell, Sendable, Srcu};
use std::sync::{Arc, LazyLock};

static DOMAIN: Srcu = Srcu::new();
static CELL: LazyLock<RcuCell<Value, &'static Srcu>> =
    LazyLock::new(|| RcuCell::new_in(VALUE, &DOMAIN));

pub(super) struct Borrowed(&'static RcuCell<Value, &'static Srcu>);

impl Peer for Borrowed {
    type Held = Guard<&'static Srcu>;

    fn new() -> Self {
        Borrowed(&CELL)
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        DOMAIN.read_lock()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        self.0.load(held).0
    }
}

static SHARED: LazyLock<Arc<Srcu>> = LazyLock::new(Arc::default);
static SHARED_CELL: LazyLock<RcuCell<Value, &'static Srcu>> =
    LazyLock::new(|| RcuCell::new_in(VALUE, &SHARED));

pub(super) struct Owned {
    srcu: &'static Arc<Srcu>,
    cell: &'static RcuCell<Value, &'static Srcu>,
}

impl Peer for Owned {
    type Held = Guard<Srcu>;

    fn new() -> Self {
        Owned {
            srcu: &SHARED,
            cell: &SHARED_CELL,
        }
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        self.srcu.read_owned()
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        self.cell.load(held).0
    }
}

/// [`Borrowed`] and [`Owned`] with guards that may be sent.
macro_rules! sent {
    ($sent:ident, $peer:ident, $held:ty, |$this:ident| $enter:expr, $cell:tt) => {
        pub(super) struct $sent($peer);

        impl Peer for $sent {
            type Held = $held;

            fn new() -> Self {
                $sent($peer::new())
            }

            #[inline(always)]
            fn enter(&self) -> Self::Held {
                let $this = &self.0;
                $enter
            }

            #[inline(always)]
            fn read(&self, held: &mut Self::Held) -> u64 {
                self.0.$cell.load(held).0
            }
        }
    };
}

sent!(
    Sent,
    Borrowed,
    Guard<Sendable<&'static Srcu>>,
    |_peer| DOMAIN.read_lock_send(),
    0
);
sent!(
    SentOwned,
    Owned,
    Guard<Sendable<Srcu>>,
    |peer| peer.srcu.read_owned_send(),
    cell
);

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
