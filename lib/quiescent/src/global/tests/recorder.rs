//! The recording of a run, in tests: the list of calls, and copies of all state at both ends.
//!
//! There is one global domain in a process, so there is one list. Other tests run in the same process at the
//! same time; their calls are recorded as well.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quiescent_engine::Cpu;
use quiescent_engine::barrier::Barrier;
use quiescent_harness::replay::{Entry, World};

use quiescent_core::prim::part::recording;

use crate::global::home;

/// One test records at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A recording under way.
pub struct Recorder {
    before: World,
    _turn: Turn,
}

/// The right to record; recording ends with it, also in a test that fails half-way.
pub struct Turn(#[allow(dead_code, reason = "held, not used")] MutexGuard<'static, ()>);

/// A finished one.
pub struct Run {
    pub before: World,
    pub entries: Vec<Entry>,
    pub after: World,
}

impl Recorder {
    pub fn start() -> Recorder {
        let turn = Turn(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        Recorder {
            before: at_rest(recording::start).0,
            _turn: turn,
        }
    }

    pub fn stop(self) -> Run {
        let (after, entries) = at_rest(recording::stop);
        Run {
            before: self.before,
            entries,
            after,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = recording::stop();
    }
}

/// A copy of all of the engine's state, and `what` at the same time: all locks are held.
fn at_rest<T>(what: impl FnOnce() -> T) -> (World, T) {
    let domain = home();
    loop {
        let held: Vec<_> = domain.queues().map(|queue| queue.lock()).collect();
        let core = domain.lock();
        // The first call for a new queue takes the domain's lock: one that is not there now has had
        // none. Queues do not go away.
        if domain.queues().count() > held.len() {
            continue;
        }
        let cpus = held
            .iter()
            .map(|queue| (queue.cpu.id(), Cpu::clone(&queue.cpu)));
        let world = World {
            global: core.engine.clone(),
            cpus: cpus.collect(),
            barrier: Barrier::clone(&core.barrier),
            groups: Default::default(),
        };
        return (world, what());
    }
}
