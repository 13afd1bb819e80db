//! Short-lived threads: they read, retire, defer, and end with queued entries. Some continue in a destructor
//! of a thread-local, some in the destructor of a thread-specific key, which runs even later.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quiescent::{Domain, Global, Srcu};

use super::{reader, storm, writer};
use crate::book::finding::Finding;
use crate::book::hand::Hand;
use crate::book::numbers::Numbers;
use crate::book::role::Role;
use crate::book::world::{BURST, World};

/// Starts bursts of short-lived threads until the run is over.
pub fn lane(world: &'static World, lane: usize) {
    let mut numbers = Numbers::new(world.options.seed, u64::MAX - 1 - lane as u64);
    let places: Vec<usize> = world.of(Role::Churn).map(|(place, _)| place).collect();
    let places = &places[lane * BURST..(lane + 1) * BURST];
    for turn in 1u64.. {
        if world.stopped() {
            break;
        }
        let burst = places[..1 + numbers.below(BURST)].iter().map(|&place| {
            let body = move || life(Hand::new(world, place, turn));
            thread::Builder::new()
                .name(Role::Churn.name().into())
                .spawn(body)
        });
        // Starts all of them, then waits.
        for born in burst.collect::<Vec<_>>() {
            match born.map(JoinHandle::join) {
                Ok(Ok(())) => world.acted(Role::Churn, 1),
                Ok(Err(_)) => Finding::Panicked.note(None, lane as u64),
                Err(_) => thread::sleep(Duration::from_millis(10)), // no memory for a stack now
            }
        }
        thread::sleep(Duration::from_micros(numbers.next() % 5000));
    }
}

fn life(mut hand: Hand) {
    let rounds = hand.numbers.below(20);
    for _ in 0..rounds {
        if !hand.goes_on() {
            break;
        }
        let cast = hand.world.options.cast;
        let srcus = cast.has_srcus() && hand.numbers.once_in(2);
        let domains = cast.has_domains() && hand.numbers.once_in(2);
        match hand.numbers.below(4) {
            0 | 1 if domains => reader::section::<Domain>(&mut hand),
            _ if domains => writer::round::<Domain>(&mut hand),
            0 | 1 if srcus => reader::section::<Srcu>(&mut hand),
            _ if srcus => writer::round::<Srcu>(&mut hand),
            0 | 1 => reader::section::<Global>(&mut hand),
            2 => writer::round::<Global>(&mut hand),
            _ => {
                let kind = hand.deferred();
                writer::update_process(&mut hand, kind);
            }
        }
    }
    let way = hand.numbers.below(3);
    let last = Last(Some(hand));
    match way {
        0 => drop(last),
        1 => LAST.with(|place| *place.borrow_mut() = Some(last)),
        _ => at_the_very_end(Box::new(last)),
    }
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Its destructor runs some actions, and ends the storm for its thread.
struct Last(Option<Hand>);

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(mut hand) = self.0.take() {
            for _ in 0..hand.numbers.below(4) {
                reader::section::<Global>(&mut hand);
                let kind = hand.deferred();
                writer::update_process(&mut hand, kind);
                reader::section::<Srcu>(&mut hand);
            }
            storm::block();
        }
    }
}

unsafe extern "C" fn drop_last(value: *mut c_void) {
    // SAFETY: made by `at_the_very_end`, for this call.
    drop(unsafe { Box::from_raw(value.cast::<Last>()) });
}

/// The library's own key is older, so its destructor runs before this one.
fn at_the_very_end(last: Box<Last>) {
    // SAFETY: the key exists, and its destructor takes the value that is set here.
    let set = unsafe { libc::pthread_setspecific(key(), Box::into_raw(last).cast()) };
    assert_eq!(set, 0, "no memory for thread-specific data");
}

/// The key, made at its first use. Without `OnceLock`: ThreadSanitizer cannot see into std's, and reports its
/// first use.
fn key() -> libc::pthread_key_t {
    /// The key plus one.
    static KEY: AtomicU64 = AtomicU64::new(0);
    let known = KEY.load(Ordering::Acquire);
    if known != 0 {
        return (known - 1) as libc::pthread_key_t;
    }
    let mut key = 0;
    // SAFETY: `key` is writable; the destructor has the right type.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(drop_last)) };
    assert_eq!(made, 0, "no key for thread-specific data");
    let more = u64::from(key) + 1;
    match KEY.compare_exchange(0, more, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => key,
        Err(other) => {
            // SAFETY: no other thread has this key.
            unsafe { libc::pthread_key_delete(key) };
            (other - 1) as libc::pthread_key_t
        }
    }
}
