//! Fences that threads execute themselves when they are asked (`prim/asking.rs`): an answer stands for a
//! heavy fence, at whatever point of the thread it is.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::reclaim::{owner, reclaiming};
use crate::common::{World, check, join_all};
use quiescent_models::explorer::Ordering::Relaxed;
use quiescent_models::explorer::{AtomicU32, branching, light_fence};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// The words of the two sides.
#[derive(Default)]
struct Words {
    readers: AtomicU32,
    updaters: AtomicU32,
    /// What the reader has seen.
    seen: Cell<u32>,
}

impl Words {
    fn store(&self) {
        self.readers.store(1, Relaxed);
        light_fence();
    }

    fn load(&self) {
        self.seen.set(self.updaters.load(Relaxed));
    }
}

/// A section, at whose end the thread answers.
fn section() {
    drop(rcu::read_lock());
}

/// Whether the reader is registered, and what it does.
type Body = (bool, fn(&Words));

/// A reader and an asker each store a word and then load the other's: one of them sees the other.
fn litmus(name: &str, registered: bool, body: fn(&Words)) {
    thread_local! {
        static BODY: Cell<Body> = const { Cell::new((true, |_| ())) };
    }
    BODY.set((registered, body));
    check(name, 2, 2, || {
        let (registered, body) = BODY.get();
        let world = World::new(Domain::new().asking());
        let words = Rc::new(Words::default());
        let read = words.clone();
        let reader = match registered {
            true => world.registered(move |_| body(&read)),
            false => world.thread(move |_| body(&read)),
        };
        world.domain.enter();
        world.begin(u32::from(registered));
        words.updaters.store(1, Relaxed);
        world.domain.ask();
        let saw = words.readers.load(Relaxed);
        branching(false);
        reader.join();
        assert!(
            saw == 1 || words.seen.get() == 1,
            "neither saw the other: no fence came between"
        );
    });
}

#[test]
fn a_thread_that_answers_before() {
    litmus("asking: before", true, |words| {
        section();
        words.store();
        words.load();
    });
}

#[test]
fn a_thread_that_answers_between() {
    litmus("asking: between", true, |words| {
        words.store();
        section();
        words.load();
    });
}

#[test]
fn a_thread_that_answers_after() {
    litmus("asking: after", true, |words| {
        words.store();
        words.load();
        section();
    });
}

/// An inner unlock answers as well, and so does a repin.
#[test]
fn a_thread_that_answers_inside_a_section() {
    litmus("asking: inside", true, |words| {
        let mut guard = rcu::read_lock();
        words.store();
        section();
        words.load();
        guard.repin();
    });
}

/// A thread that the asker does not see has a full fence of its own.
#[test]
fn a_thread_that_registers_meanwhile() {
    litmus("asking: newcomer", false, |words| {
        let guard = rcu::read_lock();
        words.store();
        words.load();
        drop(guard);
    });
}

/// A thread registers in a leaf that a driver has found empty, and is vacating; the asker, which does not
/// hold the driver's lock, must not skip the thread.
#[test]
fn a_thread_in_a_leaf_that_is_being_vacated() {
    check("asking: vacated", 2, 1, || {
        let world = World::new(Domain::new().leaves(2).asking());
        let words = Rc::new(Words::default());
        let saw = Rc::new(Cell::new(0));
        // These two fill the first leaf.
        let (ask, seen) = (words.clone(), saw.clone());
        let asker = world.registered(move |w| {
            ask.updaters.store(1, Relaxed);
            w.domain.ask();
            seen.set(ask.readers.load(Relaxed));
            branching(false); // a load of the reader that comes later sees the store above
        });
        let driver = world.registered(|w| {
            w.domain.vacate(1);
            section();
        });
        world.domain.enter();
        world.ready(2);
        branching(false);
        // A thread came and went: the second leaf exists, counts as occupied, and is empty.
        world.thread(|w| w.domain.register()).join();
        let read = words.clone();
        let reader = world.thread(move |w| {
            w.pass_on();
            w.domain.register();
            read.store();
            read.load();
        });
        world.begin(3);
        join_all([reader, driver, asker]);
        assert!(
            saw.get() == 1 || words.seen.get() == 1,
            "neither saw the other: no fence came between"
        );
    });
}

/// Two questions: what was answered for the first does not count for the second.
#[test]
fn an_answer_counts_for_its_own_question() {
    check("asking: twice", 2, 2, || {
        let world = World::new(Domain::new().asking());
        let words = Rc::new(Words::default());
        let read = words.clone();
        let reader = world.registered(move |_| {
            section();
            read.store();
            read.load();
            section();
        });
        world.domain.enter();
        world.begin(1);
        world.domain.ask();
        words.updaters.store(1, Relaxed);
        world.domain.ask();
        let saw = words.readers.load(Relaxed);
        branching(false);
        reader.join();
        assert!(saw == 1 || words.seen.get() == 1, "neither saw the other");
    });
}

/// A thread retires in passing beside one that reads: a grace period whose fence was answered.
#[test]
fn nothing_is_freed_under_a_reader_that_answers() {
    check("asking: reclaim", 2, 1, || {
        let world = reclaiming(Domain::deferring(1).asking());
        let reader = world.registered(|w| {
            w.read_thing();
            w.read_thing();
        });
        world.domain.enter();
        world.retire([2]); // the slow way; from here on there is credit
        world.begin(1);
        world.publish(1);
        world.retire([0]);
        world.retire([3]);
        branching(false);
        reader.join();
        world.finish();
    });
}

/// The owner of a queue answers at a push, in the middle of a take-over.
#[test]
fn pushes_against_a_take_over_that_asks() {
    check("asking: take-over", 2, 1, || {
        let world = owner(Domain::deferring(4).asking());
        world.retire([0]);
        world.beside_worker(|world| world.retire([1, 2]));
    });
}

/// The same with pops.
#[test]
fn pops_against_a_take_over_that_asks() {
    check("asking: pop", 2, 1, || {
        let world = owner(Domain::deferring(2).asking());
        world.retire([0, 1]); // a batch, and its grace period
        world.beside_worker(|world| world.retire([2, 3]));
    });
}
