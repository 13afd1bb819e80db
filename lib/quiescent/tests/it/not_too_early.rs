//! Every call that waits for sections ends behind those that were open when it began.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::{PATIENCE, Reader, SHORT, in_both_modes, isolated, until};
use quiescent::{Domain, RcuCell, Retired, Srcu, SyncError, read_lock, start_grace_period};

/// Opens a section on another thread, for ten times [`SHORT`], and waits with `wait` meanwhile.
fn ends_behind<G>(what: &str, open: impl FnOnce() -> G + Send, wait: impl FnOnce()) {
    let (opened, left) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let section = open();
            opened.store(true, Ordering::SeqCst);
            thread::sleep(10 * SHORT);
            left.store(true, Ordering::SeqCst);
            drop(section);
        });
        until("the section is open", || opened.load(Ordering::SeqCst));
        wait();
        assert!(
            left.load(Ordering::SeqCst),
            "{what}: it has ended before the section"
        );
    });
}

#[test]
fn a_cookie_with_a_deadline() {
    in_both_modes(|| {
        ends_behind("wait_timeout", read_lock, || {
            assert_eq!(start_grace_period().wait_timeout(PATIENCE), Ok(()));
        });
        let inside = Reader::inside("inside");
        let result = start_grace_period().wait_timeout(SHORT);
        assert!(
            matches!(result, Err(SyncError::TimedOut { .. })),
            "{result:?}"
        );
        inside.end();
    });
}

#[test]
fn every_form_of_a_domain() {
    isolated(|| {
        let (domain, srcu) = (Domain::new(), Srcu::new());
        type Form<D> = fn(&D);
        let forms: [(&str, Form<Domain>, Form<Srcu>); 4] = [
            ("synchronize", Domain::synchronize, Srcu::synchronize),
            (
                "synchronize_expedited",
                Domain::synchronize_expedited,
                Srcu::synchronize_expedited,
            ),
            (
                "synchronize_timeout",
                |domain| assert_eq!(domain.synchronize_timeout(PATIENCE), Ok(())),
                |srcu| assert_eq!(srcu.synchronize_timeout(PATIENCE), Ok(())),
            ),
            (
                "wait_timeout",
                |domain| assert_eq!(domain.start_grace_period().wait_timeout(PATIENCE), Ok(())),
                |srcu| assert_eq!(srcu.start_grace_period().wait_timeout(PATIENCE), Ok(())),
            ),
        ];
        for (what, of_domain, of_srcu) in forms {
            ends_behind(what, || domain.read_lock(), || of_domain(&domain));
            ends_behind(what, || srcu.read_lock(), || of_srcu(&srcu));
            ends_behind(what, || srcu.read_lock_send(), || of_srcu(&srcu));
        }
    });
}

#[test]
fn values_that_are_taken_back_together() {
    isolated(|| {
        let cells = [RcuCell::new(1), RcuCell::new(2)];
        ends_behind("wait_all", read_lock, || {
            let old = Retired::wait_all(cells.iter().map(|cell| cell.store(0)));
            assert_eq!(old, [Box::new(1), Box::new(2)]);
        });
    });
}
