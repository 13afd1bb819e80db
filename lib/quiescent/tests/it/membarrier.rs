//! `membarrier(2)` refused: from the start (fenced readers take over) and later (a named error, and
//! nothing is freed). The sandbox is a seccomp filter.

use std::io;
use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::oracle::Plan;
use crate::common::{Isolated, PATIENCE, Reader, isolated, panic_text, sandbox, until};
use quiescent::{
    FenceMode, InitError, Options, RcuCell, SyncError, read, start_grace_period, statistics,
    synchronize, synchronize_expedited, synchronize_timeout, try_synchronize,
};
use quiescent_core::os::HAS;

fn no_permission() -> io::Result<()> {
    sandbox::refuse(libc::SYS_membarrier, libc::EPERM)
}

fn no_such_call() -> io::Result<()> {
    sandbox::refuse(libc::SYS_membarrier, libc::ENOSYS)
}

/// A filter that answers every call that it does not know with success.
fn no_effect() -> io::Result<()> {
    sandbox::refuse(libc::SYS_membarrier, 0)
}

/// As before Linux 4.14.
fn no_such_command() -> io::Result<()> {
    sandbox::refuse(libc::SYS_membarrier, libc::EINVAL)
}

#[test]
fn refused_from_the_start_readers_carry_the_fence() {
    needs!(HAS.fence, "membarrier(2)"); // asked also where it is refused
    needs!(sandbox::filters(), "seccomp filters");
    let refused = |errno: i32| {
        assert_eq!(statistics().fence_mode, FenceMode::Fenced);
        // It is not to be had by demanding it either.
        let demanded = Options::new().fence(FenceMode::Membarrier).apply();
        assert_eq!(demanded, Err(InitError::NoMembarrier { errno }));
        assert_eq!(statistics().fence_mode, FenceMode::Fenced);
        assert_eq!(Options::new().fence(FenceMode::Fenced).apply(), Ok(()));
        assert!(Plan::new(1000).run() > 0);
        until("all threads are gone", || statistics().registered == 0);
        assert_eq!((statistics().stalls, statistics().leaked), (0, 0));
        assert_eq!(try_synchronize(), Ok(()));
    };
    let eperm = Isolated::new().tag("EPERM").before_exec(no_permission);
    eperm.run(|| refused(libc::EPERM));
    let enosys = Isolated::new().tag("ENOSYS").before_exec(no_such_call);
    enosys.run(|| refused(libc::ENOSYS));
    let einval = Isolated::new().tag("EINVAL").before_exec(no_such_command);
    einval.run(|| refused(libc::EINVAL));
    // What says that it has worked, and does nothing, is no fence.
    let nothing = Isolated::new().tag("nothing").before_exec(no_effect);
    nothing.run(|| refused(libc::ENOSYS));
}

const LATE: SyncError = SyncError::FenceRefused { errno: libc::EPERM };

#[test]
fn refused_later_every_wait_says_so() {
    needs!(fence);
    needs!(sandbox::filters(), "seccomp filters");
    isolated(|| {
        let idle = Reader::idle("idle");
        synchronize();
        let cookie_before = start_grace_period();
        no_permission().expect("a filter");
        let before = statistics();
        for _ in 0..3 {
            assert_eq!(try_synchronize(), Err(LATE));
            assert_eq!(synchronize_timeout(PATIENCE), Err(LATE));
        }
        for (text, place) in [
            (panic_text(synchronize), "synchronize: "),
            (panic_text(synchronize_expedited), "synchronize_expedited: "),
            (panic_text(|| cookie_before.wait()), ""),
        ] {
            assert!(text.starts_with(place), "{text}");
            assert!(
                text.contains("membarrier(2) was refused (errno 1)"),
                "{text}"
            );
        }
        let cookie = start_grace_period();
        assert!((0..100).all(|_| !cookie.is_done() && !cookie_before.is_done()));
        assert_eq!(statistics().grace_periods, before.grace_periods);
        assert_eq!(statistics().fence_mode, FenceMode::Membarrier);
        // Readers read on.
        assert_eq!(read(|_| 1), 1);
        idle.end();
    });
}

#[test]
fn refused_later_all_callers_return() {
    needs!(fence);
    needs!(sandbox::filters(), "seccomp filters");
    isolated(|| {
        const CALLERS: usize = 8;
        let idle = Reader::idle("idle");
        no_permission().expect("a filter");
        let barrier = Barrier::new(CALLERS);
        thread::scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    for _ in 0..200 {
                        barrier.wait();
                        assert_eq!(try_synchronize(), Err(LATE));
                    }
                });
            }
        });
        assert_eq!(statistics().grace_periods, 0);
        idle.end();
    });
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn refused_later_nothing_is_freed() {
    needs!(fence);
    needs!(sandbox::filters(), "seccomp filters");
    isolated(|| {
        let idle = Reader::idle("idle");
        let drops = Arc::new(AtomicU32::new(0));
        let cell = RcuCell::new(Counted(drops.clone()));
        let replace = || cell.store(Counted(drops.clone()));
        drop(replace());
        quiescent::barrier();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        no_permission().expect("a filter");
        let Err(refused) = replace().try_wait() else {
            panic!("freed")
        };
        assert_eq!(refused.reason, LATE);
        drop(refused.object);
        drop(replace());
        let text = panic_text(|| drop(replace().wait()));
        assert!(
            text.starts_with("Retired::wait: membarrier(2) was refused"),
            "{text}"
        );
        // Held, not lost, and said.
        assert_eq!(quiescent::try_barrier(), Err(LATE));
        let drained = quiescent::drain(Duration::from_millis(10));
        assert_eq!((drained.ran, drained.left), (0, 3));
        assert_eq!((statistics().leaked, drops.load(Ordering::Relaxed)), (0, 1));
        idle.end();
    });
}

#[test]
fn refused_later_a_sole_thread_needs_none() {
    needs!(fence);
    needs!(sandbox::filters(), "seccomp filters");
    isolated(|| {
        no_permission().expect("a filter");
        for _ in 0..100 {
            read(|_| ());
            assert_eq!(try_synchronize(), Ok(()));
        }
        assert_eq!(statistics().fences_gp, 0);
        let idle = Reader::idle("idle");
        assert_eq!(try_synchronize(), Err(LATE));
        idle.end();
    });
}

#[test]
fn refused_later_fenced_readers_do_not_care() {
    needs!(sandbox::filters(), "seccomp filters");
    Isolated::new().fenced().run(|| {
        let idle = Reader::idle("idle");
        no_permission().expect("a filter");
        for _ in 0..100 {
            assert_eq!(try_synchronize(), Ok(()));
        }
        idle.end();
    });
}
