//! A thread that has a slot, and for which there was no memory for a record in a domain.

use crate::common::sandbox;

use quiescent::Guard;

use super::*;

/// The places of a thread's records in the last of so many domains are pages of their own.
const MANY: usize = 4200 * (8 / size_of::<usize>());
static DOMAINS: [Domain; MANY] = [const { Domain::new() }; MANY];

/// A section of the last domain, in a thread that has not read in any.
fn without_record() -> Guard<&'static Domain> {
    let last = &DOMAINS[MANY - 1];
    on_thread("makes them", || {
        DOMAINS.iter().for_each(|domain| drop(domain.read_lock()));
        last.synchronize();
    });
    let unlimited = sandbox::limit_address_space(0);
    let guard = last.read_lock();
    sandbox::limit_address_space(unlimited);
    guard
}

#[test]
fn never_inside_a_section_without_a_record() {
    needs!(fence);
    needs!(pages);
    needs!(sandbox::limits(), "a limit of memory");
    isolated(|| {
        begin();
        let cell = noted();
        let store = || drop(cell.store(Noted(nothing)));
        (0..5000).for_each(|_| store());
        let guard = without_record();
        let last = &DOMAINS[MANY - 1];
        synchronize();
        let before = here();
        assert!(before > 1000);
        INSIDE.set(true);
        (0..10).for_each(|_| store());
        assert_eq!(here(), before);
        // It is such a section, and is one for all calls.
        let refused = on_thread("waits", || last.synchronize_timeout(SHORT));
        let Err(SyncError::TimedOut { holdouts }) = refused else {
            panic!("a grace period ended beside an open section: {refused:?}");
        };
        assert_eq!(
            (holdouts.len(), holdouts[0].thread_id),
            (1, 0),
            "it has no record"
        );
        assert!(last.in_section());
        assert_eq!(last.try_synchronize(), Err(SyncError::InsideSection));
        assert_eq!(last.try_barrier(), Err(SyncError::InsideSection));
        drop(guard);
        INSIDE.set(false);
        assert!(!last.in_section());
        last.synchronize();
        (0..10).for_each(|_| store());
        assert!(here() > before, "outside again");
        barrier();
        assert_eq!(statistics().callback_panics, 0, "inside a section");
    });
}
