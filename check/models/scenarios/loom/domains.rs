//! A program's own domains under C11, with the product's own orderings: see `docs/ordering.md`.

use crate::common::{check, check_unfenced, race, race_inside, read_fast};
use crate::side::{has_read, nothing, read};
use quiescent_on_loom::Domain;

type Own = &'static Domain;

#[test]
fn reader_against_updater() {
    check("domain: reader", 3, || race(nothing, [read::<Own>]));
}

/// The updater is the only thread that has read, and issues no fence.
#[test]
fn newcomer_while_the_only_thread_updates() {
    check("domain: newcomer", 3, || race(has_read, [read::<Own>]));
}

#[test]
fn reader_that_goes_the_fast_way() {
    check_unfenced("domain, membarrier: reader", 3, || {
        race(nothing, [read_fast::<Own>]);
    });
}

/// The driver sleeps, and the reader finds it through the domain's state `[GR-1]`.
#[test]
fn a_section_s_end_wakes_the_driver() {
    check_unfenced("domain, membarrier: wake", 3, || {
        race_inside(|w, domain: Own| {
            let _guard = domain.read_lock();
            w.arrive();
            w.use_object(0);
        });
    });
}
