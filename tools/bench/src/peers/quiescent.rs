//! quiescent itself: `read_lock()`, `RcuCell::load`, `Guard::repin`, `synchronize()`; `Retired::from_raw`,
//! `RcuCell::store` and `Retired::retire`, `defer`, `barrier()`.
//!
//! [`VERBS`] is where `bench trickle`, `bench flood` and `bench stall` find its verbs; a new one is a
//! `HandOver` and a line.

use super::Peers;
use crate::deferral::loops::{Block, Boxed, deferring, owning};
use crate::deferral::noted::{self, HandOver, Noted};
use crate::deferral::swap::{LONG, Library, Swap, Swaps, Text, Value, shared};
use crate::deferral::{BLOCK, Deferring, RETIRE, Verb};
use crate::subjects::Counters;
use crate::subjects::loops::{self, Peer, Word};
use quiescent::{Guard, RcuCell, Retired, defer, defer_hurry, read_lock, statistics};
use quiescent_report::OURS;
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Duration;

struct Quiescent;

impl Boxed for Quiescent {
    fn new() -> Self {
        Quiescent
    }

    #[inline(always)]
    unsafe fn retire<T: Send + Sync + 'static>(&self, object: *mut T) {
        // SAFETY: the caller's promise; a box is not null.
        unsafe { Retired::from_raw(NonNull::new_unchecked(object)).retire() };
    }
}

/// With a function that frees the box, in place of its type.
struct ByFunction;

impl Boxed for ByFunction {
    fn new() -> Self {
        ByFunction
    }

    #[inline(always)]
    unsafe fn retire<T: Send + Sync + 'static>(&self, object: *mut T) {
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
    deferring::<ByFunction>(OURS)
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

/// A value from a box that nothing else uses, as one that was replaced.
fn made<T: Value>(handed_over: u64) -> Retired<T> {
    let object = NonNull::from(Box::leak(Box::new(T::new(handed_over))));
    // SAFETY: from a box, not shared yet.
    unsafe { Retired::from_raw(object) }
}

/// What was refused is the caller's again: no reader has seen it here, so it is dropped at once.
fn refused<T: Value>(object: Retired<T>) {
    let object = std::ptr::from_ref(object.leak()).cast_mut();
    // SAFETY: from `made`, not shared yet, and not handed over.
    drop(unsafe { Box::from_raw(object) });
}

/// A way of handing over: [`Retired::retire`].
const RETIRED: u8 = 0;
/// [`Retired::on_worker`]: queues, and does nothing else.
const ON_WORKER: u8 = 1;
/// [`Retired::try_retire`]: gives the object back where there is no room.
const TRIED: u8 = 2;
/// [`Retired::retire_wait`]: waits where there is no room, for a second at most.
const WAITED: u8 = 3;

/// Hands it over in that way.
#[inline(always)]
fn hand_over<T: Value, const WAY: u8>(object: Retired<T>) {
    let handed_over = match WAY {
        RETIRED => return object.retire(),
        ON_WORKER => return object.on_worker().retire(),
        TRIED => object.try_retire(),
        _ => object.retire_wait(Duration::from_secs(1)),
    };
    if let Err(full) = handed_over {
        refused(full.object);
    }
}

/// Plain blocks, given back to the allocator without running any code, in that way.
struct Plain<const WAY: u8>;

impl<const WAY: u8> HandOver for Plain<WAY> {
    type Object = Retired<Block>;

    #[inline(always)]
    fn make(handed_over: u64) -> Self::Object {
        made(handed_over)
    }

    #[inline(always)]
    fn hand_over(object: Self::Object) {
        hand_over::<_, WAY>(object);
    }
}

/// Long `String`s whose weight is declared, in that way.
struct Weighed<const WAY: u8>;

impl<const WAY: u8> HandOver for Weighed<WAY> {
    type Object = Retired<Text<LONG>>;

    fn make(handed_over: u64) -> Self::Object {
        made::<Text<LONG>>(handed_over).with_owned_bytes(LONG)
    }

    #[inline(always)]
    fn hand_over(object: Self::Object) {
        hand_over::<_, WAY>(object);
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

impl<const HURRY: bool> HandOver for Call<HURRY> {
    type Object = Box<Noted>;

    #[inline(always)]
    fn make(handed_over: u64) -> Box<Noted> {
        Noted::boxed(handed_over)
    }

    #[inline(always)]
    fn hand_over(noted: Box<Noted>) {
        match HURRY {
            true => defer_hurry(move || drop(noted)),
            false => defer(move || drop(noted)),
        }
    }
}

/// A verb whose objects do not report their end.
const fn silent<H: HandOver>(name: &'static str) -> Verb {
    Verb {
        silent: Some(held),
        ..noted::verb::<H>(name)
    }
}

/// One that only differs at a limit.
const fn limited<H: HandOver>(name: &'static str, bytes: u64) -> Verb {
    Verb {
        bytes,
        trickled: false,
        ..silent::<H>(name)
    }
}

const VERBS: &[Verb] = &[
    silent::<Plain<RETIRED>>(RETIRE),
    silent::<Plain<ON_WORKER>>("retire_on_worker"),
    limited::<Plain<TRIED>>("try_retire", BLOCK),
    limited::<Plain<WAITED>>("retire_wait", BLOCK),
    limited::<Weighed<RETIRED>>("retire 64 kib", LONG as u64),
    limited::<Weighed<TRIED>>("try_retire 64 kib", LONG as u64),
    noted::verb::<Call<false>>("call"),
    Verb {
        massed: false, // a wake-up each
        ..noted::verb::<Call<true>>("call_hurry")
    },
];

/// Retires blocks with a destructor; only `bench flood` asks for it.
pub(crate) fn dropped() -> Verb {
    noted::verb::<Quiescent>("drop")
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
            owning: Some(owning::<Quiescent>),
            swaps: Swaps::of::<Quiescent>(),
            call: Some(noted::many::<Call<false>>),
            verbs: VERBS,
            hold: Some(noted::hold::<Cell<Block>>),
            names: Some(names),
            barrier: Some(quiescent::barrier),
            ..deferring::<Quiescent>(OURS)
        }],
    }
}
