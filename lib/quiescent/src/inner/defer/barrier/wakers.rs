//! Tasks that wait for a barrier: their wakers.
//!
//! A task that is polled again has one place, whatever its waker is by then, and one that is dropped has none. Places are numbers
//! that only grow, so the list is sorted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::task::Waker;

use crate::inner::defer::run;
use crate::inner::prim::{Mutex, MutexGuard, const_new};

/// The list. No memory is allocated or freed under the lock, and nothing of the program's is called: a fork takes it.
#[derive(Debug)]
pub(crate) struct Wakers {
    list: Mutex<List>,
    /// Its lock, while this process forks.
    #[cfg(not(quiescent_model))]
    pub(crate) parked: crate::global::fork::Parked<List>,
}

#[derive(Debug)]
pub(crate) struct List {
    /// The place given last.
    last: u64,
    waiting: Vec<(u64, Waker)>,
}

impl List {
    fn find(&self, place: u64) -> Option<usize> {
        let places = &self.waiting;
        places.binary_search_by_key(&place, |waits| waits.0).ok()
    }
}

impl Wakers {
    const_new! {
        pub(crate) fn new() -> Wakers {
            Wakers {
                list: Mutex::new(List { last: 0, waiting: Vec::new() }),
                #[cfg(not(quiescent_model))]
                parked: crate::global::fork::Parked::new(),
            }
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does nobody wait?
    #[cfg(not(quiescent_model))]
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// The task at `place` (one that has none gets one) is to be woken by this. False: there is no memory for it.
    pub(crate) fn put(&self, place: &mut u64, waker: &Waker) -> bool {
        let mut waker = waker.clone();
        let mut room: Vec<(u64, Waker)> = Vec::new();
        loop {
            let mut list = self.lock();
            if let Some(at) = list.find(*place) {
                std::mem::swap(&mut list.waiting[at].1, &mut waker);
                drop(list); // before the one that was there
                return true;
            }
            let count = list.waiting.len();
            if count < list.waiting.capacity() {
                list.last += 1;
                *place = list.last;
                list.waiting.push((*place, waker));
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

    /// Nobody is to be woken at this place any more.
    pub(crate) fn remove(&self, place: u64) {
        if place == 0 {
            return;
        }
        let mut list = self.lock();
        let removed = list.find(place).map(|at| list.waiting.remove(at));
        drop(list);
        drop(removed); // it is the program's
    }

    /// Wakes all of them: each looks for itself. A waker is the program's code: one that panics must not keep the others asleep.
    pub(crate) fn wake(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        for (_, waker) in waiting {
            // It may poll then and there: it must not wait for us.
            let woken = || run::marked(|| waker.wake());
            catch_unwind(AssertUnwindSafe(woken)).unwrap_or_else(run::discard);
        }
    }
}
