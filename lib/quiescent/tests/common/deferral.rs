//! Shared code of the tests of deferral: a ledger of things that must run once each, a gate that blocks
//! callbacks, and the state of the library's threads.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use quiescent::intrusive::{self, Head};
use quiescent::{RcuCell, Retired, defer, defer_hurry, statistics};

use super::{PATIENCE, sleeps, until};

/// Things that are run or dropped, and how often each was. Kept for ever.
pub struct Ledger(Box<[AtomicU32]>);

impl Ledger {
    /// A ledger of `things`.
    pub fn new(things: usize) -> &'static Ledger {
        let entries = (0..things).map(|_| AtomicU32::new(0)).collect();
        Box::leak(Box::new(Ledger(entries)))
    }

    /// A thing that is counted when it is dropped.
    pub fn thing(&'static self, index: usize) -> Thing {
        Thing {
            ledger: self,
            index,
        }
    }

    /// How many things have been run or dropped.
    pub fn count(&self) -> usize {
        let done = |entry: &&AtomicU32| entry.load(Ordering::Acquire) != 0;
        self.0.iter().filter(done).count()
    }

    /// Each of them once, and no more.
    ///
    /// # Panics
    /// If that is not so.
    #[track_caller]
    pub fn assert_all_once(&self) {
        for (index, entry) in self.0.iter().enumerate() {
            let times = entry.load(Ordering::Acquire);
            assert_eq!(times, 1, "thing {index} of {}", self.0.len());
        }
    }
}

/// Counted in its ledger when it is dropped.
pub struct Thing {
    ledger: &'static Ledger,
    index: usize,
}

impl Drop for Thing {
    fn drop(&mut self) {
        self.ledger.0[self.index].fetch_add(1, Ordering::AcqRel);
    }
}

#[repr(C)]
struct Node {
    head: Head,
    thing: Thing,
}

/// Frees a node.
///
/// # Safety
/// The head is the first field of a box of a node.
unsafe fn free_node(head: NonNull<Head>) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(head.as_ptr().cast::<Node>()) });
}

/// Ways of queueing.
pub const WAYS: usize = 10;

/// Queues a thing in one of [`WAYS`] ways; odd ones hurry, the others are lazy or prompt.
pub fn queue_somehow(thing: Thing, way: usize) {
    let leaked = |thing| NonNull::from(Box::leak(Box::new(thing)));
    let node = |thing| {
        let head = Head::new();
        NonNull::from(Box::leak(Box::new(Node { head, thing }))).cast::<Head>()
    };
    match way % WAYS {
        // SAFETY: a box of ours, retired once.
        0 => unsafe { Retired::from_raw(leaked(thing)).retire() },
        // SAFETY: as above.
        1 => unsafe { Retired::from_raw(leaked(thing)).retire_hurry() },
        2 => defer(move || drop(thing)),
        3 => defer_hurry(move || drop(thing)),
        // SAFETY: the head is the first field of a node of ours, queued once.
        4 => unsafe { intrusive::defer(node(thing), free_node) },
        // SAFETY: as above.
        5 => unsafe { intrusive::defer_hurry(node(thing), free_node) },
        6 => {
            let boxed = Box::new(thing); // the closure fits into a word
            defer(move || drop(boxed));
        }
        7 => {
            let boxed = Box::new(thing);
            defer_hurry(move || drop(boxed));
        }
        8 => drop(RcuCell::new(Some(thing)).store(None).with_owned_bytes(100)),
        _ => RcuCell::new(Some(thing)).store(None).retire_hurry(),
    }
}

/// A gate that callbacks wait at.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
    /// How many have come to the gate.
    pub reached: AtomicU32,
}

impl Gate {
    /// A closed one. Kept for ever.
    pub fn new() -> &'static Gate {
        Box::leak(Box::default())
    }

    /// Waits until it is open.
    pub fn pass(&self) {
        self.reached.fetch_add(1, Ordering::AcqRel);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self
                .changed
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Opens it.
    pub fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits until so many have come to it.
    pub fn until_reached(&self, times: u32) {
        until("callbacks reach the gate", || {
            self.reached.load(Ordering::Acquire) >= times
        });
    }
}

/// A bit that a callback sets. Kept for ever.
pub fn flag() -> &'static AtomicBool {
    Box::leak(Box::new(AtomicBool::new(false)))
}

/// The kernel's numbers of the library's threads; none on other systems than Linux.
pub fn library_threads() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .flatten()
        .filter(|task| {
            std::fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|name| name.starts_with("quiescent"))
        })
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

/// The library's threads have been started and sleep. (Other systems than Linux do not say.)
pub fn library_sleeps() -> bool {
    let threads = library_threads();
    let all = threads.len() as u64 == statistics().helper_threads;
    (all || !cfg!(target_os = "linux")) && threads.into_iter().all(sleeps)
}

/// How often the library's threads have gone to sleep: one more than they were woken.
pub fn library_switches() -> u64 {
    let switches = |thread: u32| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status"));
        let status = status.expect("the library's threads stay");
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count
            .and_then(|count| count.trim().parse::<u64>().ok())
            .expect("the kernel counts")
    };
    library_threads().into_iter().map(switches).sum()
}

/// Waits until the library has nothing to do any more: nothing queued, no timer, all threads asleep.
pub fn until_at_rest() {
    let start = Instant::now();
    loop {
        let (now, threads) = (statistics(), library_threads());
        let awake: Vec<u32> = threads.iter().copied().filter(|it| !sleeps(*it)).collect();
        let done = now.queued == 0 && !now.timer_armed && !now.busy;
        let all = threads.len() as u64 == now.helper_threads || !cfg!(target_os = "linux");
        if done && all && awake.is_empty() {
            return;
        }
        // Which of these it was is all there is to know about a failure that comes once in a hundred runs.
        assert!(
            start.elapsed() < PATIENCE,
            "the library does not come to rest: of its threads {threads:?} awake are {awake:?}, {now:#?}"
        );
        super::pause(start);
    }
}
