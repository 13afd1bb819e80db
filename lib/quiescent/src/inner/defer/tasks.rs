//! Tasks that wait: for a barrier, or for a grace period, of any domain.
//!
//! A list of wakers. Each task has a *place* in it: a number that is given once and never again. A task that is polled again keeps its
//! place, whatever its waker is by then; a future that is dropped gives its place back, and its waker goes at once. Places ascend, so the
//! list is sorted, and a place is found in O(log n).
//!
//! # Invariants
//! * No memory is allocated or freed under the lock, and nothing of the program's is called or dropped: a fork takes the lock.
//! * A waker is the program's code. One that panics keeps no other task asleep.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::task::Waker;

use crate::inner::defer::run;
use crate::inner::prim::{Mutex, MutexGuard, const_new};

/// The tasks that wait, each for its own `W`.
#[derive(Debug)]
pub(crate) struct Tasks<W: 'static = ()> {
    list: Mutex<List<W>>,
    /// Its lock, while this process forks.
    #[cfg(not(quiescent_model))]
    pub(crate) parked: crate::global::fork::Parked<List<W>>,
}

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct List<W> {
    /// The place given last.
    last: u64,
    waiting: Vec<Task<W>>,
}

/// One that waits.
#[derive(Debug)]
struct Task<W> {
    place: u64,
    #[cfg_attr(
        quiescent_model,
        allow(dead_code, reason = "in a model tasks wait for barriers only")
    )]
    awaits: W,
    waker: Waker,
}

impl<W> List<W> {
    fn find(&self, place: u64) -> Option<usize> {
        let places = &self.waiting;
        places.binary_search_by_key(&place, |task| task.place).ok()
    }
}

impl<W> Tasks<W> {
    const_new! {
        pub(crate) fn new() -> Tasks<W> {
            Tasks {
                list: Mutex::new(List { last: 0, waiting: Vec::new() }),
                #[cfg(not(quiescent_model))]
                parked: crate::global::fork::Parked::new(),
            }
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, List<W>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is to be woken at this place any more.
    pub(crate) fn remove(&self, place: u64) {
        if place == 0 {
            return;
        }
        let mut list = self.lock();
        let removed = list.find(place).map(|at| list.waiting.remove(at));
        drop(list);
        drop(removed); // its waker is the program's
    }

    /// Wakes all of them: each looks for itself.
    pub(crate) fn wake(&self) {
        let all = Chosen(std::mem::take(&mut self.lock().waiting));
        all.wake(); // with the lock given back: they may poll
    }
}

impl<W: Copy> Tasks<W> {
    /// The task at `place` (one that has none gets one) is to be woken by this. False: there is no memory for it.
    pub(crate) fn put(&self, place: &mut u64, awaits: W, waker: &Waker) -> bool {
        let mut waker = waker.clone();
        let mut room: Vec<Task<W>> = Vec::new();
        loop {
            let mut list = self.lock();
            if let Some(at) = list.find(*place) {
                std::mem::swap(&mut list.waiting[at].waker, &mut waker);
                drop(list); // before the one that was there
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
}

impl<W> Tasks<W> {
    /// Is it known that no task waits? Waits for no lock.
    pub(crate) fn is_known_empty(&self) -> bool {
        self.list
            .try_lock()
            .is_ok_and(|list| list.waiting.is_empty())
    }
}

#[cfg(not(quiescent_model))]
impl<W: Copy> Tasks<W> {
    /// Does nobody wait?
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Is there one that waits for one of these?
    pub(crate) fn any(&self, which: impl Fn(W) -> bool) -> bool {
        self.lock().waiting.iter().any(|task| which(task.awaits))
    }

    /// Takes out those that wait for one of these; all, if there is no memory to tell them apart.
    pub(crate) fn choose(&self, which: impl Fn(W) -> bool) -> Chosen<W> {
        let mut chosen: Vec<Task<W>> = Vec::new();
        loop {
            let mut list = self.lock();
            let tasks = list.waiting.iter();
            let count = tasks.filter(|task| which(task.awaits)).count();
            if count <= chosen.capacity() {
                let tasks = list.waiting.extract_if(.., |task| which(task.awaits));
                chosen.extend(tasks.take(count));
                return Chosen(chosen);
            }
            drop(list);
            if chosen.try_reserve_exact(count).is_err() {
                return Chosen(std::mem::take(&mut self.lock().waiting));
            }
        }
    }
}

/// Tasks that were taken out of the list, to be woken.
#[must_use = "nobody else wakes them"]
pub(crate) struct Chosen<W>(Vec<Task<W>>);

impl<W> Chosen<W> {
    /// Wakes them. They may poll then and there, but must not wait for the calling thread, which has something to do.
    pub(crate) fn wake(self) {
        for Task { waker, .. } in self.0 {
            let woken = AssertUnwindSafe(|| run::marked(|| waker.wake()));
            catch_unwind(woken).unwrap_or_else(run::discard);
        }
    }
}
