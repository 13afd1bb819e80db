//! Memory that is refused. A program of its own, whose allocator refuses.

#![cfg(unix)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quiescent_collections::{RcuHashMap, RcuOwner};

struct Refusing;

thread_local! {
    /// So many allocations of this thread from now, one is refused, and all that follow.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// So many were refused to this thread.
    static REFUSED: Cell<u64> = const { Cell::new(0) };
}

fn is_refused() -> bool {
    let left = LEFT.get();
    let counts = left != u64::MAX && left != 0;
    LEFT.set(left - u64::from(counts));
    REFUSED.set(REFUSED.get() + u64::from(left == 0));
    left == 0
}

// SAFETY: the system's allocator, or null.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_refused() {
            true => ptr::null_mut(),
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_refused() {
            true => ptr::null_mut(),
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Inserts, replaces, removes, and grows and shrinks the table.
fn change(map: &RcuHashMap<u64, u64>) {
    (0..300).for_each(|n| assert_eq!(map.pin().insert(n, n), None));
    (0..300).for_each(|n| assert_eq!(map.pin().insert(n, n + 1), Some(&n)));
    (0..290).for_each(|n| assert_eq!(map.pin().remove(&n), Some(&(n + 1))));
    map.pin().shrink_to_fit();
}

/// Each allocation of these calls is refused in turn: the program is aborted, or goes on without. (The
/// message is that of `Vec`.)
#[test]
fn a_map_without_memory_aborts_the_program() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    const NTH: &str = "QUIESCENT_TEST_NTH";
    let (name, nth) = (
        std::thread::current().name().map(str::to_owned),
        std::env::var(NTH),
    );
    if let Ok(nth) = nth {
        let map = RcuHashMap::new();
        quiescent::read(|_| ()); // the thread is registered
        LEFT.set(nth.parse().expect("a number"));
        change(&map);
        let left = LEFT.replace(u64::MAX);
        return assert!(left == 0, "it needs less");
    }
    let run = |nth: u64| {
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        child.args([
            "--exact",
            &name.clone().expect("libtest names it"),
            "--nocapture",
        ]);
        child.env(NTH, nth.to_string()).output().expect("it starts")
    };
    let mut aborted = 0;
    for nth in 0.. {
        let output = run(nth);
        let text = String::from_utf8_lossy(&output.stderr);
        match (output.status.code(), output.status.signal()) {
            (Some(0), _) => {}
            (_, Some(libc::SIGABRT)) if text.contains("memory allocation of") => aborted += 1,
            _ if text.contains("it needs less") => break,
            _ => panic!("refused after {nth}: {}\\n{text}", output.status),
        }
    }
    assert!(aborted > 5, "{aborted}"); // table, core, lists, entries, batches
}

/// Without memory for a page of counts a thread counts in the shared place.
#[test]
fn a_reference_count_without_memory_works() {
    struct Value(Arc<AtomicU32>);
    impl Drop for Value {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = Arc::new(AtomicU32::new(0));
    let owner = RcuOwner::new(Value(drops.clone()));
    let first = owner.try_get().expect("it lives");
    let reference = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            quiescent::read(|_| ()); // the thread is registered
            LEFT.set(0);
            let (one, two) = (first.clone(), owner.try_get().expect("it lives"));
            drop(one);
            LEFT.set(u64::MAX);
            assert!(REFUSED.get() > 0, "a page was not asked for");
            two
        });
        other.join().expect("it needs no memory")
    });
    owner.kill();
    drop((first, owner));
    quiescent::barrier();
    assert_eq!(drops.load(Ordering::Relaxed), 0, "a reference is left");
    drop(reference);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}
