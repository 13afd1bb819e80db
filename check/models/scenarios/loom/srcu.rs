//! Counted readers under C11, with the product's own orderings: see `docs/ordering.md`.

use crate::common::{check, check_unfenced, race, race_inside, read_fast};
use crate::side::{has_read, nothing, read};
use quiescent_on_loom::Srcu;

type Own = &'static Srcu;

#[test]
fn reader_against_updater() {
    check("srcu: reader", 3, || race(nothing, [read::<Own>]));
}

#[test]
fn newcomer_while_the_only_thread_updates() {
    check("srcu: newcomer", 3, || race(has_read, [read::<Own>]));
}

#[test]
fn a_section_s_reads_come_before_what_follows_the_grace_period() {
    check_unfenced("srcu, membarrier: unlock", 3, || {
        race_inside(|w, srcu: Own| {
            drop(srcu.read_lock()); // it is known, and takes the fast path from here on
            let _guard = srcu.read_lock();
            w.arrive();
            w.use_object(0);
        });
    });
}

#[test]
fn reader_that_goes_the_fast_way() {
    check_unfenced("srcu, membarrier: reader", 3, || {
        race(nothing, [read_fast::<Own>]);
    });
}
