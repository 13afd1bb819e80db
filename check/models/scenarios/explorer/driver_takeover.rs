//! A driver is preempted, a waiter takes over its role, and the driver continues in the middle of a phase.
//!
//! In these scenarios no time has to pass: a waiter that inspects the driver between two of its calls, and
//! finds it not asleep, takes the role. So each preemption stands for a thread that is stopped for any time.

use crate::common::races::two_that_read;
use crate::common::{World, check, join_all, poll_for};
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

#[test]
fn an_updater_takes_the_role_from_another() {
    check("driver takeover", 2, 1, || {
        let world = World::new(Domain::taking_over());
        let reader = world.registered(World::read);
        world.domain.enter();
        world.begin(1);
        let other = world.thread(|w| w.replace_and_free(1));
        world.replace_and_free(2);
        join_all([reader, other]);
    });
}

#[test]
fn a_driver_is_registered_and_loses_the_role() {
    check("registered drivers", 2, 1, || {
        two_that_read(Domain::taking_over());
    });
}

#[test]
fn two_take_the_role_from_each_other_while_a_reader_is_inside() {
    check("driver takeovers, a reader inside", 2, 1, || {
        let world = World::new(Domain::taking_over());
        let reader = world.registered(|w| {
            let _guard = rcu::read_lock();
            w.look();
            w.look();
        });
        world.domain.enter();
        world.begin(1);
        let other = world.thread(|_| rcu::synchronize());
        world.update(0, 1);
        join_all([reader, other]);
    });
}

#[test]
fn a_poller_takes_the_role() {
    check("driver takeover by a poller", 2, 1, || {
        let world = World::new(Domain::taking_over());
        let reader = world.registered(World::read);
        world.domain.enter();
        world.begin(1);
        let driver = world.thread(|_| rcu::synchronize());
        world.publish(1);
        poll_for(rcu::start_grace_period());
        world.free(0);
        join_all([reader, driver]);
    });
}
