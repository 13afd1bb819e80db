//! Blocks linked ahead: an owner continues into the next block without a lock, while another thread lowers
//! its limit.
//!
//! Blocks have two entries here. The engine gives an owner that has used up a block one ahead; so after three
//! things it is about to cross.

use crate::common::check;
use crate::common::reclaim::{owner, retired};
use quiescent_models::explorer::branching;
use quiescent_on_explorer::check::{Model as Domain, crossings, helps};

/// So many things were retired that the owner crosses with the next one, number 7.
const ABOUT_TO_CROSS: std::ops::Range<usize> = 0..7;

/// Of a batch of eight blocks the owner fills two through slow calls, crosses into the others, and makes a
/// slow call again at the end.
#[test]
fn a_credit_is_one_call_for_help() {
    check("alone", 0, 0, || {
        let world = retired(Domain::patient(16), ABOUT_TO_CROSS);
        let (crossed, helped) = (crossings(), helps());
        world.retire([7]);
        assert_eq!(crossings(), crossed + 1, "number 7 is one");
        world.retire(8..15);
        assert_eq!((crossings(), helps()), (crossed + 4, helped));
        world.retire([15]);
        assert_eq!(helps(), helped + 1, "the end of the credit");
        world.finish_patient();
    });
}

#[test]
fn crossing_against_a_take_over() {
    check("cross", 2, 2, || {
        let world = retired(Domain::deferring(16), ABOUT_TO_CROSS);
        let worker = world.worker(1);
        world.begin(0);
        world.retire([7]);
        branching(false);
        world.retire([8, 9]);
        world.end([worker]);
    });
}

/// Things that were taken over are freed while the owner continues.
#[test]
fn crossing_and_on_against_a_take_over() {
    check("cross and on", 2, 1, || {
        let world = retired(Domain::deferring(16), ABOUT_TO_CROSS);
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
        let world = retired(Domain::deferring(16), ABOUT_TO_CROSS);
        let asker = world.thread(|w| w.domain.ask_soon());
        let helped = helps();
        world.begin(0);
        world.retire([7]);
        branching(false);
        asker.join();
        world.retire([8]);
        assert!(helps() > helped, "it was asked to come");
        world.finish();
    });
}

/// The memory lane and the callback lane at the same time.
#[test]
fn crossing_with_code_against_a_take_over() {
    check("cross, code", 1, 1, || {
        let world = owner(Domain::deferring(16));
        ABOUT_TO_CROSS.for_each(|thing| world.retire_code(thing));
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
        let world = retired(Domain::deferring(4), ABOUT_TO_CROSS); // a batch of them is ready
        let worker = world.worker(1);
        world.begin(0);
        world.retire([7]);
        branching(false);
        world.retire([8]);
        world.end([worker]);
    });
}

/// Its surplus blocks are returned, and the next thread starts without credit.
#[test]
fn an_owner_with_blocks_ahead_ends_during_a_take_over() {
    check("cross and end", 2, 1, || {
        let world = retired(Domain::deferring(16), ABOUT_TO_CROSS);
        world.beside_worker(|world| {
            world.retire([7]);
            world.domain.leave();
            world.domain.enter(); // as another thread
            world.retire([8]);
        });
    });
}
