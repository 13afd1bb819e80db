//! Lists that only grow, at their front, linked through their elements.
//!
//! An element is added once and lives forever, so a traversal never meets a gap: its link is set before it is
//! published (release of the front, acquire by the traversal).

use std::fmt;
use std::marker::PhantomData;

use crate::prim::{AtomicPtr, Ordering};

/// An element has the rest of the list behind it; `L` distinguishes the lists it is in.
pub trait Linked<L = ()>: Sized + 'static {
    fn rest(&self) -> &List<Self, L>;
}

/// Marks the lists of a slot.
#[derive(Debug)]
pub enum OfSlot {}

/// A list: the place of its first element.
pub struct List<T, L = ()>(AtomicPtr<T>, PhantomData<fn() -> L>);

impl<T, L> List<T, L> {
    const_new! {
        pub fn new() -> List<T, L> {
            List(AtomicPtr::new(std::ptr::null_mut()), PhantomData)
        }
    }
}

impl<T: Linked<L>, L> List<T, L> {
    /// Adds an element that is not published yet.
    pub fn add(&self, new: &'static T) {
        let place = std::ptr::from_ref(new).cast_mut();
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            new.rest().0.store(first, Ordering::Relaxed);
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self.0.compare_exchange(first, place, order.0, order.1) {
                Ok(_) => return,
                Err(newer) => first = newer,
            }
        }
    }

    /// All elements, the newest first.
    pub fn iter(&self) -> Iter<T, L> {
        // SAFETY: null, or an element; elements live forever.
        Iter(
            unsafe { self.0.load(Ordering::Acquire).as_ref() },
            PhantomData,
        )
    }

    /// In the child of a fork: forgets elements that `keep` rejects.
    pub fn retain(&self, keep: impl Fn(&T) -> bool) {
        let mut place = &self.0;
        for element in self.iter().filter(|element| keep(element)) {
            place.store(std::ptr::from_ref(element).cast_mut(), Ordering::Relaxed);
            place = &element.rest().0;
        }
        place.store(std::ptr::null_mut(), Ordering::Release);
    }
}

impl<T, L> fmt::Debug for List<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("List")
    }
}

/// Elements, from one on to the oldest.
#[derive(Debug)]
pub struct Iter<T: 'static, L = ()>(Option<&'static T>, PhantomData<fn() -> L>);

impl<T: Linked<L>, L> Iter<T, L> {
    /// An element that need not be in the list, and the list behind it.
    pub fn from(first: &'static T) -> Iter<T, L> {
        Iter(Some(first), PhantomData)
    }
}

// One function for all loops over a list: none is on a hot path.
impl<T: Linked<L>, L> Iterator for Iter<T, L> {
    type Item = &'static T;

    #[inline(never)]
    fn next(&mut self) -> Option<&'static T> {
        let element = self.0?;
        self.0 = element.rest().iter().0;
        Some(element)
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::testing::queue;

    #[test]
    fn elements_are_listed_newest_first_and_retained() {
        let queues: List<_> = List::new();
        let some = |cpu| queues.add(queue(cpu));
        let cpus = || -> Vec<u32> { queues.iter().map(|queue| queue.lock().cpu.id()).collect() };
        assert!(cpus().is_empty());
        (1..=5).for_each(some);
        assert_eq!(cpus(), [5, 4, 3, 2, 1]);
        queues.retain(|queue| !matches!(queue.lock().cpu.id(), 5 | 2));
        assert_eq!(cpus(), [4, 3, 1]);
        queues.retain(|_| false);
        assert!(cpus().is_empty());
        some(7);
        assert_eq!(cpus(), [7]);
    }
}
