//! Telemetry: every event is counted exactly once, whichever thread executes it; and other processes can read
//! the counts.

#[cfg(all(target_os = "linux", not(quiescent_portable)))]
mod page;

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::process::Stdio;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Isolated, Reader, isolated, once_more, only_this_test, until};
use quiescent::intrusive::Head;
use quiescent::telemetry;
use quiescent::{Domain, RcuCell, Srcu};
use quiescent_live::telemetry::{Function, Snapshot, Source, What};

/// The clock that counts is that of the kernel's tick, of 10 ms at most.
const TICK: Duration = Duration::from_millis(10);

fn snapshot() -> Snapshot {
    crate::common::snapshot().expect("it was started")
}

/// The rows whose names have this in them.
fn rows(snapshot: &Snapshot, name: &str) -> Vec<Function> {
    let all = snapshot.functions.iter();
    all.filter(|it| it.name.contains(name)).cloned().collect()
}

/// The one row whose name has this in it.
fn row(snapshot: &Snapshot, name: &str) -> Function {
    let found = rows(snapshot, name);
    assert_eq!(found.len(), 1, "{name}: {:#?}", snapshot.functions);
    found.into_iter().next().expect("one")
}

fn retire<T: Send + 'static>(value: T) {
    let object = NonNull::from(Box::leak(Box::new(value)));
    // SAFETY: no other thread has seen it.
    unsafe { quiescent::Retired::from_raw(object).retire() };
}

struct Dropped(#[allow(dead_code, reason = "it has a size")] [u64; 5]);

impl Drop for Dropped {
    fn drop(&mut self) {}
}

#[test]
fn every_kind_is_counted_once() {
    needs!(telemetry);
    isolated(|| {
        telemetry::start().expect("a page");
        static RAN: AtomicU64 = AtomicU64::new(0);
        for n in 0..1000u64 {
            retire([n; 8]);
            if n % 2 == 0 {
                retire([n; 3]);
            }
            if n % 10 == 0 {
                retire(Dropped([n; 5]));
                quiescent::defer(move || {
                    RAN.fetch_add(n, Ordering::Relaxed);
                });
                quiescent::defer_lazy(|| {
                    RAN.fetch_add(1, Ordering::Relaxed);
                });
            }
        }
        quiescent::barrier();
        let now = snapshot();
        let of = |name| {
            let it = row(&now, name);
            (it.queued, it.executed, it.what, it.lazy)
        };
        assert_eq!(of("block of 64 bytes"), (1000, 1000, What::Memory, true));
        assert_eq!(of("block of 24 bytes"), (500, 500, What::Memory, true));
        assert_eq!(of("Dropped"), (100, 100, What::Code, true));
        let mut closures = rows(&now, "closure");
        closures.sort_by_key(|it| it.lazy);
        let counts = closures.iter().map(|it| (it.queued, it.executed, it.lazy));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [(100, 100, false), (100, 100, true)]
        );
        let weight = if size_of::<usize>() == 8 {
            64 + 16 + 16
        } else {
            64 + 8 + 12
        };
        assert_eq!(row(&now, "block of 64 bytes").bytes_each, weight);
        assert!(now.functions.iter().all(|it| it.domain == "process"));
        assert_eq!(now.counter("barriers"), 1);
        assert_eq!(
            now.counter("grace_periods"),
            quiescent::statistics().grace_periods
        );
    });
}

#[test]
fn a_hurry_is_laid_at_the_door_of_who_is_in_one() {
    needs!(telemetry);
    isolated(|| {
        telemetry::start().expect("a page");
        unsafe fn nothing(_: NonNull<Head>) {}
        let head = Box::leak(Box::new(Head::new()));
        for _ in 0..3 {
            quiescent::defer_hurry(|| {
                std::hint::black_box(1);
            });
        }
        // SAFETY: it lives for ever, and is used once.
        unsafe { quiescent::intrusive::defer_hurry(NonNull::from(head), nothing) };
        retire([1u64; 4]);
        quiescent::barrier();
        let now = snapshot();
        let hurried = |name| row(&now, name).hurried;
        assert_eq!((hurried("closure"), hurried("head at 0x")), (3, 1));
        assert_eq!(hurried("block of 32 bytes"), 0);
        assert_eq!(row(&now, "head at 0x").executed, 1);
        assert_eq!(row(&now, "head at 0x").what, What::Head);
    });
}

