//! The recording of a run, in tests: the list of calls, and the copies of all state at both ends.
//!
//! There is one domain in a process, so there is one list. Other tests run in the same process at the
//! same time; their calls are recorded like any others.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quiescent_engine::Cpu;
use quiescent_engine::barrier::Barrier;
use quiescent_harness::replay::{Answer, Entry, Input, Output, World};

use crate::inner::prim;

/// The list, while somebody records. Taken last of all locks.
static LIST: Mutex<Option<Vec<Entry>>> = Mutex::new(None);

/// One test records at a time.
static TURN: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call has been made. The caller holds the locks of all state that it touched.
pub(crate) fn push(input: Input, answers: Vec<Answer>, output: Output) {
    if let Some(entries) = &mut *lock(&LIST) {
        entries.push(Entry {
            input,
            answers,
            output,
        });
    }
}

/// A recording under way.
pub(crate) struct Recorder {
    before: World,
    _turn: Turn,
}

/// The right to record; recording ends with it, also in a test that fails half-way.
pub(crate) struct Turn(#[allow(dead_code, reason = "held, not used")] MutexGuard<'static, ()>);

/// A finished one.
pub(crate) struct Run {
    pub(crate) before: World,
    pub(crate) entries: Vec<Entry>,
    pub(crate) after: World,
}

/// Nobody records while this is held: for tests with an engine of their own, whose calls would be found among the domain's.
pub(crate) fn nobody_records() -> Turn {
    Turn(lock(&TURN))
}

impl Recorder {
    pub(crate) fn start() -> Recorder {
        let turn = Turn(lock(&TURN));
        Recorder {
            before: at_rest(|| *lock(&LIST) = Some(Vec::new())).0,
            _turn: turn,
        }
    }

    pub(crate) fn stop(self) -> Run {
        let (after, entries) = at_rest(|| lock(&LIST).take());
        Run {
            before: self.before,
            entries: entries.expect("it was started"),
            after,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock(&LIST) = None;
    }
}

/// A copy of all of the engine's state, and `what` at the same time: all locks are held.
fn at_rest<T>(what: impl FnOnce() -> T) -> (World, T) {
    let domain = prim::domain();
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
