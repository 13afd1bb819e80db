//! Sleeping: the futex, the clock, and naps.
//!
//! Sleepers are in a list. A sleeper without a time-out is parked, so that shuttle detects a deadlock; a
//! sleeper with one counts as able to run for shuttle, and the scheduler (`run.rs`) passes it over until its
//! time-out.
//!
//! # Invariants
//! * Between the load of a futex's word and the entry in the list no other thread runs, as in the kernel.
//! * The thread that takes a sleeper off the list wakes it; no other thread does.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use shuttle::current::TaskId;
use shuttle::thread::Thread;

use crate::TICK_NS;

use super::{AtomicU32, Ordering, pass, yield_now};

/// The length of a moment.
const DOZE_NS: u64 = 1_000;
/// Longer time-outs never fire.
pub const NEVER: Duration = Duration::from_secs(1);

struct Sleeper {
    task: TaskId,
    /// The address that it sleeps on; none for a nap.
    address: Option<usize>,
    /// The time at which it wakes up by itself, if there is one.
    until: u64,
    /// The handle that wakes it, if it is parked.
    parked: Option<Thread>,
}

#[derive(Default)]
struct Sleep {
    clock: u64,
    sleepers: Vec<Sleeper>,
}

thread_local! {
    /// Does the scheduler pass over sleepers?
    static PASSED_OVER: Cell<bool> = const { Cell::new(false) };
    static SLEEP: RefCell<Sleep> = RefCell::new(Sleep::default());
}

/// Begins a new execution.
pub(crate) fn reset() {
    SLEEP.replace(Sleep::default());
}

pub(crate) fn passes_over_sleepers(passes: bool) {
    PASSED_OVER.set(passes);
}

pub(crate) fn are_passed_over() -> bool {
    PASSED_OVER.get()
}

/// Does this thread sleep, so that it has to be passed over?
pub(crate) fn sleeps(task: TaskId) -> bool {
    SLEEP.with_borrow(|sleep| {
        let waits = |sleeper: &Sleeper| sleeper.task == task && sleeper.until > sleep.clock;
        sleep.sleepers.iter().any(waits)
    })
}

/// The thread to wake next if none can run: the one with the earliest time.
pub(crate) fn next() -> Option<TaskId> {
    SLEEP.with_borrow(|sleep| {
        let timed = sleep.sleepers.iter().filter(|s| s.parked.is_none());
        timed.min_by_key(|s| s.until).map(|s| s.task)
    })
}

/// This thread runs. If it sleeps, the sleep ends; if no other thread could run, the clock advances to its
/// time.
pub(crate) fn goes_on(task: TaskId, idle: bool) {
    SLEEP.with_borrow_mut(|sleep| {
        if let Some(at) = sleep.sleepers.iter().position(|s| s.task == task) {
            let until = sleep.sleepers.remove(at).until;
            if idle && until > sleep.clock && until != u64::MAX {
                sleep.clock = until;
            }
        }
    });
}

/// Sleeps until it is no longer in the list.
fn sleep(address: Option<usize>, until: u64) {
    let me = shuttle::thread::current();
    let task = shuttle::current::me();
    let parks = address.is_some() && until == u64::MAX;
    SLEEP.with_borrow_mut(|sleep| {
        sleep.sleepers.push(Sleeper {
            task,
            address,
            until,
            parked: parks.then_some(me),
        });
    });
    while SLEEP.with_borrow(|sleep| sleep.sleepers.iter().any(|s| s.task == task)) {
        if parks {
            shuttle::thread::park();
        } else {
            yield_now();
            if !are_passed_over() && now_ns() >= until {
                goes_on(task, true);
            }
        }
    }
}

/// Sleeps while `word` holds `expected`, until [`futex_wake`], or until the time-out if that is less than
/// [`NEVER`].
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    if std::thread::panicking() || word.load(Ordering::SeqCst) != expected {
        return;
    }
    let timeout = timeout.filter(|&timeout| timeout < NEVER);
    let until = timeout.map_or(u64::MAX, |timeout| clock() + timeout.as_nanos() as u64);
    sleep(Some(std::ptr::from_ref(word).addr()), until);
}

/// Wakes one sleeper on this address, which is only compared: the one that has slept longest.
pub fn futex_wake(word: *const AtomicU32) {
    if std::thread::panicking() {
        return;
    }
    pass();
    let sleeper = SLEEP.with_borrow_mut(|sleep| {
        let here = |sleeper: &Sleeper| sleeper.address == Some(word.addr());
        let first = sleep.sleepers.iter().position(here);
        first.map(|first| sleep.sleepers.remove(first))
    });
    if let Some(thread) = sleeper.and_then(|sleeper| sleeper.parked) {
        thread.unpark();
    }
}

/// Sleeps until this time. With `u64::MAX`: until no other thread can ever run; sleepers with a time come
/// first.
pub fn nap(until: u64) {
    if until > clock() {
        sleep(None, until);
    }
}

/// Sleeps for a moment.
pub fn doze() {
    nap(clock() + DOZE_NS);
}

/// The time, without the cost of a reading: for code outside the model.
pub fn clock() -> u64 {
    SLEEP.with_borrow(|sleep| sleep.clock)
}

/// A clock that advances a little at each reading.
pub fn now_ns() -> u64 {
    SLEEP.with_borrow_mut(|sleep| {
        sleep.clock += TICK_NS;
        sleep.clock
    })
}
