//! Processes that end with pending callbacks: no hang, no crash, and the pending callbacks do not run. Each
//! case is a child of its own that ends by itself.

use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use quiescent::{barrier, defer, defer_hurry, drain, read_lock, statistics};

use crate::common::children::fork_code;
use crate::common::deferral::{Gate, Ledger, WAYS, queue_somehow};
use crate::common::{PATIENCE, Reader, isolated, only_this_test, until};

/// What an exit handler of the program finds.
static EXIT_CODE: AtomicU32 = AtomicU32::new(0);

/// Ends the process with `code`, by `exit`: handlers run, buffers are flushed, other threads go on meanwhile.
fn exit(code: i32) -> ! {
    std::process::exit(code)
}

/// What is pending when the process ends.
fn leave_things_behind() {
    let ledger = Ledger::new(20 * WAYS);
    (0..20 * WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
}

#[test]
fn exit_runs_nothing_and_waits_for_nothing() {
    isolated(|| {
        for case in 0..5 {
            let child = fork_code(|| {
                let reader = Reader::inside("in the way");
                leave_things_behind();
                defer(|| exit(90)); // cannot run before the reader ends
                match case {
                    0 => exit(7),
                    1 => std::thread::spawn(|| exit(7)).join().map_or(1, |()| 2),
                    2 => {
                        let _guard = read_lock();
                        exit(7)
                    }
                    3 => {
                        // Others wait meanwhile: for a grace period, and for a barrier.
                        std::thread::spawn(quiescent::synchronize);
                        std::thread::spawn(barrier);
                        until("a waiter sleeps", || statistics().sleeps > 0);
                        exit(7)
                    }
                    _ => {
                        drop(reader);
                        defer_hurry(|| exit(7)); // on the worker, from inside a callback
                        loop {
                            std::thread::park();
                        }
                    }
                }
            });
            let code = child.code();
            // The last case may meet the other callback first.
            assert!(
                code == 7 || (case == 4 && code == 90),
                "case {case}: {code}"
            );
        }
    });
}

extern "C" fn at_exit() {
    let flag = crate::common::deferral::flag();
    defer(|| flag.store(true, Ordering::Release));
    let drained = drain(PATIENCE);
    let fine = drained.left == 0 && flag.load(Ordering::Acquire);
    EXIT_CODE.store(if fine { 7 } else { 8 }, Ordering::Release);
    // SAFETY: takes a number.
    unsafe { libc::_exit(EXIT_CODE.load(Ordering::Acquire).cast_signed()) }
}

/// A program can run pending callbacks at exit: `drain` works in a handler of `atexit`, too.
#[test]
fn a_handler_at_exit_may_drain() {
    isolated(|| {
        let child = fork_code(|| {
            // SAFETY: the handler has the type asked for.
            assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
            leave_things_behind();
            exit(9)
        });
        assert_eq!(child.code(), 7);
    });
}

/// A callback is running, and goes on while the process ends.
#[test]
fn exit_during_a_callback() {
    isolated(|| {
        for _ in 0..5 {
            let child = fork_code(|| {
                let gate = Gate::new();
                defer_hurry(move || gate.pass());
                gate.until_reached(1);
                leave_things_behind();
                exit(7)
            });
            assert_eq!(child.code(), 7);
        }
    });
}

/// The same library under memcheck: what it holds at the end is reachable, and no access is wrong.
#[test]
fn the_end_is_clean_under_valgrind() {
    needs!(fork);
    needs!(cfg!(target_arch = "x86_64"), "valgrind for this processor");
    const INSIDE: &str = "QUIESCENT_TEST_VALGRIND";
    if std::env::var_os(INSIDE).is_some() {
        // Plain memory, code that has run, code that never will; threads that are gone, a child.
        static KEPT: OnceLock<&Ledger> = OnceLock::new(); // for the leak check to see
        let ledger = *KEPT.get_or_init(|| Ledger::new(4 * WAYS));
        crate::common::on_thread("ends", || {
            (0..WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
        });
        barrier();
        (WAYS..2 * WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
        let _ = drain(PATIENCE);
        // What a library thread is about to take over when another thread forks has no owner in the child.
        quiescent::synchronize();
        crate::common::deferral::until_at_rest();
        crate::common::children::in_child(|| {
            (2 * WAYS..3 * WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
            barrier();
        });
        let reader = Reader::inside("keeps the rest");
        (3 * WAYS..4 * WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
        std::mem::forget(reader);
        std::process::exit(0);
    }
    let memcheck = Command::new("valgrind")
        .args(["-q", "--error-exitcode=9", "--leak-check=full"])
        .args([
            "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite",
        ])
        .arg(std::env::current_exe().expect("the path of this binary"))
        .args(only_this_test())
        .env(INSIDE, "1")
        .output();
    let Ok(output) = memcheck else {
        println!("skipped: there is no valgrind");
        return;
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
}
