//! `free_now`, and what the drop of the last handle frees at once.

use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::common::on_thread;
use quiescent::intrusive::{self, Head};
use quiescent::{HandlesLeft, Retired, Runner, Srcu};

/// Queues an object in every way; returns how many objects.
fn queue_each_way(domain: &Domain, dropped: &Arc<AtomicU32>) -> u32 {
    unsafe fn count(head: NonNull<Head>) {
        // SAFETY: a leaked box of this type.
        let node = unsafe { Box::from_raw(head.as_ptr().cast::<(Head, Noisy)>()) };
        drop(node);
    }
    let noisy = || Noisy(Arc::clone(dropped));
    let cell = RcuCell::new_in(noisy(), domain);
    cell.store(noisy()).retire();
    cell.store(noisy()).on_worker().retire();
    let (prompt, lazy) = (noisy(), noisy());
    domain.defer(move || drop(prompt));
    domain.defer_lazy(move || drop(lazy));
    let memory = RcuCell::new_in([0u64; 8], domain);
    memory.store([1; 8]).retire();
    let node = Box::leak(Box::new((Head::new(), noisy())));
    // SAFETY: the first field of a leaked box, queued once.
    unsafe { intrusive::defer_in(domain, NonNull::from(node).cast(), count) };
    6
}

#[test]
fn everything_is_freed_now_wherever_it_is_queued() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let domain = Domain::new();
        let hour = Duration::from_secs(3600);
        domain.set_flush_times(FlushTimes {
            lazy: hour,
            prompt: hour,
        });
        let mut queued = queue_each_way(&domain, &dropped);
        // A thread that ends, and one that lives on, and pushes without a lock.
        let (there, counts) = (domain.clone(), Arc::clone(&dropped));
        queued += on_thread("ends", move || queue_each_way(&there, &counts));
        let (there, counts) = (domain.clone(), Arc::clone(&dropped));
        let (sender, receiver) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let lives = thread::spawn(move || {
            let cell = RcuCell::new_in(Noisy(Arc::clone(&counts)), &there);
            (0..500).for_each(|_| drop(cell.store(Noisy(Arc::clone(&counts)))));
            drop(cell);
            drop(there);
            sender.send(501).expect("listened to");
            let _ = ended.recv();
        });
        queued += receiver.recv().expect("it queues");
        domain.set_closures(Runner::Drained); // other threads run code otherwise: this one does now
        let freed = domain.free_now().expect("it is the last handle");
        assert_eq!(freed.left, 0);
        assert_eq!(dropped.load(Ordering::Relaxed), queued);
        drop(end);
        lives.join().expect("no panic");
    });
}

#[test]
fn it_is_refused_while_there_are_handles() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let unused = Domain::new().free_now().expect("nothing is there");
        assert_eq!((unused.ran, unused.left), (0, 0));
        let domain = Domain::new();
        let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), domain.clone());
        let guard = domain.read_owned();
        cell.store(Noisy(Arc::clone(&dropped))).retire();
        let refused = domain.free_now().expect_err("a cell and a guard");
        assert_eq!(refused.reason.others, 2);
        let text = refused.to_string();
        assert!(text.contains("other handles: 2"), "{text}");
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(guard);
        let refused = refused.object.free_now().expect_err("the cell's");
        let HandlesLeft { others, .. } = refused.reason;
        assert_eq!(others, 1);
        drop(cell);
        assert_eq!(refused.object.free_now().map(|it| it.ran).ok(), Some(1));
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    });
}

