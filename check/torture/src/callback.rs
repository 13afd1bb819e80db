//! The callback after a grace period: it completes the entry, frees the block, and sometimes does what
//! callbacks may do: read, queue itself again in another way, panic.
//!
//! It runs on a thread that the library chooses: the worker, a draining or a waiting thread.

use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::time::Duration;

use quiescent::intrusive::{self, Head};
use quiescent::{Domain, Retired, Srcu, defer, defer_hurry, defer_lazy, drain, try_barrier};

use crate::element::Element;
use crate::entry::{DOMAIN, Entry, OLDEST};
use crate::events::What;
use crate::kind::Kind;
use crate::numbers::Numbers;
use crate::options::Broken;
use crate::periods::{Periods, Whose};
use crate::reader;
use crate::role::Role;
use crate::target;
use crate::world::{self, World};

/// The grace periods under which a callback can queue itself again.
pub enum Own {
    /// The global domain; none of the program's own.
    Global,
    /// An `Srcu`.
    Srcu(Whose<Srcu>),
    /// A domain of the program's own.
    Domain(Whose<Domain>),
}

impl Own {
    /// The target with this number if it always exists; otherwise `self`.
    fn or_static(self, under: u32) -> Own {
        match (target::static_srcu(under), target::static_domain(under)) {
            (Some(srcu), _) => Own::Srcu(Whose::Static(srcu)),
            (_, Some(domain)) => Own::Domain(Whose::Static(domain)),
            _ => self,
        }
    }
}

/// A block that a callback owns.
pub struct Block(pub NonNull<Element>);

// SAFETY: elements move between threads; the holder of the block is its only owner.
unsafe impl Send for Block {}

impl Block {
    /// A grace period has passed for the block: completes its entry and frees it. A second run finds the
    /// entry completed and leaves the block as it is.
    pub fn end(self, entry: &'static Entry, word: u64) {
        self.end_under(entry, word, Own::Global);
    }

    /// As [`Block::end`], for a callback that keeps the grace periods under which it was queued.
    pub fn end_under(self, entry: &'static Entry, word: u64, own: Own) {
        if completed(entry, word) {
            // SAFETY: made by `Box::into_raw`; the first and only completion with this word owns it.
            let element = unsafe { Box::from_raw(self.0.as_ptr()) };
            element.check();
            drop(element);
            follow(entry, own);
        }
    }
}

/// As [`Block::end`], for a head inside an element.
///
/// # Safety
/// The head of an [`Element`] that was queued with its word noted in it, with the right to the whole element.
pub unsafe fn head_of_element(head: NonNull<Head>) {
    let block = head.cast::<Element>();
    // SAFETY: the caller's promise.
    let element = unsafe { block.as_ref() };
    if element.check() {
        let (entry, word) = (element.entry(), element.word());
        Block(block).end(entry, word);
    }
}

/// For a head inside an entry, which is queued again without a block.
///
/// # Safety
/// The head of an [`Entry`] that lives for ever.
unsafe fn head_of_entry(head: NonNull<Head>) {
    // SAFETY: the caller's promise.
    let entry: &'static Entry = unsafe { head.cast::<Entry>().as_ref() };
    ran(entry, entry.word());
}

/// The destructor of an object ran after a grace period, or a callback without a block did.
pub fn ran(entry: &'static Entry, word: u64) {
    if completed(entry, word) {
        follow(entry, Own::Global);
    }
}

/// A plain block is being freed. The allocator calls this: no allocation, no lock, no panic.
pub fn freed(entry: &'static Entry, word: u64) {
    if completed(entry, word) {
        entry.release();
    }
}

fn completed(entry: &'static Entry, word: u64) -> bool {
    let completed = entry.complete(word);
    if let Some(world) = world::current().filter(|_| completed) {
        world.count_done(entry.kind());
        world
            .elsewhere
            .record(world, What::Ran, Some(entry.kind()), word);
        if world.is_broken(Broken::RunTwice) && word % 64 < 4 {
            entry.complete(word);
        }
    }
    completed
}

