//! Tasks that wait for a grace period of a yard, as futures. The caretaker wakes them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::task::Waker;

use quiescent_engine::FullCookie;

use crate::inner::defer::run;
use crate::inner::prim::{Mutex, MutexGuard};

/// One that waits.
pub(crate) type Task = (FullCookie, Waker);

/// The list. No memory is allocated or freed under the lock, and nothing of the program's is called: a fork takes it.
#[derive(Debug)]
pub(crate) struct Tasks {
    list: Mutex<Vec<Task>>,
    /// Its lock, while this process forks.
    pub(crate) parked: crate::global::fork::Parked<Vec<Task>>,
}

impl Tasks {
    pub(crate) const fn new() -> Tasks {
        Tasks {
            list: Mutex::new(Vec::new()),
            parked: crate::global::fork::Parked::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Task>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Is there one of these?
    pub(crate) fn any(&self, which: impl Fn(FullCookie) -> bool) -> bool {
        self.lock().iter().any(|task| which(task.0))
    }

    /// Puts one into the list, once. False: there is no memory for it.
    pub(crate) fn add(&self, cookie: FullCookie, waker: &Waker) -> bool {
        let mut task = Some((cookie, waker.clone()));
        let mut room: Vec<Task> = Vec::new();
        loop {
            let mut list = self.lock();
            let known = |task: &Task| task.0 == cookie && task.1.will_wake(waker);
            if list.iter().any(known) {
                return true;
            }
            let count = list.len();
            if count < list.capacity() {
                list.extend(task.take());
                return true;
            }
            if room.capacity() > count {
                room.append(&mut list);
                std::mem::swap(&mut room, &mut list);
                continue;
            }
            drop(list);
            if room.try_reserve_exact(2 * count + 4).is_err() {
                return false;
            }
        }
    }

    /// Wakes those that are done. A waker is the program's code: one that panics must not keep the others asleep.
    pub(crate) fn wake(&self, is_done: impl Fn(FullCookie) -> bool) {
        loop {
            let mut list = self.lock();
            let done = list.iter().position(|task| is_done(task.0));
            let task = done.map(|at| list.swap_remove(at));
            drop(list);
            let Some((_, waker)) = task else { return };
            // It may poll then and there: it must not wait for us.
            let woken = || run::marked(|| waker.wake());
            catch_unwind(AssertUnwindSafe(woken)).unwrap_or_else(run::discard);
        }
    }
}
