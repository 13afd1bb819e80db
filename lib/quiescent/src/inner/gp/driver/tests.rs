//! The driver's loop, on a state whose fence may be refused, and which counts what it is asked.
//! Its readers are two counts, as those of an `Srcu`; the tests are the readers.

mod alone;
mod role;

use super::*;
use crate::inner::domain::{Domain, Readers};
use crate::inner::gp::calls::recording;
use crate::inner::gp::waiters::{DONE, WAITING, Waiter};
use crate::inner::prim::Counter;
use crate::inner::reader::counted::Counted;

/// A domain of its own.
#[derive(Clone, Copy)]
struct Double {
    state: &'static State,
    readers: &'static Counted,
}

impl std::ops::Deref for Double {
    type Target = &'static State;

    fn deref(&self) -> &&'static State {
        &self.state
    }
}

fn get(counter: &Counter) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// One, and the right to use it: it goes through what other tests record.
fn double() -> (Double, recording::Turn) {
    let alone = recording::nobody_records();
    let domain = Domain::new(0, Readers::Counted(Counted::new()), 0);
    let domain: &'static Domain = Box::leak(Box::new(domain));
    let Readers::Counted(readers) = &domain.readers else {
        unreachable!("made above")
    };
    let state = domain.state();
    // Where no other thread has ever read there is nothing to wait for, nor to fence.
    let other = std::thread::spawn(|| readers.leave(readers.enter()));
    assert_eq!(other.join().ok(), Some(false));
    (Double { state, readers }, alone)
}

/// The fence of a driver that issues its own.
fn fence_here(turn: &mut Turn<'static>) -> Result<Next, SyncError> {
    let fenced = turn.fence(FenceCause::GpStart).expect("not shared");
    turn.fenced(fenced)
}

impl Double {
    fn ended(&self) -> u64 {
        self.probe.ended.load(Ordering::Relaxed)
    }

    fn locks(&self) -> u64 {
        self.probe.locks.load(Ordering::Relaxed)
    }

    fn is_driven(&self) -> bool {
        self.lock().engine.is_driven()
    }

    fn flags(&self) -> [u32; 2] {
        [0, 1].map(|cpu| {
            let flag = self.readers.flag(cpu).expect("two counts");
            flag.load(Ordering::Relaxed)
        })
    }

    /// The calling thread has the role.
    fn turn(&self, interest: Interest) -> Turn<'static> {
        let mut core = self.state.lock();
        assert!(core.try_drive(None, interest));
        Turn::begin(self.state, core, Look::Yours)
    }

    /// So many waiters, all of them in the list.
    #[expect(clippy::vec_box, reason = "the list has their addresses")]
    fn waiting(&self, core: &mut Core, count: usize) -> Vec<Box<Waiter>> {
        let one = |_| {
            let ticket = core.wait_for_gp(self.state.readers(), 0, false);
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
