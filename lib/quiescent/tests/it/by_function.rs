//! `retire(address, function)` and `defer_unchecked`: what is freed by a function of the caller's, of any
//! type, and by closures that are neither `Send` nor `'static`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use quiescent::report::{Report, on_report};
use quiescent::{
    Domain, FenceMode, Srcu, SyncError, barrier, defer_unchecked, drain, in_section, read_lock,
    retire, retire_weighed, statistics, try_barrier, try_synchronize,
};

use crate::common::children::in_child;
use crate::common::{in_both_modes, isolated, on_thread, thread_id};

static FREED: AtomicU64 = AtomicU64::new(0);
static SUM: AtomicU64 = AtomicU64::new(0);

fn freed() -> u64 {
    FREED.load(Ordering::Relaxed)
}

/// A node that is neither `Send` nor `'static`, with a destructor.
struct Node<'a> {
    number: Rc<Cell<u64>>,
    _list: &'a RefCell<Vec<u64>>,
}

impl<'a> Node<'a> {
    fn boxed(number: u64, list: &'a RefCell<Vec<u64>>) -> *mut Node<'a> {
        Box::into_raw(Box::new(Node {
            number: Rc::new(Cell::new(number)),
            _list: list,
        }))
    }
}

/// # Safety
/// A node of these tests, which no code uses any more.
unsafe fn free(node: *mut Node<'_>) {
    assert!(!in_section());
    // SAFETY: the caller's promise.
    let node = unsafe { Box::from_raw(node) };
    assert_eq!(Rc::strong_count(&node.number), 1);
    SUM.fetch_add(node.number.get(), Ordering::Relaxed);
    FREED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn each_object_once_in_each_domain() {
    in_both_modes(|| {
        let list = RefCell::new(Vec::new());
        let (domain, srcu) = (Domain::new(), Srcu::new());
        const COUNT: u64 = 20_000;
        for n in 0..COUNT {
            let node = || Node::boxed(n, &list);
            // SAFETY: nodes of this test; `list` outlives the barriers below.
            unsafe {
                match n % 6 {
                    0 => retire(node(), free),
                    1 => retire_weighed(node(), free, n as usize),
                    2 => domain.retire(node(), free),
                    3 => domain.retire_weighed(node(), free, 5000),
                    4 => srcu.retire(node(), free),
                    _ => srcu.retire_weighed(node(), free, 0),
                }
            }
        }
        barrier();
        domain.barrier();
        srcu.barrier();
        let sum = COUNT * (COUNT - 1) / 2;
        assert_eq!((freed(), SUM.load(Ordering::Relaxed)), (COUNT, sum));
        let domains = [domain.statistics(), srcu.statistics()];
        assert_eq!(domains.map(|it| (it.queued, it.queued_bytes)), [(0, 0); 2]);
        assert_eq!((statistics().queued, statistics().queued_bytes), (0, 0));
        assert_eq!(statistics().callback_panics, 0);
    });
}

/// In the thread that retired it, in later calls, at most two each; not inside sections.
#[test]
fn in_place_as_destructors() {
    isolated(|| {
        thread_local!(static HERE: Cell<u32> = const { Cell::new(0) });
        unsafe fn count(_: *mut u64) {
            assert!(!in_section());
            HERE.set(HERE.get() + 1);
        }
        let mut word = 0u64;
        let word = &raw mut word;
        for n in 0..50_000 {
            let before = HERE.get();
            // SAFETY: the function accepts any address.
            unsafe { retire(word, count) };
            assert!(HERE.get() - before <= 2);
            if n % 100 == 0 {
                let guard = read_lock();
                let before = HERE.get();
                // SAFETY: as above.
                (0..50).for_each(|_| unsafe { retire(word, count) });
                assert_eq!(HERE.get(), before);
                drop(guard);
            }
        }
        if statistics().fence_mode == FenceMode::Membarrier {
            assert!(HERE.get() > 20_000, "{} here", HERE.get());
        }
        barrier();
        assert_eq!(statistics().callback_panics, 0, "inside a section");
    });
}

/// Until the barrier, exactly the declared bytes more than a box. A weight that lies changes what is held,
/// and nothing else.
#[test]
fn weights_are_counted_also_those_that_lie() {
    isolated(|| {
        let guard = read_lock();
        let held = || statistics().queued_bytes;
        let list = RefCell::new(Vec::new());
        let node = || Node::boxed(1, &list);
        let before = held();
        // SAFETY: a node of this test, as all below.
        unsafe { retire_weighed(node(), free, 0) };
        let plain = held() - before;
        assert!(
            (size_of::<Node<'_>>() as u64..100).contains(&plain),
            "{plain}"
        );
        for (owned, counted) in [(1, 1), (1000, 1000), (1 << 20, 1 << 20)] {
            let before = held();
            // SAFETY: as above.
            unsafe { retire_weighed(node(), free, owned) };
            let rounded = held() - before - plain;
            assert!(
                (counted..=counted + counted / 1024 + 1).contains(&rounded),
                "{rounded}"
            );
        }
        let before = held();
        // SAFETY: as above.
        unsafe { retire(node(), free) };
        let unknown = held() - before - plain;
        assert!((1024..1032).contains(&unknown), "{unknown}");
        // More than any machine has, several times.
        for _ in 0..10 {
            // SAFETY: as above.
            unsafe { retire_weighed(node(), free, usize::MAX) };
        }
        assert!(held() > statistics().budget_bytes);
        drop(guard);
        barrier();
        assert_eq!((freed(), held(), statistics().queued), (15, 0, 0));
    });
}

static REPORTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn remember(report: &Report) {
    REPORTS.lock().expect("no panic").push(report.to_string());
}

/// Panics; retires again; retires within a section of another domain; waits.
#[test]
fn functions_that_misbehave() {
    in_both_modes(|| {
        static OTHER: Domain = Domain::new();
        static REFUSED: AtomicU64 = AtomicU64::new(0);
        thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });
        unsafe fn last(_: *mut u64) {
            FREED.fetch_add(1, Ordering::Relaxed);
        }
        unsafe fn misbehaves(object: *mut u64) {
            assert_eq!(DEPTH.replace(1), 0, "one inside another");
            let number = object.addr() as u64;
            match number % 1000 {
                1 => {
                    DEPTH.set(0);
                    panic!("on purpose");
                }
                2 => {
                    let _guard = OTHER.read_lock();
                    // SAFETY: the function accepts any address.
                    (0..3000).for_each(|_| unsafe { OTHER.retire(object, last) });
                }
                3 => {
                    let refused = try_synchronize() == Err(SyncError::InsideCallback)
                        && try_barrier() == Err(SyncError::InsideCallback);
                    REFUSED.fetch_add(u64::from(refused), Ordering::Relaxed);
                }
                // SAFETY: as above.
                _ => unsafe { retire(object, last) },
            }
            DEPTH.set(0);
        }
        on_report(remember);
        std::panic::set_hook(Box::new(|_| ()));
        for n in 0..20_000 {
            // SAFETY: the function accepts any address.
            unsafe { retire(std::ptr::without_provenance_mut(n), misbehaves) };
        }
        (0..2).for_each(|_| barrier());
        OTHER.barrier();
        assert_eq!(
            (
                statistics().callback_panics,
                REFUSED.load(Ordering::Relaxed)
            ),
            (20, 20)
        );
        assert_eq!(freed(), 20 * 3000 + 20_000 - 60);
        assert_eq!((statistics().queued, OTHER.statistics().queued), (0, 0));
        let reports = REPORTS.lock().expect("no panic");
        let mut panics = reports.iter().filter(|text| text.contains("panicked"));
        assert!(panics.all(|text| text.contains("a function given to `retire`")));
    });
}

/// Closures that borrow, and that are not `Send`; of one word and of several. They run lazily, where
/// destructors do.
#[test]
fn closures_of_any_type() {
    in_both_modes(|| {
        let (seen, domain, srcu) = (Rc::new(Cell::new(0u64)), Domain::new(), Srcu::new());
        let large = [1u64, 2, 3, 4];
        let here = thread_id();
        let done = AtomicU64::new(0);
        for _ in 0..10_000 {
            let one = || {
                done.fetch_add(1, Ordering::Relaxed);
            };
            let count = Rc::clone(&seen);
            let several = {
                let (done, large) = (&done, &large);
                move || {
                    if thread_id() == here {
                        count.set(count.get() + large[3]);
                    } else {
                        std::mem::forget(count); // the worker must not write its count
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            };
            // SAFETY: all that they use lives until the barriers, and one thread changes the `Rc`.
            unsafe {
                defer_unchecked(one);
                defer_unchecked(several);
                domain.defer_unchecked(one);
                srcu.defer_unchecked(one);
            }
        }
        barrier();
        domain.barrier();
        srcu.barrier();
        assert_eq!(done.load(Ordering::Relaxed), 40_000);
        assert_eq!(seen.get() % 4, 0);
        assert!(seen.get() > 0 || statistics().fence_mode == FenceMode::Fenced);
        assert_eq!((statistics().queued, statistics().callbacks), (0, 20_000));
    });
}

/// A thread that ends, a domain that is dropped: the worker calls the functions.
#[test]
fn what_is_left_behind_is_freed() {
    isolated(|| {
        on_thread("ends", || {
            static NOTHING: AtomicBool = AtomicBool::new(false);
            unsafe fn count(_: *mut AtomicBool) {
                FREED.fetch_add(1, Ordering::Relaxed);
            }
            let nothing = &raw const NOTHING as *mut AtomicBool;
            let (domain, srcu) = (Domain::new(), Srcu::new());
            for _ in 0..100 {
                // SAFETY: the function accepts any address.
                unsafe {
                    retire(nothing, count);
                    domain.retire(nothing, count);
                    srcu.retire(nothing, count);
                }
            }
        });
        assert_eq!(drain(Duration::from_secs(60)).left, 0);
        assert_eq!(freed(), 300);
    });
}

/// As destructors: what the parent had queued is the parent's.
#[cfg(target_os = "linux")]
#[test]
fn the_child_of_a_fork_calls_none() {
    isolated(|| {
        unsafe fn count(_: *mut u8) {
            FREED.fetch_add(1, Ordering::Relaxed);
        }
        let any = std::ptr::without_provenance_mut(1);
        // SAFETY: the function accepts any address.
        (0..10).for_each(|_| unsafe { retire(any, count) });
        in_child(|| {
            barrier();
            assert_eq!((freed(), statistics().queued), (0, 0));
            // SAFETY: as above.
            unsafe { retire(any, count) };
            barrier();
            assert_eq!(freed(), 1);
        });
        barrier();
        assert_eq!(freed(), 10);
    });
}