/// A map of a map: the inner one's nodes go with it, inside the destructor that the library runs.
#[test]
fn a_map_that_is_dropped_by_the_library_frees_its_own_nodes_now() {
    isolated(|| {
        struct Map {
            domain: Domain,
            dropped: Arc<AtomicU32>,
            left: mpsc::Sender<(u64, u32)>,
        }
        impl Drop for Map {
            fn drop(&mut self) {
                // SAFETY: `&mut self`: no reader of this domain is left.
                let freed = unsafe { self.domain.free_now_unchecked() };
                let dropped = self.dropped.load(Ordering::Relaxed);
                let _ = self.left.send((freed.left, dropped));
            }
        }
        let (left, lefts) = mpsc::channel();
        for on_worker in [true, false] {
            let dropped = Arc::new(AtomicU32::new(0));
            let map = Map {
                domain: Domain::new(),
                dropped: Arc::clone(&dropped),
                left: left.clone(),
            };
            for _ in 0..5 {
                let node = Box::leak(Box::new(Noisy(Arc::clone(&dropped))));
                // SAFETY: unreachable, and retired once.
                unsafe { Retired::from_raw_in(NonNull::from(node), &map.domain) }.retire();
            }
            let outer = quiescent::RcuOption::new(Some(map));
            let old = outer.store(None).expect("it was there");
            match on_worker {
                true => old.on_worker().retire(),
                false => old.retire(),
            }
            quiescent::barrier();
            assert_eq!(lefts.recv_timeout(LONG), Ok((0, 5)));
        }
    });
}

/// Retires the next one in the same domain when it is dropped; each ninth panics, and some free the domain.
struct Chain(u32, &'static Domain);

static DEPTH: AtomicUsize = AtomicUsize::new(0);
static LINKS: AtomicU32 = AtomicU32::new(0);

impl Drop for Chain {
    fn drop(&mut self) {
        let Chain(left, domain) = *self;
        LINKS.fetch_add(1, Ordering::Relaxed);
        if left > 0 {
            let next = Box::leak(Box::new(Chain(left - 1, domain)));
            // SAFETY: unreachable, and retired once.
            unsafe { Retired::from_raw_in(NonNull::from(next), domain) }.retire();
        }
        if left == 1000 {
            DEPTH.fetch_add(1, Ordering::Relaxed);
            // SAFETY: there are no readers.
            let freed = unsafe { domain.free_now_unchecked() };
            assert_eq!((freed.ran, freed.left), (1000, 1), "itself");
        }
        assert!(left % 9 != 1, "a destructor's");
    }
}

#[test]
fn destructors_that_retire_panic_and_free_the_domain_again_all_run() {
    isolated(|| {
        std::panic::set_hook(Box::new(|_| ()));
        let domain = leaked();
        let first = Box::leak(Box::new(Chain(50_000, domain)));
        // SAFETY: unreachable, and retired once.
        unsafe { Retired::from_raw_in(NonNull::from(first), domain) }.retire();
        // SAFETY: there are no readers.
        let freed = unsafe { domain.free_now_unchecked() };
        assert_eq!(LINKS.load(Ordering::Relaxed), 50_001);
        // A thousand run in the middle of others, and the worker, which starts now, may run some.
        let expected = 50_001 - 1000;
        assert!(freed.left == 0 && freed.ran <= expected, "{freed:?}");
        assert!(freed.ran > expected - 1000, "{freed:?}");
        assert_eq!(DEPTH.load(Ordering::Relaxed), 1);
        assert!(domain.statistics().callback_panics > 5000);
    });
}

#[test]
fn what_the_worker_is_running_is_waited_for() {
    isolated(|| {
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let domain = Domain::new();
        let over = Arc::new(AtomicBool::new(false));
        let sets = Arc::clone(&over);
        domain.defer_hurry(move || {
            begin.send(()).expect("listened to");
            let _ = ended.recv();
            sets.store(true, Ordering::Relaxed);
        });
        begun.recv().expect("it runs");
        // Inside a section it is not.
        let guard = quiescent::read_lock();
        // SAFETY: no reader is in this domain.
        assert_eq!(unsafe { domain.free_now_unchecked() }.left, 1);
        drop(guard);
        let waits = thread::spawn(move || {
            let freed = domain.free_now().expect("the last handle");
            (freed.left, over.load(Ordering::Relaxed))
        });
        thread::sleep(SHORT);
        assert!(!waits.is_finished());
        drop(end);
        assert_eq!(waits.join().expect("no panic"), (0, true));
    });
}

#[test]
fn an_srcu_is_freed_now_too() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let srcu = Srcu::new();
        let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), srcu.clone());
        let guard = srcu.read_owned_send();
        cell.store(Noisy(Arc::clone(&dropped))).retire();
        let refused = srcu
            .free_now()
            .expect_err("a cell and a guard that may be sent");
        assert_eq!(refused.reason.others, 2);
        thread::spawn(move || drop(guard)).join().expect("no panic");
        drop(cell);
        assert_eq!(refused.object.free_now().map(|it| it.ran).ok(), Some(1));
        let srcu = Srcu::new();
        let cell = RcuCell::new_in(Noisy(Arc::clone(&dropped)), &srcu);
        drop(cell.store(Noisy(Arc::clone(&dropped))));
        drop(cell);
        std::mem::forget(srcu.read_lock_send());
        drop(srcu);
        assert_eq!(dropped.load(Ordering::Relaxed), 4);
    });
}

