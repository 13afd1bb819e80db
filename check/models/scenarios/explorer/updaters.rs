//! Several grace periods and several waiters: sharing, hand-over, polling, cancellation.

use std::rc::Rc;
use std::time::Duration;

use crate::common::races::two_that_read;
use crate::common::{World, check, join_all, poll_for};
use quiescent_models::explorer::{allow_timeouts, branching};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// An updater beside a reader.
fn beside_reader(updates: fn(&Rc<World>)) {
    let world = World::new(Domain::new());
    let reader = world.registered(World::read);
    world.domain.enter();
    world.begin(1);
    updates(&world);
    reader.join();
}

#[test]
fn two_updates_in_a_row() {
    check("two updates", 2, 1, || {
        let world = World::new(Domain::new());
        let reader = world.registered(|w| {
            w.read();
            w.read();
        });
        world.domain.enter();
        world.begin(1);
        world.update(0, 1);
        world.update(1, 2);
        reader.join();
    });
}

#[test]
fn two_updaters_share_or_hand_over() {
    check("two updaters", 2, 1, || {
        beside_reader(|world| {
            let other = world.thread(|w| w.replace_and_free(1));
            world.replace_and_free(2);
            other.join();
        });
    });
}

#[test]
fn an_updater_that_reads_and_is_registered() {
    check("reading updaters", 2, 1, || two_that_read(Domain::new()));
}

#[test]
fn three_updaters() {
    check("three updaters", 1, 1, || {
        let world = World::new(Domain::new());
        world.begin(0);
        let wait = |_: &World| rcu::synchronize();
        let others = [world.thread(wait), world.thread(wait)];
        world.domain.enter();
        world.update(0, 1);
        join_all(others);
    });
}

#[test]
fn a_poller_gets_there_alone() {
    check("poll", 2, 2, || {
        beside_reader(|world| {
            world.publish(1);
            poll_for(rcu::start_grace_period());
            world.free(0);
        });
    });
}

#[test]
fn a_third_thread_polls_and_frees() {
    check("poll by a third thread", 2, 1, || {
        beside_reader(|world| {
            world.publish(1);
            let cookie = rcu::start_grace_period();
            let poller = world.thread(move |w| {
                poll_for(cookie);
                w.free(0);
            });
            rcu::synchronize();
            poller.join();
        });
    });
}

#[test]
fn one_waits_for_a_cookie_while_another_drives() {
    check("wait for a cookie", 2, 1, || {
        beside_reader(|world| {
            let driver = world.thread(|_| rcu::synchronize());
            world.publish(1);
            rcu::start_grace_period().wait();
            world.free(0);
            driver.join();
        });
    });
}

#[test]
fn a_driver_that_gives_up_hands_over() {
    check("giving up", 2, 1, || {
        allow_timeouts();
        let world = World::new(Domain::new());
        // The reader stays inside until the impatient waiter has given up, or has been satisfied.
        let reader = world.registered(|w| {
            let _guard = rcu::read_lock();
            w.look();
            w.wait_reopened();
        });
        world.domain.enter();
        world.begin(1);
        let patient = world.thread(|w| w.update(0, 1));
        let _ = rcu::synchronize_timeout(Duration::from_micros(1));
        world.reopen();
        join_all([reader, patient]);
    });
}

/// Both newcomers open the second leaf: one publishes it, the other one may be the first to use it. The count
/// of leaves must cover a claimed slot, whichever thread claims it.
#[test]
fn the_first_threads_of_a_new_leaf() {
    check("new leaf", 1, 1, || {
        let world = World::new(Domain::new().leaves(2));
        let stay = [(); 2].map(|()| world.registered(World::wait_reopened));
        world.domain.enter();
        world.begin(2);
        let newcomers = [
            world.thread(|w| w.domain.register()),
            world.thread(World::read),
        ];
        world.update(0, 1);
        world.reopen();
        world.reopen();
        join_all(newcomers);
        join_all(stay);
    });
}

/// A grace period finds the second leaf empty while a thread registers in it. In either order the next grace
/// period must not skip the leaf.
#[test]
fn a_leaf_is_found_empty_and_taken_again() {
    check("leaf vacated", 2, 0, || {
        let world = World::new(Domain::new().leaves(2));
        let stay = [(); 2].map(|()| world.registered(World::wait_reopened));
        world.domain.enter();
        world.begin(2);
        branching(false);
        world.thread(|w| w.domain.register()).join();
        branching(true);
        let newcomer = world.thread(World::read);
        rcu::synchronize();
        world.update(0, 1);
        branching(false);
        world.reopen();
        world.reopen();
        newcomer.join();
        join_all(stay);
    });
}
