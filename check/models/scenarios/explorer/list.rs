//! Linked structures: a reader that walks a list of two or three nodes while a writer changes it.
//!
//! Elements are the numbers of the world's objects, so that readers detect a freed object; `filled` is an
//! element's content: relaxed stores that the release of a link has to order. The nodes' own memory is
//! retired and stays unchanged during an execution; the guarantee of a removal is checked on the objects,
//! which are freed after a grace period.

use std::rc::Rc;

use crate::common::{World, check, join_all};
use quiescent_models::explorer::Ordering::Relaxed;
use quiescent_models::explorer::{AtomicU32, JoinHandle, branching};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;
use rcu::{RcuList, RcuPtr};

/// Leaked, as the domain is: a failing execution frees nothing.
struct Lists {
    list: RcuList<usize>,
    filled: [AtomicU32; 3],
}

/// A world, and a list of these elements in it.
fn world(elements: &[usize]) -> (Rc<World>, &'static Lists) {
    let world = World::new(Domain::new());
    world.domain.enter();
    let filled = std::array::from_fn(|_| AtomicU32::new(0));
    let list = RcuList::new();
    let lists: &'static Lists = Box::leak(Box::new(Lists { list, filled }));
    for &element in elements.iter().rev() {
        lists.list.push_front(lists.fill(element));
    }
    (world, lists)
}

impl Lists {
    /// Writes the content of an element that will be inserted.
    fn fill(&self, element: usize) -> usize {
        self.filled[element].store(1, Relaxed);
        element
    }

    fn check_filled(&self, element: usize) {
        let filled = self.filled[element].load(Relaxed);
        assert_eq!(filled, 1, "element {element} is not complete");
    }

    /// Walks the list, uses each element when it finds it and once more at the end; returns what it saw.
    fn walk(&self, world: &World) -> Vec<usize> {
        let guard = rcu::read_lock();
        let mut seen = Vec::new();
        for &element in self.list.iter(&guard) {
            self.check_filled(element);
            world.use_object(element);
            seen.push(element);
        }
        branching(false); // the last use comes at once
        seen.iter().for_each(|&element| world.use_object(element));
        branching(true);
        seen
    }

    /// A registered thread that walks the list; what it sees has to be one of these.
    fn reader(
        &'static self,
        world: &Rc<World>,
        allowed: &'static [&'static [usize]],
    ) -> JoinHandle<()> {
        world.registered(move |w| {
            let seen = self.walk(w);
            assert!(allowed.contains(&&seen[..]), "{seen:?} is none of these");
        })
    }

    fn insert(&self, element: usize, before: usize) {
        let element = self.fill(element);
        self.list.insert_before(element, |&e| e == before);
    }

    /// Removes an element, but does not free it.
    fn remove(&self, element: usize) {
        assert!(self.list.remove_first(|&e| e == element).is_some());
    }
}

/// A reader walks a list of these elements, and sees one of what is `allowed`, while the list is changed. The
/// elements that are `gone` then are freed after a grace period.
fn against_a_walk<const N: usize>(
    elements: &[usize],
    allowed: &'static [&'static [usize]],
    change: impl FnOnce(&Lists),
    gone: [usize; N],
) {
    let (world, lists) = world(elements);
    let reader = lists.reader(&world, allowed);
    world.begin(1);
    change(lists);
    if N > 0 {
        rcu::synchronize();
        gone.into_iter().for_each(|element| world.free(element));
    }
    reader.join();
}

#[test]
fn removal_in_the_middle() {
    check("removal", 3, 2, || {
        let allowed: &[&[usize]] = &[&[0, 1, 2], &[0, 2]];
        against_a_walk(&[0, 1, 2], allowed, |lists| lists.remove(1), [1]);
    });
}

#[test]
fn removal_of_neighbours() {
    check("removal of two", 2, 2, || {
        let allowed: &[&[usize]] = &[&[0, 1, 2], &[1, 2], &[0, 2], &[2]];
        let change = |lists: &Lists| {
            lists.remove(0);
            lists.remove(1);
        };
        against_a_walk(&[0, 1, 2], allowed, change, [0, 1]);
    });
}

#[test]
fn insertion() {
    check("insertion", 3, 2, || {
        let allowed: &[&[usize]] = &[&[0, 1, 2], &[0, 2]];
        against_a_walk(&[0, 2], allowed, |lists| lists.insert(1, 2), []);
    });
}

#[test]
fn insertion_behind_an_element_that_is_removed() {
    check("insertion and removal", 2, 2, || {
        let allowed: &[&[usize]] = &[&[0, 2], &[0, 1, 2], &[1, 2]];
        let change = |lists: &Lists| {
            lists.insert(1, 2);
            lists.remove(0);
        };
        against_a_walk(&[0, 2], allowed, change, [0]);
    });
}

#[test]
fn replacement() {
    check("replacement", 3, 2, || {
        let change = |lists: &Lists| {
            assert!(lists.list.replace(lists.fill(2), |&e| e == 1).is_ok());
        };
        against_a_walk(&[0, 1], &[&[0, 1], &[0, 2]], change, [1]);
    });
}

#[test]
fn clearing() {
    check("clearing", 3, 2, || {
        let change = |lists: &Lists| assert_eq!(lists.list.clear(), 2);
        against_a_walk(&[0, 1], &[&[0, 1], &[]], change, [0, 1]);
    });
}

/// Both writers change the same link, in either order.
#[test]
fn two_writers() {
    check("two writers", 2, 1, || {
        let (world, lists) = world(&[0, 1]);
        let allowed: &[&[usize]] = &[&[0, 1], &[0], &[0, 2, 1], &[0, 2]];
        let reader = lists.reader(&world, allowed);
        let other = world.registered(move |_| lists.insert(2, 1));
        world.begin(2);
        lists.remove(1);
        rcu::synchronize();
        world.free(1);
        join_all([reader, other]);
        assert_eq!(lists.walk(&world), [0, 2]);
        world.domain.leave();
    });
}

/// There is no lock here, which would order the contents as well.
#[test]
fn an_object_that_is_linked_a_second_time() {
    check("second link", 3, 2, || {
        let (world, lists) = world(&[]);
        let links: &'static [RcuPtr<usize>; 2] =
            Box::leak(Box::new([RcuPtr::null(), RcuPtr::null()]));
        let reader = world.registered(|w| {
            let guard = rcu::read_lock();
            if let Some(&element) = links[1].load(&guard) {
                lists.check_filled(element);
                w.use_object(element);
            }
        });
        world.begin(1);
        links[0].store(Some(Box::new(lists.fill(1))));
        // SAFETY: nothing is retired.
        unsafe { links[1].store_shared(links[0].load_protected()) };
        reader.join();
    });
}
