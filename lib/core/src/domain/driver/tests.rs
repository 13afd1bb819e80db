//! The driver's loop, on a state whose fence may be refused, and which counts calls. Its readers are two
//! counts, as those of an `Srcu`; the tests are the readers.

mod alone;
mod foreign;
mod role;

use super::*;
use crate::domain::waiters::{DONE, WAITING, Waiter};
use crate::prim::Counter;
use crate::reader::counted::Counted;
use crate::reader::set::DomainReaders;
use crate::testing::{Program, program};

/// A domain of its own.
#[derive(Clone, Copy)]
struct Fixture {
    state: &'static State,
    readers: &'static Counted,
    program: &'static Program,
}

impl std::ops::Deref for Fixture {
    type Target = &'static State;

    fn deref(&self) -> &&'static State {
        &self.state
    }
}

fn get(counter: &Counter) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// A domain in a program of its own, which another thread has used.
fn fixture() -> Fixture {
    let fixture = unused();
    // If no other thread has ever read, the grace period needs no fence and waits for no reader.
    let other = std::thread::spawn(move || fixture.leave(fixture.enter()));
    assert_eq!(other.join().ok(), Some(false));
    fixture
}

/// One that no thread has used.
fn unused() -> Fixture {
    let program = program();
    let domain = program.domain();
    let DomainReaders::Counted(readers) = &domain.readers else {
        unreachable!("made above")
    };
    Fixture {
        state: domain.state(),
        readers,
        program,
    }
}

/// The fence of a driver that issues its own.
fn fence_here(turn: &mut Turn<'static>) -> Result<Next, SyncError> {
    let fenced = turn
        .fence(FenceCause::GpStart, Interest::Poller)
        .expect("not shared");
    turn.fenced(fenced)
}

impl Fixture {
    fn enter(&self) -> usize {
        self.program.enter(self.readers)
    }

    fn leave(&self, count: usize) -> bool {
        self.program.leave(self.readers, count)
    }

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

    /// Gives the role to the calling thread.
    fn turn(&self, interest: Interest) -> Turn<'static> {
        let mut core = self.state.lock();
        assert!(core.engine.try_drive(None, interest));
        Turn::begin(self.state, core, Look::Yours)
    }

    /// `count` waiters, all of them in the list.
    #[expect(clippy::vec_box, reason = "the list has their addresses")]
    fn waiting(&self, core: &mut Core, count: usize) -> Vec<Box<Waiter>> {
        let one = |_| {
            let ticket = core.engine.wait_for_gp(false);
            let waiter = Box::new(Waiter::new(ticket));
            // SAFETY: the waiter stays in its box; tests keep it until it is out of the list, or until the
            // list is no longer read.
            unsafe { core.waiters.link(&waiter) };
            waiter
        };
        (0..count).map(one).collect()
    }
}

/// The waiter's state, without waiting.
fn state(waiter: &Waiter) -> u32 {
    waiter.sleep(Some(Duration::ZERO)).0
}
