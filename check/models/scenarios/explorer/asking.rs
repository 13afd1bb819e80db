//! Fences that threads execute themselves when they are asked (`prim/asking.rs`): an answer stands for a
//! heavy fence, at whatever point of the thread it is.

use std::rc::Rc;

use crate::common::reclaim::{owner_beside_registered, retired};
use crate::common::{World, check};
use crate::words::{Words, expect_an_order};
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// A section, at whose end the thread answers.
fn section() {
    drop(rcu::read_lock());
}

/// A reader and an asker each store a word and then load the other's: one of them sees the other. `asks`:
/// the number of questions before the word is stored. `registered`: the reader registers first.
fn litmus(name: &str, asks: u32, registered: bool, body: fn(&Words) -> u32) {
    check(name, 2, 2, move || {
        let world = World::new(Domain::new().asking());
        let words = Rc::new(Words::default());
        let read = words.clone();
        let reader = world.thread(move |w| {
            if registered {
                w.come();
            }
            body(&read)
        });
        world.domain.enter();
        world.begin(u32::from(registered));
        (0..asks).for_each(|_| world.domain.ask());
        let seen = words.update(|| world.domain.ask());
        branching(false);
        expect_an_order(reader.join(), seen);
    });
}

#[test]
fn a_thread_that_answers_before() {
    litmus("asking: before", 0, true, |words| {
        section();
        words.store();
        words.load()
    });
}

#[test]
fn a_thread_that_answers_between() {
    litmus("asking: between", 0, true, |words| {
        words.store();
        section();
        words.load()
    });
}

#[test]
fn a_thread_that_answers_after() {
    litmus("asking: after", 0, true, |words| {
        words.store();
        let saw = words.load();
        section();
        saw
    });
}

/// An inner unlock answers as well, and so does a repin.
#[test]
fn a_thread_that_answers_inside_a_section() {
    litmus("asking: inside", 0, true, |words| {
        let mut guard = rcu::read_lock();
        words.store();
        section();
        let saw = words.load();
        guard.repin();
        saw
    });
}

/// A thread that the asker does not see has a full fence of its own.
#[test]
fn a_thread_that_registers_meanwhile() {
    litmus("asking: newcomer", 0, false, |words| {
        let _guard = rcu::read_lock();
        words.store();
        words.load()
    });
}

/// Two questions: what was answered for the first does not count for the second.
#[test]
fn an_answer_counts_for_its_own_question() {
    litmus("asking: twice", 1, true, |words| {
        section();
        words.store();
        let saw = words.load();
        section();
        saw
    });
}

/// A thread registers in a leaf that a driver has found empty, and is vacating; the asker, which does not
/// hold the driver's lock, must not skip the thread.
#[test]
fn a_thread_in_a_leaf_that_is_being_vacated() {
    check("asking: vacated", 2, 1, || {
        let world = World::new(Domain::new().leaves(2).asking());
        let words = Rc::new(Words::default());
        // These two fill the first leaf.
        let ask = words.clone();
        let asker = world.registered(move |w| {
            let seen = ask.update(|| w.domain.ask());
            branching(false); // a load of the reader that comes later sees the store above
            seen
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
        let reader = world.thread(move |w| {
            w.pass_on();
            w.domain.register();
            words.store();
            words.load()
        });
        world.begin(3);
        let saw = reader.join();
        driver.join();
        expect_an_order(saw, asker.join());
    });
}

/// A thread retires in passing beside one that reads: a grace period whose fence was answered.
#[test]
fn nothing_is_freed_under_a_reader_that_answers() {
    check("asking: reclaim", 2, 1, || {
        let (world, reader) = owner_beside_registered(Domain::deferring(1).asking(), |w| {
            w.read_thing();
            w.read_thing();
        });
        world.retire([2]); // the slow way; from here on there is credit
        world.begin(1);
        world.publish(1);
        world.retire([0]);
        world.retire([3]);
        world.end([reader]);
    });
}

/// The owner of a queue answers at a push, in the middle of a take-over.
#[test]
fn pushes_against_a_take_over_that_asks() {
    check("asking: take-over", 2, 1, || {
        let world = retired(Domain::deferring(4).asking(), [0]);
        world.beside_worker(|world| world.retire([1, 2]));
    });
}

/// The same with pops.
#[test]
fn pops_against_a_take_over_that_asks() {
    check("asking: pop", 2, 1, || {
        let world = retired(Domain::deferring(2).asking(), [0, 1]); // a batch, and its grace period
        world.beside_worker(|world| world.retire([2, 3]));
    });
}