/// Values retired in a domain, which is dropped by `drop_it`; how many are dropped right after that.
fn dropped_with(
    dropped: &Arc<AtomicU32>,
    set: impl FnOnce(&Domain),
    drop_it: impl FnOnce(Domain),
) -> u32 {
    let before = dropped.load(Ordering::Relaxed);
    let domain = Domain::new();
    set(&domain);
    let cell = RcuCell::new_in(Noisy(Arc::clone(dropped)), &domain);
    (0..5).for_each(|_| drop(cell.store(Noisy(Arc::clone(dropped)))));
    drop(cell);
    drop_it(domain);
    let now = dropped.load(Ordering::Relaxed);
    quiescent::barrier();
    until("the rest is dropped", || {
        dropped.load(Ordering::Relaxed) == before + 6
    });
    now - before
}

/// The worker, which starts meanwhile, may be running some of the values: then it is tried again.
#[test]
fn the_last_handle_frees_what_no_reader_holds_at_once() {
    let inside = |domain| {
        struct Holds(Mutex<Option<Domain>>);
        impl Drop for Holds {
            fn drop(&mut self) {
                drop(self.0.lock().expect("no panic").take());
            }
        }
        let outer = Domain::new();
        drop(
            RcuCell::new_in(Holds(Mutex::new(Some(domain))), &outer).store(Holds(Mutex::new(None))),
        );
        drop(outer);
    };
    let elsewhere = |domain| on_thread("drops", move || drop(domain));
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        for (place, drop_it) in [
            ("here", &drop as &dyn Fn(Domain)),
            ("in the destructor of another value", &inside),
            ("on another thread than those that retired", &elsewhere),
        ] {
            let all = || dropped_with(&dropped, |_| (), drop_it) == 6;
            assert!((0..20).any(|_| all()), "{place}");
        }
    });
}

#[test]
fn the_last_handle_runs_no_destructor_where_that_is_the_workers() {
    isolated(|| {
        let dropped = Arc::new(AtomicU32::new(0));
        let in_section = |domain| {
            let _guard = quiescent::read_lock();
            drop(domain);
        };
        let in_other = |domain| {
            let other = Domain::new();
            let _guard = other.read_lock();
            drop(domain);
        };
        let ids = Arc::new(Mutex::new(Vec::new()));
        struct Where(Arc<Mutex<Vec<thread::ThreadId>>>);
        impl Drop for Where {
            fn drop(&mut self) {
                let mut ids = self.0.lock().expect("no panic");
                ids.push(thread::current().id());
            }
        }
        let worker_runs = |domain: &Domain| domain.set_destructors(Runner::Worker);
        for (set, drop_it) in [
            (None, &in_section as &dyn Fn(Domain)),
            (None, &in_other),
            (Some(&worker_runs as &dyn Fn(&Domain)), &drop),
        ] {
            let domain = Domain::new();
            set.inspect(|set| set(&domain));
            let cell = RcuCell::new_in(Where(Arc::clone(&ids)), &domain);
            drop(cell.store(Where(Arc::clone(&ids))));
            std::mem::forget(cell);
            drop_it(domain);
            quiescent::barrier();
            until("it is dropped", || {
                !ids.lock().expect("no panic").is_empty()
            });
            let by = ids.lock().expect("no panic").pop();
            assert_ne!(by, Some(thread::current().id()));
        }
        let drained = |domain: &Domain| domain.set_closures(Runner::Drained);
        let at_once = dropped_with(&dropped, drained, drop);
        assert!(at_once <= 6, "{at_once}"); // the worker may be faster
    });
}
