//! quiescent itself: `read_lock()`, `RcuCell::load`, `Guard::repin`, `synchronize()`; `Retired::from_raw`,
//! `RcuCell::store` and `Retired::retire`, `defer`, `barrier()`.
//!
//! [`VERBS`] is where `bench trickle`, `bench flood` and `bench stall` find its verbs; a new one is a
//! `Defer` and a line.

use super::Peers;
use crate::deferral::loops::{Block, Defer, Owning, all_in, deferring};
use crate::deferral::noted::{self, Noted};
use crate::deferral::swap::{LONG, Library, Swap, Swaps, Text, Value, shared};
use crate::deferral::{BLOCK, Deferring, RETIRE, Verb};
use crate::subjects::Counters;
use crate::subjects::loops::{self, Peer, Word};
use quiescent::{Guard, RcuCell, Retired, defer, defer_hurry, read_lock, statistics};
use quiescent_report::OURS;
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Duration;

/// With a function that frees the box, in place of its type.
struct ByFunction;

impl<T: Value> Defer<T> for ByFunction {
    fn new() -> Self {
        ByFunction
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        /// # Safety
        /// From a box, retired once.
        unsafe fn free<T>(object: *mut T) {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(object) });
        }
        // SAFETY: the caller's promise. The compiler does not know the function.
        unsafe { quiescent::retire(object, black_box(free::<T> as unsafe fn(*mut T))) };
    }
}

/// For `ci/instructions`.
pub(crate) fn by_function() -> Deferring {
    deferring::<ByFunction, Block>(OURS)
}

/// A cell at hand, which weighs values that own much.
struct Cell<T: Value>(&'static RcuCell<T>);

impl<T: Value> Peer for Cell<T> {
    type Held = Guard;

    fn new() -> Self {
        Cell(shared(|| {
            let cell = RcuCell::new(T::new(0));
            match T::WEIGHT {
                Some(weight) => cell.with_weight(weight),
                None => cell,
            }
        }))
    }

    #[inline(always)]
    fn enter(&self) -> Guard {
        read_lock()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        self.0.load(held).read()
    }

    #[inline(always)]
    fn repin(&self, mut held: Guard) -> Guard {
        held.repin();
        held
    }
}

impl<T: Value> Swap for Cell<T> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        self.0.store(value).retire();
    }
}

impl Library for Quiescent {
    type Cell<T: Value> = Cell<T>;
}

/// A way of handing over: [`Retired::retire`].
const RETIRED: u8 = 0;
/// [`Retired::on_worker`]: queues, and does nothing else.
const ON_WORKER: u8 = 1;
/// [`Retired::try_retire`]: gives the object back where there is no room.
const TRIED: u8 = 2;
/// [`Retired::retire_wait`]: waits where there is no room, for a second at most.
const WAITED: u8 = 3;

/// Hands values over in that way: plain blocks, given back to the allocator without running any code; or long
/// `String`s, whose weight is declared.
struct Way<const WAY: u8>;

type Quiescent = Way<RETIRED>;

impl<T: Value, const WAY: u8> Defer<T> for Way<WAY> {
    fn new() -> Self {
        Way
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        // SAFETY: the caller's promise; a box is not null.
        let mut retired = unsafe { Retired::from_raw(NonNull::new_unchecked(object)) };
        if T::WEIGHT.is_some() {
            retired = retired.with_owned_bytes(LONG); // of what is retired so, only long texts own much
        }
        let handed_over = match WAY {
            RETIRED => return retired.retire(),
            ON_WORKER => return retired.on_worker().retire(),
            TRIED => retired.try_retire(),
            _ => retired.retire_wait(Duration::from_secs(1)),
        };
        if let Err(full) = handed_over {
            full.object.leak();
            // SAFETY: from a box, and refused: the caller's again. No reader has seen it here.
            drop(unsafe { Box::from_raw(object) });
        }
    }
}

/// What is held, by the library's own counters, of objects that do not tell.
fn held() -> (u64, u64) {
    let now = statistics();
    (now.queued, now.queued_bytes)
}

/// Whether this thread is among those that the grace period waits for, and known by name.
fn names(thread: u32) -> bool {
    let mut holdouts = quiescent::stats::holdouts().into_iter();
    holdouts.any(|holdout| holdout.thread_id == thread && holdout.name.is_some())
}

/// [`defer`], prompt; or [`defer_hurry`]: the worker is woken at once.
struct Call<const HURRY: bool>;

impl<const HURRY: bool> Defer<Noted> for Call<HURRY> {
    fn new() -> Self {
        Call
    }

    #[inline(always)]
    unsafe fn retire(&self, noted: *mut Noted) {
        // SAFETY: the caller's promise: from a box.
        let noted = unsafe { Box::from_raw(noted) };
        match HURRY {
            true => defer_hurry(move || drop(noted)),
            false => defer(move || drop(noted)),
        }
    }
}

/// A verb whose objects do not report their end.
const fn silent<P: Defer<T>, T: Value>(name: &'static str) -> Verb {
    Verb {
        silent: Some(held),
        ..noted::verb::<P, T>(name)
    }
}

/// One that only differs at a limit.
const fn limited<P: Defer<T>, T: Value>(name: &'static str, bytes: u64) -> Verb {
    Verb {
        bytes,
        trickled: false,
        ..silent::<P, T>(name)
    }
}

const VERBS: &[Verb] = &[
    silent::<Way<RETIRED>, Block>(RETIRE),
    silent::<Way<ON_WORKER>, Block>("retire_on_worker"),
    limited::<Way<TRIED>, Block>("try_retire", BLOCK),
    limited::<Way<WAITED>, Block>("retire_wait", BLOCK),
    limited::<Way<RETIRED>, Text<LONG>>("retire 64 kib", LONG as u64),
    limited::<Way<TRIED>, Text<LONG>>("try_retire 64 kib", LONG as u64),
    noted::verb::<Call<false>, Noted>("defer"),
    Verb {
        massed: false, // a wake-up each
        ..noted::verb::<Call<true>, Noted>("defer_hurry")
    },
];

/// Retires blocks with a destructor; only `bench flood` asks for it.
pub(crate) fn dropped() -> Verb {
    noted::verb::<Quiescent, Noted>("drop")
}

/// A thread registers at its first section, and gives its slot back when it ends.
fn attach() {
    drop(read_lock());
}

fn counters() -> Counters {
    let now = quiescent::statistics();
    Counters {
        grace_periods: now.grace_periods,
        scans: now.scans,
        leaves: now.leaves_scanned,
        steps: now.steps,
        fences: now.fences_gp + now.fences_flag + now.fences_take,
        fences_issued: now.fences_issued,
    }
}

pub(super) fn peers() -> Peers {
    type Read = Cell<Word>;
    let subject = loops::subject::<Read>(OURS).attached(attach);
    Peers {
        reading: vec![
            subject
                .waiting::<Read>(quiescent::synchronize, Some(counters))
                .awaited::<Read>(),
        ],
        deferring: vec![Deferring {
            attach,
            settle: quiescent::barrier,
            owning: Some(all_in::<Quiescent, Owning>),
            swaps: Swaps::of::<Quiescent>(),
            call: Some(all_in::<Call<false>, Noted>),
            verbs: VERBS,
            hold: Some(noted::hold::<Cell<Block>>),
            names: Some(names),
            barrier: Some(quiescent::barrier),
            ..deferring::<Quiescent, Block>(OURS)
        }],
    }
}
