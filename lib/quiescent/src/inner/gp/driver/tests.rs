//! The driver's loop, with a double of those who are driven: its fence may be refused, and it keeps count of what it is asked.
//! Its readers are two counts, as those of an `Srcu`; the tests are the readers.

mod alone;
mod role;

use std::sync::PoisonError;

use quiescent_engine::barrier::Barrier;

use super::*;
use crate::inner::domain::counters::Counters;
use crate::inner::gp::calls::{Part, recording};
use crate::inner::gp::waiters::{DONE, WAITING, WaitList, Waiter};
use crate::inner::prim::{AtomicU32, AtomicU64, Counter, Mutex};
use crate::inner::reader::counted::Counted;
use crate::statistics::Holdout;
use crate::watch::stall::StallReport;

struct Double {
    core: Mutex<Core>,
    readers: Counted,
    sleeper: AtomicU32,
    root_seq: AtomicU64,
    counters: Counters,
    /// What the fence is refused with, if it is.
    errno: AtomicU32,
    /// How often the lock was taken.
    locks: Counter,
    /// How often a grace period was said to have ended, when it had.
    ended: Counter,
    told: Counter,
}

fn get(counter: &Counter) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// One, and the right to use it: it goes through what other tests record.
fn double() -> (&'static Double, recording::Turn) {
    let double = Double {
        core: Mutex::new(Core {
            engine: Part::new(Global::new(crate::inner::domain::yard::Yard::config())),
            waiters: WaitList::new(),
            barrier: Part::new(Barrier::new()),
            gate: crate::inner::defer::barrier::Gate::new(),
        }),
        readers: Counted::new(),
        sleeper: AtomicU32::new(SLEEPER_NOBODY),
        root_seq: AtomicU64::new(Seq::INITIAL.to_bits()),
        counters: Counters::new(),
        errno: AtomicU32::new(0),
        locks: Counter::new(0),
        ended: Counter::new(0),
        told: Counter::new(0),
    };
    let double: &'static Double = Box::leak(Box::new(double));
    // Where nobody else has ever read there is nothing to wait for, nor to fence.
    let other = std::thread::spawn(|| double.readers.leave(double.readers.enter()));
    assert_eq!(other.join().ok(), Some(false));
    (double, recording::nobody_records())
}

/// The fence of a driver that issues its own.
fn fence_here(turn: &mut Turn<'static, Double>) -> Result<Next, SyncError> {
    let fenced = turn.fence(FenceCause::GpStart).expect("not shared");
    turn.fenced(fenced)
}

impl Driven for Double {
    type Readers = Counted;

    fn readers(&self) -> &Counted {
        &self.readers
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        count(&self.locks);
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        self.core.try_lock().ok()
    }

    fn sleeper(&self) -> &AtomicU32 {
        &self.sleeper
    }

    fn root_seq(&self) -> &AtomicU64 {
        &self.root_seq
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn heavy_fence(&self) -> Result<(), i32> {
        assert!(self.try_lock().is_some(), "no lock is held");
        match self.errno.load(Ordering::Relaxed) {
            0 => Ok(()),
            errno => Err(errno as i32),
        }
    }

    fn own_cpu(&self) -> Option<CpuId> {
        None
    }

    fn gp_ended(&self) {
        let root = Seq::from_bits(self.root_seq.load(Ordering::Relaxed));
        assert_eq!(root.state(), 0, "it has ended");
        count(&self.ended);
    }

    fn stall_report(&'static self, _: Stalled) -> Option<StallReport> {
        None
    }

    fn tell_stall(&'static self, _: Option<StallReport>) {
        assert!(!self.lock().engine.is_driven(), "others may drive");
        count(&self.told);
    }

    fn holdouts(&self) -> Vec<Holdout> {
        Vec::new()
    }
}

impl Double {
    fn is_driven(&self) -> bool {
        self.lock().engine.is_driven()
    }

    fn flags(&self) -> [u32; 2] {
        [0, 1].map(|cpu| {
            let flag =
                crate::inner::gp::driven::Readers::flag(&self.readers, cpu).expect("two counts");
            flag.load(Ordering::Relaxed)
        })
    }

    /// The calling thread has the role.
    fn turn(&'static self, interest: Interest) -> Turn<'static, Double> {
        let mut core = self.lock();
        assert!(core.try_drive(None, interest));
        Turn::begin(self, core, Look::Yours)
    }

    /// So many waiters, all of them in the list.
    #[expect(clippy::vec_box, reason = "the list has their addresses")]
    fn waiting(&'static self, core: &mut Core, count: usize) -> Vec<Box<Waiter>> {
        let one = |_| {
            let ticket = core.wait_for_gp(&self.readers, 0, false);
            let waiter = Box::new(Waiter::new(ticket));
            // SAFETY: it stays in its box; tests leave it there until it is out of the list, or nobody looks at that any more.
            unsafe { core.waiters.link(&waiter) };
            waiter
        };
        (0..count).map(one).collect()
    }
}

/// What a waiter was told, without waiting.
fn state(waiter: &Waiter) -> u32 {
    waiter.sleep(Some(Duration::ZERO))
}
