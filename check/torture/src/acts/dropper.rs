//! Values whose destructors do what destructors should not do, and may: take a lock, retire others, panic,
//! fork, end their thread. Each runs once, never inside a section of its thread, never inside another.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Mutex;

use quiescent::{Retired, read_lock, try_barrier, try_synchronize};

use super::callback;
use crate::book::entry::DOMAIN;
use crate::book::events;
use crate::book::finding::Finding;
use crate::book::hand::Hand;
use crate::book::kind::Kind;
use crate::book::lock;
use crate::book::numbers::Numbers;
use crate::book::role::Role;
use crate::book::tide::Tide;
use crate::book::world::{self, World};

/// Taken by destructors, and by the actor while it retires nothing. It protects nothing, because
/// ThreadSanitizer does not see the locks of the standard library.
static LOCK: Mutex<()> = Mutex::new(());

thread_local! {
    /// The thread is in a section.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The thread runs one of these destructors.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

/// What a destructor does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Nothing,
    Lock,
    Retire,
    Wait,
    Panic,
    Fork,
}

/// Counted when it is dropped.
struct Value {
    tide: &'static Tide,
    deed: Deed,
    seed: u64,
}

/// No longer in the destructor, also when that unwinds.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        RUNS.set(false);
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if INSIDE.get() || RUNS.replace(true) {
            Finding::InsideSection.note(Some(Kind::RetireDrop), self.seed);
        }
        let _running = Running;
        self.tide.ran();
        let Some(world) = world::current() else {
            return;
        };
        match self.deed {
            Deed::Nothing => {}
            Deed::Lock => drop(lock(&LOCK)),
            Deed::Retire => {
                let mut numbers = Numbers::new(world.options.seed, self.seed);
                for _ in 0..numbers.below(40) {
                    retire(self.tide, Deed::Nothing, &mut numbers);
                }
            }
            Deed::Wait => {
                assert!(
                    try_barrier().is_err(),
                    "waited for a barrier in a destructor"
                );
                assert!(try_synchronize().is_err(), "waited in a destructor");
            }
            Deed::Panic => {
                world.count_panic(DOMAIN, Kind::RetireDrop);
                callback::panic();
            }
            Deed::Fork => fork(),
        }
    }
}

/// Retires values until it is over.
pub fn run(mut hand: Hand) {
    let tide: &'static Tide = &hand.place.tide;
    while hand.goes_on() {
        for number in 0..hand.numbers.below(3000) {
            if number % 256 == 0 {
                hand.beat();
            }
            let guard = hand.numbers.once_in(3).then(read_lock);
            INSIDE.set(guard.is_some());
            let deed = deed(hand.world, &mut hand.numbers);
            retire(tide, deed, &mut hand.numbers);
            INSIDE.set(false);
            drop(guard);
        }
        if hand.numbers.once_in(4) {
            let held = lock(&LOCK);
            hand.dawdle(500);
            drop(held);
        }
        hand.acted();
        hand.dawdle(2000);
    }
}

fn deed(world: &World, numbers: &mut Numbers) -> Deed {
    let honest = world.options.broken.is_none();
    let forks = world.options.cast.of(Role::Fork) > 0;
    match numbers.below(20_000) {
        0 if forks => Deed::Fork,
        1..20 if honest && world.options.panics => Deed::Panic,
        20..400 => Deed::Retire,
        400..600 => Deed::Wait,
        600..3000 => Deed::Lock,
        _ => Deed::Nothing,
    }
}

fn retire(tide: &'static Tide, deed: Deed, numbers: &mut Numbers) {
    tide.queue();
    let value = Value {
        tide,
        deed,
        seed: numbers.next(),
    };
    let value = NonNull::from(Box::leak(Box::new(value)));
    // SAFETY: just made, never published.
    let retired = unsafe { Retired::from_raw(value) };
    match numbers.below(64) {
        0 => retired.on_worker().retire(),
        1 => retired.with_owned_bytes(64).on_worker().retire(),
        2 => drop(retired.try_retire()),
        3 if numbers.once_in(8) => retired.retire_hurry(),
        _ => retired.retire(),
    }
}

/// The child goes on in the destructor, as far as one may there, and ends.
fn fork() {
    // SAFETY: the child uses what the library promises to work there, and ends with `_exit`.
    match unsafe { libc::fork() } {
        0 => {
            events::silence();
            let refused = try_barrier().is_err();
            drop(read_lock());
            // SAFETY: ends the process, with nothing run.
            unsafe { libc::_exit(i32::from(!refused)) }
        }
        -1 => {} // no memory, or no room for a process just now
        child => {
            let mut status = 0;
            // SAFETY: a child of ours, and a place for its status.
            unsafe { libc::waitpid(child, &mut status, 0) };
            if status != 0 {
                Finding::ForkedChild.note(None, status as u64);
            }
        }
    }
}
