//! A singly linked list that readers walk while it changes: [`RcuList`]. It is also the proof that
//! structures can be built on [`RcuPtr`].
//!
//! # How it works
//! Nodes are linked by `RcuPtr`s. Writers take a lock, so there is one at a time. An insertion links a
//! finished node with one store; a removal stores the successor into the link that led to the node, and
//! retires the node. Readers take no notice.
//!
//! # Invariants
//! 1. A link only ever points forward: to a node with a later place in the order of the list. Places are
//!    never exchanged; a replacement takes the place of what it replaces.
//! 2. While a node is in the list, its link points to the next node in the list.
//! 3. The link of a removed node is never changed again. It points to what came next at the removal.
//!
//! # Why an iteration is right
//! It goes from link to link, and whatever value of a link it reads (the latest or, since loads are not
//! instantaneous, one that the link had since the iteration began), it skips no node that is in the list
//! throughout: by (2), or by (3), since that node was behind the removed one already. It ends, and sees
//! nothing twice, by (1). It reaches removed nodes only from nodes that were removed since it began, so
//! none that was removed before: the start of the list does not lead there.
//!
//! # Why freeing is right
//! Let B be removed when its predecessor A has been removed before: A still points to B. A section that
//! goes from A to B found A, so it opened before A was removed or while it was being removed, which was
//! before B was retired; so the grace period of B waits for it, too. Sections that open later find
//! neither.
//!
//! # Edges
//! `[PTR-1]` of [`RcuPtr`], for each link. Writers among themselves are ordered by the lock.
//!
//! What must not compile, does not:
//!
//! ```compile_fail,E0505
//! let list = quiescent::RcuList::from_iter([1]);
//! let guard = quiescent::read_lock();
//! let first = list.iter(&guard).next();
//! drop(list); // frees its nodes at once
//! println!("{first:?}");
//! ```
//! ```compile_fail,E0597
//! let list = quiescent::RcuList::from_iter([1]);
//! let first;
//! {
//!     let guard = quiescent::read_lock();
//!     first = list.iter(&guard).next(); // outlives the section
//! }
//! println!("{first:?}");
//! ```
//! ```compile_fail,E0277
//! let list = quiescent::RcuList::from_iter([std::rc::Rc::new(1)]); // not Send
//! ```

use std::fmt;
use std::mem;
use std::ops::Deref;

use super::guard::Guard;
use super::handle::{Global, Handle, Reads, is_same};
use super::ptr::RcuPtr;
use super::retired::Retired;
use super::shared::Shared;
use crate::global::write_lock::{Taken, WriteLock};
use quiescent_core::const_new;

/// A singly linked list: any number of readers at any time, one writer at a time.
///
/// # Concurrent changes
/// An iteration sees every element once, in list order, that is in the list from the iteration's beginning to
/// its end. It sees no element that was removed before it began. It may or may not see an element that is
/// inserted or removed meanwhile. Of an element and its replacement it sees exactly one (at most one, if the
/// replacement is removed as well). An iterator on a removed element continues from there.
///
/// # Writers
/// Writers wait for each other (the list contains a lock), never for readers or grace periods. They walk
/// from the front: O(elements before the place); `push_front` is O(1). Removed values are dropped after a
/// grace period, as by [`Retired`]. They count against the budget as those of an
/// [`RcuCell`](crate::RcuCell#weight).
///
/// Functions passed to writers run under the lock: changing the same list in them panics. If one panics, the
/// changes made until then stay, and the list is usable.
///
/// ```
/// use quiescent::{RcuList, read};
///
/// static HOSTS: RcuList<(u32, &str)> = RcuList::new();
///
/// HOSTS.push_front((3, "c"));
/// HOSTS.push_front((1, "a"));
/// HOSTS.insert_before((2, "b"), |&(number, _)| number > 2); // keeps it sorted
/// assert!(HOSTS.replace((3, "C"), |&(number, _)| number == 3).is_ok());
/// assert!(HOSTS.remove_first(|&(number, _)| number == 1).is_some());
///
/// read(|guard| {
///     assert!(HOSTS.iter(guard).eq(&[(2, "b"), (3, "C")]));
/// });
/// ```
///
/// A list of another domain:
/// ```
/// use quiescent::{Domain, RcuList};
///
/// static DOMAIN: Domain = Domain::new();
/// static HOSTS: RcuList<u32, &Domain> = RcuList::new_in(&DOMAIN);
///
/// HOSTS.push_front(1);
/// DOMAIN.read(|guard| assert!(HOSTS.iter(guard).eq(&[1])));
/// ```
pub struct RcuList<T: Send + Sync + 'static, D: Handle = Global> {
    first: Link<T>,
    writer: WriteLock,
    domain: D,
    weight: Option<fn(&T) -> usize>,
}

