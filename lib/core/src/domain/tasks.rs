//! Waiting tasks: for a barrier, or for a grace period, of any domain.
//!
//! A list of wakers. Each task has a *place* in it: a number that is assigned once and never reused. A task
//! that is polled again keeps its place, with its newest waker; dropping a future removes its place and its
//! waker at once. Places ascend, so the list is sorted, and a lookup takes O(log n).
//!
//! # Invariants
//! * No memory is allocated or freed under the lock, and no code of the program is called or dropped: a fork
//!   takes the lock.
//! * A waker is code of the program. A waker that panics does not prevent the wake-up of other tasks.

use std::sync::PoisonError;
use std::task::Waker;

use quiescent_engine::Seq;

use crate::prim::{Mutex, MutexGuard};

/// What a task waits for: the end of the barrier in flight, or of the grace period of this cookie.
pub type Awaits = Option<Seq>;

/// The waiting tasks.
#[derive(Debug)]
pub struct Tasks {
    list: Mutex<List>,
    /// The guard of its lock while this process forks.
    pub parked: crate::prim::parked::Parked<List>,
}

/// The data that the lock protects.
#[derive(Debug)]
pub struct List {
    /// The place assigned last.
    last: u64,
    waiting: Vec<Task>,
}

/// A waiting task.
#[derive(Debug)]
struct Task {
    place: u64,
    awaits: Awaits,
    waker: Waker,
}

impl List {
    fn find(&self, place: u64) -> Option<usize> {
        let places = &self.waiting;
        places.binary_search_by_key(&place, |task| task.place).ok()
    }
}

impl Tasks {
    const_new! {
        pub fn new() -> Tasks {
            Tasks {
                list: Mutex::new(List { last: 0, waiting: Vec::new() }),
                parked: crate::prim::parked::Parked::new(),
            }
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the task at this place, and its waker.
    pub fn remove(&self, place: u64) {
        let mut list = self.lock();
        let removed = list.find(place).map(|at| list.waiting.remove(at));
        drop(list);
        drop(removed); // a waker is code of the program
    }

    /// Registers the waker of the task at `place`; a task without a place gets one. False: no memory for it.
    pub fn put(&self, place: &mut u64, awaits: Awaits, waker: &Waker) -> bool {
        let mut waker = waker.clone();
        let mut room: Vec<Task> = Vec::new();
        loop {
            let mut list = self.lock();
            if let Some(at) = list.find(*place) {
                std::mem::swap(&mut list.waiting[at].waker, &mut waker);
                drop(list); // before the waker that was there
                return true;
            }
            let count = list.waiting.len();
            if count < list.waiting.capacity() {
                list.last += 1;
                *place = list.last;
                list.waiting.push(Task {
                    place: *place,
                    awaits,
                    waker,
                });
                return true;
            }
            if room.capacity() > count {
                room.append(&mut list.waiting);
                std::mem::swap(&mut room, &mut list.waiting);
                continue;
            }
            drop(list);
            if room.try_reserve_exact(2 * count + 4).is_err() {
                return false;
            }
        }
    }

    /// True if no task waits; false if that is unknown because the lock is held. Waits for no lock.
    pub fn is_known_empty(&self) -> bool {
        self.list
            .try_lock()
            .is_ok_and(|list| list.waiting.is_empty())
    }

    /// True if a task waits for something that `which` accepts.
    #[cfg(not(quiescent_model))]
    pub fn any(&self, which: impl Fn(Awaits) -> bool) -> bool {
        self.lock().waiting.iter().any(|task| which(task.awaits))
    }

    /// Takes the tasks whose `awaits` is accepted by `which` out of the list; all tasks, if there is no
    /// memory for the selection.
    #[inline(never)]
    pub fn take(&self, which: &dyn Fn(Awaits) -> bool) -> impl Iterator<Item = Waker> {
        let mut chosen: Vec<Task> = Vec::new();
        let mut short = false;
        loop {
            let mut list = self.lock();
            let tasks = list.waiting.iter();
            let count = tasks.filter(|task| which(task.awaits)).count();
            if short || count == list.waiting.len() {
                chosen = std::mem::take(&mut list.waiting);
                break;
            }
            if count <= chosen.capacity() {
                let tasks = list.waiting.extract_if(.., |task| which(task.awaits));
                chosen.extend(tasks.take(count));
                break;
            }
            drop(list);
            short = chosen.try_reserve_exact(count).is_err();
        }
        chosen.into_iter().map(|task| task.waker)
    }
}
