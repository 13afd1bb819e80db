//! A sole registered thread passes its grace period in one call of the engine; any other makes steps. Counted
//! by steps: a call is one, and the shortest other way has several.

use std::thread;

use crate::common::{Reader, SHORT, in_both_modes, on_thread};
use quiescent::{
    Domain, Options, Srcu, SyncError, read, read_lock, start_grace_period, statistics, synchronize,
    synchronize_expedited, synchronize_timeout, try_synchronize,
};

/// Every way to wait for a grace period.
const FORMS: [fn(); 5] = [
    synchronize,
    synchronize_expedited,
    || assert_eq!(try_synchronize(), Ok(())),
    || assert_eq!(synchronize_timeout(SHORT), Ok(())),
    || {
        let cookie = start_grace_period();
        cookie.wait();
        assert!(cookie.is_done(), "its end is published");
    },
];

/// Waits for one grace period: the number that needed no fence, and of steps.
#[track_caller]
fn counted(wait: fn()) -> (u64, u64) {
    let before = statistics();
    wait();
    let after = statistics();
    assert_eq!(after.grace_periods - before.grace_periods, 1);
    (
        after.grace_periods_sole - before.grace_periods_sole,
        after.steps - before.steps,
    )
}

/// The waits are calls.
#[track_caller]
fn assert_calls() {
    for form in FORMS {
        assert_eq!(counted(form), (1, 1));
    }
}

/// They are not.
#[track_caller]
fn assert_steps(sole: u64) {
    for form in FORMS {
        let (alone, steps) = counted(form);
        assert!(alone == sole && steps > 2, "{alone}, {steps}");
    }
}

#[track_caller]
fn assert_blocked(wait: impl FnOnce() -> Result<(), SyncError>) {
    let result = wait();
    assert!(
        matches!(result, Err(SyncError::TimedOut { .. })),
        "{result:?}"
    );
}

#[test]
fn a_sole_thread_waits_in_one_call() {
    in_both_modes(|| {
        synchronize(); // the first one brings the leaves
        assert_calls(); // not registered
        read(|_| ());
        assert_calls();
        let before = statistics();
        let section = read_lock();
        assert_eq!(try_synchronize(), Err(SyncError::InsideSection));
        drop(section);
        assert_calls();
        let after = statistics();
        assert_eq!(
            (after.fences_issued, after.fences_gp, after.sleeps),
            (0, 0, 0)
        );
        let scans = after.scans - before.scans;
        assert_eq!(scans, FORMS.len() as u64, "its own word is looked at");
    });
}

#[test]
fn beside_a_second_thread_no_wait_is_one_call() {
    in_both_modes(|| {
        read(|_| ());
        synchronize();
        assert_calls();
        let idle = Reader::idle("idle");
        assert_steps(0);
        let inside = Reader::inside("inside");
        assert_blocked(|| synchronize_timeout(SHORT));
        let cookie = start_grace_period();
        assert!(!cookie.is_done());
        inside.end();
        synchronize();
        idle.end();
        synchronize();
        assert_calls();
        // It is registered, and this thread is not: one that waits is not the one that is there.
        let inside = Reader::inside("inside");
        assert_blocked(|| on_thread("waits", || synchronize_timeout(SHORT)));
        inside.end();
    });
}

/// The slot of the first thread may be the waiter's in the next moment: both are there.
#[test]
fn a_thread_that_comes_while_another_waits_is_waited_for() {
    in_both_modes(|| {
        read(|_| ());
        synchronize();
        assert_calls();
        for _ in 0..20 {
            let inside = Reader::inside("inside");
            assert_blocked(|| synchronize_timeout(SHORT / 5));
            inside.end();
            synchronize();
        }
        assert_eq!(statistics().stalls, 0);
    });
}

#[test]
fn beside_unregistered_readers_no_wait_is_one_call() {
    in_both_modes(|| {
        Options::new().max_threads(1).apply().expect("one leaf");
        read(|_| ());
        synchronize();
        assert_calls();
        let others: Vec<_> = (0..61).map(|_| Reader::idle("has a slot")).collect();
        let unregistered = Reader::inside("has none");
        assert_eq!(statistics().unregistered_sections, 1);
        others.into_iter().for_each(Reader::end);
        assert_eq!(statistics().registered, 1);
        assert_blocked(|| synchronize_timeout(SHORT));
        unregistered.end();
        synchronize();
        assert_steps(0); // there may be others at any time
    });
}

#[test]
fn each_domain_has_its_own_readers() {
    in_both_modes(|| {
        static DOMAIN: Domain = Domain::new();
        static SRCU: Srcu = Srcu::new();
        drop((DOMAIN.read_lock(), SRCU.read_lock()));
        for _ in 0..3 {
            DOMAIN.synchronize();
            SRCU.synchronize();
        }
        let sole = || {
            (
                DOMAIN.statistics().grace_periods_sole,
                SRCU.statistics().grace_periods_sole,
            )
        };
        assert_eq!(sole(), (3, 3));
        let section = SRCU.read_lock_send();
        assert_blocked(|| SRCU.synchronize_timeout(SHORT)); // its own is one like any other
        drop(section);
        // Another thread inside both, which the process's domain does not wait for.
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let (say, is_inside) = std::sync::mpsc::channel::<()>();
        let other = thread::spawn(move || {
            let sections = (DOMAIN.read_lock(), SRCU.read_lock());
            say.send(()).expect("the test waits");
            let _ = receive.recv();
            drop(sections);
        });
        is_inside.recv().expect("it is inside");
        let before = sole();
        assert_blocked(|| DOMAIN.synchronize_timeout(SHORT));
        assert_blocked(|| SRCU.synchronize_timeout(SHORT));
        drop(send);
        other.join().expect("no panic");
        DOMAIN.synchronize();
        SRCU.synchronize();
        assert_eq!(sole(), before, "others have read there, and may again");
        synchronize();
        synchronize();
        assert_calls();
    });
}