/// An element of an [`RcuList`]. Removals return it as a [`Retired`]; it dereferences to its value.
///
/// ```
/// let list = quiescent::RcuList::from_iter([String::from("one")]);
/// let removed = list.pop_front().expect("one element");
/// assert_eq!(removed.len(), 3); // readers may still use it, too
/// assert_eq!(removed.wait().into_inner(), "one"); // after a grace period it is ours
/// ```
pub struct ListNode<T: Send + Sync + 'static> {
    /// Its type belongs to the process's domain. Every load through it is protected either by the writer's
    /// lock, or by a guard of the list's own domain.
    next: Link<T>,
    value: T,
}

impl<T: Send + Sync + 'static> ListNode<T> {
    /// The value.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Send + Sync + 'static> Deref for ListNode<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for ListNode<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// A pointer to a node.
type Link<T> = RcuPtr<ListNode<T>>;

/// A node that was found.
type Found<'a, T> = Shared<'a, ListNode<T>>;

/// A link, and the node that it leads to.
type Place<'a, T> = (&'a Link<T>, Option<Found<'a, T>>);

/// The current writer, which holds the lock.
struct Writer<'a, T: Send + Sync + 'static> {
    first: &'a Link<T>,
    _lock: Taken<'a>,
}

impl<T: Send + Sync + 'static> RcuList<T> {
    const_new! {
        /// Makes an empty list. Can be the value of a `static`.
        pub fn new() -> RcuList<T> {
            RcuList::new_in(Global)
        }
    }
}

