//! Forks while an `Srcu` is used: the child can use it, and new ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use quiescent::{Domain, RcuCell, Srcu};
use quiescent_core::needs;

use crate::common::children::in_child;
use crate::common::{isolated, until};

/// Long enough for anything that does not hang.
const LONG: Duration = Duration::from_secs(15);

/// Everything works, on an `Srcu` of the parent's or a new one.
fn works(srcu: &Srcu) {
    let cell = RcuCell::new_in([1u64; 8], srcu);
    let ran = Arc::new(AtomicU32::new(0));
    for _ in 0..10 {
        let ran = Arc::clone(&ran);
        srcu.defer(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        });
        drop(cell.store([2; 8]));
    }
    std::thread::scope(|scope| {
        scope
            .spawn(|| srcu.read(|guard| cell.load(guard)[0]))
            .join()
    })
    .expect("no panic");
    assert_eq!(srcu.synchronize_timeout(LONG), Ok(()));
    srcu.barrier();
    assert_eq!(ran.load(Ordering::Relaxed), 10);
    assert_eq!(srcu.statistics().queued, 0);
}

#[test]
fn a_child_goes_on_with_an_srcu_whatever_others_were_doing_there() {
    needs!(fork);
    isolated(|| {
        static SRCU: Srcu = Srcu::new();
        let (stop, rounds) = (AtomicBool::new(false), AtomicU32::new(0));
        let forks = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let cell = RcuCell::new_in([0u64; 8], &SRCU);
                while !stop.load(Ordering::Relaxed) {
                    drop(cell.store([1; 8]));
                    SRCU.defer_hurry(|| ());
                    SRCU.synchronize();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
            while rounds.load(Ordering::Relaxed) < 10 {
                std::thread::yield_now();
            }
            for _ in 0..20 {
                in_child(|| {
                    works(&SRCU);
                    works(&Srcu::new());
                });
                forks.fetch_add(1, Ordering::Relaxed);
            }
            stop.store(true, Ordering::Relaxed);
        });
        works(&SRCU);
        assert_eq!(forks.into_inner(), 20);
    });
}

#[test]
fn a_section_of_the_thread_that_forks_goes_on_in_the_child() {
    needs!(fork);
    isolated(|| {
        let srcu = Srcu::new();
        let guard = srcu.read_lock_send();
        let mut guard = Some(guard);
        in_child(|| {
            assert!(srcu.synchronize_timeout(Duration::from_millis(5)).is_err());
            drop(guard.take());
            works(&srcu);
        });
        assert!(srcu.synchronize_timeout(Duration::from_millis(5)).is_err());
        drop(guard);
        works(&srcu);
    });
}

#[test]
fn a_callback_that_forks_returns_in_both_processes() {
    needs!(fork);
    isolated(|| {
        static FORKED: AtomicI32 = AtomicI32::new(-1);
        let srcu = Srcu::new();
        srcu.defer_lazy(|| {
            // SAFETY: the child makes only calls that this library permits there.
            FORKED.store(unsafe { libc::fork() }, Ordering::Relaxed);
        });
        while FORKED.load(Ordering::Relaxed) == -1 {
            srcu.drain(LONG);
        }
        works(&srcu);
        let child = FORKED.load(Ordering::Relaxed);
        if child == 0 {
            // SAFETY: takes a number.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        let waited = unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!((waited, status), (child, 0));
    });
}

/// Whether a domain with room for one object refuses the next.
fn refuses(domain: &Domain) -> bool {
    let guard = domain.read_lock();
    let cell = RcuCell::new_in([0u64; 4], domain);
    let mut refused = false;
    for n in 1..4 {
        refused |= cell.store([n; 4]).try_retire().is_err();
    }
    drop(guard);
    refused
}

/// In the child a domain has its settings also if another thread was making its state, with which the
/// settings are carried out.
#[test]
fn a_domain_whose_state_was_being_made_has_its_settings() {
    needs!(fork);
    const FORKS: usize = 20;
    const EACH: usize = 200;
    isolated(|| {
        let make = |_| {
            let domain = Domain::new();
            domain.set_budget(1 << 20, 1);
            drop(domain.read_lock()); // without a state so far
            domain
        };
        let domains: Vec<Domain> = (0..FORKS * EACH).map(make).collect();
        let (may, made) = (&AtomicU32::new(0), &AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (turn, domains) in domains.chunks(EACH).enumerate() {
                    until("its turn comes", || {
                        may.load(Ordering::Acquire) > turn as u32
                    });
                    for domain in domains {
                        domain.synchronize();
                        made.fetch_add(1, Ordering::Release);
                    }
                }
            });
            for (turn, domains) in domains.chunks(EACH).enumerate() {
                let before = made.load(Ordering::Acquire);
                may.store(turn as u32 + 1, Ordering::Release);
                while made.load(Ordering::Acquire) == before {
                    std::thread::yield_now();
                }
                in_child(|| {
                    let accept: Vec<_> = domains.iter().filter(|it| !refuses(it)).collect();
                    assert!(accept.is_empty(), "{} of {}", accept.len(), domains.len());
                });
            }
        });
    });
}
