//! Who says that a thread, a domain or the process runs no destructors in place.

use super::*;
use crate::common::healed;

#[test]
fn who_must_not_run_destructors_does_not() {
    needs!(fence);
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
        (0..10_000).for_each(|_| {
            let old = cell.store(Noted(nothing)).on_worker();
            old.with_owned_bytes(100).on_worker().retire();
        });
        assert_eq!(here(), 0, "on_worker, and weighed");
        barrier();
        tuning::set_thread_on_worker(Some(true));
        many();
        assert_eq!(here(), 0, "set_thread_on_worker");
        barrier();
        tuning::set_thread_on_worker(None);
        many();
        assert!(here() > 5_000);
        tuning::set_destructors(Runner::Worker);
        let soon = here() + 2; // it is heard at the next call
        many();
        assert!(here() <= soon, "set_destructors");
        tuning::set_destructors(Runner::Owner);
        many();
        assert!(here() > soon + 5_000);
        tuning::set_closures(Runner::Drained);
        let soon = here() + 2;
        many();
        assert!(here() <= soon, "set_closures");
        tuning::set_closures(Runner::Worker);
        many();
        assert!(here() > soon + 5_000);
        tuning::set_destructors(Runner::Drained);
        let soon = here() + 2;
        many();
        assert!(here() <= soon, "set_destructors, drained");
        tuning::set_destructors(Runner::Owner);
        barrier();
        assert_eq!(here() + elsewhere(), 90_000);
    });
}

#[test]
fn an_option_and_a_setting_of_a_domain() {
    needs!(fence);
    Isolated::new().tag("option").run(|| {
        let options = Options::new().destructors(Runner::Worker);
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
        OTHER.set_destructors(Runner::Worker);
        let cell = RcuCell::new_in(Noted(nothing), &OTHER);
        (0..10_000).for_each(|_| drop(cell.store(Noted(nothing))));
        assert_eq!(here(), 0);
        OTHER.barrier();
        OTHER.set_destructors(Runner::Owner);
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

/// Takes so many milliseconds to be dropped.
struct Naps(u64);

impl Drop for Naps {
    fn drop(&mut self) {
        if self.0 > 0 {
            thread::sleep(Duration::from_millis(self.0));
        }
    }
}

/// In builds with debug assertions a destructor that keeps `retire` for long is reported, and no other one
/// (but for those that a busy machine keeps). Those that the worker runs are not.
#[test]
fn a_destructor_that_takes_long_is_reported() {
    in_both_modes(|| {
        healed::runs_late();
        static REPORTED: AtomicU32 = AtomicU32::new(0);
        on_report(|report| {
            if let Report::Slow { took, name } = report {
                assert!(*took > Duration::from_millis(10) && name.contains("Naps"));
                REPORTED.fetch_add(1, Ordering::Relaxed);
            }
        });
        let cell = RcuCell::new(Naps(0));
        let store = |count: u32, naps| {
            for _ in 0..count {
                drop(cell.store(Naps(naps)));
            }
        };
        store(10_000, 0);
        assert!(REPORTED.load(Ordering::Relaxed) < 1000);
        store(10, 15);
        store(10_000, 0);
        barrier();
        let reported = REPORTED.load(Ordering::Relaxed);
        match in_place() {
            true => assert!(!cfg!(debug_assertions) || reported > 0),
            false => assert_eq!(reported, 0),
        }
    });
}

/// The worker takes what is for it, and the thread goes on with the rest.
#[test]
fn values_for_the_worker_beside_others() {
    needs!(fence);
    isolated(|| {
        begin();
        let (cell, text) = (noted(), RcuCell::new(String::new()));
        for n in 0..20_000 {
            if n % 4 == 0 {
                text.store("for the worker".into()).on_worker().retire();
            }
            drop(cell.store(Noted(nothing)));
        }
        assert!(here() > 10_000, "{} of 20 000", here());
        barrier();
        assert_eq!(here() + elsewhere(), 20_000);
    });
}