#[test]
fn what_was_queued_before_is_counted_neither_in_nor_out() {
    needs!(telemetry);
    isolated(|| {
        for n in 0..300u64 {
            retire([n; 8]);
        }
        quiescent::defer(|| ());
        telemetry::start().expect("a page");
        let started = Instant::now();
        quiescent::barrier();
        retire([1u64; 8]);
        quiescent::barrier();
        let now = snapshot();
        let since = started.elapsed() + TICK;
        // What the thread had queued since it last came for the lock is counted, at both ends.
        for it in &now.functions {
            assert_eq!(it.held(), 0, "{it:?}");
            assert_eq!(it.queued, it.executed, "{it:?}");
            assert!(
                it.longest <= since,
                "as if it had been counted before: {it:?}"
            );
        }
        assert!(row(&now, "block of 64 bytes").queued < 301);
    });
}

/// Many threads, all kinds of consumers: owners that pop, the worker that takes over from those that pause,
/// exits.
#[test]
fn nothing_is_lost_between_those_who_execute() {
    needs!(telemetry);
    isolated(|| {
        telemetry::start().expect("a page");
        quiescent::tuning::set_flush_times(quiescent::tuning::FlushTimes {
            lazy: Duration::from_millis(20),
            prompt: Duration::from_millis(5),
        });
        let cell: &RcuCell<[u64; 2]> = Box::leak(Box::new(RcuCell::new([0; 2])));
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    for n in 0..20_000u64 {
                        match (n + thread) % 7 {
                            0 => retire([n; 1]),
                            1 => quiescent::defer(|| ()),
                            _ => drop(cell.store([n; 2])),
                        }
                        if n % 4_000 == 3_999 {
                            // Meanwhile another thread takes its queue over.
                            std::thread::sleep(Duration::from_millis(40));
                        }
                    }
                });
            }
            for _ in 0..40 {
                let now = snapshot();
                for it in &now.functions {
                    assert!(it.executed <= it.queued, "{it:?}");
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        quiescent::barrier();
        let now = snapshot();
        let counts = |name| (row(&now, name).queued, row(&now, name).executed);
        let (small, large) = (counts("block of 8 bytes"), counts("block of 16 bytes"));
        assert_eq!(small.0, small.1);
        assert_eq!(large.0, large.1);
        let closures = counts("closure");
        assert_eq!(closures.0, closures.1);
        assert_eq!(small.0 + large.0 + closures.0, 80_000);
        assert_eq!(quiescent::statistics().queued, 0);
    });
}

#[test]
fn the_two_ends_of_a_wait_have_the_truth_between_them() {
    needs!(telemetry);
    isolated(|| {
        telemetry::start().expect("a page");
        let begun = Instant::now();
        retire([1u64; 8]); // comes for the lock, and gets credit
        std::thread::sleep(Duration::from_millis(60));
        retire([1u64; 5]); // in the fast path
        let queued = Instant::now();
        std::thread::sleep(Duration::from_millis(40));
        let least = queued.elapsed();
        quiescent::barrier();
        let most = begun.elapsed();
        let now = snapshot();
        for name in ["block of 64 bytes", "block of 40 bytes"] {
            let it = row(&now, name);
            assert!(it.waited_at_most + TICK >= least, "{it:?} {least:?}");
            assert!(it.waited_at_least <= most + TICK, "{it:?} {most:?}");
            assert!(it.waited_at_least <= it.waited_at_most, "{it:?}");
            assert!(it.longest >= it.delay(), "{it:?}");
        }
        let first = row(&now, "block of 64 bytes");
        assert!(first.waited_at_least + TICK >= Duration::from_millis(100));
    });
}

#[test]
fn domains_have_rows_of_their_own() {
    needs!(telemetry);
    isolated(|| {
        static ROUTES: Domain = Domain::new();
        ROUTES.set_name("routes");
        ROUTES.defer_lazy(|| ());
        telemetry::start().expect("a page");
        let (other, third) = (Domain::new(), Domain::new());
        third.set_name("routes");
        third.defer(|| ());
        third.barrier();
        third.set_name("peers");
        third.defer_lazy(|| ());
        third.barrier();
        let srcu = Srcu::new();
        ROUTES.defer(|| ());
        other.defer(|| ());
        other.defer_hurry(|| ());
        srcu.defer_lazy(|| ());
        ROUTES.barrier();
        other.barrier();
        srcu.barrier();
        let now = snapshot();
        let of = |domain: &str| {
            let rows = now.functions.iter().filter(|it| it.domain == domain);
            let sum = rows.map(|it| (it.queued, it.executed, it.hurried));
            sum.fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
        };
        assert_eq!(of("routes"), (2, 2, 0), "{now:#?}");
        assert_eq!(of("peers"), (1, 1, 0), "{now:#?}");
        assert_eq!(of("(unnamed)"), (2, 2, 1), "{now:#?}");
        assert_eq!(of("srcu 0"), (1, 1, 0), "{now:#?}");
    });
}