impl<T: Send + Sync + 'static, D: Handle> RcuList<T, D> {
    const_new! {
        /// Makes an empty list for readers under sections of `domain`. Can be the value of a `static`.
        pub fn new_in(domain: D) -> RcuList<T, D> {
            RcuList { first: RcuPtr::null(), writer: WriteLock::new(), domain, weight: None }
        }
    }

    /// As [`RcuCell::with_weight`](crate::RcuCell::with_weight). Values are weighed when they have been
    /// removed, after the writers' lock is released.
    #[must_use = "this returns the list"]
    pub const fn with_weight(mut self, weight: fn(&T) -> usize) -> RcuList<T, D> {
        self.weight = Some(weight);
        self
    }

    /// Iterates over the elements, first to last. O(1), and one acquire load for each element.
    ///
    /// [Above](RcuList#concurrent-changes): what the iteration sees while the list changes.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    #[track_caller]
    #[inline]
    pub fn iter<'g, E: Handle + Reads<D::Brand>>(&'g self, guard: &'g Guard<E>) -> ListIter<'g, T> {
        assert!(
            is_same(&self.domain, guard.domain()),
            "a guard of another domain: this list is not read under it"
        );
        let next = &self.first;
        ListIter { next }
    }

    /// Returns whether the list is empty now.
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// The first element.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    #[track_caller]
    #[inline]
    pub fn front<'g, E: Handle + Reads<D::Brand>>(&'g self, guard: &'g Guard<E>) -> Option<&'g T> {
        self.iter(guard).next()
    }

    /// Counts the elements, as an iteration sees them. O(elements): the list keeps no count, because two
    /// words would not change in one store.
    pub fn len(&self) -> usize {
        self.iter(&Guard::new_in(self.domain.clone())).count()
    }

    /// Inserts a value as the first element. Allocates.
    ///
    /// # Panics
    /// If this thread is changing this list already: in a closure that a change of it calls.
    #[track_caller]
    pub fn push_front(&self, value: T) {
        let writer = self.write("RcuList::push_front");
        writer.link(writer.place(|_| true), value);
    }

    /// Inserts a value before the first element for which `stop` returns true, or else at the end. Allocates.
    ///
    /// ```
    /// let list = quiescent::RcuList::new();
    /// for n in [2, 3, 1] {
    ///     list.insert_before(n, |&next| next > n);
    /// }
    /// quiescent::read(|guard| assert!(list.iter(guard).eq(&[1, 2, 3])));
    /// ```
    ///
    /// # Panics
    /// If this thread is changing this list already: in a closure that a change of it calls.
    #[track_caller]
    pub fn insert_before(&self, value: T, stop: impl FnMut(&T) -> bool) {
        let writer = self.write("RcuList::insert_before");
        writer.link(writer.place(stop), value);
    }

    /// Replaces the first element for which `which` returns true. Allocates.
    ///
    /// # Errors
    /// Returns the value if there is no such element.
    ///
    /// # Panics
    /// If this thread is changing this list already: in a closure that a change of it calls.
    #[track_caller]
    pub fn replace(&self, value: T, which: impl FnMut(&T) -> bool) -> Result<(), T> {
        let mut removed = Removed::of(self);
        let writer = self.write("RcuList::replace");
        let (link, Some(node)) = writer.place(which) else {
            return Err(value);
        };
        writer.link((link, writer.follow(&node.get().next)), value);
        removed.push(node); // the new one leads on to what comes behind it
        Ok(())
    }

    /// Removes the first element for which `which` returns true, and returns it.
    ///
    /// # Panics
    /// If this thread is changing this list already: in a closure that a change of it calls.
    #[track_caller]
    pub fn remove_first(&self, which: impl FnMut(&T) -> bool) -> Option<Retired<ListNode<T>, D>> {
        let writer = self.write("RcuList::remove_first");
        let (link, node) = writer.place(which);
        let node = self.removed(writer.unlink(link, node?));
        drop(writer); // before the function that weighs
        Some(self.weigh(node))
    }

    /// Removes the first element and returns it. O(1).
    ///
    /// ```
    /// let list = quiescent::RcuList::from_iter([1, 2]);
    /// assert_eq!(list.pop_front().map(|node| **node), Some(1));
    /// assert_eq!(list.len(), 1);
    /// ```
    ///
    /// # Panics
    /// If this thread is changing this list already: in a closure that a change of it calls.
    #[track_caller]
    pub fn pop_front(&self) -> Option<Retired<ListNode<T>, D>> {
        self.remove_first(|_| true)
    }

    /// Removes every element for which `keep` returns false, one after the other. Returns how many.
    ///
    /// # Panics
    /// If this thread is changing this list already: in a closure that a change of it calls.
    #[track_caller]
    pub fn retain(&self, mut keep: impl FnMut(&T) -> bool) -> usize {
        let mut removed = Removed::of(self);
        let writer = self.write("RcuList::retain");
        let mut link = writer.first;
        while let Some(node) = writer.follow(link) {
            if keep(&node.value) {
                link = &node.get().next;
            } else {
                removed.push(writer.unlink(link, node));
            }
        }
        removed.count()
    }

    /// Removes all elements at once: an iteration that begins later sees none. Returns how many.
    ///
    /// # Panics
    /// If this thread is changing this list already: in a closure that a change of it calls.
    #[track_caller]
    pub fn clear(&self) -> usize {
        let mut removed = Removed::of(self);
        let writer = self.write("RcuList::clear");
        let mut next = writer.follow(writer.first);
        writer.first.store(None);
        while let Some(node) = next {
            next = writer.follow(&node.get().next);
            removed.push(node); // only its predecessor leads to it, and the first of them is unlinked
        }
        removed.count()
    }

    fn removed(&self, node: Found<'_, T>) -> Retired<ListNode<T>, D> {
        // SAFETY: a writer has unlinked it. No link in the list leads to it; those of removed nodes are found
        // only by sections that opened before. This is called once, and no writer uses it any more.
        unsafe { Retired::from_raw_in(node.as_ptr(), self.domain.clone()) }
    }

    /// Weighs a removed value, once, without the lock. If the function panics, it is still freed.
    fn weigh(&self, node: Retired<ListNode<T>, D>) -> Retired<ListNode<T>, D> {
        match self.weight {
            Some(weight) => {
                let bytes = weight(&node);
                node.with_owned_bytes(bytes)
            }
            None => node,
        }
    }

    /// Waits for other writers. If a writer panicked, the list is intact, because a link changes in one
    /// store.
    #[track_caller]
    fn write(&self, call: &'static str) -> Writer<'_, T> {
        Writer {
            first: &self.first,
            _lock: self.writer.take(call),
        }
    }
}

