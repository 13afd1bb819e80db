//! The code to step through, the handler, and the checks afterwards.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;
use std::time::Duration;

use quiescent::stats::holdouts;
use quiescent::{
    Domain, Guard, Options, RcuCell, in_section, read_lock, statistics, synchronize,
    synchronize_timeout,
};

use super::common::Reader;
use super::tracer::{Shared, begin};

/// A region between `begin` and `ended`, and what leads to it.
pub struct Scenario {
    pub name: &'static str,
    /// Returns how many threads are registered afterwards.
    pub run: fn(&'static Shared) -> u32,
    /// Instructions that the region surely has.
    pub least: u64,
    /// So many times dearer than usual a child is: as many times fewer instructions have a handler by
    /// default.
    pub dearness: u64,
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "first section of a thread",
        run: first_section,
        least: 100,
        dearness: 1,
    },
    Scenario {
        name: "section",
        run: section,
        least: 9,
        dearness: 1,
    },
    Scenario {
        name: "nested sections",
        run: nested_sections,
        least: 20,
        dearness: 1,
    },
    Scenario {
        name: "sections beyond the limit",
        run: beyond_the_limit,
        least: 50,
        dearness: 1,
    },
    Scenario {
        name: "last guard beyond the limit",
        run: last_beyond_the_limit,
        least: 25,
        dearness: 1,
    },
    Scenario {
        name: "unlock that wakes a driver",
        run: flagged_unlock,
        least: 30,
        dearness: 1,
    },
    Scenario {
        name: "repin that wakes a driver",
        run: flagged_repin,
        least: 30,
        dearness: 1,
    },
    Scenario {
        name: "first section in a domain",
        run: first_in_a_domain,
        least: 200,
        dearness: 5,
    },
    Scenario {
        name: "sections in two domains",
        run: two_domains,
        least: 100,
        dearness: 5,
    },
    Scenario {
        name: "sections without a slot",
        run: without_a_slot,
        least: 50,
        dearness: 5,
    },
    Scenario {
        name: "end of a thread",
        run: end_of_a_thread,
        least: 50,
        dearness: 1,
    },
];

/// Guards that fit into a reader word.
const LIMIT: usize = 1 << 15;
/// Threads that one leaf of slots serves.
const SLOTS: u32 = 62;

/// Domains of the program's, in which handlers read, too; of the first one they may be the first users.
static OWN: [Domain; 2] = [const { Domain::new() }; 2];
static VALUE: OnceLock<RcuCell<u64>> = OnceLock::new();
static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// The value that handlers load.
pub fn publish_value() {
    VALUE.get_or_init(|| RcuCell::new(77));
}

/// Reads, twice nested.
extern "C" fn handler(_signal: libc::c_int) {
    let value = VALUE.get().expect("published before the fork");
    let outer = read_lock();
    let inner = read_lock();
    let right = *value.load(&outer) == 77 && in_section();
    drop(outer);
    let right = right && *value.load(&inner) == 77 && in_section();
    // Inside, the slot is the thread's own. (No thread is interrupted while it holds the lock of the
    // statistics.)
    let right = right && statistics().registered > 0;
    let own = OWN.each_ref().map(Domain::read_lock);
    let right = right && OWN.iter().all(Domain::in_section);
    drop(own);
    drop(inner);
    // SAFETY: null or the page that lives for ever.
    if let Some(shared) = unsafe { SHARED.load(Ordering::Relaxed).as_ref() } {
        shared
            .handled
            .fetch_add(if right { 1 } else { 1000 }, Ordering::Relaxed);
    }
}

/// From now on SIGUSR1 reads.
pub fn install_handler(shared: &'static Shared) {
    SHARED.store(ptr::from_ref(shared).cast_mut(), Ordering::Relaxed);
    // SAFETY: an all-zero sigaction is one: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    // SAFETY: the action is complete; its handler reads and adds to an atomic.
    let installed = unsafe { libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()) };
    assert_eq!(installed, 0);
}

fn end(shared: &Shared) {
    shared.ended.store(1, Ordering::Relaxed);
}

/// What must be true whatever the handler interrupted.
pub fn check(registered: u32, shared: &Shared) {
    assert_eq!(
        shared.handled.load(Ordering::Relaxed),
        1,
        "handlers that read what they should"
    );
    assert!(!in_section());
    assert_eq!(statistics().registered, registered, "slots taken");
    let patience = Duration::from_secs(10);
    let other = thread::spawn(move || synchronize_timeout(patience)).join();
    assert_eq!(other.expect("no panic"), Ok(()));
    synchronize();
    assert!(holdouts().is_empty());
    assert_eq!(statistics().stalls, 0);
    for domain in &OWN {
        assert!(!domain.in_section());
        let other = thread::spawn(move || domain.synchronize_timeout(patience)).join();
        assert_eq!(other.expect("no panic"), Ok(()));
        domain.synchronize();
    }
    // And the thread reads on.
    let guard = read_lock();
    assert_eq!(*VALUE.get().expect("published").load(&guard), 77);
    let other = thread::spawn(|| synchronize_timeout(Duration::from_micros(1))).join();
    assert!(
        other.expect("no panic").is_err(),
        "a grace period beside an open section"
    );
    drop(guard);
    synchronize();
}

