//! quiescent itself: `read_lock()`, `RcuCell::load`, `Guard::repin`, `synchronize()`.

use super::loops::{Peer, VALUE, Value, loops, reader};
use super::{Counters, Language, Subject, Waiting, nothing};
use quiescent::{Guard, RcuCell, read_lock};
use quiescent_report::OURS;
use std::sync::LazyLock;

static CELL: LazyLock<RcuCell<Value>> = LazyLock::new(|| RcuCell::new(VALUE));

pub(super) struct Quiescent(&'static RcuCell<Value>);

impl Peer for Quiescent {
    type Held = Guard;

    fn new() -> Self {
        Quiescent(&CELL)
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        read_lock()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        self.0.load(held).0
    }

    #[inline(always)]
    fn repin(&self, mut held: Guard) -> Guard {
        held.repin();
        held
    }
}

/// A thread registers at its first section; no other step is needed, but the peers' callers are registered
/// too.
fn attach() {
    drop(read_lock());
}

fn counters() -> Counters {
    let now = quiescent::statistics();
    Counters {
        grace_periods: now.grace_periods,
        scans: now.scans,
        leaves: now.leaves_scanned,
        steps: now.steps,
        fences: now.fences_gp + now.fences_flag + now.fences_take,
        fences_issued: now.fences_issued,
        wakeups: now.wakeups + now.reader_wakeups,
    }
}

pub(super) fn subject() -> Subject {
    Subject {
        name: OURS,
        language: Language::Rust,
        attach,
        // A thread that ends gives its slot back by itself.
        detach: nothing,
        loops: loops::<Quiescent>(),
        waiting: Some(Waiting {
            online: nothing,
            offline: nothing,
            sync: quiescent::synchronize,
            reader: reader::<Quiescent>,
            counters: Some(counters),
        }),
    }
}
