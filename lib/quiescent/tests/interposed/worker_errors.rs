//! Resources that the worker or a barrier needs are refused: once, and the library tries again; for ever, and
//! waiters get the error, while the worker sleeps.
//!
//! The system and the allocator refuse what a test selects, in the threads that it selects; a sandbox refuses
//! for ever.

use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::deferral::{Gate, Ledger, library_switches, queue_somehow};
use crate::common::{Reader, in_both_modes, isolated, sandbox, sleepers, until};
use quiescent::{Domain, SyncError, barrier, defer_hurry, drain, read, statistics, try_barrier};
use quiescent_core::needs;

/// How many times more to refuse something.
struct Refusals {
    /// After so many that are granted.
    after: AtomicU32,
    times: AtomicU32,
}

impl Refusals {
    const fn none() -> Refusals {
        Refusals {
            after: AtomicU32::new(0),
            times: AtomicU32::new(0),
        }
    }

    fn set(&self, after: u32, times: u32) {
        self.after.store(after, Ordering::Release);
        self.times.store(times, Ordering::Release);
    }

    fn left(&self) -> u32 {
        self.times.load(Ordering::Acquire)
    }

    /// Refuse this one?
    fn next(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        let down = |left: &AtomicU32| {
            left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less)
                .is_ok()
        };
        self.left() > 0 && !down(&self.after) && down(&self.times)
    }
}

/// Process-wide fences of the library's threads.
static WORKERS_FENCES: Refusals = Refusals::none();
/// Process-wide fences of threads that set `FENCES_ARE_OURS`.
static OUR_FENCES: Refusals = Refusals::none();
/// Allocations of the library's threads.
static WORKERS_MEMORY: Refusals = Refusals::none();

thread_local! {
    static FENCES_ARE_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Is the calling thread one of the library's?
fn is_library_thread() -> bool {
    let mut name = [0u8; 16];
    // SAFETY: room for a name.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.starts_with(b"quiescent")
}

/// Is this system call refused to the calling thread, for want of memory?
pub fn refuses_syscall(number: c_long, command: usize) -> bool {
    let is_fence = number == libc::SYS_membarrier
        && command as c_int == libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;
    is_fence
        && ((FENCES_ARE_OURS.get() && OUR_FENCES.next())
            || (WORKERS_FENCES.left() > 0 && is_library_thread() && WORKERS_FENCES.next()))
}

/// Is memory refused to the calling thread?
pub fn refuses_memory() -> bool {
    WORKERS_MEMORY.left() > 0 && is_library_thread() && WORKERS_MEMORY.next()
}

const NO_MEMORY: SyncError = SyncError::FenceRefused {
    errno: libc::ENOMEM,
};
const FOR_EVER: SyncError = SyncError::FenceRefused { errno: libc::EPERM };

/// The worker and the stand-by are there, and have all they need.
fn warm_up() {
    for _ in 0..2 {
        defer_hurry(|| ());
        barrier();
    }
}

/// A thread that has queued things, lazily, and does nothing until the sender goes.
fn quiet_owner(
    ledger: &'static Ledger,
    things: usize,
) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
    let (queued, is_queued) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let owner = thread::spawn(move || {
        read(|_| ());
        (0..things).for_each(|index| queue_somehow(ledger.thing(index), 8));
        queued.send(()).expect("the test waits");
        let _ = ended.recv();
    });
    is_queued.recv().expect("it queues");
    (end, owner)
}

#[test]
fn a_barrier_that_failed_covers_no_other() {
    needs!(fence);
    isolated(|| {
        const THINGS: usize = 3;
        for refusals in 0..=2 {
            let (gate, ledger) = (Gate::new(), Ledger::new(THINGS));
            defer_hurry(|| gate.pass());
            gate.until_reached(1);
            let results = Mutex::new(Vec::new());
            let owner = thread::scope(|scope| {
                // It has the turn, and waits for what stands at the gate.
                let first = sleepers(scope, 1, || assert_eq!(try_barrier(), Ok(())));
                let owner = quiet_owner(ledger, THINGS);
                OUR_FENCES.set(0, refusals);
                sleepers(scope, 2, || {
                    FENCES_ARE_OURS.set(true);
                    let result = try_barrier();
                    let gone = ledger.count();
                    results.lock().expect("no panic").push((result, gone));
                });
                assert!(first.iter().all(|first| !first.is_finished()));
                gate.open();
                owner
            });
            let results = results.into_inner().expect("no panic");
            let failed = |(result, _): &&(Result<(), SyncError>, usize)| *result == Err(NO_MEMORY);
            assert_eq!(
                results.iter().filter(failed).count(),
                refusals as usize,
                "{results:?}"
            );
            for (result, gone) in results {
                assert!(result.is_err() || gone == THINGS, "{gone} gone");
            }
            barrier();
            ledger.assert_all_once();
            drop(owner.0);
            owner.1.join().expect("no panic");
        }
    });
}