#[test]
fn readers_in_the_way_are_on_the_page() {
    needs!(telemetry);
    isolated(|| {
        telemetry::start().expect("a page");
        let reader = Reader::inside("in the way");
        let waiter = std::thread::spawn(quiescent::synchronize);
        until("the reader is named", || !snapshot().holdouts.is_empty());
        let holdouts = snapshot().holdouts;
        assert_eq!(holdouts.len(), 1);
        assert_eq!(holdouts[0].1, 1);
        assert_ne!(holdouts[0].0, crate::common::thread_id());
        reader.end();
        waiter.join().expect("it returns");
        until("no holdout is left", || snapshot().holdouts.is_empty());
    });
}

#[test]
fn the_child_of_a_fork_has_a_page_of_its_own() {
    needs!(telemetry);
    isolated(|| {
        telemetry::start().expect("a page");
        retire([1u64; 8]);
        quiescent::defer(|| ());
        // SAFETY: the child uses what may be used there, and ends with _exit.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            retire([2u64; 7]);
            quiescent::barrier();
            let now = snapshot();
            let fine = now.forks == 1
                && now.pid == std::process::id()
                && row(&now, "block of 56 bytes").executed == 1
                && rows(&now, "closure").is_empty()
                && Source::of(now.pid).is_ok();
            // SAFETY: nothing is to be run at the end.
            unsafe { libc::_exit(if fine { 0 } else { 9 }) };
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert_eq!(status, 0, "the child says it is not so");
        quiescent::barrier();
        let now = snapshot();
        assert_eq!((now.forks, now.pid), (0, std::process::id()));
        assert_eq!(row(&now, "block of 64 bytes").executed, 1);
        assert!(rows(&now, "block of 56 bytes").is_empty());
    });
}

/// The child queues, prints `ready`, and waits for a line.
fn child() {
    for n in 0..700u64 {
        retire([n; 8]);
    }
    quiescent::barrier();
    println!("\nready");
    let _ = std::io::stdout().flush();
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn another_process_can_read_and_no_thread_wakes() {
    needs!(telemetry);
    if std::env::var_os("QUIESCENT_TELEMETRY").is_some() {
        return child();
    }
    let mut command = once_more();
    command
        .args(only_this_test())
        .env("QUIESCENT_TELEMETRY", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("this binary starts once more");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"));
    let source = Source::of(child.id()).expect("it counts");
    let read = || source.read().expect("a page");
    until("its worker sleeps", || {
        let before = read();
        std::thread::sleep(crate::common::SHORT);
        before.counters == read().counters
    });
    let first = read();
    assert_eq!(first.pid, child.id());
    assert_eq!(row(&first, "block of 64 bytes").executed, 700);
    assert_eq!(first.counter("barriers"), 1);
    for _ in 0..50 {
        let again = read();
        assert_eq!(again.functions, first.functions);
        assert_eq!(again.counters, first.counters);
    }
    drop(child.stdin.take());
    let _ = lines.count(); // what the test harness has to say
    assert!(child.wait().expect("it ends").success());
    let why = Source::of(child.id()).expect_err("it is gone");
    assert_eq!(why.kind(), ErrorKind::NotFound);
}

#[test]
fn a_process_without_it_gets_an_error_that_says_how_to_start() {
    needs!(telemetry);
    Isolated::new().run(|| {
        assert_eq!(crate::common::snapshot(), None);
        let why = Source::of(std::process::id()).expect_err("nothing is counted");
        assert!(why.to_string().contains("QUIESCENT_TELEMETRY=1"), "{why}");
    });
}

/// A program that closes all descriptors closes this one, too; it is then not seen from outside, and nothing
/// else.
#[test]
fn a_descriptor_that_is_closed_is_not_missed() {
    needs!(telemetry);
    isolated(|| {
        telemetry::start().expect("a page");
        for descriptor in 3..64 {
            // SAFETY: nothing of this test's own is open there.
            unsafe { libc::close(descriptor) };
        }
        retire([1u64; 8]);
        assert_eq!(crate::common::snapshot(), None);
        // SAFETY: the child ends with _exit.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let counted = crate::common::snapshot().is_some_and(|it| it.forks == 1);
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!counted)) };
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert_eq!(status, 0);
    });
}