impl<'a, T: Send + Sync + 'static> Writer<'a, T> {
    /// The node that a link leads to.
    fn follow(&self, link: &'a Link<T>) -> Option<Found<'a, T>> {
        // SAFETY: only writers retire what a link of the list leads to; this thread is the writer, and does
        // not use a node after that.
        unsafe { link.load_protected() }
    }

    /// The first element for which `stop` returns true and the link to it, or the last link.
    fn place(&self, mut stop: impl FnMut(&T) -> bool) -> Place<'a, T> {
        let mut link = self.first;
        loop {
            match self.follow(link) {
                Some(node) if !stop(&node.value) => link = &node.get().next,
                end => return (link, end),
            }
        }
    }

    /// Stores a new node in `link`; the new node's own link leads to `next`.
    fn link(&self, (link, next): Place<'a, T>, value: T) {
        let node = ListNode {
            next: RcuPtr::null(),
            value,
        };
        // SAFETY: `next` is in the list. It is not retired before the link to it, which will be this one, has
        // changed.
        unsafe { node.next.store_shared(next) };
        link.store(Some(Box::new(node))); // complete by now [PTR-1]
    }

    /// Unlinks the node that `link`, and no other link in the list, leads to.
    fn unlink(&self, link: &'a Link<T>, node: Found<'a, T>) -> Found<'a, T> {
        let next = self.follow(&node.get().next);
        // SAFETY: `next` is in the list; otherwise as in `link`.
        unsafe { link.store_shared(next) };
        node
    }
}

/// Removed nodes. Dropping this value determines their owned bytes and retires them. (If the function that
/// determines the bytes panics, the other nodes are retired without.) It is declared before the writer's lock
/// and hence dropped after it, because that function, and a destructor that runs then, may change the list.
struct Removed<'a, T: Send + Sync + 'static, D: Handle> {
    nodes: Vec<Retired<ListNode<T>, D>>,
    list: &'a RcuList<T, D>,
}

impl<'a, T: Send + Sync + 'static, D: Handle> Removed<'a, T, D> {
    fn of(list: &'a RcuList<T, D>) -> Removed<'a, T, D> {
        let nodes = Vec::new();
        Removed { nodes, list }
    }

    fn push(&mut self, node: Found<'a, T>) {
        self.nodes.push(self.list.removed(node));
    }

    fn count(&self) -> usize {
        self.nodes.len()
    }
}

impl<T: Send + Sync + 'static, D: Handle> Drop for Removed<'_, T, D> {
    fn drop(&mut self) {
        for node in self.nodes.drain(..) {
            match std::thread::panicking() {
                true => node.retire(), // a second panic, of the program's function, would end the process
                false => self.list.weigh(node).retire(),
            }
        }
    }
}

impl<T: Send + Sync + 'static, D: Handle> Drop for RcuList<T, D> {
    /// Drops the values at once: there is no reader.
    fn drop(&mut self) {
        drop(Rest(&mut self.first));
    }
}

/// The nodes behind a link of a list that has no readers. Dropping this value drops all of them, also if the
/// destructor of one panics; a second panic aborts, as with a `Vec`.
struct Rest<'a, T: Send + Sync + 'static>(&'a mut Link<T>);

impl<T: Send + Sync + 'static> Drop for Rest<'_, T> {
    fn drop(&mut self) {
        // SAFETY: iterators borrow the list, so there is none; removed nodes are not reached from here.
        while let Some(mut node) = unsafe { self.0.take() } {
            mem::swap(self.0, &mut node.next);
            let rest = Rest(self.0);
            drop(node);
            mem::forget(rest);
        }
    }
}

/// The elements of an [`RcuList`]; made by [`iter`](RcuList::iter).
pub struct ListIter<'g, T: Send + Sync + 'static> {
    /// Borrowed from the list and the guard.
    next: &'g Link<T>,
}

impl<'g, T: Send + Sync + 'static> Iterator for ListIter<'g, T> {
    type Item = &'g T;

    #[inline]
    fn next(&mut self) -> Option<&'g T> {
        // SAFETY: the iterator borrows a guard of the list's own domain for 'g, so what is found is not freed
        // during 'g.
        let node = unsafe { self.next.load_protected() }?; // [PTR-1]
        let node = node.get();
        self.next = &node.next;
        Some(&node.value)
    }
}

impl<T: Send + Sync + 'static> Clone for ListIter<'_, T> {
    fn clone(&self) -> Self {
        ListIter { next: self.next }
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for ListIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<T: Send + Sync + fmt::Debug, D: Handle> fmt::Debug for RcuList<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter(&Guard::new_in(self.domain.clone())).fmt(f)
    }
}

impl<T: Send + Sync> Default for RcuList<T> {
    fn default() -> RcuList<T> {
        RcuList::new()
    }
}

/// Keeps the order of the values. O(n).
impl<T: Send + Sync> FromIterator<T> for RcuList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> RcuList<T> {
        let list = RcuList::new();
        let writer = list.write("RcuList::from_iter");
        let mut end = writer.place(|_| true);
        for value in values {
            writer.link(end, value);
            let node = writer.follow(end.0).expect("linked just now");
            end = (&node.get().next, None);
        }
        drop(writer);
        list
    }
}