/// What a callback does after its main work. It continues under the same grace periods, if it keeps them or
/// they always exist.
fn follow(entry: &'static Entry, own: Own) {
    let Some(world) = world::current() else {
        return entry.release();
    };
    let under = entry.under();
    let stays = target::static_srcu(under).is_some() || target::static_domain(under).is_some();
    let own = own.or_static(under);
    // A dropped target can no longer be asked for its count.
    let counted = under == DOMAIN || stays;
    let may_panic = world.options.panics && !entry.kind().waits() && counted;
    let mut numbers = Numbers::new(world.options.seed, entry.word());
    if numbers.once_in(16) {
        reader::glance(world, &mut numbers);
    }
    if may_panic && world.options.broken.is_none() {
        match &own {
            Own::Srcu(srcu) => ask_own_for_too_much(world, &**srcu, &mut numbers),
            Own::Domain(domain) => ask_own_for_too_much(world, &**domain, &mut numbers),
            Own::Global => ask_for_too_much(world, &mut numbers),
        }
    }
    // Only where other actors let callbacks run elsewhere: otherwise no such thread may exist yet.
    let kinds = &world.options.kinds;
    let elsewhere = kinds.iter().any(|kind| !kind.waits() && !kind.plain());
    if elsewhere && numbers.once_in(4) && entry.age() < OLDEST && !world.stopped() {
        match own {
            Own::Srcu(srcu) => queue_under(world, &srcu, entry, &mut numbers),
            Own::Domain(domain) => queue_under(world, &domain, entry, &mut numbers),
            Own::Global if under == DOMAIN => queue_again(world, entry, &mut numbers),
            Own::Global => entry.release(),
        }
    } else {
        entry.release();
    }
    if may_panic && numbers.once_in(500) && !std::thread::panicking() {
        world.count_panic(under);
        panic();
    }
}

/// Panics without the hook, which would print.
pub fn panic() {
    resume_unwind(Box::new(()));
}

/// Calls that wait are refused inside a callback; `drain` does what it can without waiting.
fn ask_for_too_much(world: &World, numbers: &mut Numbers) {
    let drains = world.options.cast.of(Role::Drain) > 0;
    match numbers.below(256) {
        0 => assert!(try_barrier().is_err(), "waited for a barrier in a callback"),
        1 if drains && world.barriers_allowed() => {
            _ = drain(Duration::from_micros(numbers.next() % 2000))
        }
        _ => {}
    }
}

/// The same under the program's own grace periods.
fn ask_own_for_too_much(world: &World, own: &impl Periods, numbers: &mut Numbers) {
    match numbers.below(256) {
        0 => assert!(
            own.try_barrier().is_err(),
            "waited for a barrier in a callback"
        ),
        1 => assert!(
            own.try_synchronize().is_err(),
            "waited for a grace period in a callback"
        ),
        2 if world.barriers_allowed() => {
            own.drain_for(Duration::from_micros(numbers.next() % 2000));
        }
        3 => _ = own.start_grace_period().is_done(),
        _ => {}
    }
}

/// Completes an entry when it is dropped.
struct Ager {
    entry: &'static Entry,
    word: u64,
    own: Own,
}

impl Drop for Ager {
    fn drop(&mut self) {
        if completed(self.entry, self.word) {
            follow(self.entry, std::mem::replace(&mut self.own, Own::Global));
        }
    }
}

fn queue_again(world: &World, entry: &'static Entry, numbers: &mut Numbers) {
    let word = entry.queue_again(world.now());
    world.count_queued(entry.kind());
    let ager = || {
        NonNull::from(Box::leak(Box::new(Ager {
            entry,
            word,
            own: Own::Global,
        })))
    };
    // In a scenario without hurried kinds callbacks are not hurried either.
    let hurried = world.options.kinds.contains(&Kind::CallHurry);
    let way = match hurried {
        true => numbers.below(8),
        false => numbers.below(3),
    };
    match way {
        0 => defer_lazy(move || ran(entry, word)),
        // SAFETY: entries live for ever; the thread that completed the entry holds its free head.
        1 => unsafe { intrusive::defer_lazy(entry.head(), head_of_entry) },
        // SAFETY: just made, never published.
        2 => unsafe { Retired::from_raw(ager()).retire() },
        3 => defer(move || ran(entry, word)),
        4 => defer_hurry(move || ran(entry, word)),
        // SAFETY: as for the other head.
        5 => unsafe { intrusive::defer(entry.head(), head_of_entry) },
        // SAFETY: as for the other head.
        6 => unsafe { intrusive::defer_hurry(entry.head(), head_of_entry) },
        // SAFETY: just made, never published.
        _ => unsafe { Retired::from_raw(ager()).retire_hurry() },
    }
}

/// As [`queue_again`], under the program's own grace periods.
fn queue_under<P: Periods>(
    world: &World,
    own: &Whose<P>,
    entry: &'static Entry,
    numbers: &mut Numbers,
) {
    let word = entry.queue_again(world.now());
    world.count_queued(entry.kind());
    let ager = Ager {
        entry,
        word,
        own: P::own(own.clone()),
    };
    let raw = |ager| NonNull::from(Box::leak(Box::new(ager)));
    match numbers.below(5) {
        0 => own.defer_lazy(move || drop(ager)),
        1 => own.defer(move || drop(ager)),
        2 => own.defer_hurry(move || drop(ager)),
        // SAFETY: just made, never published.
        3 => unsafe { own.retired(raw(ager)).retire() },
        // SAFETY: just made, never published.
        _ => unsafe { own.retired(raw(ager)).retire_hurry() },
    }
}
