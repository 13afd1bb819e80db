//! quiescent itself: `Retired::from_raw`, `RcuCell::store` and `Retired::retire`, `defer`, `barrier()`.
//!
//! [`VERBS`] is where `bench trickle`, `bench flood` and `bench stall` find its verbs; a new one is a
//! `HandOver` and a line.

use super::loops::{Block, Defer, DeferBeside, DeferOwning, Owning, beside, deferring, owning};
use super::noted::{self, HandOver, Noted, RetireNoted};
use super::{Deferring, RETIRE, Verb};
use quiescent::{Guard, RcuCell, Retired, defer, defer_hurry, read_lock, statistics};
use quiescent_report::OURS;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::LazyLock;
use std::time::Duration;

static CELL: LazyLock<RcuCell<Block>> = LazyLock::new(|| RcuCell::new(Block::new(0)));

struct Quiescent;

impl Defer for Quiescent {
    fn new() -> Self {
        Quiescent
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        Box::into_raw(Box::new(Block::new(value))).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise; a box of `make` is not null.
        unsafe { Retired::from_raw(NonNull::new_unchecked(block.cast::<Block>())).retire() };
    }
}

impl DeferOwning for Quiescent {
    #[inline(always)]
    fn retire_owning(&self) {
        let object = NonNull::from(Box::leak(Box::new(Owning::new())));
        // SAFETY: from a box, not shared yet.
        unsafe { Retired::from_raw(object).retire() };
    }
}

/// As [`Quiescent`], with the cell at hand.
struct Cell(&'static RcuCell<Block>);

impl Defer for Cell {
    fn new() -> Self {
        Cell(&CELL)
    }

    fn make(value: u64) -> *mut () {
        <Quiescent as Defer>::make(value)
    }

    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { Quiescent.retire(block) };
    }
}

impl DeferBeside for Cell {
    type Held = Guard;

    #[inline(always)]
    fn enter(&self) -> Guard {
        read_lock()
    }

    #[inline(always)]
    fn read(&self, held: &mut Guard) -> u64 {
        self.0.load(held).value
    }

    #[inline(always)]
    fn replace(&self, value: u64) {
        self.0.store(Block::new(value)).retire();
    }
}

/// A plain block: given back to the allocator without running any code.
fn made(handed_over: u64) -> NonNull<Block> {
    NonNull::from(Box::leak(Box::new(Block::new(handed_over))))
}

/// What was refused is the caller's again: nobody has seen it here, so it goes at once.
fn refused(block: Retired<Block>) {
    let block = std::ptr::from_ref(block.leak()).cast_mut();
    // SAFETY: from `made`, not shared yet, and not handed over.
    drop(unsafe { Box::from_raw(block) });
}

/// A way of handing over plain blocks.
trait Way {
    /// # Safety
    /// From [`made`], not shared yet, handed over once.
    unsafe fn hand_over(block: NonNull<Block>);
}

/// Blocks handed over in that way.
struct Plain<W>(PhantomData<W>);

impl<W: Way> HandOver for Plain<W> {
    type Object = NonNull<Block>;

    #[inline(always)]
    fn make(handed_over: u64) -> NonNull<Block> {
        made(handed_over)
    }

    #[inline(always)]
    fn hand_over(block: NonNull<Block>) {
        // SAFETY: a box of `made`, not shared yet, handed over once.
        unsafe { W::hand_over(block) };
    }
}

/// [`Retired::retire`].
struct Retire;

impl Way for Retire {
    #[inline(always)]
    unsafe fn hand_over(block: NonNull<Block>) {
        // SAFETY: the caller's promise.
        unsafe { Retired::from_raw(block).retire() };
    }
}

/// [`Retired::try_retire`]: gives the block back where there is no room.
struct TryRetire;

impl Way for TryRetire {
    #[inline(always)]
    unsafe fn hand_over(block: NonNull<Block>) {
        // SAFETY: the caller's promise.
        if let Err(full) = unsafe { Retired::from_raw(block).try_retire() } {
            refused(full.object);
        }
    }
}

/// [`Retired::retire_wait`]: waits where there is no room, for a second at most.
struct RetireWait;

impl Way for RetireWait {
    #[inline(always)]
    unsafe fn hand_over(block: NonNull<Block>) {
        // SAFETY: the caller's promise.
        if let Err(full) = unsafe { Retired::from_raw(block).retire_wait(Duration::from_secs(1)) } {
            refused(full.object);
        }
    }
}

/// [`Retired::retire_no_reclaim`]: queues, and does nothing else.
struct NoReclaim;

impl Way for NoReclaim {
    #[inline(always)]
    unsafe fn hand_over(block: NonNull<Block>) {
        // SAFETY: the caller's promise.
        unsafe { Retired::from_raw(block).retire_no_reclaim() };
    }
}

/// What plain blocks leave behind, since they do not tell.
fn held() -> (u64, u64) {
    let now = statistics();
    (now.queued, now.queued_bytes)
}

/// Whether this thread is among those that the grace period waits for, and known by name.
fn names(thread: u32) -> bool {
    let mut holdouts = quiescent::stats::holdouts().into_iter();
    holdouts.any(|holdout| holdout.thread_id == thread && holdout.name.is_some())
}

/// [`defer`], prompt.
struct Call;

impl RetireNoted for Call {
    #[inline(always)]
    fn retire(noted: Box<Noted>) {
        defer(move || drop(noted));
    }
}

/// [`defer_hurry`]: the worker is woken at once.
struct CallHurry;

impl RetireNoted for CallHurry {
    #[inline(always)]
    fn retire(noted: Box<Noted>) {
        defer_hurry(move || drop(noted));
    }
}

const VERBS: &[Verb] = &[
    Verb {
        silent: Some(held),
        ..noted::verb::<Plain<Retire>>(RETIRE)
    },
    Verb {
        silent: Some(held),
        ..noted::verb::<Plain<NoReclaim>>("retire_no_reclaim")
    },
    Verb {
        silent: Some(held),
        trickled: false,
        ..noted::verb::<Plain<TryRetire>>("try_retire")
    },
    Verb {
        silent: Some(held),
        trickled: false,
        ..noted::verb::<Plain<RetireWait>>("retire_wait")
    },
    noted::verb::<Call>("call"),
    Verb {
        massed: false, // a wake-up each
        ..noted::verb::<CallHurry>("call_hurry")
    },
];

/// A thread registers at its first section.
fn attach() {
    drop(read_lock());
}

pub(super) fn subject() -> Deferring {
    Deferring {
        attach,
        settle: quiescent::barrier,
        owning: Some(owning::<Quiescent>),
        beside: beside::<Cell>(),
        verbs: VERBS,
        hold: Some(noted::hold::<Cell>),
        names: Some(names),
        barrier: Some(quiescent::barrier),
        ..deferring::<Quiescent>(OURS)
    }
}
