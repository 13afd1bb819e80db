//! Fences, futex, clock and numbered thread-local cells.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::AtomicU32;
use super::choice::Policy;
use super::exec::{Op, State};
use super::runtime::{Plan, blocking, visible, with, yield_now};
use crate::{CELLS, TICK_NS};

/// The length of a moment of a timed execution.
const DOZE_NS: u64 = 1_000;
/// Longer time-outs count as none in a timed execution: the library has some only as a precaution.
const LONG_NS: u64 = 1_000_000_000;
/// Longer time-outs count as none: a year.
const NEVER_NS: u64 = 365 * 86_400 * 1_000_000_000;

thread_local! {
    /// The cells of OS threads that do not explore.
    static OUTSIDE: [Cell<usize>; CELLS] = const { [const { Cell::new(0) }; CELLS] };
}

/// A fence: `SeqCst` drains the thread's stores; `Release` keeps later stores behind earlier ones; `Acquire`
/// does nothing, since loads are executed in order.
///
/// # Panics
/// If `order` is `Relaxed`.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no relaxed fence");
    let drains = order == Ordering::SeqCst;
    let fenced = visible(
        |e| match e.threads[e.current].buffer.is_empty() {
            false if drains => Plan::Visit(Op::Fence),
            _ => Plan::Done(()),
        },
        |e| {
            e.note(|| "fence".into());
            e.drain(e.current);
        },
    );
    if fenced.is_none() {
        std::sync::atomic::fence(order);
    } else if !drains && order != Ordering::Acquire {
        let _ = with(|e| {
            let seq = e.next_seq();
            e.threads[e.current].fence_seq = seq;
        });
    }
}

/// A fence for the compiler only: it has no effect here.
pub fn light_fence() {}

/// Models `membarrier(2)`: the caller's stores, then those of every other thread, have reached memory when it
/// returns; each thread drains at a moment of its own within the call.
///
/// # Errors
/// Never.
#[track_caller]
pub fn heavy_fence() -> Result<(), i32> {
    let started = visible(
        |_| Plan::Visit(Op::Other),
        |e| {
            e.note(|| "heavy fence begins".into());
            e.drain(e.current);
            e.threads.len()
        },
    );
    for thread in 0..started.unwrap_or(0) {
        let _ = visible(
            |e| match e.threads[thread].buffer.is_empty() {
                // There is nothing to drain, but the fence does not reach a store made from here on.
                true => {
                    e.drain_other(thread);
                    Plan::Done(())
                }
                false => Plan::Visit(Op::Other),
            },
            |e| {
                e.note(|| format!("heavy fence drains T{thread}"));
                e.drain_other(thread);
            },
        );
    }
    Ok(())
}

/// Registering is not modelled.
///
/// # Errors
/// Never.
pub fn register_heavy_fence() -> Result<(), i32> {
    Ok(())
}

/// Sleeps while `word` holds `expected`, until [`futex_wake`]. Time-outs fire only in a
/// [`long`](super::long) execution, and where the scenario called [`allow_timeouts`] and nothing else can
/// run. Returns at once outside an exploration.
#[track_caller]
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let address = std::ptr::from_ref(word).addr();
    let timeout_ns = timeout.and_then(|time| u64::try_from(time.as_nanos()).ok());
    let timeout_ns = timeout_ns.filter(|&ns| ns < NEVER_NS);
    let mut slept = false;
    let _ = blocking(Op::Other, |e| {
        if slept {
            return Ok(());
        }
        slept = true;
        let timed = timeout_ns.filter(|&ns| e.timed && ns < LONG_NS);
        let loc = word.locate(e);
        e.drain(e.current);
        let value = e.load(loc);
        let sleeps = value == u64::from(expected);
        e.note(|| {
            format!(
                "futex wait #{loc} = {value:#x}, {}",
                if sleeps { "sleeps" } else { "no" }
            )
        });
        match timed {
            _ if !sleeps => Ok(()),
            Some(ns) => Err(State::Timed {
                address: Some(address),
                until: e.clock + ns,
            }),
            None => Err(State::Futex {
                address,
                timeout_ns,
            }),
        }
    });
}

/// Wakes one sleeper on this address, which is only compared.
#[track_caller]
pub fn futex_wake(word: *const AtomicU32) {
    let key = word.addr();
    let _ = visible(
        |_| Plan::Visit(Op::Other),
        |e| {
            e.drain(e.current);
            let sleeps = |state| match state {
                State::Futex { address, .. } => address == key,
                State::Timed { address, .. } => address == Some(key),
                _ => false,
            };
            let sleeper = e.threads.iter().position(|t| sleeps(t.state));
            e.note(|| {
                sleeper.map_or("futex wake: no sleeper".into(), |t| {
                    format!("futex wake: T{t}")
                })
            });
            if let Some(sleeper) = sleeper {
                e.threads[sleeper].state = State::Runnable;
                e.progress += 1;
            }
        },
    );
}

/// From now on in this execution, time-outs of less than a year fire when nothing else can run, and the clock
/// advances to them.
pub fn allow_timeouts() {
    let _ = with(|e| e.timeouts = true);
}

/// Without branching, threads run until they block and stores arrive in order, without choices: for the part
/// of a scenario that only sets up. Every execution begins with branching.
pub fn branching(on: bool) {
    let _ = with(|e| e.held = !on);
}

/// Sleeps until this time of a [`long`](super::long) execution. With `u64::MAX`: until no other thread can
/// ever run; sleepers with a time come first.
#[track_caller]
pub fn nap(until: u64) {
    let mut slept = false;
    let _ = blocking(Op::Other, |e| {
        if std::mem::replace(&mut slept, true) || until <= e.clock {
            return Ok(());
        }
        e.drain(e.current);
        Err(State::Timed {
            address: None,
            until,
        })
    });
}

/// The time, without the cost of a reading: for code outside the model.
pub fn clock() -> u64 {
    with(|e| e.clock).unwrap_or(0)
}

/// A random number of a random execution, the same when its seed is run again; 0 in another one.
pub fn random() -> u64 {
    let drawn = with(|e| match &mut e.choices.policy {
        Policy::Random(random) => random.draw(),
        _ => 0,
    });
    drawn.unwrap_or(0)
}

/// Lets other threads run first; in a [`long`](super::long) execution, for a moment.
#[track_caller]
pub fn doze() {
    match with(|e| e.timed.then_some(e.clock)).flatten() {
        Some(clock) => nap(clock + DOZE_NS),
        None => yield_now(),
    }
}

/// A clock that advances a little at each reading.
pub fn now_ns() -> u64 {
    with(|e| {
        e.pass(e.clock + TICK_NS);
        e.clock
    })
    .unwrap_or(0)
}

/// Reads a numbered cell of this model thread.
///
/// # Panics
/// If there is no such cell.
pub fn tls_get(index: usize) -> usize {
    with(|e| e.threads[e.current].cells[index])
        .unwrap_or_else(|| OUTSIDE.with(|cells| cells[index].get()))
}

/// Writes a numbered cell of this model thread.
///
/// # Panics
/// If there is no such cell.
pub fn tls_set(index: usize, value: usize) {
    if with(|e| e.threads[e.current].cells[index] = value).is_none() {
        OUTSIDE.with(|cells| cells[index].set(value));
    }
}
