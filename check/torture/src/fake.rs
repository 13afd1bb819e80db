//! Fake writers: they request grace periods, in every way, and have no object that needs one. A thread with
//! an object must get a full one nevertheless.

use std::time::Duration;

use quiescent::{
    Cookie, grace_period, start_grace_period, synchronize, synchronize_expedited,
    synchronize_timeout, try_synchronize,
};

use crate::events::What;
use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::waking;

/// Requests grace periods until the run is over.
pub fn run(mut hand: Hand) {
    let pause = hand.world.options.delays.writer_us;
    while hand.goes_on() {
        let way = hand.numbers.below(10);
        hand.record(What::Ask, None, way as u64);
        hand.begin(Kind::Synchronize);
        ask(&mut hand, way);
        hand.end();
        hand.acted();
        hand.dawdle(pause);
    }
}

fn ask(hand: &mut Hand, way: usize) {
    match way {
        0 | 1 => synchronize(),
        2 => synchronize_expedited(),
        3 => assert!(try_synchronize().is_ok(), "outside of all sections"),
        // Cancelled, most of the time.
        4 => _ = synchronize_timeout(Duration::from_micros(hand.numbers.next() % 200)),
        5 => {
            let cookie = start_grace_period();
            for _ in 0..hand.numbers.below(20) {
                if cookie.is_done() {
                    break;
                }
                hand.dawdle(50);
            }
        }
        6 => waited(hand, 1),
        7 => waited(hand, 16),
        8 => waking::block_on(&hand.place.bell, grace_period()),
        _ => waking::abandon(&hand.place.bell, grace_period()),
    }
}

/// Takes cookies and waits for the last: then all of them must be satisfied.
fn waited(hand: &mut Hand, count: usize) {
    let mut cookies = Vec::new();
    for _ in 0..count {
        cookies.push(start_grace_period());
        hand.dawdle(20);
    }
    let Some(last) = cookies.last() else { return };
    (*last).wait();
    if !cookies.into_iter().all(Cookie::is_done) {
        Finding::Cookie.note(Some(Kind::Cookie), 2);
    }
}
