//! Who says that a thread, a domain or the process runs no destructors in place.

use super::*;

#[test]
#[cfg_attr(quiescent_portable, ignore = "SKIPPED: needs a fence of the process")]
fn who_must_not_run_destructors_does_not() {
    isolated(|| {
        begin();
        let cell = noted();
        let many = || {
            for _ in 0..10_000 {
                drop(cell.store(Noted(nothing)));
            }
        };
        (0..10_000).for_each(|_| cell.store(Noted(nothing)).on_worker().retire());
        assert_eq!(here(), 0, "on_worker");
        (0..10_000).for_each(|_| cell.store(Noted(nothing)).retire_no_reclaim());
        assert_eq!(here(), 0, "retire_no_reclaim");
        barrier();
        tuning::offload_thread(Some(true));
        many();
        assert_eq!(here(), 0, "offload_thread");
        barrier();
        tuning::offload_thread(None);
        many();
        assert!(here() > 5_000);
        tuning::set_destructors_on_worker(true);
        let soon = here() + 2; // it is heard at the next call
        many();
        assert!(here() <= soon, "set_destructors_on_worker");
        tuning::set_destructors_on_worker(false);
        many();
        assert!(here() > soon + 5_000);
        tuning::set_drained(true);
        let soon = here() + 2;
        many();
        assert!(here() <= soon, "set_drained");
        tuning::set_drained(false);
        barrier();
        assert_eq!(here() + elsewhere(), 70_000);
    });
}

#[test]
#[cfg_attr(quiescent_portable, ignore = "SKIPPED: needs a fence of the process")]
fn an_option_and_a_setting_of_a_domain() {
    Isolated::new().tag("option").run(|| {
        let options = Options::new().destructors_on_worker(true);
        options.apply().expect("nothing is set");
        begin();
        let cell = noted();
        (0..10_000).for_each(|_| drop(cell.store(Noted(nothing))));
        assert_eq!(here(), 0);
        barrier();
        assert_eq!(elsewhere(), 10_000);
    });
    Isolated::new().tag("domain").run(|| {
        static OTHER: Domain = Domain::new();
        static SRCU: Srcu = Srcu::new();
        begin();
        OTHER.set_destructors_on_worker(true);
        let cell = RcuCell::new_in(Noted(nothing), &OTHER);
        (0..10_000).for_each(|_| drop(cell.store(Noted(nothing))));
        assert_eq!(here(), 0);
        OTHER.barrier();
        OTHER.set_destructors_on_worker(false);
        (0..10_000).for_each(|_| drop(cell.store(Noted(nothing))));
        let ran = here();
        assert!(ran > 5_000);
        let counted = RcuCell::new_in(Noted(nothing), &SRCU);
        (0..10_000).for_each(|_| drop(counted.store(Noted(nothing))));
        assert!(here() > ran + 5_000);
        let cell = noted();
        (0..10_000).for_each(|_| drop(cell.store(Noted(nothing))));
        assert!(here() > ran + 10_000, "the process's own");
    });
}
