//! Blocks linked ahead: an owner continues into the next block without a lock, while another thread lowers
//! its limit.
//!
//! Blocks have two entries here. The engine gives an owner that has used up a block one ahead; so after three
//! things it is about to cross.

use std::rc::Rc;

use crate::common::reclaim::owner;
use crate::common::{World, check};
use quiescent_models::explorer::branching;
use quiescent_on_explorer as rcu;
use rcu::check::Model as Domain;

/// A world whose owner has retired so many that it crosses with the next thing, number 7.
fn about_to_cross(domain: Domain) -> Rc<World> {
    let world = owner(domain);
    world.retire(0..7);
    world
}

/// Of a batch of eight blocks the owner fills two through slow calls, crosses into the others, and makes a
/// slow call again at the end.
#[test]
fn a_credit_is_one_call_for_help() {
    check("alone", 0, 0, || {
        let world = about_to_cross(Domain::patient(16));
        let domain = world.domain;
        let (crossings, helps) = (domain.crossings(), domain.helps());
        world.retire([7]);
        assert_eq!(domain.crossings(), crossings + 1, "number 7 is one");
        world.retire(8..15);
        assert_eq!((domain.crossings(), domain.helps()), (crossings + 4, helps));
        world.retire([15]);
        assert_eq!(domain.helps(), helps + 1, "the end of the credit");
        world.finish_patient();
    });
}

#[test]
fn crossing_against_a_take_over() {
    check("cross", 2, 2, || {
        let world = about_to_cross(Domain::deferring(16));
        let worker = world.worker(1);
        world.begin(0);
        world.retire([7]);
        branching(false);
        world.retire([8, 9]);
        worker.join();
        world.finish();
    });
}

/// Things that were taken over are freed while the owner continues.
#[test]
fn crossing_and_on_against_a_take_over() {
    check("cross and on", 2, 1, || {
        let world = about_to_cross(Domain::deferring(16));
        let worker = world.worker(2);
        world.begin(0);
        world.retire([7, 8]);
        branching(false);
        worker.join();
        world.retire([9]);
        world.finish();
    });
}

#[test]
fn crossing_against_a_lowered_limit() {
    check("cross, asked", 2, 2, || {
        let world = about_to_cross(Domain::deferring(16));
        let asker = world.thread(|w| w.domain.ask_soon());
        let helps = world.domain.helps();
        world.begin(0);
        world.retire([7]);
        branching(false);
        asker.join();
        world.retire([8]);
        assert!(world.domain.helps() > helps, "it was asked to come");
        world.finish();
    });
}

/// The memory lane and the callback lane at the same time.
#[test]
fn crossing_with_code_against_a_take_over() {
    check("cross, code", 1, 1, || {
        let world = owner(Domain::deferring(16));
        (0..7).for_each(|thing| world.retire_code(thing));
        world.beside_worker(|world| {
            world.retire_code(7);
            world.retire_code(8);
        });
    });
}

/// The thing popped by the push at the end of a block belongs either to the owner or to the taker.
#[test]
fn crossing_with_a_pop_against_a_take_over() {
    check("cross and pop", 2, 1, || {
        let world = owner(Domain::deferring(4));
        world.retire(0..7); // a batch of them is ready
        let worker = world.worker(1);
        world.begin(0);
        world.retire([7]);
        branching(false);
        world.retire([8]);
        worker.join();
        world.finish();
    });
}

/// Its surplus blocks are returned, and the next thread starts without credit.
#[test]
fn an_owner_with_blocks_ahead_ends_during_a_take_over() {
    check("cross and end", 2, 1, || {
        let world = about_to_cross(Domain::deferring(16));
        world.beside_worker(|world| {
            world.retire([7]);
            world.domain.leave();
            world.domain.enter(); // as another thread
            world.retire([8]);
        });
    });
}