fn first_section(shared: &'static Shared) -> u32 {
    begin();
    drop(read_lock());
    end(shared);
    1
}

fn first_in_a_domain(shared: &'static Shared) -> u32 {
    begin();
    drop(OWN[0].read_lock());
    end(shared);
    1
}

fn two_domains(shared: &'static Shared) -> u32 {
    drop(OWN[0].read_lock());
    begin();
    let other = OWN[1].read_lock(); // its first
    let one = OWN[0].read_lock();
    drop(other);
    drop(one);
    drop(OWN[1].read_lock());
    end(shared);
    1
}

fn section(shared: &'static Shared) -> u32 {
    drop(read_lock());
    begin();
    drop(read_lock());
    end(shared);
    1
}

fn nested_sections(shared: &'static Shared) -> u32 {
    drop(read_lock());
    begin();
    let outer = read_lock();
    let inner = read_lock();
    drop(outer);
    let inmost = read_lock();
    drop(inner);
    drop(inmost);
    end(shared);
    1
}

fn beyond_the_limit(shared: &'static Shared) -> u32 {
    let guards: Vec<Guard> = (0..LIMIT - 1).map(|_| read_lock()).collect();
    begin();
    let last = read_lock();
    let beyond = read_lock();
    let further = read_lock();
    drop(beyond);
    drop(further);
    drop(last);
    end(shared);
    drop(guards);
    1
}

fn last_beyond_the_limit(shared: &'static Shared) -> u32 {
    let guards: Vec<Guard> = (0..LIMIT).map(|_| read_lock()).collect();
    let beyond = read_lock();
    drop(guards);
    begin();
    drop(beyond);
    end(shared);
    1
}

/// Starts a thread that waits, and returns once it sleeps and this thread is flagged.
fn waiter() -> thread::JoinHandle<()> {
    let thread = thread::spawn(synchronize);
    while statistics().sleeps == 0 {
        thread::yield_now();
    }
    thread
}

fn flagged_unlock(shared: &'static Shared) -> u32 {
    let guard = read_lock();
    let waiter = waiter();
    begin();
    drop(guard);
    end(shared);
    waiter.join().expect("no panic");
    1
}

fn flagged_repin(shared: &'static Shared) -> u32 {
    let mut guard = read_lock();
    let waiter = waiter();
    begin();
    guard.repin();
    end(shared);
    // A handler in the middle may have cost us the credit; the next repin makes up for it.
    while !waiter.is_finished() {
        guard.repin();
    }
    waiter.join().expect("no panic");
    1
}

fn without_a_slot(shared: &'static Shared) -> u32 {
    Options::new().max_threads(1).apply().expect("one leaf");
    // Idle for as long as the process lives.
    (0..SLOTS).for_each(|_| std::mem::forget(Reader::idle("has a slot")));
    begin();
    let outer = read_lock();
    let inner = read_lock();
    drop(outer);
    drop(inner);
    end(shared);
    SLOTS
}

/// Begins the region in the destructor of a thread-local.
struct BeginsOnDrop;

impl Drop for BeginsOnDrop {
    fn drop(&mut self) {
        begin();
    }
}

thread_local! {
    static BEGINS: BeginsOnDrop = const { BeginsOnDrop };
}

unsafe extern "C" fn end_in_key_destructor(shared: *mut c_void) {
    // SAFETY: the value set below, a page that lives for ever.
    end(unsafe { &*shared.cast::<Shared>() });
}

/// From the destructors of thread-locals to the destructor of a key made after the library's: the
/// library's hook runs in between.
fn end_of_a_thread(shared: &'static Shared) -> u32 {
    let ending = thread::spawn(move || {
        BEGINS.with(|_| ());
        drop(read_lock());
        let mut key = 0;
        // SAFETY: `key` is writable, the destructor has the right type, the value is one it expects.
        unsafe {
            assert_eq!(
                libc::pthread_key_create(&mut key, Some(end_in_key_destructor)),
                0
            );
            assert_eq!(
                libc::pthread_setspecific(key, ptr::from_ref(shared).cast()),
                0
            );
        }
    });
    ending.join().expect("no panic");
    0
}
