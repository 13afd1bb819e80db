//! A backlog: callbacks that gather behind a worker that is busy.

use std::sync::atomic::{AtomicU64, Ordering};

use super::deferral::library_threads;
use super::{on_thread, until};
use quiescent::{defer, defer_hurry, synchronize};

/// So many gather behind a worker that is busy.
pub const MANY: u64 = 40_000;
const NAME: &str = "quiescent-3";

pub static ENTERED: AtomicU64 = AtomicU64::new(0);
pub static RAN: AtomicU64 = AtomicU64::new(0);
pub static OUT_OF_ORDER: AtomicU64 = AtomicU64::new(0);

/// The next callback of a producer runs: it must be this one.
pub fn run(index: u64) {
    let before = RAN.fetch_add(1, Ordering::SeqCst);
    OUT_OF_ORDER.fetch_add(u64::from(before != index), Ordering::SeqCst);
}

/// May there be two?
pub fn two_processors() -> bool {
    !quiescent_core::os::has_one_processor()
}

pub fn has_second() -> bool {
    let is_second = |task: &u32| {
        std::fs::read_to_string(format!("/proc/self/task/{task}/comm"))
            .is_ok_and(|name| name.trim_end() == NAME)
    };
    library_threads().iter().any(is_second)
}

/// The worker is in a callback until `over`; meanwhile another thread calls `first` and queues `MANY`.
pub fn pile_up(over: fn() -> bool, first: impl FnOnce() + Send + 'static) {
    on_thread("busy", move || {
        defer_hurry(move || {
            ENTERED.fetch_add(1, Ordering::SeqCst);
            until("others have run", over);
        });
        until("the worker is busy", || ENTERED.load(Ordering::SeqCst) == 1);
        // Inside: a later thread may get the same queue, which is in the worker's turn and so no backlog.
        on_thread("producer", move || {
            first();
            (0..MANY).for_each(|index| {
                if index % 4096 == 0 {
                    synchronize(); // only what is done is a backlog, and the worker is busy
                }
                defer(move || run(index));
            });
        });
    });
}