/// Items of this thread are run and freed, although the worker is refused one resource once: `refused`. With
/// `with_barrier`, a barrier waits for them meanwhile.
fn goes_all_the_same(refused: &Refusals, after: u32, with_barrier: bool) {
    const THINGS: usize = 10;
    let ledger = Ledger::new(THINGS);
    let before = statistics();
    refused.set(after, 1);
    (0..THINGS).for_each(|index| queue_somehow(ledger.thing(index), 2));
    if with_barrier {
        assert_eq!(try_barrier(), Ok(()));
        ledger.assert_all_once();
    }
    until("it is refused", || refused.left() == 0);
    until("all of it goes", || ledger.count() == THINGS);
    ledger.assert_all_once();
    let after = statistics();
    assert_eq!(after.worker_errors, before.worker_errors + 1);
    let passes = after.worker_passes - before.worker_passes;
    assert!(passes <= 10, "{passes}");
}

#[test]
fn a_fence_that_was_refused_once_is_tried_again() {
    needs!(fence);
    isolated(|| {
        let idle = Reader::idle("idle");
        warm_up();
        // To take the queue over; to start the grace period; the same, for a barrier that has taken it.
        goes_all_the_same(&WORKERS_FENCES, 0, false);
        goes_all_the_same(&WORKERS_FENCES, 1, false);
        goes_all_the_same(&WORKERS_FENCES, 0, true);
        idle.end();
    });
}

#[test]
fn memory_that_was_refused_once_is_asked_for_again() {
    in_both_modes(|| {
        warm_up();
        let mut readers = Vec::new();
        for with_barrier in [false, true] {
            // More than the engine has records for.
            readers.extend((0..70).map(|_| Reader::idle("idle")));
            goes_all_the_same(&WORKERS_MEMORY, 0, with_barrier);
        }
        readers.into_iter().for_each(Reader::end);
    });
}

#[test]
fn fences_refused_for_ever_are_reported_and_the_worker_rests() {
    needs!(fence);
    isolated(|| {
        const THINGS: usize = 20;
        crate::common::healed::runs_late(); // what is due while fences are refused
        let idle = Reader::idle("idle");
        let (gate, ledger) = (Gate::new(), Ledger::new(THINGS));
        warm_up();
        defer_hurry(|| gate.pass());
        gate.until_reached(1);
        // Lazily: no grace period has been asked for.
        (0..THINGS / 2).for_each(|index| queue_somehow(ledger.thing(index), 8));
        thread::scope(|scope| {
            // One of them waits for what it has taken, the other one for its turn.
            sleepers(scope, 2, || assert_eq!(try_barrier(), Err(FOR_EVER)));
            sandbox::refuse(libc::SYS_membarrier, libc::EPERM).expect("a filter");
            gate.open();
        });
        assert!(statistics().worker_errors > 0);
        (THINGS / 2..THINGS).for_each(|index| queue_somehow(ledger.thing(index), index));
        assert_eq!(try_barrier(), Err(FOR_EVER));
        // What is held is held without a stir.
        thread::sleep(Duration::from_millis(200));
        let before = (statistics(), library_switches());
        thread::sleep(Duration::from_millis(700));
        let after = (statistics(), library_switches());
        let passes = after.0.worker_passes - before.0.worker_passes;
        let errors = after.0.worker_errors - before.0.worker_errors;
        assert!(passes <= 2 && errors <= 2, "{passes} {errors}");
        assert!(after.1 - before.1 <= 5, "{} switches", after.1 - before.1);
        assert_eq!(try_barrier(), Err(FOR_EVER));
        assert_eq!(drain(crate::common::SHORT).left, THINGS as u64);
        assert_eq!((ledger.count(), statistics().leaked), (0, 0));
        idle.end();
    });
}

#[test]
fn a_domain_whose_grace_period_is_refused_keeps_no_thread_busy() {
    needs!(fence);
    isolated(|| {
        static DOMAIN: Domain = Domain::new();
        // Another thread has read in it: its grace periods need fences.
        let (end, ended) = mpsc::channel::<()>();
        let (read, has_read) = mpsc::channel();
        let other = thread::spawn(move || {
            DOMAIN.read(|_| ());
            read.send(()).expect("the test listens");
            let _ = ended.recv();
        });
        has_read.recv().expect("it reads");
        let (ran, has_run) = mpsc::channel();
        DOMAIN.defer_hurry(move || ran.send(()).expect("the test listens"));
        has_run.recv().expect("there is a worker now");
        sandbox::refuse(libc::SYS_membarrier, libc::EPERM).expect("a filter");
        assert_eq!(DOMAIN.try_synchronize(), Err(FOR_EVER));
        // It tries again at times, if at all.
        thread::sleep(Duration::from_millis(200));
        let before = DOMAIN.statistics().looks;
        thread::sleep(Duration::from_millis(700));
        let passes = DOMAIN.statistics().looks - before;
        assert!(passes <= 3, "{passes} passes");
        drop(end);
        other.join().expect("it ends");
    });
}
